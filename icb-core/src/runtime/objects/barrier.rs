//! `Barrier`: arriving is one step, leaving another, blocked until the generation is over. Everything before any
//! arrival happens before everything after any departure.

use super::{Effect, State};
use crate::runtime::execution::Execution;
use crate::trace::{Access, Mode, ObjectId, Operation};

impl Execution {
    pub(super) fn barrier_is_open(&self, barrier: ObjectId, mine: u64) -> bool {
        match &self.object_ref(barrier).state {
            State::Barrier { generation, .. } => *generation != mine,
            _ => true,
        }
    }

    pub(super) fn barrier_arrive(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let object = &mut self.objects[operation.object.index()];
        self.threads[me].clock.release_join(me, &mut object.clock);
        let mut leader = false;
        if let State::Barrier { count, arrived, generation, leaving, leave_clock } = &mut object.state {
            self.threads[me].generation = *generation;
            *arrived += 1;
            if *arrived >= *count {
                leader = true;
                *generation += 1;
                if *leaving == 0 {
                    leave_clock.clone_from(&object.clock);
                } else {
                    // Who has not left yet still needs what those of his own generation did. (That he comes after these too is so in `std`:
                    // its mutex says so.)
                    leave_clock.join(&object.clock);
                }
                *leaving += std::mem::take(arrived);
                object.clock.clear();
            }
        }
        self.note_change(operation.object);
        let access = Access { object: operation.object, mode: Mode::Write };
        self.finish_single(operation, access, None, None, leader.then_some("leader"));
        if leader { Effect::Leader } else { Effect::Done }
    }

    pub(super) fn barrier_leave(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        if let State::Barrier { leaving, leave_clock, .. } = &mut self.objects[operation.object.index()].state
        {
            *leaving = leaving.saturating_sub(1);
            self.threads[me].clock.acquire(leave_clock);
        }
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, None);
        Effect::Done
    }
}
