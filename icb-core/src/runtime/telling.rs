//! Completing a step: fingerprint, who is affected, and who is told.

use super::allocator::aside;
use super::backtrace;
use super::calls::FOR_EVER;
use super::decision::is_pause;
use super::execution::Execution;
use super::threads::Readiness;
use crate::program::{Chooser, FoundChannel, Observer, Place, StepEvent, Taken};
use crate::trace::{Access, Action, Frame, Mode, OF, ObjectId, Operation, ThreadId};
use std::time::Duration;

/// Steps of a replay whose backtraces are taken: in longer executions only preemptions have one beyond.
const MAX_STEPS_WITH_BACKTRACES: u64 = 3000;
/// What passes when somebody has asked for the time in vain for the first time; it doubles each time, up to 35 minutes.
const FIRST_WHILE: Duration = Duration::from_micros(1);
const LONGEST_WHILE: u32 = 31;

/// How much time passes for somebody who has asked for it so often in vain.
fn a_while(in_vain: u32) -> Duration {
    FIRST_WHILE.saturating_mul(1 << in_vain.min(LONGEST_WHILE))
}

impl Execution {
    /// Completes a step that touched one object.
    #[inline(always)]
    pub(super) fn finish_single(
        &mut self,
        operation: Operation,
        access: Access,
        read: Option<u64>,
        written: Option<u64>,
        note: Option<&'static str>,
    ) {
        let object = &mut self.objects[access.object.index()];
        let thread = self.threads.mine();
        thread.hash.step(&mut object.hash, access.mode);
        let unwatched = thread.is_unwatched();
        if access.mode != Mode::Read {
            self.reconsider(access.object);
        }
        if !unwatched {
            self.note_doing(operation, &[access], read, written);
        }
        if self.attention {
            self.accesses.clear();
            self.accesses.push(access);
            if self.is_written_down() {
                self.observe_step(operation, read, written, note);
            }
            self.tell_step(operation);
        }
        self.count_step();
    }

    /// Completes a step that touched what stands in `accesses`; `tag` tells its outcome.
    pub(super) fn finish_many(&mut self, operation: Operation, tag: u64, note: Option<&'static str>) {
        self.finish_valued(operation, tag, None, None, note);
    }

    /// [`finish_many`](Self::finish_many) for a step that has read and written these bits.
    #[inline]
    pub(super) fn finish_valued(
        &mut self,
        operation: Operation,
        tag: u64,
        read: Option<u64>,
        written: Option<u64>,
        note: Option<&str>,
    ) {
        let thread = self.threads.mine();
        thread.hash.begin_step(tag);
        for access in &self.accesses {
            thread.hash.meet(&mut self.objects[access.object.index()].hash, access.mode);
        }
        for access in &self.accesses {
            thread.hash.tell(&mut self.objects[access.object.index()].hash);
        }
        let unwatched = thread.is_unwatched();
        for index in 0..self.accesses.len() {
            let access = self.accesses[index];
            if access.mode != Mode::Read {
                self.reconsider(access.object);
            }
        }
        if !unwatched {
            let accesses = std::mem::take(&mut self.accesses);
            self.note_doing(operation, &accesses, read, written);
            self.accesses = accesses;
        }
        if self.attention {
            if self.is_written_down() {
                self.observe_step(operation, read, written, note);
            }
            self.tell_step(operation);
        }
        self.count_step();
    }

    /// Tells the chooser of a step of the running thread that touched one object, where nobody else wants to know.
    pub(super) fn tell_single(&mut self, operation: Operation, mode: Mode) {
        self.tell(operation, &[Access { object: operation.object, mode }]);
    }

    /// Tells the chooser that the running thread has done what it had announced, which is no pause and touches one object, where nobody
    /// else wants to know.
    #[inline(always)]
    pub(super) fn tell_announced(&mut self, mode: Mode) {
        let operation = self.pending[self.current];
        let only = Access { object: operation.object, mode };
        if self.coasting.is_on {
            if !self.coasting.note(operation, only) {
                self.tell_single(operation, mode);
            }
            return;
        }
        let thread = ThreadId::new(self.current);
        let step = Taken { thread, operation, accesses: &[only], yielded: false };
        self.ask(|chooser| chooser.stepped(&step));
    }

    /// Tells the chooser of the step, if it wants to know. The accesses stand in `accesses`.
    #[inline]
    pub(super) fn tell_step(&mut self, operation: Operation) {
        if self.every_point && self.chooser.is_some() {
            let accesses = std::mem::take(&mut self.accesses);
            self.tell(operation, &accesses);
            self.accesses = accesses;
        }
    }

    /// Tells the chooser of the step, unless it has been written down where it is not asked.
    #[inline(always)]
    pub(super) fn tell(&mut self, operation: Operation, accesses: &[Access]) {
        if let &[only] = accesses
            && self.coasting.note(operation, only)
        {
            return;
        }
        let coasts = self.coasting.is_on;
        let thread = ThreadId::new(self.current);
        let step = Taken { thread, operation, accesses, yielded: is_pause(operation.action) };
        self.chooser_mut().stepped(&step);
        if coasts {
            self.begin_coasting();
        }
    }

    /// The running thread has freed the memory of this object since its last step.
    pub(super) fn tell_freed(&mut self, object: ObjectId) {
        self.tell_part(|chooser| chooser.freed(object));
    }

    /// The running thread has looked at the object since its last step, and what happens next may depend on that.
    pub(super) fn tell_looked_at(&mut self, object: ObjectId) {
        self.tell_part(|chooser| chooser.looked_at(object));
    }

    /// The running thread has touched this since its last step, and it was no step.
    pub(super) fn tell_touched(&mut self, access: Access) {
        self.tell_part(|chooser| chooser.touched(access));
    }

    /// The running thread is about to take its step on a channel: what could take effect there instead. (Where it is not asked, nothing is told.)
    pub(super) fn tell_found_channel(&mut self, found: FoundChannel) {
        if !self.coasting.is_on {
            self.tell_part(|chooser| chooser.found_channel(found));
        }
    }

    /// Tells the chooser, if it wants to know, of what the running thread has done beside its operation.
    fn tell_part(&mut self, tell: impl FnOnce(&mut dyn Chooser)) {
        if self.every_point && self.end.is_none() && !self.giving_up {
            tell(self.chooser_mut());
        }
    }

    /// The running thread has ended.
    #[inline]
    pub(super) fn note_end(&mut self, object: ObjectId) {
        self.ended.insert(self.current);
        if self.every_point {
            let thread = ThreadId::new(self.current);
            self.chooser_mut().ended(thread, object);
        }
    }

    /// The thread's pending operation waits for a change of what it has read, or would if nothing had changed:
    /// reductions have to know.
    pub(super) fn note_awaited(&mut self, me: usize) {
        if !self.every_point {
            return;
        }
        if self.awaited.len() <= me {
            self.awaited.resize_with(me + 1, Vec::new);
        }
        self.awaited[me].clear();
        self.awaited[me].extend(self.threads[me].could_await_change_of());
        if self.awaited[me].is_empty() {
            self.awaiting.remove(me);
        } else {
            self.awaiting.insert(me);
        }
    }

    /// What the thread wants to do does not wait for a change.
    #[cold]
    pub(super) fn await_nothing(&mut self, thread: usize) {
        if let Some(awaited) = self.awaited.get_mut(thread) {
            awaited.clear();
        }
        self.awaiting.remove(thread);
    }

    #[inline]
    pub(super) fn count_step(&mut self) {
        self.step_count += 1;
        self.heartbeat.beat(self.step_count, self.threads.mine().location);
        if !self.step_branches.is_empty() {
            self.step_branches.clear();
        }
    }

    /// The running thread's timed wait has expired: the clock stands just behind its end, so that a loop that asks
    /// whether the time is over sees that it is.
    pub(super) fn expire(&mut self) {
        self.expire_of(self.current);
    }

    /// The time of the thread's wait is over.
    pub(super) fn expire_of(&mut self, thread: usize) {
        self.threads[thread].kept_from_ending.clear();
        // One that never ends is over at once where a thread unwinds.
        let timeout = self.threads[thread].timeout.min(FOR_EVER);
        if self.settings.auto_advance {
            self.advance_to(self.threads[thread].deadline);
            return;
        }
        self.now = self.now.saturating_add(timeout + Duration::from_nanos(1));
    }

    /// The running thread is about to wait for so long.
    #[inline]
    pub(super) fn set_timeout(&mut self, timeout: Duration) {
        let now = self.now;
        let thread = self.threads.mine();
        thread.timeout = timeout;
        thread.deadline = now.saturating_add(timeout);
    }

    /// The clock stands just behind this time, or is beyond it already.
    fn advance_to(&mut self, deadline: Duration) {
        self.now = self.now.max(deadline.saturating_add(Duration::from_nanos(1)));
    }

    /// The running thread is about to pause, in this way. What it is to do instead where time passes only when nobody can go on, if it sleeps, or
    /// has done nothing but read the clock.
    pub(super) fn begin_sleep(&mut self, action: Action, duration: Duration) -> Option<Action> {
        self.set_timeout(duration);
        if !self.settings.auto_advance {
            return None;
        }
        let me = self.current;
        let thread = &mut self.threads[me];
        if action != Action::Sleep {
            if !thread.waits_for_time() {
                return None;
            }
            let in_vain = thread.waits_in_vain;
            thread.waits_in_vain += 1;
            self.set_timeout(a_while(in_vain));
        }
        self.threads[me].awaiting = false;
        self.threads[me].awaits_news = false;
        if self.freed == Some(me) {
            self.freed = None;
        }
        self.note_awaited(me);
        Some(Action::SleepUntil)
    }

    /// Whether the thread's time is over, where time passes only when nobody can go on.
    #[inline]
    pub(super) fn is_time_over(&self, thread: usize) -> bool {
        self.settings.auto_advance && self.threads[thread].deadline <= self.now
    }

    /// Nobody can go on: time passes until the first of these is woken by it, if none is chosen that goes on early instead.
    #[cold]
    pub(super) fn wake_sleepers(&mut self, timed: &[usize]) {
        self.time_before = Some(self.now);
        if let Some(first) = timed.iter().map(|&thread| self.threads[thread].deadline).min() {
            self.advance_to(first);
        }
        for &thread in timed {
            self.reconsider_thread(thread);
        }
    }

    /// After that it has been chosen who goes on. What is known of the threads is a function of their steps, so no time has passed if it is
    /// somebody who was not woken by it.
    #[cold]
    pub(super) fn settle_sleepers(&mut self, chosen: usize, time_before: Duration) {
        let is_woken = self.enabled.contains(chosen);
        if is_woken {
            self.free_expiries = self.free_expiries.wrapping_add(1);
        } else {
            self.now = time_before;
        }
        let is_over = self.test_is_over();
        let timed: Vec<usize> =
            self.waiting.iter().filter(|&t| self.threads[t].readiness == Readiness::Timeout).collect();
        for thread in timed {
            self.reconsider_thread(thread);
            // Whoever is woken, and not whoever goes on first.
            if is_over && self.enabled.contains(thread) {
                self.note_late_expiry(thread);
            }
        }
    }

    /// Somebody who waits for nothing but a time has asked for the time in vain, so often in a row: it passes, each time
    /// more of it.
    pub(super) fn let_time_pass(&mut self, in_vain: u32) {
        self.now = self.now.saturating_add(a_while(in_vain));
    }

    /// Something that a spinning thread could have waited for has changed.
    #[inline]
    pub(super) fn note_progress(&mut self) {
        self.idle_wakes = 0;
    }

    /// Somebody watches the steps, or they become part of a history.
    #[inline]
    pub(super) fn is_written_down(&self) -> bool {
        self.observer.is_some() || self.ledger.keeps_histories
    }

    #[cold]
    pub(super) fn observe_step(
        &mut self,
        operation: Operation,
        read: Option<u64>,
        written: Option<u64>,
        note: Option<&str>,
    ) {
        if self.ledger.keeps_histories {
            self.ledger.note_use_of(operation.object.index());
        }
        let Some(observer) = self.observer else { return };
        let wanted = self.backtraces && self.step_count < MAX_STEPS_WITH_BACKTRACES;
        let addresses = wanted.then(|| aside(backtrace::addresses));
        let event = StepEvent {
            index: self.step_count,
            thread: ThreadId::new(self.current),
            operation: self.without_order(operation),
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
        let observer = unsafe { &mut *observer };
        aside(|| {
            if let Some(addresses) = &addresses {
                observer.backtrace_of_step(&self.resolver.frames(addresses));
            }
            observer.step(&event);
        });
        if let Some(addresses) = addresses {
            aside(|| self.remember_uses(&addresses));
        }
    }

    /// The running thread has chosen this number below `n`. That is no step: it is told by itself, and is no outcome of the next one.
    pub(super) fn observe_choice(&mut self, n: u64, chosen: u64, place: Place) {
        if self.step_branches.is_empty() {
            // There was nothing to choose.
            return;
        }
        let branches = std::mem::take(&mut self.step_branches);
        if let Some(observer) = self.observer {
            let wanted = self.backtraces && self.step_count < MAX_STEPS_WITH_BACKTRACES;
            let addresses = wanted.then(|| aside(backtrace::addresses));
            // SAFETY: see `observe_step`.
            let observer = unsafe { &mut *observer };
            aside(|| {
                if let Some(addresses) = &addresses {
                    observer.backtrace_of_step(&self.resolver.frames(addresses));
                }
                observer.step(&StepEvent {
                    index: self.step_count,
                    thread: ThreadId::new(self.current),
                    operation: Operation::new(Action::Choose, ObjectId::NONE),
                    accesses: &[],
                    early: false,
                    preemption: false,
                    read: Some(chosen),
                    written: None,
                    note: Some(&format!("{OF}{n}")),
                    location: Some(place),
                    branches: &branches,
                });
            });
        }
        self.step_branches = branches;
        self.step_branches.clear();
    }

    /// Where in the program the running thread stands, if a failure is being replayed.
    #[cold]
    pub(super) fn backtrace(&mut self) -> Vec<Frame> {
        if self.backtraces { self.take_backtrace() } else { Vec::new() }
    }

    /// Where in the program the running thread stands.
    #[cold]
    pub(super) fn take_backtrace(&mut self) -> Vec<Frame> {
        aside(|| self.resolver.frames(&backtrace::addresses()))
    }

    /// The calling thread is about to wait: in a replay, remembers where.
    #[cold]
    pub(super) fn note_stack(&mut self, thread: usize) {
        if self.backtraces {
            aside(|| self.threads[thread].stack = backtrace::addresses());
        }
    }

    #[cold]
    pub(super) fn observe_preemption(&mut self, observer: *mut dyn Observer) {
        // SAFETY: see `observe_step`.
        let observer = unsafe { &mut *observer };
        if self.backtraces {
            let thread = self.previous.unwrap_or(ThreadId::MAIN);
            super::debugger::preemption(thread.index() as u64, self.step_count);
            let frames = self.backtrace();
            aside(|| observer.backtrace(thread, frames));
        }
    }
}
