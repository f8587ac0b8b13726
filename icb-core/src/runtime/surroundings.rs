//! What threads share beside memory: directories, what files contain, the environment. What a thread does there is a step of its own only
//! where some execution has shown that nothing orders it (two accesses, one a change), as data is under `on_race(Promote)`: what is
//! promoted is the kind, and the search begins anew. Knows nothing of how programs get at files; the mirror tells.

use super::execution::Execution;
use super::running::running;
use crate::memory::race::DataClock;
use crate::program::{End, Granularity};
use crate::trace::SURROUNDINGS;
use std::collections::HashMap;

/// What threads share that is not memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Surroundings {
    /// Which files there are, and where.
    Directories,
    /// What a file contains, its size and its position.
    Contents,
    /// Variables of the environment, and the current directory.
    Environment,
}

impl Surroundings {
    /// What reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        SURROUNDINGS[self as usize]
    }

    /// Stands among the promoted places where what threads do there are steps.
    fn place(self) -> usize {
        static PLACES: [u8; SURROUNDINGS.len()] = [0; SURROUNDINGS.len()];
        (&raw const PLACES[self as usize]).addr()
    }
}

/// Which one of a kind: a file's device and number, say.
pub type Which = [u64; 2];

/// What the threads of an execution have done to their surroundings.
pub(super) type Uses = HashMap<(Surroundings, Which), DataClock>;

/// The calling thread is about to look at something of its surroundings, or to change it (`write`). Whether that is a step, which the caller takes then.
/// Where it is not yet and turns out to race, the execution is given up and the search begins anew. `false` outside an execution.
#[must_use]
pub fn surroundings_used(what: Surroundings, which: Which, write: bool) -> bool {
    let Some(running) = running() else { return false };
    running.with(|e| e.surroundings_used(what, which, write))
}

/// Whether the calling thread is the only one of its execution, and joined all others.
#[must_use]
pub fn is_alone() -> bool {
    running().is_none_or(|running| running.with(|e| e.is_alone()))
}

impl Execution {
    fn surroundings_used(&mut self, what: Surroundings, which: Which, write: bool) -> bool {
        if self.giving_up || self.is_alone() {
            return false;
        }
        if self.settings.granularity == Granularity::EveryAccess || self.promoted.contains(&what.place()) {
            return true;
        }
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let uses = self.uses_of_surroundings.entry((what, which)).or_default();
        let race = if write { uses.write(me, clock) } else { uses.read(me, clock) };
        if race.is_some() && self.promoted.insert(what.place()) {
            self.promotion = true;
            self.stop(End::GivenUp);
        }
        false
    }

    /// Whether all other threads have ended, and what they have done happens before what the running thread does: then nobody else can come before it
    /// does something, or could have come after. A test that makes its files while it is alone may find some from the execution before.
    fn is_alone(&self) -> bool {
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let is_over = |t: usize| self.threads[t].clock.clock.epoch(t).happens_before(clock);
        self.thread_count - self.ended_count == 1 && (0..self.thread_count).all(|t| t == me || is_over(t))
    }
}
