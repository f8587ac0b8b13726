//! The running execution: owns threads and objects, asks the chooser where more than one thread can go on, and
//! applies operations. It never chooses by itself.
//!
//! The decision about the next step is taken on the stack of the thread that has just announced its operation;
//! a coroutine switch happens only when another thread is chosen. Code here must not hold a reference to the
//! execution across a switch: the functions that may switch take a raw pointer.

use super::address_map::{AddressMap, Kind, Places, key, lines, object};
use super::coasting::Coasting;
use super::coroutine::Pool;
use super::mixed::Mixed;
use super::objects::Object;
use super::slots::Slots;
use crate::memory::shadow::Shadow;
use crate::program::{Chooser, End, Foreseen, Granularity, Observer, Place, ThreadSet};
use crate::recording::Tape;
use crate::trace::table::{in_program, place_in_program};
use crate::trace::{
    Access, Failure, FailureKind, Mode, ObjectClass, ObjectId, ObjectInfo, Operation, ThreadId,
};
use std::time::Duration;

/// How executions are run; the same for all executions of a search.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where threads may be switched.
    pub granularity: Granularity,
    /// Whether condvar waits wake and `compare_exchange_weak` fails spuriously, at a cost of 1 each.
    pub spurious: bool,
    /// Whether time passes only when no thread can go on: sleeps and timeouts are never over before that.
    pub auto_advance: bool,
    /// Whether loads of atomic variables may read stale values, at a cost of 1 each.
    pub weak_memory: bool,
    /// How often in a row a thread may go on early in the same loop, or wait, at a cost of 1 each. More would only repeat what
    /// the loop does, and a search without a bound would never end; one with a bound needs as many as that.
    pub max_early: u32,
    /// Whether a thread that goes round in a loop in which it provably does the same again waits until something that it reads is changed,
    /// without going on early at a cost: it would find nothing.
    pub idle_turns: bool,
    /// Whether nothing but the program under test changes the statics of this process.
    pub owns_statics: bool,
    /// Whether a racing variable becomes a synchronization variable instead of a failure.
    pub promote: bool,
    /// Longest execution, in steps.
    pub max_steps: u64,
    /// Stack of a thread, in bytes.
    pub stack_size: usize,
    /// What each stack has beyond, for an observer, who works on the stack of the thread that he observes: he needs much more than the engine
    /// alone. A thread that comes to it has overflowed its stack.
    pub stack_reserve: usize,
    /// Whether the threads of a failed execution are unwound, so that the search can go on; else their stacks are
    /// given up as they are.
    pub unwind_failed: bool,
    /// Whether memory that is never freed is a failure.
    pub check_leaks: bool,
    /// Whether it is a failure that the memory of an object is freed where nothing orders that after its uses; `None`: where accesses to
    /// plain memory are checked.
    pub check_frees: Option<bool>,
    /// Whether a block may lie where another one lay that its thread has freed in the same execution.
    pub reuse_addresses: bool,
    /// Whether a panic in a thread that nobody joins is no failure, as under Rust's own harness.
    pub allow_unjoined_panics: bool,
    /// Whether an execution that is given up runs to its end all the same, uncounted unless it fails, and not where threads are nested calls.
    /// Unwinding its threads half-way is slower for most programs, and runs the destructors of the program under test in
    /// states that it never comes to by itself: one that asserts something would panic, and end the process.
    pub run_out: bool,
    /// Whether threads are nested calls on one stack; see `sequential`. Needs a strategy that chooses accordingly.
    pub sequential: bool,
    /// Whether threads that wait for ever are no failure once the test itself has ended, as under Rust's own harness.
    pub detached: bool,
    /// Whether `std`'s random hashing begins with the same keys in every execution.
    pub fixed_hashing: bool,
    /// Which of the possible assignments of random numbers it is that every execution gets.
    pub random_seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            granularity: Granularity::SyncOnly,
            spurious: true,
            auto_advance: false,
            weak_memory: false,
            max_early: 3,
            idle_turns: true,
            owns_statics: false,
            promote: false,
            max_steps: 20_000,
            stack_size: 256 * 1024,
            stack_reserve: 0,
            unwind_failed: false,
            check_leaks: false,
            check_frees: None,
            reuse_addresses: false,
            allow_unjoined_panics: false,
            run_out: true,
            sequential: false,
            detached: false,
            fixed_hashing: false,
            random_seed: 0,
        }
    }
}

/// The payload that unwinds the threads of an execution that is given up.
pub(super) struct GiveUp;

/// One execution, and everything that is kept warm between executions.
pub(super) struct Execution {
    pub(super) settings: Settings,
    pub(super) promoted: Places,
    pub(super) epoch: u32,
    pub(super) threads: Slots,
    pub(super) thread_count: usize,
    pub(super) ended_count: usize,
    pub(super) pending: Vec<Operation>,
    pub(super) objects: Vec<Object>,
    pub(super) object_count: usize,
    pub(super) map: AddressMap,
    pub(super) enabled: ThreadSet,
    pub(super) early: ThreadSet,
    /// [`SchedulingPoint::idle`](crate::program::SchedulingPoint::idle).
    pub(super) idle: ThreadSet,
    /// Threads whose pending operation may become enabled or disabled by what others do.
    pub(super) waiting: ThreadSet,
    /// A bit, by number modulo 64, for every object that a waiting thread waits for; all bits if one waits for a change
    /// of what it has read. May have bits too many.
    pub(super) waited: u64,
    pub(super) ended: ThreadSet,
    /// What pending pauses wait for a change of; filled only for choosers that are told everything.
    pub(super) awaited: Vec<Vec<ObjectId>>,
    /// Steps that are taken without asking.
    pub(super) coasting: Coasting,
    /// The threads whose list is not empty.
    pub(super) awaiting: ThreadSet,
    pub(super) current: usize,
    pub(super) previous: Option<ThreadId>,
    pub(super) yielded: bool,
    pub(super) step_count: u64,
    pub(super) step_preemption: bool,
    pub(super) step_early: bool,
    pub(super) step_branches: Vec<u32>,
    pub(super) accesses: Vec<Access>,
    pub(super) chooser: Option<*mut dyn Chooser>,
    /// Some object is a reference count.
    pub(super) has_counts: bool,
    /// Who may be about to let go of a count: a bit for each thread, the last one for all that have none of their own.
    pub(super) counting: u64,
    /// The chooser is asked even where there is nothing to choose, and told of every step.
    pub(super) every_point: bool,
    /// That is so, or will be.
    pub(super) tells: bool,
    /// From this step on decisions take the long way: the chooser begins to listen, or the execution gets too long.
    pub(super) slow_from: u64,
    /// Something is not as usual: somebody watches the steps, a thread unwinds, the execution has ended or is being
    /// given up. Where it is not set, an operation takes the short way.
    pub(super) attention: bool,
    /// It is not only that the chooser is told of every step. Where that is all, the short ways are taken, and tell.
    pub(super) wants_more: bool,
    /// As `wants_more`, and besides for the time of a step on a variable that is plain memory too.
    pub(super) closely: bool,
    /// Atomic steps are completed by `mixed` if not the short way.
    pub(super) finishes_apart: bool,
    /// Some crate of the program reports its accesses to plain memory.
    pub(super) accesses_hooked: bool,
    /// Whether a free has to come after the uses of what lies there.
    pub(super) checks_frees: bool,
    /// This execution or an earlier one has looked at what is on stacks.
    pub(super) compares_stacks: bool,
    /// It is looked whether somebody does the same again: the registers are noted at each atomic operation.
    pub(super) notes_registers: bool,
    /// And that is so because of a loop without a hint: in every execution of the schedule.
    pub(super) watches_loops: bool,
    /// Those of this thread at the operation that it was about to announce after so many steps.
    pub(super) registers: super::registers::Registers,
    pub(super) registers_of: (usize, u64),
    /// More is written down of each access than its place in the shadow.
    pub(super) notes_accesses: bool,
    pub(super) shadow: Shadow,
    pub(super) mixed: Mixed,
    /// Where else than on its own stack and in blocks a thread may have changed something. Only for as long as it is looked.
    pub(super) elsewhere: Vec<super::arena::Range>,
    /// Kept from one execution to the next.
    pub(super) shared_stacks: super::shared_stacks::SharedStacks,
    pub(super) memory_notes: super::accesses::MemoryNotes,
    /// What the chooser has decided beforehand; empty if it must be asked.
    pub(super) foreseen: Script,
    pub(super) observer: Option<*mut dyn Observer>,
    /// The observer wants backtraces: a failure is being replayed.
    pub(super) backtraces: bool,
    pub(super) resolver: super::backtrace::Resolver,
    pub(super) tape: Tape,
    pub(super) pool: Pool<super::ThreadMain>,
    /// Some thread has a stack that does not stay with its slot.
    pub(super) has_large_stacks: bool,
    pub(super) end: Option<End>,
    pub(super) promotion: bool,
    pub(super) giving_up: bool,
    /// The chooser has given the execution up, and it runs to its end.
    pub(super) runs_out: bool,
    /// The execution has passed although threads wait for ever.
    pub(super) left_waiting: bool,
    pub(super) give_up_steps: u32,
    /// Threads of this and earlier executions that could not be unwound.
    pub(super) left_behind: u32,
    /// A thread is being unwound because the execution is given up.
    pub(super) unwinds_one: bool,
    /// The program aborts when it is unwound: its threads are left as they are.
    pub(super) never_unwinds: bool,
    /// A thread has been left in the middle of a panic.
    pub(super) left_panicking: bool,
    pub(super) now: Duration,
    /// The clock before time passed because nobody could go on, until it is chosen who does.
    pub(super) time_before: Option<Duration>,
    pub(super) idle_wakes: u32,
    /// Somebody who may be counting its rounds is let on before a timed wait expires.
    pub(super) counts_rounds: bool,
    /// Timed waits that were over because nobody could go on.
    pub(super) free_expiries: u32,
    pub(super) last_woken: usize,
    /// How often each thread was let on after the end of the test, added up.
    pub(super) let_on_late: u64,
    /// Waited for a change, and was let on because nobody could go on.
    pub(super) freed: Option<usize>,
    pub(super) panic_count: u32,
    /// Whether the clock has been read in this execution, by one of several threads.
    pub(super) clock_read: bool,
    clock_matters: bool,
    pub(super) at_end: super::statics::AtEnd,
    pub(super) statics: super::statics::Statics,
    /// Boxed: the allocator holds a pointer to it.
    pub(super) quarantine: Box<super::allocator::Quarantine>,
    /// Boxed: the quarantine holds a pointer to it while it is open.
    pub(super) ledger: Box<super::ledger::Ledger>,
    pub(super) reuse: Box<super::reuse::Reuse>,
    /// What is ordered by what the model does not see.
    pub(super) foreign: super::foreign::Variables,
    /// Where objects have been used, in a replay.
    pub(super) uses: super::uses::Uses,
    /// What threads share that is not memory.
    pub(super) uses_of_surroundings: super::surroundings::Uses,
    /// Objects of a block that has been freed; empty in between.
    gone: Vec<u32>,
    /// Where loads may read stale values.
    pub(super) weak: super::weak::WeakMemory,
    /// Values that their last owner is dropping: where that owner is, and the counts.
    pub(super) going: Vec<(usize, ObjectId)>,
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

/// Decisions that the chooser has taken beforehand, and how far the execution has followed them.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The chooser's own.
    decisions: Option<std::ptr::NonNull<[Foreseen]>>,
    next: usize,
    /// Those that the chooser knows to be taken.
    told: usize,
}

impl Script {
    fn of(decisions: &[Foreseen]) -> Self {
        Script { decisions: Some(decisions.into()), next: 0, told: 0 }
    }

    /// The choice for the decision at this place, if it has been taken beforehand.
    #[inline(always)]
    pub(super) fn follow(&mut self, place: u64) -> Option<u32> {
        let decisions = self.decisions.filter(|decisions| self.next < decisions.len())?;
        // SAFETY: `begin` received the slice from the chooser, which outlives the execution (see `chooser_mut`) and
        // leaves these decisions where they are until it has been asked for one after them; `next` is then beyond.
        let foreseen = unsafe { &decisions.as_ref()[self.next] };
        if foreseen.place != place {
            return None;
        }
        self.next += 1;
        Some(foreseen.chosen)
    }

    /// The chooser is about to be asked: how many decisions it has to be told of. It will have taken one more.
    #[inline]
    pub(super) fn interrupt(&mut self) -> usize {
        let count = self.next - self.told;
        self.next += 1;
        self.told = self.next;
        count
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
            pool: Pool::new(settings.stack_size, settings.stack_reserve),
            has_large_stacks: false,
            settings,
            promoted: Places::default(),
            epoch: 0,
            threads: Slots::new(),
            thread_count: 0,
            ended_count: 0,
            pending: Vec::new(),
            objects: Vec::new(),
            object_count: 0,
            map: AddressMap::new(),
            enabled: ThreadSet::new(),
            early: ThreadSet::new(),
            idle: ThreadSet::new(),
            waiting: ThreadSet::new(),
            waited: 0,
            ended: ThreadSet::new(),
            awaited: Vec::new(),
            awaiting: ThreadSet::new(),
            coasting: Coasting::default(),
            current: 0,
            previous: None,
            yielded: false,
            step_count: 0,
            step_preemption: false,
            step_early: false,
            step_branches: Vec::new(),
            accesses: Vec::new(),
            chooser: None,
            has_counts: false,
            counting: 0,
            every_point: false,
            tells: false,
            slow_from: 0,
            attention: false,
            wants_more: false,
            closely: false,
            finishes_apart: false,
            mixed: Mixed::default(),
            accesses_hooked: false,
            checks_frees: false,
            compares_stacks: false,
            notes_registers: false,
            watches_loops: false,
            registers: super::registers::Registers::default(),
            registers_of: (usize::MAX, 0),
            elsewhere: Vec::new(),
            notes_accesses: false,
            shadow: Shadow::default(),
            shared_stacks: super::shared_stacks::SharedStacks::default(),
            memory_notes: super::accesses::MemoryNotes::default(),
            foreseen: Script::default(),
            observer: None,
            backtraces: false,
            resolver: super::backtrace::Resolver::default(),
            tape,
            end: None,
            promotion: false,
            giving_up: false,
            runs_out: false,
            left_waiting: false,
            give_up_steps: 0,
            left_behind: 0,
            unwinds_one: false,
            never_unwinds: false,
            left_panicking: false,
            now: Duration::ZERO,
            time_before: None,
            idle_wakes: 0,
            counts_rounds: false,
            free_expiries: 0,
            last_woken: 0,
            let_on_late: 0,
            freed: None,
            panic_count: 0,
            clock_read: false,
            clock_matters: false,
            at_end: super::statics::AtEnd::default(),
            statics: super::statics::Statics::default(),
            quarantine: Box::new(super::allocator::Quarantine::new()),
            heartbeat: std::sync::Arc::default(),
            ledger: Box::default(),
            reuse: Box::default(),
            foreign: super::foreign::Variables::default(),
            uses_of_surroundings: super::surroundings::Uses::new(),
            uses: super::uses::Uses::default(),
            gone: Vec::new(),
            weak: super::weak::WeakMemory::new(),
            going: Vec::new(),
        }
    }

    /// An execution begins: the allocator is told what to write down, and what to use again.
    pub(super) fn instruct_allocator(&mut self, histories: bool) {
        self.reuse.clear();
        self.quarantine.reuse =
            if self.settings.reuse_addresses { &raw mut *self.reuse } else { std::ptr::null_mut() };
        self.ledger.begin(self.settings.check_leaks, histories);
        let open = self.ledger.is_open();
        self.quarantine.ledger = if open { &raw mut *self.ledger } else { std::ptr::null_mut() };
    }

    pub(super) fn begin(
        &mut self,
        epoch: u32,
        chooser: *mut dyn Chooser,
        observer: Option<*mut dyn Observer>,
    ) {
        self.epoch = epoch;
        self.thread_count = 0;
        self.ended_count = 0;
        self.pending.clear();
        self.object_count = 0;
        self.map.begin(epoch);
        // Where threads are nested calls, what is freed is used again at once.
        self.accesses_hooked = super::accesses::instrumented() && !self.settings.sequential;
        self.checks_frees =
            self.settings.check_frees.unwrap_or(self.accesses_hooked) && !self.settings.promote;
        self.quarantine.watched = if self.accesses_hooked { u64::MAX } else { 0 };
        if self.accesses_hooked {
            self.shadow.begin(epoch);
            self.shared_stacks.news = false;
            self.memory_notes.begin();
            self.foreign.clear();
        }
        self.uses_of_surroundings.clear();
        self.mixed.begin(self.accesses_hooked && !self.settings.promote);
        self.finishes_apart = self.settings.weak_memory || self.mixed.is_on;
        self.enabled.clear();
        self.early.clear();
        self.idle.clear();
        self.waiting.clear();
        self.waited = 0;
        self.ended.clear();
        self.awaited.iter_mut().for_each(Vec::clear);
        self.awaiting.clear();
        self.coasting.forget();
        self.previous = None;
        self.yielded = false;
        self.step_count = 0;
        self.step_branches.clear();
        self.has_counts = false;
        self.notes_registers = false;
        self.watches_loops = false;
        self.registers_of = (usize::MAX, 0);
        self.counting = 0;
        self.chooser = Some(chooser);
        self.tells = self.chooser_mut().wants_every_point();
        let known_steps = self.chooser_mut().known_steps();
        self.every_point = self.tells && known_steps == 0;
        self.slow_from = self.settings.max_steps;
        if self.tells && !self.every_point {
            self.slow_from = known_steps.min(self.slow_from);
        }
        self.observer = observer;
        self.wants_more = observer.is_some() || (self.tells && self.ledger.keeps_histories);
        self.closely = self.wants_more;
        self.attention = self.every_point || self.wants_more;
        self.foreseen = Script::of(self.chooser_mut().foreseen());
        // SAFETY: see `observe_step`.
        self.backtraces = observer.is_some_and(|observer| unsafe { (*observer).wants_backtraces() });
        self.notes_accesses = self.wants_notes();
        self.uses.clear();
        self.tape.clear();
        self.end = None;
        self.promotion = false;
        self.giving_up = false;
        self.runs_out = false;
        self.left_waiting = false;
        self.has_large_stacks = false;
        self.give_up_steps = 0;
        self.time_before = None;
        self.clock_matters = self.clock_matters();
        self.clock_read = false;
        self.now = Duration::ZERO;
        self.idle_wakes = 0;
        self.counts_rounds = false;
        self.free_expiries = 0;
        self.last_woken = 0;
        self.let_on_late = 0;
        self.freed = None;
        self.going.clear();
        self.panic_count = 0;
        if self.settings.weak_memory {
            self.attend();
            self.begin_weakly();
        }
    }

    /// Something is not as usual from now on.
    pub(super) fn attend(&mut self) {
        self.attention = true;
        self.wants_more = true;
        self.closely = true;
    }

    /// This thread runs from now on.
    #[inline]
    pub(super) fn set_current(&mut self, thread: usize) {
        self.current = thread;
        self.threads.run(thread);
    }

    /// Of the state that the threads have come to.
    pub(super) fn fingerprint(&self) -> u128 {
        crate::dependence::fingerprint(self.threads.iter().take(self.thread_count).map(|thread| thread.hash))
    }

    /// Forgets chooser and observer, whose lifetime ends.
    pub(super) fn detach(&mut self) {
        self.chooser = None;
        self.observer = None;
        self.foreseen = Script::default();
        self.backtraces = false;
    }

    /// Enters an object that this execution has not seen.
    #[cold]
    pub(super) fn register(
        &mut self,
        class: ObjectClass,
        type_name: &'static str,
        address: *const (),
        location: Option<Place>,
    ) -> ObjectId {
        let id = ObjectId::new(self.object_count);
        if self.objects.len() == self.object_count {
            self.objects.push(Object::default());
        }
        self.objects[self.object_count].reset(class);
        self.has_counts |= class == ObjectClass::Count;
        self.object_count += 1;
        self.ledger.note_object(id.index(), address.addr());
        if let Some(observer) = self.observer {
            super::lookups::look_up(&mut self.threads.mine().idle, || {
                let symbol = super::image::symbol(address);
                let symbol = symbol.and_then(|(name, offset)| (offset == 0).then_some(name));
                let info = ObjectInfo {
                    id,
                    class,
                    type_name: type_name.to_owned(),
                    first_used_at: location.and_then(Place::location),
                    symbol,
                };
                // SAFETY: see `observe_step`.
                unsafe { (*observer).object(info) };
            });
        }
        id
    }

    /// Enters what lives at an address; its end will be told.
    pub(super) fn enter_in_map(&mut self, address: usize, kind: Kind, object: ObjectId) {
        self.map.insert(key(address, kind), object.index() as u32);
        self.quarantine.watched |= lines(address, 1).unwrap_or(u64::MAX);
    }

    /// Takes note of what has been freed since the last operation: objects in it are gone.
    #[inline]
    pub(super) fn note_freed(&mut self) {
        if self.quarantine.has_news() {
            self.note_new_blocks();
        }
    }

    #[inline(never)]
    fn note_new_blocks(&mut self) {
        while let Some((index, block)) = self.quarantine.next_news() {
            if self.accesses_hooked {
                self.foreign.futexes.forget(block.start, block.size);
                self.memory_freed(block.start, block.size);
            }
            self.objects_freed(block.start, block.size);
            if block.suspect && self.quarantine.is_freed_again(index) {
                self.quarantine.forget(index);
                self.fail_by_second_free(block.start, block.size);
            }
        }
    }

    /// The running thread has given this memory back: what lives there is gone.
    pub(super) fn objects_freed(&mut self, start: usize, size: usize) {
        let mut gone = std::mem::take(&mut self.gone);
        self.map.forget_block(start, size, &mut gone);
        for object in gone.drain(..).map(object) {
            self.tell_freed(object);
            if self.checks_frees {
                self.check_free(object, start);
            }
        }
        self.gone = gone;
    }

    /// The running thread does something to this memory by which whoever uses what lives there may fail.
    pub(super) fn objects_change(&mut self, start: usize, size: usize) {
        let mut found = std::mem::take(&mut self.gone);
        self.map.find_in_block(start, size, &mut found);
        for object in found.drain(..).map(object) {
            self.tell_touched(Access { object, mode: Mode::Write });
        }
        self.gone = found;
    }

    /// A block has been freed a second time: in a replay the failure has the backtraces of what became of it.
    #[cold]
    fn fail_by_second_free(&mut self, start: usize, size: usize) {
        let message = format!("a block of {size} bytes is freed a second time");
        let mut failure = Failure::new(FailureKind::DoubleFree, message);
        failure.memory = self.ledger.history(start);
        failure.location = failure.memory.last().and_then(|event| event.location.clone());
        self.fail(failure);
    }

    /// Whether there was an execution in which the clock was read and time has passed. To read it is no step, so a search that leaves out orders which
    /// come to the same may leave out some in which it shows something else.
    pub(super) fn clock_matters(&self) -> bool {
        self.clock_matters || (self.clock_read && !self.now.is_zero())
    }

    /// The places that have become scheduling points, relative to the image of the program; and if there are any, the parts
    /// of stacks where accesses are looked at.
    pub(super) fn promoted_points(&self) -> Vec<u64> {
        let mut points: Vec<u64> =
            self.promoted.iter().map(|&place| super::image::relative(place) as u64).collect();
        if !points.is_empty() {
            points.extend(self.shared_stacks.to_points());
        }
        points.sort_unstable();
        points
    }

    /// Takes over what [`promoted_points`](Self::promoted_points) says.
    pub(super) fn promote_points(&mut self, points: &[u64]) {
        for &point in points {
            if !self.shared_stacks.take_over_point(point) {
                self.promoted.insert(super::image::absolute(point as usize));
            }
        }
        super::surroundings::note_promoted(&self.promoted);
    }

    /// The program under test has failed; the execution ends here.
    #[cold]
    pub(super) fn fail(&mut self, mut failure: Failure) {
        if self.observer.is_some() && failure.before.is_empty() {
            // What is wrong may have come of it: values are dropped half-way.
            failure.before = super::panics::told_so_far(self);
        }
        if failure.thread.is_none() && failure.waiting.is_empty() {
            failure.thread = Some(ThreadId::new(self.current));
            if self.observer.is_some() {
                failure.location = failure
                    .location
                    .or_else(|| self.threads[self.current].location.and_then(Place::location));
                if failure.trace.failure_backtrace.is_empty() {
                    failure.trace.failure_backtrace = self.backtrace();
                }
                failure.location =
                    failure.location.map(|place| in_program(place, &failure.trace.failure_backtrace));
            }
        }
        self.stop(End::Failed(Box::new(failure)));
    }

    /// The chooser finds that the program does not do what it did before with the same choices. That is not replayed, so where the running thread stands is told now or never: it is
    /// most often the one that does something else.
    #[cold]
    pub(super) fn diverge(&mut self, message: String) {
        let mut failure = Failure::new(FailureKind::Divergence, message);
        if self.observer.is_none() {
            failure.thread = Some(ThreadId::new(self.current));
            let frames = self.take_backtrace();
            let announced = || self.threads[self.current].location.and_then(Place::location);
            failure.location = place_in_program(&frames).cloned().or_else(announced);
            failure.trace.failure_backtrace = frames;
        }
        self.fail(failure);
    }

    /// The execution ends here, in this way, unless it has ended in another one before.
    pub(super) fn stop(&mut self, end: End) {
        if self.end.is_some() {
            return;
        }
        self.attend();
        self.stop_coasting();
        if self.every_point && !matches!(end, End::GivenUp) {
            self.refresh_counts();
            let me = ThreadId::new(self.current);
            let blocked =
                self.left_waiting || matches!(&end, End::Failed(failure) if !failure.waiting.is_empty());
            let without = (!blocked).then_some(me);
            let point = self.point(0, false);
            if let Some(chooser) = self.chooser {
                // SAFETY: see `chooser_mut`.
                unsafe { (*chooser).over(&point, without) };
            }
        }
        self.end = Some(end);
    }
}
