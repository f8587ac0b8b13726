//! `Once`: entering is blocked while another thread runs the initialiser. The end of the initialiser happens before
//! every observation that it is complete, or poisoned.

use super::{Effect, State};
use crate::runtime::execution::Execution;
use crate::trace::{Access, Mode, ObjectId, Operation};

/// How far the initialisation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnceState {
    Incomplete,
    Running(u32),
    Complete,
    Poisoned,
}

impl Execution {
    fn once(&self, once: ObjectId) -> OnceState {
        match self.object_ref(once).state {
            State::Once(state) => state,
            _ => OnceState::Incomplete,
        }
    }

    pub(super) fn once_can_enter(&self, once: ObjectId) -> bool {
        !matches!(self.once(once), OnceState::Running(_))
    }

    pub(super) fn once_is_over(&self, once: ObjectId) -> bool {
        matches!(self.once(once), OnceState::Complete | OnceState::Poisoned)
    }

    pub(super) fn once_is_complete(&self, once: ObjectId) -> bool {
        matches!(self.once(once), OnceState::Complete)
    }

    /// `forced`: also where it is poisoned; else the thread sees that it is, and changes nothing.
    pub(super) fn once_enter(&mut self, operation: Operation, forced: bool) -> Effect {
        let me = self.current;
        let id = operation.object;
        match self.once(id) {
            OnceState::Complete => self.once_check(operation),
            OnceState::Poisoned if !forced => self.once_check(operation),
            before => {
                let object = &mut self.objects[id.index()];
                object.state = State::Once(OnceState::Running(me as u32));
                self.threads[me].clock.acquire(&object.clock);
                self.note_change(id);
                let access = Access { object: id, mode: Mode::Write };
                self.finish_single(operation, access, None, None, Some("runs the initialiser"));
                if before == OnceState::Poisoned { Effect::Poisoned } else { Effect::Run }
            }
        }
    }

    /// `complete` tells whether the initialiser has returned; else it has panicked.
    pub(super) fn once_leave(&mut self, operation: Operation, complete: bool) -> Effect {
        let me = self.current;
        let id = operation.object;
        let object = &mut self.objects[id.index()];
        object.state = State::Once(if complete { OnceState::Complete } else { OnceState::Poisoned });
        self.threads[me].clock.release_into(me, &mut object.clock);
        self.note_change(id);
        let access = Access { object: id, mode: Mode::Write };
        self.finish_single(operation, access, None, None, if complete { None } else { Some("poisoned") });
        Effect::Done
    }

    pub(super) fn once_check(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let id = operation.object;
        let state = self.once(id);
        let (effect, note) = match state {
            OnceState::Complete => (Effect::Done, "complete"),
            OnceState::Poisoned => (Effect::Poisoned, "poisoned"),
            OnceState::Incomplete | OnceState::Running(_) => (Effect::Refused, "not complete"),
        };
        if matches!(state, OnceState::Complete | OnceState::Poisoned) {
            let object = &self.objects[id.index()];
            self.threads[me].clock.acquire(&object.clock);
        }
        self.note_read(id);
        let access = Access { object: id, mode: Mode::Read };
        self.finish_single(operation, access, None, None, Some(note));
        effect
    }
}
