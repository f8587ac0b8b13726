//! Deciding who takes the next step: what is announced, who can go on, and what happens when nobody can, or when somebody wants to
//! know of every step. (Where it is as usual: `choice`.)

use super::allocator::aside;
use super::execution::{Execution, Next, Script};
use super::threads::{Life, Readiness};
use super::{panics, surroundings};
use crate::program::{BranchPoint, Choice, Chooser, End, Place, SchedulingPoint, ThreadSet};
use crate::trace::{
    Action, DeadlockEntry, Failure, FailureKind, ObjectId, Operation, ScheduleEntry, ThreadId, table,
};

/// Timed waits of a thread that expire after the test has ended: a thread that waits in a loop (an idle worker of a pool)
/// waits for ever. And so often in a row, and in all, it is let on then where it waits for a change.
const MAX_LATE_EXPIRIES: u32 = 3;
/// Times the number of a thread, and added up: how often each has been let on so.
const LATE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Wake-ups of spinning threads, with nobody else able to run and nothing changing, before it counts as a livelock.
const MAX_IDLE_WAKES: u32 = 200;

/// Chooses for an execution that has been given up. It has no size, so every address will do for it.
struct RunOut;

impl Chooser for RunOut {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        Some(point.default_choice())
    }
    fn choose_branch(&mut self, _: &BranchPoint) -> u32 {
        0
    }
}

impl Execution {
    /// The running thread announces its next operation: afterwards it is known who can go on.
    #[inline(always)]
    pub(super) fn announce(&mut self, operation: Operation, place: Place) {
        let me = self.current;
        // The thread that has freed them is the one that runs.
        self.note_freed();
        self.pending[me] = operation;
        if lets_go_of_count(operation.action) {
            self.counting |= counting_bit(me);
        }
        self.threads.mine().location = Some(place);
        if !self.awaiting.is_empty() && !is_pause(operation.action) {
            self.await_nothing(me);
        }
        if may_block(operation.action) {
            let readiness = self.readiness_of(me, operation);
            if readiness == Readiness::Ready {
                // It is enabled, as whoever runs is. If another thread is chosen, it is among the waiting from then on.
                self.threads.mine().readiness = readiness;
            } else {
                self.begin_waiting(me, operation.action);
                self.settle(me, readiness);
            }
        }
    }

    /// Others can change whether the thread's pending operation can take effect.
    #[inline(always)]
    fn begin_waiting(&mut self, thread: usize, action: Action) {
        let Operation { object, other, .. } = self.pending[thread];
        self.waited |= match self.threads[thread].awaiting {
            true => u64::MAX,
            false => waited_bit(object) | waited_bit(other),
        };
        self.waiting.insert(thread);
        self.note_locker(thread, Operation { action, object, other });
    }

    /// Another thread has been chosen instead of the one that has just announced its operation.
    #[inline(always)]
    pub(super) fn stand_back(&mut self, me: usize, action: Action) {
        if may_block(action) {
            self.begin_waiting(me, action);
        }
    }

    /// Nothing is out of the ordinary for the running thread but that the chooser is told of every step.
    #[inline(always)]
    pub(super) fn only_tells(&mut self) -> bool {
        self.every_point
            && self.observer.is_none()
            && self.end.is_none()
            && !self.giving_up
            && self.freed.is_none()
            && !self.threads.mine().comes_round
            && !self.threads.mine().unwinding
            && !self.threads.mine().spins.has_secrets()
    }

    /// The same, after a look at what the thread has done since its last step where it is not seen.
    #[inline]
    pub(super) fn only_tells_now(&mut self) -> bool {
        if self.accesses_hooked && !self.giving_up && self.end.is_none() {
            self.look_at_futexes();
        }
        self.only_tells()
    }

    /// [`decide`](Self::decide), where the chooser is told of every step: in short what is done otherwise, if that is all that is not
    /// as usual.
    #[inline(never)]
    pub(super) fn decide_telling(&mut self) -> Next {
        if self.coasting.is_on && self.coast() {
            return Next::Stay;
        }
        self.stop_coasting();
        let goes_on = self.step_count < self.slow_from && !self.tape.is_full() && !self.enabled.is_empty();
        if self.wants_more || !goes_on || self.quarantine.has_news() {
            return self.decide_attentively();
        }
        // Nothing has been taken without asking since the telling began.
        let place = self.place();
        let counts_unchanged = !self.refresh_counts();
        let point = self.point(place, counts_unchanged);
        let Some(Choice { thread, may_coast }) = self.ask(|chooser| chooser.choose_step(&point)) else {
            let default = point.default_choice();
            return self.go_on_unchosen(default);
        };
        let next = thread.index();
        if self.goes_on(next) {
            if may_coast {
                self.begin_coasting();
            }
            self.take_again(next);
            return Next::Stay;
        }
        let (preemption, early) = (point.is_preemption(thread), point.is_early(thread));
        if may_coast {
            self.begin_coasting();
        }
        let me = self.current;
        self.take(next, preemption, early);
        if next == me { Next::Stay } else { Next::Suspend }
    }

    /// [`decide_among`](Self::decide_among), where something is not as usual.
    #[inline(never)]
    pub(super) fn decide_attentively(&mut self) -> Next {
        self.stop_coasting();
        if self.tells && !self.every_point && self.step_count >= self.slow_from {
            self.begin_telling();
            if !self.wants_more && self.end.is_none() {
                return self.decide_telling();
            }
        }
        if self.every_point {
            self.note_freed();
        }
        if self.end.is_some() {
            return Next::Suspend;
        }
        if self.step_count >= self.settings.max_steps || self.tape.is_full() {
            let mut failure = Failure::new(FailureKind::StepLimit, self.too_long());
            if self.settings.detached {
                // Such a test is most often run once instead of being replayed: the place is told now or never.
                failure.location = table::place_in_program(&self.take_backtrace()).cloned();
            }
            self.fail(failure);
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
        if self.early.is_empty() && !self.every_point {
            let only = self.enabled.first().filter(|&t| self.enabled.is_only(t));
            if let Some(next) = only {
                if free {
                    self.settle_the_freed(next);
                }
                self.take(next, false, false);
                return if next == me && self.threads[me].life == Life::Live {
                    Next::Stay
                } else {
                    Next::Suspend
                };
            }
        }
        self.catch_up();
        let place = self.place();
        let counts_unchanged = !self.has_counts || (self.every_point && !self.refresh_counts());
        let mut point = self.point(place, counts_unchanged);
        // Where nobody could go on, whoever is let on now preempts nobody.
        point.yielded |= free;
        let (thread, runs_out) = match self.ask(|chooser| chooser.choose_thread(&point)) {
            Some(thread) => (thread, false),
            None => match self.ask(|chooser| chooser.divergence()) {
                Some(message) => {
                    self.diverge(message);
                    return Next::Suspend;
                }
                None if self.may_run_out() => (point.default_choice(), true),
                None => {
                    self.stop(End::GivenUp);
                    return Next::Suspend;
                }
            },
        };
        let next = thread.index();
        if next < ThreadSet::WORD && self.previous == Some(thread) && !free && !runs_out && self.goes_on(next)
        {
            self.take_again(next);
            return Next::Stay;
        }
        let preemption = point.is_preemption(thread);
        let early = point.is_early(thread);
        debug_assert!(self.enabled.contains(next) || self.early.contains(next));
        if runs_out {
            self.run_out();
        }
        if free {
            self.settle_the_freed(next);
        }
        if preemption && let Some(observer) = self.observer {
            self.observe_preemption(observer);
        }
        self.take(next, preemption, early);
        if next == me && self.threads[me].life == Life::Live { Next::Stay } else { Next::Suspend }
    }

    /// The chooser knows what has been done so far, and is told of everything from here on.
    fn begin_telling(&mut self) {
        self.catch_up();
        self.every_point = true;
        self.attention = true;
        self.slow_from = self.settings.max_steps;
        for thread in 0..self.thread_count {
            if is_pause(self.pending[thread].action) || self.threads[thread].awaiting {
                self.note_awaited(thread);
            } else {
                self.await_nothing(thread);
            }
        }
    }

    /// Whether an execution that the chooser gives up goes on to its end.
    pub(super) fn may_run_out(&self) -> bool {
        self.settings.run_out && !self.settings.sequential
    }

    /// The chooser has given the execution up: it goes on to its end by default choices, of which nobody is told.
    pub(super) fn run_out(&mut self) {
        let chooser: *mut dyn Chooser = std::ptr::NonNull::<RunOut>::dangling().as_ptr();
        self.chooser = Some(chooser);
        self.every_point = false;
        self.tells = false;
        self.attend();
        self.foreseen = Script::default();
        self.runs_out = true;
    }

    /// Whether a pending drop of an `Arc` is that of the last one depends on what others have done since it was announced.
    /// Says whether the operation of a thread that did not take the last step is another one now.
    #[inline]
    pub(super) fn refresh_counts(&mut self) -> bool {
        self.counting != 0 && self.refresh_some_counts()
    }

    #[inline(never)]
    fn refresh_some_counts(&mut self) -> bool {
        let before = std::mem::take(&mut self.counting);
        let mut changed = false;
        for thread in 0..self.thread_count {
            let Operation { action, object, .. } = self.pending[thread];
            if before & counting_bit(thread) == 0 || !lets_go_of_count(action) {
                continue;
            }
            self.counting |= counting_bit(thread);
            let last = self.threads[thread].strong && object.is_some() && self.is_last(object);
            let refreshed = if last { Action::CountLast } else { Action::CountDown };
            if object.is_some() && refreshed != action {
                self.pending[thread].action = refreshed;
                changed |= self.previous != Some(ThreadId::new(thread));
            }
        }
        changed
    }

    /// The previous step was a yield: leaving its thread is free.
    pub(super) fn set_yielded(&mut self) {
        self.yielded = true;
    }

    /// What there is to say of an execution that has come to the limit on steps.
    #[cold]
    fn too_long(&mut self) -> String {
        let limit = self.settings.max_steps;
        let steps = format!("{limit} step{}", if limit == 1 { "" } else { "s" });
        let (me, schedule) = (ThreadId::new(self.current), self.tape.schedule());
        let threads = schedule.entries().iter().rev().filter_map(|entry| match entry {
            ScheduleEntry::Run { thread, .. } => Some(*thread),
            ScheduleEntry::Branch { .. } => None,
        });
        let alone = threads.take_while(|&thread| thread == me).count();
        let waiting = self.enabled.iter().map(ThreadId::new).find(|&thread| thread != me);
        let is_alone = alone as u64 > limit / 2;
        if is_alone
            && is_pause(self.pending[self.current].action)
            && self.threads.mine().turns.operations() == Some(0)
        {
            return format!(
                "one execution took more than {steps}, the last {alone} of them by {me}, which pauses again and again and does \
                 nothing else that the model sees: what it waits for is seen elsewhere (in plain memory, in what is not instrumented), or \
                 never comes"
            );
        }
        match waiting.filter(|_| is_alone) {
            Some(waiting) => format!(
                "one execution took more than {steps}, the last {alone} of them by {me} while {waiting} could go on: if {me} \
                 waits for {waiting}, its loop should pause (yield_now, spin_loop), and is harmless where the system lets {waiting} \
                 run in time; else max_steps is too small for it"
            ),
            None => format!(
                "one execution took more than {steps}: the test may never end, or max_steps is too small for it{}",
                self.long_blocked()
            ),
        }
    }

    /// At the limit on steps: who has been blocked for more than half of them. Where a thread that looks after something from time to time keeps the execution
    /// from being a deadlock, that is what is wrong.
    fn long_blocked(&mut self) -> String {
        let schedule = self.tape.schedule();
        let entries = schedule.entries();
        let lately = &entries[entries.len() / 2..];
        let has_run = |t: usize| {
            let me = ThreadId::new(t);
            lately.iter().any(|entry| matches!(entry, ScheduleEntry::Run { thread, .. } if *thread == me))
        };
        let is_blocked = |t: &usize| {
            matches!(self.threads[*t].readiness, Readiness::Blocked | Readiness::Spurious) && !has_run(*t)
        };
        let blocked = self.waiting.iter().filter(is_blocked);
        let words: Vec<String> = blocked.map(|t| self.waiting_words(t, &self.holders(t))).collect();
        if words.is_empty() {
            return String::new();
        }
        format!(" (for more than half of the steps: {})", words.join("; "))
    }

    /// Nobody is enabled. Lets time pass, or lets a spinning thread turn once more; else it is a failure.
    pub(super) fn free_the_stuck(&mut self) -> bool {
        let is_over = self.test_is_over();
        let may_expire = |t: &usize| {
            let thread = &self.threads[*t];
            thread.readiness == Readiness::Timeout && !(is_over && thread.late_expiries >= MAX_LATE_EXPIRIES)
        };
        let timed: Vec<usize> = self.waiting.iter().filter(may_expire).collect();
        if !timed.is_empty() {
            if let Some(thread) = self.who_may_be_counting().filter(|_| !is_over) {
                self.let_go_on(thread);
                self.counts_rounds = true;
                return true;
            }
            if self.settings.auto_advance {
                self.wake_sleepers(&timed);
                return true;
            }
            for thread in timed {
                self.early.remove(thread);
                self.enabled.insert(thread);
            }
            return true;
        }
        if is_over {
            if let Some(thread) = self.may_count() {
                self.let_turn(thread, 0);
                return true;
            }
            // What is left waits for ever, or spins; the test is over, and real threads would end with the process.
            self.left_waiting = true;
            self.stop(End::Passed);
            return false;
        }
        // It may be counting, and come to an end. That nothing has changed for so long is told before the steps are used up.
        let has_room = self.step_count < self.settings.max_steps - self.settings.max_steps / 8;
        let may_turn = self.idle_wakes < MAX_IDLE_WAKES || has_room;
        let mut awaiting = self.waiting.iter().filter(|&t| self.threads[t].readiness == Readiness::Awaiting);
        let first = awaiting.next();
        let next = std::iter::once(first).flatten().chain(awaiting).find(|&t| t > self.last_woken).or(first);
        match next {
            Some(thread) if may_turn => {
                self.let_turn(thread, self.idle_wakes);
                self.idle_wakes += 1;
                self.last_woken = thread;
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
                failure.before = panics::told_so_far(self);
                self.fail(failure);
                false
            }
            None => {
                let entries = self.stuck_entries();
                let unseen = aside(surroundings::comes_unseen);
                let mut failure = match unseen {
                    Some(what) => {
                        Failure::new(FailureKind::Blocked, format!("the test leaves the model: {what}"))
                    }
                    None => Failure::new(FailureKind::Deadlock, join_words(&entries)),
                };
                failure.thread = unseen.map(|_| ThreadId::new(self.current));
                failure.waiting = entries;
                failure.before = panics::told_so_far(self);
                self.fail(failure);
                false
            }
        }
    }

    /// Somebody who waits for a change, although nobody is left who waits for the end of the test, and who may be counting its attempts: it comes
    /// to their end.
    fn may_count(&self) -> Option<usize> {
        self.waiting.iter().find(|&t| {
            let thread = &self.threads[t];
            thread.readiness == Readiness::Awaiting
                && thread.late_expiries < MAX_LATE_EXPIRIES
                && thread.may_go_on_early(MAX_LATE_EXPIRIES)
        })
    }

    /// Somebody who waits for a change, and would be doing something else if it is only counting (a backoff before a wait): it comes to the end of that before
    /// time passes.
    fn who_may_be_counting(&self) -> Option<usize> {
        self.waiting.iter().find(|&t| {
            let thread = &self.threads[t];
            thread.readiness == Readiness::Awaiting && thread.may_be_counting(self.free_expiries)
        })
    }

    /// Nobody can go on; a thread that waits for a change turns once more. So often in a row has that been so.
    fn let_turn(&mut self, thread: usize, in_vain: u32) {
        if self.waiting.iter().any(|t| self.threads[t].reads_clock) {
            // It may wait for a time as well.
            self.let_time_pass(in_vain);
        }
        self.let_go_on(thread);
    }

    /// The thread takes a turn for nothing.
    fn let_go_on(&mut self, thread: usize) {
        self.freed = Some(thread);
        self.attend();
        self.early.remove(thread);
        self.enabled.insert(thread);
    }

    /// After a free expiry: the threads that were offered and not chosen wait on.
    pub(super) fn settle_the_freed(&mut self, chosen: usize) {
        if let Some(time_before) = self.time_before.take() {
            return self.settle_sleepers(chosen, time_before);
        }
        let others: Vec<usize> = self.enabled.iter().filter(|&t| t != chosen).collect();
        for thread in others {
            self.enabled.remove(thread);
            self.reconsider_thread(thread);
        }
        let (is_over, is_let_on) = (self.test_is_over(), self.freed == Some(chosen));
        let counts = std::mem::take(&mut self.counts_rounds) || self.settings.auto_advance;
        let thread = &mut self.threads[chosen];
        match thread.readiness {
            Readiness::Timeout => {
                self.free_expiries = self.free_expiries.wrapping_add(1);
                thread.expired = Some(Readiness::Timeout);
            }
            Readiness::Awaiting if is_over && is_let_on => thread.go_on_early(),
            Readiness::Awaiting if is_let_on && counts => {
                thread.note_counted_round(self.free_expiries);
                return self.note_let_on(chosen);
            }
            _ => return,
        }
        if is_over {
            self.note_late_expiry(chosen);
        }
    }

    /// The thread is let on after the test has ended, because nobody could go on.
    pub(super) fn note_late_expiry(&mut self, thread: usize) {
        self.threads[thread].late_expiries += 1;
        self.note_let_on(thread);
    }

    /// What the thread may do later depends on how often it was let on.
    fn note_let_on(&mut self, thread: usize) {
        self.let_on_late = self.let_on_late.wrapping_add(LATE.wrapping_mul(thread as u64 + 1));
    }

    /// The test has ended, and nobody waits for what it has left running.
    pub(super) fn test_is_over(&self) -> bool {
        self.settings.detached && self.threads[0].life == Life::Ended
    }

    pub(super) fn stuck_entries(&mut self) -> Vec<DeadlockEntry> {
        let live = |t: &usize| self.threads[*t].life != Life::Ended;
        let stuck: Vec<usize> = (0..self.thread_count).filter(live).collect();
        stuck
            .into_iter()
            .map(|t| {
                let operation = self.pending[t];
                let held_by = self.holders(t);
                let behind = self.writer_before(t);
                let words = self.waiting_words(t, &held_by);
                let location = self.observer.and(self.threads[t].location).and_then(Place::location);
                let stack = std::mem::take(&mut self.threads[t].stack);
                // The running thread finds out about itself that it cannot go on.
                let backtrace =
                    if t == self.current { self.backtrace() } else { self.resolver.frames(&stack) };
                DeadlockEntry {
                    thread: ThreadId::new(t),
                    operation,
                    location,
                    held_by,
                    behind,
                    words,
                    backtrace,
                }
            })
            .collect()
    }

    /// Finds out whether a thread's pending operation can take effect, and keeps the sets true.
    pub(super) fn reconsider_thread(&mut self, thread: usize) {
        let readiness = self.readiness(thread);
        self.settle(thread, readiness);
    }

    #[inline(always)]
    pub(super) fn settle(&mut self, thread: usize, readiness: Readiness) {
        self.threads[thread].readiness = readiness;
        if readiness == Readiness::Ready || (readiness == Readiness::Timeout && self.is_time_over(thread)) {
            self.enabled.insert(thread);
            self.early.remove(thread);
        } else {
            self.enabled.remove(thread);
            // A thread that seems to spin may also be counting its attempts: at a cost it goes on, so that no behaviour
            // is lost at every bound, but not for ever: a search without a bound ends.
            let early = readiness == Readiness::Awaiting
                || (readiness == Readiness::Timeout && !self.settings.auto_advance)
                || (readiness == Readiness::Spurious && self.settings.spurious);
            if early && self.threads[thread].may_go_on_early(self.settings.max_early) {
                self.early.insert(thread);
                if self.threads[thread].is_idle() {
                    self.idle.insert(thread);
                } else {
                    self.idle.remove(thread);
                }
            } else {
                self.early.remove(thread);
            }
        }
    }

    /// An object has changed: those who wait for it may go on, or no longer.
    #[inline]
    pub(super) fn reconsider(&mut self, object: ObjectId) {
        if self.waited & waited_bit(object) != 0 {
            self.reconsider_waiting(object);
        }
    }

    pub(super) fn reconsider_waiting(&mut self, object: ObjectId) {
        let mut next = self.waiting.first();
        while let Some(thread) = next {
            let pending = self.pending[thread];
            let awaits = self.threads[thread].awaiting;
            if awaits && thread != self.current {
                self.disturb(thread, object);
            }
            if awaits || pending.object == object || pending.other == object {
                let readiness = self.readiness_of(thread, pending);
                self.settle(thread, readiness);
            }
            next = self.waiting.next_after(thread);
        }
    }

    /// The running thread waits for a change of anything that it has read.
    pub(super) fn wait_for_anything(&mut self) {
        self.waiting.insert(self.current);
        self.waited = u64::MAX;
    }

    /// Asks which outcome the step has.
    pub(super) fn branch(&mut self, operation: Operation, count: u32, costly: bool) -> u32 {
        let point = BranchPoint { thread: ThreadId::new(self.current), operation, count, costly };
        self.catch_up();
        self.threads.mine().idle.spoil();
        let index = self.chooser_mut().choose_branch(&point).min(count - 1);
        self.tape.branch(index, point.cost(index) > 0);
        self.step_branches.push(index);
        index
    }
}

/// The object's bit among those that are waited for.
#[inline]
fn waited_bit(object: ObjectId) -> u64 {
    1 << (object.index() % 64)
}

/// Whether the action is the drop of an `Arc`, be it the last one or not.
const fn lets_go_of_count(action: Action) -> bool {
    matches!(action, Action::CountDown | Action::CountLast)
}

/// The bit of a thread among those of [`Execution::counting`].
const fn counting_bit(thread: usize) -> u64 {
    const LAST: usize = u64::BITS as usize - 1;
    1 << if thread < LAST { thread } else { LAST }
}

pub(super) const fn is_pause(action: Action) -> bool {
    matches!(action, Action::Yield | Action::SpinLoop | Action::Sleep | Action::SleepUntil)
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
