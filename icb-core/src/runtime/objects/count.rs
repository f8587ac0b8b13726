//! Reference counts of `Arc` and `Weak`. The counts themselves are std's, in the program's memory.
//!
//! Happens-before as in std's implementation: going up is relaxed, going down releases, whoever frees the value or
//! finds itself the only owner acquires.

use super::Effect;
use crate::runtime::execution::Execution;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

impl Execution {
    pub(super) fn count(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let object = &mut self.objects[operation.object.index()];
        let mode = match operation.action {
            Action::CountDown => {
                self.threads[me].clock.release_join(me, &mut object.clock);
                Mode::Write
            }
            Action::CountUpdate => {
                self.threads[me].clock.acquire(&object.clock);
                Mode::Write
            }
            Action::CountUp => Mode::Write,
            _ => Mode::Read,
        };
        if mode == Mode::Write {
            self.note_change(operation.object);
        } else {
            self.note_read(operation.object);
        }
        self.finish_single(operation, Access { object: operation.object, mode }, None, None, None);
        Effect::Done
    }

    /// The last owner is about to free the value: it has seen all the others go.
    pub(in crate::runtime) fn count_last(&mut self, count: ObjectId) {
        let me = self.current;
        let object = &self.objects[count.index()];
        self.threads[me].clock.acquire(&object.clock);
    }
}
