//! Locks that spinning threads hand to and fro: two threads that look under a lock again and again, and do not pause, each take it after the
//! other. That is news for a thread that waits for a change (what has been done under a lock is not always seen), so each would wake the
//! other for ever, at no cost, and whoever they wait for would never come.
//!
//! So a thread that has spun in vain [`OFTEN`] times since it last changed something takes locks without telling it. If it then does
//! anything but go round in its loop, what it has done under them may have been more than a look: then it is told, before it is decided who comes next. All of
//! this depends on nothing but what the thread itself has done and read.

use super::execution::Execution;
use crate::trace::{Action, ObjectId};

/// After so many waits in a loop without a hint, with no change of its own in between, a thread's looks are no news.
const OFTEN: u32 = 2;

/// Of a thread that waits in loops without a hint.
#[derive(Debug, Default)]
pub(crate) struct Spins {
    /// Waits that it has begun when it had changed `changes` things.
    waits: u32,
    changes: u32,
    /// Locks that it has taken, which is not known to those who wait for a change.
    taken: Vec<ObjectId>,
}

impl Spins {
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.waits = 0;
        self.taken.clear();
    }

    /// It has taken locks untold.
    pub(super) fn has_secrets(&self) -> bool {
        !self.taken.is_empty()
    }
}

impl Execution {
    /// The running thread begins to wait for a change of what it has read in a loop without a hint.
    pub(super) fn note_spinning(&mut self) {
        let thread = self.threads.mine();
        let changes = thread.rounds.changes();
        let spins = &mut thread.spins;
        spins.waits = if spins.changes == changes { spins.waits + 1 } else { 1 };
        spins.changes = changes;
        if spins.waits == OFTEN {
            // Short ways know nothing of this.
            self.attend();
        }
    }

    /// The running thread takes a lock that somebody else has had in between. Whether it is a look that need not be told.
    pub(super) fn takes_in_secret(&mut self, lock: ObjectId) -> bool {
        let thread = self.threads.mine();
        let changes = thread.rounds.changes();
        let spins = &mut thread.spins;
        let is_secret = spins.waits >= OFTEN && spins.changes == changes;
        if is_secret && !spins.taken.contains(&lock) {
            spins.taken.push(lock);
        }
        is_secret
    }

    /// The running thread, which has secrets, is about to do this: it tells them unless it only goes round.
    #[cold]
    pub(super) fn keep_or_tell_secrets(&mut self, action: Action) {
        let goes_round = match action {
            Action::Unlock | Action::ReadUnlock | Action::WriteUnlock => true,
            Action::Load(_) | Action::Lock | Action::ReadLock | Action::WriteLock => {
                self.threads.mine().was_in_loop()
            }
            _ => false,
        };
        if !goes_round {
            self.tell_secrets();
        }
    }

    /// Those who wait for a change come to know which locks the running thread has taken.
    #[cold]
    pub(super) fn tell_secrets(&mut self) {
        self.threads.mine().spins.waits = 0;
        self.note_progress();
        while let Some(lock) = self.threads.mine().spins.taken.pop() {
            self.object_mut(lock).note_change(false);
            self.reconsider(lock);
        }
    }
}
