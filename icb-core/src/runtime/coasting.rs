//! Steps of a thread that simply goes on where the chooser has said beforehand that nothing is to be chosen: they are written down, and
//! handed over when something else is asked or told. See [`Chooser::coasts`](crate::program::Chooser::coasts).

use super::execution::Execution;
use crate::program::{Coasted, Leave, Place};
use crate::trace::{Access, Action, ObjectId, Operation, ThreadId};

/// Objects that have a bit.
const BITS: usize = 64;

/// Whether steps are taken without asking, and which have been.
#[derive(Debug, Default)]
pub(super) struct Coasting {
    pub(super) is_on: bool,
    /// The last of the steps has not been taken yet.
    is_awaited: bool,
    /// Objects that must not be touched.
    minded: u64,
    /// As long as nobody else can go on.
    alone: bool,
    /// Threads that the chooser has been shown: one that the last of the steps has spawned is not among them.
    thread_count: usize,
    /// Lent by the chooser.
    steps: Vec<Coasted>,
}

impl Coasting {
    pub(super) fn forget(&mut self) {
        self.is_on = false;
        self.is_awaited = false;
        self.steps.clear();
    }

    /// Whether steps may touch the object.
    #[inline]
    fn allows(&self, object: ObjectId) -> bool {
        object.index() < BITS && self.minded >> object.index() & 1 == 0
    }

    /// The step has been taken, and has touched this. `false`: the chooser has to be told.
    #[inline]
    pub(super) fn note(&mut self, operation: Operation, access: Access) -> bool {
        if !self.is_awaited || !self.allows(access.object) {
            return false;
        }
        self.is_awaited = false;
        if let Some(last) = self.steps.last_mut() {
            last.is_taken = true;
            last.operation = operation;
            last.only = Some(access);
        }
        true
    }
}

impl Execution {
    /// A thread has been chosen, or has taken its step: whether the chooser has to be asked about those after it.
    #[inline]
    pub(super) fn begin_coasting(&mut self) {
        let mut steps = std::mem::take(&mut self.coasting.steps);
        let leave = self.ask(|chooser| chooser.coasts(&mut steps));
        if let (Some(Leave { minded, alone }), Some(last)) = (leave, steps.last()) {
            self.coasting.is_on = true;
            self.coasting.is_awaited = !last.is_taken;
            self.coasting.minded = minded;
            self.coasting.alone = alone;
            self.coasting.thread_count = last.thread_count as usize;
        }
        self.coasting.steps = steps;
    }

    /// Hands over what has been written down.
    #[inline]
    pub(super) fn stop_coasting(&mut self) {
        if self.coasting.is_on {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let mut steps = std::mem::take(&mut self.coasting.steps);
        self.ask(|chooser| chooser.coasted(&mut steps));
        self.coasting.steps = steps;
        self.coasting.forget();
    }

    /// Takes the next step of the running thread without asking, if it goes on and nothing else is to be seen.
    #[inline]
    pub(super) fn coast(&mut self) -> bool {
        let operation = self.pending[self.current];
        let is_plain = !operation.other.is_some()
            && matches!(
                operation.action,
                Action::Load(_)
                    | Action::Store(_)
                    | Action::ReadModifyWrite(_)
                    | Action::CompareExchange { .. }
                    | Action::CellRead
                    | Action::CellWrite
                    | Action::Lock
                    | Action::TryLock
                    | Action::Unlock
                    | Action::ReadLock
                    | Action::ReadUnlock
                    | Action::WriteLock
                    | Action::WriteUnlock
                    | Action::CountUp
                    | Action::OnceCheck
            );
        let coasts = is_plain && self.may_coast(operation.object);
        if coasts {
            self.write_down();
        }
        coasts
    }

    /// [`coast`](Self::coast) for an operation on an atomic variable that has not been announced. It is to be, if the chooser has to be asked.
    #[inline(always)]
    pub(super) fn coast_unannounced(&mut self, operation: Operation, place: Place) -> bool {
        let coasts = !self.threads.mine().may_spin() && self.may_coast(operation.object);
        if coasts {
            self.threads.mine().location = Some(place);
            self.pending[self.current] = operation;
            self.write_down();
        }
        coasts
    }

    /// Whether the running thread goes on, and with a step on this object, and nothing else is to be seen.
    #[inline(always)]
    fn may_coast(&self, object: ObjectId) -> bool {
        let me = self.current;
        self.coasting.allows(object)
            && self.goes_on(me)
            && !self.yielded
            && self.previous == Some(ThreadId::new(me))
            && self.step_count < self.slow_from
            && !self.tape.is_full()
            && !self.wants_more
            && !self.quarantine.has_news()
            && self.counting == 0
            && self.awaiting.is_empty()
            && self.thread_count == self.coasting.thread_count
            && (!self.coasting.alone || (self.enabled.is_only(me) && self.early.is_empty()))
    }

    /// The running thread takes its next step, which is written down.
    #[inline(always)]
    fn write_down(&mut self) {
        let (me, place) = (self.current, self.place());
        let step = self.point(place, true).written_down(me, me);
        self.coasting.steps.push(step);
        self.coasting.is_awaited = true;
        self.take_again(me);
    }
}
