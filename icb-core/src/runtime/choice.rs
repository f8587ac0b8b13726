//! Who takes the next step, where nothing is out of the ordinary: it is known beforehand, or the chooser says so. The rest stands
//! in `decision`.

use super::execution::{Execution, Next};
use super::threads::Readiness;
use crate::program::{Chooser, End, Foreseen, LetOn, Place, SchedulingPoint};
use crate::trace::ThreadId;

impl Execution {
    /// Chooses who takes the next step. On `Suspend` the caller must suspend its coroutine at once.
    #[inline(always)]
    pub(super) fn decide(&mut self) -> Next {
        if self.attention {
            return self.decide_telling();
        }
        let place = self.threads.mine().location.map_or(0, Place::address);
        match self.foresee(place) {
            Some(next) if self.goes_on(next) => {
                self.take_again(next);
                Next::Stay
            }
            Some(next) => self.take_foreseen(next),
            None => self.decide_among(),
        }
    }

    /// [`decide`](Self::decide), where the running thread has ended and nothing wants attention.
    #[inline]
    pub(super) fn decide_at_end(&mut self) {
        let place = self.threads.mine().location.map_or(0, Place::address);
        match self.foresee(place) {
            Some(next) => self.take(next, false, self.enabled.word() & (1 << next) == 0),
            None => _ = self.decide_among(),
        }
    }

    /// Who takes the next step, if that is known beforehand: nobody else can, or the chooser has said so. The running thread,
    /// which has taken the last one, stands at this place. Not to be asked where attention is wanted.
    #[inline(always)]
    pub(super) fn foresee(&mut self, place: usize) -> Option<usize> {
        if self.step_count >= self.slow_from || self.tape.is_full() {
            return None;
        }
        // Without attention there are few threads, so the words are the sets.
        let (enabled, early) = (self.enabled.word(), self.early.word());
        if early == 0 && enabled.is_power_of_two() {
            return Some(enabled.trailing_zeros() as usize);
        }
        // Where nobody is enabled, somebody has to be freed first: nothing may be taken off before.
        if enabled == 0 {
            return None;
        }
        let place = super::image::relative(place) as u64 ^ (self.step_count << 48);
        let next = self.foreseen.follow(Foreseen::place_of_words(place, enabled, early))?;
        Some(next as usize)
    }

    /// Whether the thread that takes the next step is the running one, which has not waited.
    #[inline(always)]
    pub(super) fn goes_on(&self, next: usize) -> bool {
        next == self.current && self.enabled.word() & !self.waiting.word() & (1 << next) != 0
    }

    /// The running thread goes on with what was enabled.
    #[inline(always)]
    pub(super) fn take_again(&mut self, next: usize) {
        self.tape.run(next, false, false);
        self.step_preemption = false;
        self.step_early = false;
        self.yielded = false;
        debug_assert_eq!(self.previous, Some(ThreadId::new(next)));
    }

    /// Takes what has been foreseen, where it is not that the running thread goes on.
    #[inline(always)]
    pub(super) fn take_foreseen(&mut self, next: usize) -> Next {
        let (me, enabled) = (self.current, self.enabled.word());
        let preemption = next != me && !self.yielded && enabled & (1 << me) != 0;
        self.take(next, preemption, enabled & (1 << next) == 0);
        if next == me { Next::Stay } else { Next::Suspend }
    }

    /// [`decide`](Self::decide), where the chooser may have to be asked.
    #[inline(never)]
    pub(super) fn decide_among(&mut self) -> Next {
        let is_usual = !self.attention && self.step_count < self.slow_from && !self.tape.is_full();
        // Without attention there are few threads, so the words are the sets.
        let (enabled, early) = (self.enabled.word(), self.early.word());
        if !is_usual || enabled == 0 {
            return self.decide_attentively();
        }
        let me = self.current;
        if early == 0 && enabled.is_power_of_two() {
            let only = enabled.trailing_zeros() as usize;
            self.take(only, false, false);
            return if only == me { Next::Stay } else { Next::Suspend };
        }
        self.catch_up();
        let place = self.place();
        let point = self.point(place, !self.has_counts);
        let Some(thread) = self.ask(|chooser| chooser.choose_thread(&point)) else {
            let default = point.default_choice();
            return self.go_on_unchosen(default);
        };
        let next = thread.index();
        debug_assert_eq!(
            point.is_preemption(thread),
            next != me && !self.yielded && enabled & (1 << me) != 0
        );
        let preemption = next != me && !self.yielded && enabled & (1 << me) != 0;
        self.take(next, preemption, early & !enabled & (1 << next) != 0);
        if next == me { Next::Stay } else { Next::Suspend }
    }

    /// The chooser does not say who takes the next step.
    #[cold]
    pub(super) fn go_on_unchosen(&mut self, default: ThreadId) -> Next {
        if let Some(message) = self.chooser_mut().divergence() {
            self.diverge(message);
        } else if self.may_run_out() {
            let me = self.current;
            self.run_out();
            // The default choice costs nothing.
            self.take(default.index(), false, false);
            return if default.index() == me { Next::Stay } else { Next::Suspend };
        } else {
            self.stop(End::GivenUp);
        }
        Next::Suspend
    }

    /// Identifies the place of the program where the decision is taken, for the recognition of divergences.
    pub(super) fn place(&mut self) -> u64 {
        // The thread that has taken the last step is the one that runs.
        let location = self.threads.mine().location;
        let location = location.map_or(0, |place| super::image::relative(place.address()));
        location as u64 ^ (self.step_count << 48)
    }

    /// The thread will take the next step.
    #[inline(always)]
    pub(super) fn take(&mut self, next: usize, preemption: bool, early: bool) {
        self.tape.run(next, preemption, early);
        self.step_preemption = preemption;
        self.step_early = early;
        if early {
            self.note_early(next);
        }
        self.previous = Some(ThreadId::new(next));
        self.yielded = false;
        self.set_current(next);
        if self.waiting.contains(next) {
            self.leave_waiting(next);
        }
    }

    /// The thread goes on at a cost, although what it waits for has not come.
    #[cold]
    pub(super) fn note_early(&mut self, next: usize) {
        // Who was let on because nobody could go on stands back when it lets somebody go on, not when somebody pays.
        self.freed = None;
        self.threads[next].note_early();
    }

    /// A step that needs no decision: it touches nothing that others could see, or its thread is unwinding.
    pub(super) fn take_undecided(&mut self) {
        let yielded = self.yielded && self.previous == Some(ThreadId::new(self.current));
        self.take(self.current, false, false);
        self.yielded = yielded;
    }

    /// The thread that takes the next step does not wait any more.
    fn leave_waiting(&mut self, next: usize) {
        self.threads[next].awaiting = false;
        if self.settings.auto_advance && self.threads[next].readiness == Readiness::Timeout {
            self.threads[next].expired = Some(Readiness::Timeout);
        }
        self.waiting.remove(next);
        self.forget_locker(next);
        self.early.remove(next);
        self.idle.remove(next);
        self.enabled.insert(next);
        if self.waiting.is_empty() {
            self.waited = 0;
        }
    }

    /// The chooser is about to be asked: it is told how far its decisions have been followed.
    #[inline]
    pub(super) fn catch_up(&mut self) {
        let count = self.foreseen.interrupt();
        if count > 0 {
            self.chooser_mut().skip(count);
        }
    }

    /// What the point says of those who were let on because nobody could go on.
    #[inline(always)]
    fn let_on(&self) -> LetOn {
        let awhile = u64::from(self.idle_wakes) << 48 | self.last_woken as u64;
        LetOn { thread: self.freed.map(ThreadId::new), history: awhile.wrapping_add(self.let_on_late) }
    }

    /// What there is to choose from. `counts_unchanged`: the counts that operations of other threads depend on are what they were.
    #[inline(always)]
    pub(super) fn point(&self, place: u64, counts_unchanged: bool) -> SchedulingPoint<'_> {
        SchedulingPoint {
            step: self.step_count,
            previous: self.previous,
            yielded: self.yielded,
            enabled: &self.enabled,
            early: &self.early,
            idle: &self.idle,
            pending: &self.pending,
            others_unchanged: counts_unchanged && self.awaiting.is_empty(),
            awaited: if self.awaiting.is_empty() { &[] } else { &self.awaited },
            ended: &self.ended,
            place,
            let_on: self.let_on(),
        }
    }

    /// Asks the chooser something about a point, which borrows the execution.
    #[inline(always)]
    pub(super) fn ask<R>(&self, question: impl FnOnce(&mut dyn Chooser) -> R) -> R {
        match self.chooser {
            // SAFETY: see `chooser_mut`; the chooser does not lead back to the execution.
            Some(chooser) => question(unsafe { &mut *chooser }),
            None => unreachable!("an execution runs only between begin and detach"),
        }
    }

    #[inline]
    pub(super) fn chooser_mut(&mut self) -> &mut dyn Chooser {
        self.stop_coasting();
        match self.chooser {
            // SAFETY: `begin` received the pointer from `CoroutineProgram::run`, whose `&mut` to the chooser is
            // not used until the execution is over and `detach` has been called.
            Some(chooser) => unsafe { &mut *chooser },
            None => unreachable!("an execution runs only between begin and detach"),
        }
    }
}
