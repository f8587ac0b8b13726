//! The running execution: owns threads and objects, asks the chooser where more than one thread can go on, and
//! applies operations. It never chooses by itself.
//!
//! The decision about the next step is taken on the stack of the thread that has just announced its operation;
//! a coroutine switch happens only when another thread is chosen. Code here must not hold a reference to the
//! execution across a switch: the functions that may switch take a raw pointer.

use super::address_map::AddressMap;
use super::coroutine::Pool;
use super::objects::Object;
use super::threads::{Life, Readiness, Thread};
use crate::dependence::DependenceHash;
use crate::program::{
    BranchPoint, Chooser, End, Granularity, Observer, SchedulingPoint, StepEvent, Taken, ThreadSet,
};
use crate::recording::Tape;
use crate::trace::{
    Access, Action, DeadlockEntry, Failure, FailureKind, Mode, ObjectClass, ObjectId, ObjectInfo, Operation,
    ThreadId,
};
use std::collections::HashSet;
use std::panic::Location;
use std::time::Duration;

/// How executions are run; the same for all executions of a search.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where threads may be switched.
    pub granularity: Granularity,
    /// Whether condvar waits wake and `compare_exchange_weak` fails spuriously, at a cost of 1 each.
    pub spurious: bool,
    /// Whether a racing variable becomes a synchronization variable instead of a failure.
    pub promote: bool,
    /// Longest execution, in steps.
    pub max_steps: u64,
    /// Stack of a thread, in bytes.
    pub stack_size: usize,
    /// Whether the threads of a failed execution are unwound, so that the search can go on; else their stacks are
    /// given up as they are.
    pub unwind_failed: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            granularity: Granularity::SyncOnly,
            spurious: true,
            promote: false,
            max_steps: 20_000,
            stack_size: 256 * 1024,
            unwind_failed: false,
        }
    }
}

/// Wake-ups of spinning threads, with nobody else able to run and nothing changing, before it counts as a livelock.
const MAX_IDLE_WAKES: u32 = 200;

/// The payload that unwinds the threads of an execution that is given up.
pub(super) struct GiveUp;

/// One execution, and everything that is kept warm between executions.
pub(super) struct Execution {
    pub(super) settings: Settings,
    pub(super) promoted: HashSet<usize>,
    pub(super) epoch: u32,
    pub(super) threads: Vec<Thread>,
    pub(super) thread_count: usize,
    pub(super) pending: Vec<Operation>,
    pub(super) objects: Vec<Object>,
    pub(super) object_count: usize,
    pub(super) map: AddressMap,
    pub(super) hash: DependenceHash,
    pub(super) enabled: ThreadSet,
    pub(super) early: ThreadSet,
    /// Threads whose pending operation may become enabled or disabled by what others do.
    pub(super) waiting: ThreadSet,
    ended: ThreadSet,
    /// What pending pauses wait for a change of; filled only for choosers that are told everything.
    awaited: Vec<Vec<ObjectId>>,
    pub(super) current: usize,
    previous: Option<ThreadId>,
    yielded: bool,
    pub(super) step_count: u64,
    step_preemption: bool,
    step_early: bool,
    step_branches: Vec<u32>,
    pub(super) accesses: Vec<Access>,
    chooser: Option<*mut dyn Chooser>,
    /// The chooser is asked even where there is nothing to choose.
    every_point: bool,
    pub(super) observer: Option<*mut dyn Observer>,
    pub(super) tape: Tape,
    pub(super) pool: Pool<super::ThreadJob>,
    pub(super) end: Option<End>,
    pub(super) promotion: bool,
    pub(super) giving_up: bool,
    pub(super) give_up_steps: u32,
    pub(super) now: Duration,
    idle_wakes: u32,
    last_woken: usize,
    pub(super) panic_count: u32,
    pub(super) at_end: Vec<Box<dyn FnOnce()>>,
    pub(super) static_atomics: Vec<(*mut u8, usize, [u8; 16])>,
    /// Boxed: the allocator holds a pointer to it.
    pub(super) quarantine: Box<super::allocator::Quarantine>,
    /// Last step and place, for the watchdog.
    pub(super) heartbeat: std::sync::Arc<super::Heartbeat>,
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution")
            .field("epoch", &self.epoch)
            .field("step", &self.step_count)
            .finish_non_exhaustive()
    }
}

/// What the running thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// It goes on.
    Stay,
    /// Another thread, or nobody: it suspends.
    Suspend,
}

impl Execution {
    pub(super) fn new(settings: Settings, tape: Tape) -> Self {
        Execution {
            pool: Pool::new(settings.stack_size),
            settings,
            promoted: HashSet::new(),
            epoch: 0,
            threads: Vec::new(),
            thread_count: 0,
            pending: Vec::new(),
            objects: Vec::new(),
            object_count: 0,
            map: AddressMap::new(),
            hash: DependenceHash::default(),
            enabled: ThreadSet::new(),
            early: ThreadSet::new(),
            waiting: ThreadSet::new(),
            ended: ThreadSet::new(),
            awaited: Vec::new(),
            current: 0,
            previous: None,
            yielded: false,
            step_count: 0,
            step_preemption: false,
            step_early: false,
            step_branches: Vec::new(),
            accesses: Vec::new(),
            chooser: None,
            every_point: false,
            observer: None,
            tape,
            end: None,
            promotion: false,
            giving_up: false,
            give_up_steps: 0,
            now: Duration::ZERO,
            idle_wakes: 0,
            last_woken: 0,
            panic_count: 0,
            at_end: Vec::new(),
            static_atomics: Vec::new(),
            quarantine: Box::new(super::allocator::Quarantine::new()),
            heartbeat: std::sync::Arc::default(),
        }
    }

    pub(super) fn begin(
        &mut self,
        epoch: u32,
        chooser: *mut dyn Chooser,
        observer: Option<*mut dyn Observer>,
    ) {
        self.epoch = epoch;
        self.thread_count = 0;
        self.pending.clear();
        self.object_count = 0;
        self.map.begin(epoch);
        self.hash.clear();
        self.enabled.clear();
        self.early.clear();
        self.waiting.clear();
        self.ended.clear();
        self.awaited.iter_mut().for_each(Vec::clear);
        self.previous = None;
        self.yielded = false;
        self.step_count = 0;
        self.step_branches.clear();
        self.chooser = Some(chooser);
        self.every_point = self.chooser_mut().wants_every_point();
        self.observer = observer;
        self.tape.clear();
        self.end = None;
        self.promotion = false;
        self.giving_up = false;
        self.give_up_steps = 0;
        self.now = Duration::ZERO;
        self.idle_wakes = 0;
        self.last_woken = 0;
        self.panic_count = 0;
    }

    /// Forgets chooser and observer, whose lifetime ends.
    pub(super) fn detach(&mut self) {
        self.chooser = None;
        self.observer = None;
    }

    // ---- announcing and deciding -------------------------------------------------------------------------------

    /// The running thread announces its next operation: afterwards it is known who can go on.
    #[inline]
    pub(super) fn announce(&mut self, operation: Operation, location: &'static Location<'static>) {
        let me = self.current;
        self.pending[me] = operation;
        self.threads[me].location = Some(location);
        if self.every_point
            && !is_pause(operation.action)
            && let Some(awaited) = self.awaited.get_mut(me)
        {
            awaited.clear();
        }
        if may_block(operation.action) {
            self.waiting.insert(me);
            self.reconsider_thread(me);
        }
    }

    /// Chooses who takes the next step. On `Suspend` the caller must suspend its coroutine at once.
    #[inline]
    pub(super) fn decide(&mut self) -> Next {
        let me = self.current;
        let alone = self.enabled.is_only(me) && self.early.is_empty();
        if alone && !self.every_point && self.step_count < self.settings.max_steps {
            self.take(me, false, false);
            return Next::Stay;
        }
        self.decide_among()
    }

    #[inline]
    fn chooser_mut(&mut self) -> &mut dyn Chooser {
        match self.chooser {
            // SAFETY: `begin` received the pointer from `CoroutineProgram::run`, whose `&mut` to the chooser is
            // not used until the execution is over and `detach` has been called.
            Some(chooser) => unsafe { &mut *chooser },
            None => unreachable!("an execution runs only between begin and detach"),
        }
    }

    fn decide_among(&mut self) -> Next {
        if self.step_count >= self.settings.max_steps || self.tape.is_full() {
            let message = format!(
                "one execution took more than {} steps: the test may never end, or max_steps is too small for it",
                self.settings.max_steps
            );
            self.fail(Failure::new(FailureKind::StepLimit, message));
            return Next::Suspend;
        }
        let me = self.current;
        let mut free = false;
        if self.enabled.is_empty() {
            if !self.free_the_stuck() {
                return Next::Suspend;
            }
            free = true;
        }
        if !free && self.early.is_empty() && !self.every_point {
            let only = self.enabled.first().filter(|&t| self.enabled.is_only(t));
            if let Some(next) = only {
                self.take(next, false, false);
                return if next == me && self.threads[me].life == Life::Live {
                    Next::Stay
                } else {
                    Next::Suspend
                };
            }
        }
        let place = self.place();
        if self.every_point {
            self.refresh_counts();
        }
        let point = SchedulingPoint {
            step: self.step_count,
            previous: self.previous,
            yielded: self.yielded,
            enabled: &self.enabled,
            early: &self.early,
            pending: &self.pending,
            awaited: &self.awaited,
            ended: &self.ended,
            place,
        };
        // SAFETY: see `chooser_mut`; the chooser does not lead back to the execution.
        let chooser = match self.chooser {
            Some(chooser) => unsafe { &mut *chooser },
            None => unreachable!("an execution runs only between begin and detach"),
        };
        let Some(thread) = chooser.choose_thread(&point) else {
            let end = match chooser.divergence() {
                Some(message) => {
                    self.fail(Failure::new(FailureKind::Divergence, message));
                    return Next::Suspend;
                }
                None => End::GivenUp,
            };
            self.stop(end);
            return Next::Suspend;
        };
        let preemption = point.is_preemption(thread);
        let early = point.is_early(thread);
        let next = thread.index();
        debug_assert!(self.enabled.contains(next) || self.early.contains(next));
        if free {
            self.settle_the_freed(next);
        }
        if preemption && let Some(observer) = self.observer {
            self.observe_preemption(observer);
        }
        self.take(next, preemption, early);
        if next == me && self.threads[me].life == Life::Live { Next::Stay } else { Next::Suspend }
    }

    /// Whether a pending drop of an `Arc` is that of the last one depends on what others have done since it was announced.
    fn refresh_counts(&mut self) {
        for thread in 0..self.thread_count {
            let Operation { action, object, .. } = self.pending[thread];
            if matches!(action, Action::CountDown | Action::CountLast) && object.is_some() {
                let last = self.counts_strong(thread) && self.is_last(object);
                self.pending[thread].action = if last { Action::CountLast } else { Action::CountDown };
            }
        }
    }

    fn counts_strong(&self, thread: usize) -> bool {
        self.threads[thread].strong
    }

    /// Identifies the place of the program where the decision is taken, for the recognition of divergences.
    fn place(&self) -> u64 {
        let previous = self.previous.map_or(0, ThreadId::index);
        let location = self.threads.get(previous).and_then(|t| t.location);
        let location = location.map_or(0, |l| super::image::relative(std::ptr::from_ref(l).addr()));
        location as u64 ^ (self.step_count << 48)
    }

    /// The thread will take the next step.
    #[inline]
    fn take(&mut self, next: usize, preemption: bool, early: bool) {
        self.tape.run(next, preemption, early);
        self.step_preemption = preemption;
        self.step_early = early;
        if early {
            self.threads[next].expired = Some(self.threads[next].readiness);
            if self.threads[next].awaiting {
                self.threads[next].go_on_early();
            }
        }
        self.previous = Some(ThreadId::new(next));
        self.yielded = false;
        self.current = next;
        self.threads[next].awaiting = false;
        self.waiting.remove(next);
        self.early.remove(next);
        self.enabled.insert(next);
    }

    /// A step that needs no decision: it touches nothing that others could see, or its thread is unwinding.
    pub(super) fn take_undecided(&mut self) {
        let yielded = self.yielded && self.previous == Some(ThreadId::new(self.current));
        self.take(self.current, false, false);
        self.yielded = yielded;
    }

    /// The previous step was a yield: leaving its thread is free.
    pub(super) fn set_yielded(&mut self) {
        self.yielded = true;
    }

    /// Nobody is enabled. Lets time pass, or lets a spinning thread turn once more; else it is a failure.
    fn free_the_stuck(&mut self) -> bool {
        let timed: Vec<usize> =
            self.waiting.iter().filter(|&t| self.threads[t].readiness == Readiness::Timeout).collect();
        if !timed.is_empty() {
            for thread in timed {
                self.early.remove(thread);
                self.enabled.insert(thread);
            }
            return true;
        }
        let mut awaiting = self.waiting.iter().filter(|&t| self.threads[t].readiness == Readiness::Awaiting);
        let first = awaiting.next();
        let next = std::iter::once(first).flatten().chain(awaiting).find(|&t| t > self.last_woken).or(first);
        match next {
            Some(thread) if self.idle_wakes < MAX_IDLE_WAKES => {
                self.idle_wakes += 1;
                self.last_woken = thread;
                self.enabled.insert(thread);
                true
            }
            Some(_) => {
                let entries = self.stuck_entries();
                let mut failure = Failure::new(
                    FailureKind::Livelock,
                    format!(
                        "threads spin for ever on values that nobody will change: {}",
                        join_words(&entries)
                    ),
                );
                failure.waiting = entries;
                self.fail(failure);
                false
            }
            None => {
                let entries = self.stuck_entries();
                let mut failure = Failure::new(FailureKind::Deadlock, join_words(&entries));
                failure.waiting = entries;
                self.fail(failure);
                false
            }
        }
    }

    /// After a free expiry: the threads that were offered and not chosen wait on.
    fn settle_the_freed(&mut self, chosen: usize) {
        let others: Vec<usize> = self.enabled.iter().filter(|&t| t != chosen).collect();
        for thread in others {
            self.enabled.remove(thread);
            self.reconsider_thread(thread);
        }
        if self.threads[chosen].readiness == Readiness::Timeout {
            self.threads[chosen].expired = Some(Readiness::Timeout);
        }
    }

    fn stuck_entries(&self) -> Vec<DeadlockEntry> {
        (0..self.thread_count)
            .filter(|&t| self.threads[t].life != Life::Ended)
            .map(|t| {
                let operation = self.pending[t];
                let held_by = self.holders(t);
                let words = self.waiting_words(t, &held_by);
                let location = self.observer.and(self.threads[t].location).map(Into::into);
                DeadlockEntry { thread: ThreadId::new(t), operation, location, held_by, words }
            })
            .collect()
    }

    // ---- readiness ---------------------------------------------------------------------------------------------

    /// Finds out whether a thread's pending operation can take effect, and keeps the sets true.
    pub(super) fn reconsider_thread(&mut self, thread: usize) {
        let readiness = self.readiness(thread);
        self.threads[thread].readiness = readiness;
        if readiness == Readiness::Ready {
            self.enabled.insert(thread);
            self.early.remove(thread);
        } else {
            self.enabled.remove(thread);
            // A thread that seems to spin may also be counting its attempts: at a cost it goes on, so that no behaviour
            // is lost at every bound.
            let early = matches!(readiness, Readiness::Timeout | Readiness::Awaiting)
                || (readiness == Readiness::Spurious && self.settings.spurious);
            if early {
                self.early.insert(thread);
            } else {
                self.early.remove(thread);
            }
        }
    }

    /// An object has changed: those who wait for it may go on, or no longer.
    #[inline]
    pub(super) fn reconsider(&mut self, object: ObjectId) {
        if !self.waiting.is_empty() {
            self.reconsider_waiting(object);
        }
    }

    fn reconsider_waiting(&mut self, object: ObjectId) {
        let mut next = self.waiting.first();
        while let Some(thread) = next {
            let pending = &self.pending[thread];
            if pending.object == object || pending.other == object || self.threads[thread].awaiting {
                self.reconsider_thread(thread);
            }
            next = self.waiting.next_after(thread);
        }
    }

    // ---- after the effect --------------------------------------------------------------------------------------

    /// Completes a step that touched one object.
    #[inline]
    pub(super) fn finish_single(
        &mut self,
        operation: Operation,
        access: Access,
        read: Option<u64>,
        written: Option<u64>,
        note: Option<&'static str>,
    ) {
        let me = self.current;
        self.hash.step(me, access);
        if access.mode != Mode::Read {
            self.reconsider(access.object);
        }
        if self.observer.is_some() || self.every_point {
            self.accesses.clear();
            self.accesses.push(access);
            self.observe_step(operation, read, written, note);
            self.tell_step(operation);
        }
        self.count_step();
    }

    /// Completes a step that touched what stands in `accesses`; `tag` tells its outcome.
    pub(super) fn finish_many(&mut self, operation: Operation, tag: u64, note: Option<&'static str>) {
        let me = self.current;
        self.hash.step_many(me, &self.accesses, tag);
        for index in 0..self.accesses.len() {
            let access = self.accesses[index];
            if access.mode != Mode::Read {
                self.reconsider(access.object);
            }
        }
        if self.observer.is_some() || self.every_point {
            self.observe_step(operation, None, None, note);
            self.tell_step(operation);
        }
        self.count_step();
    }

    /// Tells the chooser of the step, if it wants to know. The accesses stand in `accesses`.
    fn tell_step(&mut self, operation: Operation) {
        if self.every_point
            && let Some(chooser) = self.chooser
        {
            let yielded = is_pause(operation.action);
            let thread = ThreadId::new(self.current);
            let step = Taken { thread, operation, accesses: &self.accesses, yielded };
            // SAFETY: see `chooser_mut`.
            unsafe { (*chooser).stepped(&step) };
        }
    }

    /// The running thread has ended.
    pub(super) fn note_end(&mut self, object: ObjectId) {
        self.ended.insert(self.current);
        if self.every_point {
            let thread = ThreadId::new(self.current);
            self.chooser_mut().ended(thread, object);
        }
    }

    /// The running thread's pending operation waits for a change of what it has read, or would if nothing had
    /// changed: reductions have to know.
    pub(super) fn note_awaited(&mut self) {
        if !self.every_point {
            return;
        }
        let me = self.current;
        if self.awaited.len() <= me {
            self.awaited.resize_with(me + 1, Vec::new);
        }
        let thread = &self.threads[me];
        self.awaited[me].clear();
        if thread.could_await() {
            self.awaited[me].extend(thread.reads.iter().map(|read| ObjectId::new(read.object as usize)));
        }
    }

    #[inline]
    fn count_step(&mut self) {
        self.step_count += 1;
        self.heartbeat.beat(self.step_count, self.threads[self.current].location);
        if !self.step_branches.is_empty() {
            self.step_branches.clear();
        }
    }

    /// The running thread's timed wait has expired: the clock stands just behind its end, so that a loop that asks
    /// whether the time is over sees that it is.
    pub(super) fn expire(&mut self) {
        self.now += self.threads[self.current].timeout + Duration::from_nanos(1);
    }

    /// Something that a spinning thread could have waited for has changed.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        self.idle_wakes = 0;
    }

    #[cold]
    pub(super) fn observe_step(
        &mut self,
        operation: Operation,
        read: Option<u64>,
        written: Option<u64>,
        note: Option<&'static str>,
    ) {
        let Some(observer) = self.observer else { return };
        let event = StepEvent {
            index: self.step_count,
            thread: ThreadId::new(self.current),
            operation,
            accesses: &self.accesses,
            early: self.step_early,
            preemption: self.step_preemption,
            read,
            written,
            note,
            location: self.threads[self.current].location,
            branches: &self.step_branches,
        };
        // SAFETY: as for the chooser: the pointer is valid between `begin` and `detach`, and the observer does not
        // lead back to the execution.
        unsafe { (*observer).step(&event) };
    }

    #[cold]
    fn observe_preemption(&mut self, observer: *mut dyn Observer) {
        // SAFETY: see `observe_step`.
        let observer = unsafe { &mut *observer };
        if observer.wants_backtraces() {
            let thread = self.previous.unwrap_or(ThreadId::MAIN);
            observer.backtrace(thread, super::backtrace::capture());
        }
    }

    /// Asks which outcome the step has.
    pub(super) fn branch(&mut self, operation: Operation, count: u32, costly: bool) -> u32 {
        let point = BranchPoint { thread: ThreadId::new(self.current), operation, count, costly };
        let index = self.chooser_mut().choose_branch(&point).min(count - 1);
        self.tape.branch(index, point.cost(index) > 0);
        self.step_branches.push(index);
        index
    }

    // ---- objects -----------------------------------------------------------------------------------------------

    /// Enters an object that this execution has not seen.
    #[cold]
    pub(super) fn register(
        &mut self,
        class: ObjectClass,
        type_name: &'static str,
        address: *const (),
        location: Option<&'static Location<'static>>,
    ) -> ObjectId {
        let id = ObjectId::new(self.object_count);
        if self.objects.len() == self.object_count {
            self.objects.push(Object::default());
        }
        self.objects[self.object_count].reset(class);
        self.object_count += 1;
        self.hash.object();
        if let Some(observer) = self.observer {
            let symbol = super::image::symbol(address);
            let info = ObjectInfo {
                id,
                class,
                type_name: type_name.to_owned(),
                first_used_at: location.map(Into::into),
                symbol,
            };
            // SAFETY: see `observe_step`.
            unsafe { (*observer).object(info) };
        }
        id
    }

    /// Takes note of what has been freed since the last operation: objects in it are gone.
    #[inline]
    pub(super) fn note_freed(&mut self) {
        if self.quarantine.has_news() {
            self.note_new_blocks();
        }
    }

    #[cold]
    fn note_new_blocks(&mut self) {
        while self.quarantine.has_news() {
            let index = self.quarantine.noted;
            self.quarantine.noted += 1;
            let block = self.quarantine.get(index);
            self.map.forget_block(block.start, block.size);
            if self.quarantine.is_freed_again(index) {
                self.quarantine.forget(index);
                let message = format!("a block of {} bytes is freed a second time", block.size);
                self.fail(Failure::new(FailureKind::DoubleFree, message));
            }
        }
    }

    // ---- ending ------------------------------------------------------------------------------------------------

    /// The program under test has failed; the execution ends here.
    #[cold]
    pub(super) fn fail(&mut self, mut failure: Failure) {
        if failure.thread.is_none() && failure.waiting.is_empty() {
            failure.thread = Some(ThreadId::new(self.current));
            if self.observer.is_some() {
                failure.location =
                    failure.location.or_else(|| self.threads[self.current].location.map(Into::into));
                if failure.trace.failure_backtrace.is_empty() {
                    failure.trace.failure_backtrace = super::backtrace::capture();
                }
            }
        }
        self.stop(End::Failed(Box::new(failure)));
    }

    /// The execution ends here, in this way, unless it has ended in another one before.
    pub(super) fn stop(&mut self, end: End) {
        if self.end.is_some() {
            return;
        }
        if self.every_point && !matches!(end, End::GivenUp) {
            self.refresh_counts();
            let me = ThreadId::new(self.current);
            let blocked = matches!(&end, End::Failed(failure) if !failure.waiting.is_empty());
            let without = (!blocked).then_some(me);
            let place = 0;
            let point = SchedulingPoint {
                step: self.step_count,
                previous: self.previous,
                yielded: self.yielded,
                enabled: &self.enabled,
                early: &self.early,
                pending: &self.pending,
                awaited: &self.awaited,
                ended: &self.ended,
                place,
            };
            if let Some(chooser) = self.chooser {
                // SAFETY: see `chooser_mut`.
                unsafe { (*chooser).over(&point, without) };
            }
        }
        self.end = Some(end);
    }
}

const fn is_pause(action: Action) -> bool {
    matches!(action, Action::Yield | Action::SpinLoop | Action::Sleep)
}

/// Whether others can disable the action's pending operation, or enable it.
#[inline]
fn may_block(action: Action) -> bool {
    !matches!(
        action,
        Action::Load(_)
            | Action::Store(_)
            | Action::ReadModifyWrite(_)
            | Action::CompareExchange { .. }
            | Action::Unlock
            | Action::Spawn
            | Action::TryLock
            | Action::CountUp
            | Action::CountDown
            | Action::CountLast
            | Action::CellRead
            | Action::CellWrite
            | Action::NotifyAll
            | Action::NotifyOne
    )
}

fn join_words(entries: &[DeadlockEntry]) -> String {
    let words: Vec<&str> = entries.iter().map(|entry| entry.words.as_str()).collect();
    words.join("; ")
}
