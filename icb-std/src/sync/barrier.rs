//! `std::sync::Barrier`. Modelled: `wait` as two steps (arrive; leave when all have arrived); the last to arrive is
//! the leader, as in `std`. Not modelled: `std` wakes with a condition variable, whose mutex is no step here.

use crate::door::{Action, Effect, Handle, InitialState, ObjectInit};
use ::std::any::type_name;
use ::std::fmt;

/// Mirrors `std::sync::Barrier`.
pub struct Barrier {
    handle: Handle,
    /// Used outside executions only.
    real: ::std::sync::Barrier,
    count: usize,
}

impl Barrier {
    /// Mirrors `std::sync::Barrier::new`.
    #[must_use]
    #[inline]
    pub const fn new(n: usize) -> Barrier {
        Barrier { handle: Handle::new(), real: ::std::sync::Barrier::new(n), count: n }
    }

    fn init(&self) -> ObjectInit {
        ObjectInit {
            state: InitialState::Barrier { count: self.count },
            type_name: type_name::<Barrier>(),
            address: (&raw const *self).cast(),
            on_first_use: None,
        }
    }

    /// Mirrors `std::sync::Barrier::wait`.
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let Some(arrived) = self.handle.perform(self.init(), Action::BarrierArrive) else {
            return BarrierWaitResult(self.real.wait().is_leader());
        };
        let left = self.handle.perform(self.init(), Action::BarrierLeave);
        BarrierWaitResult(arrived == Effect::Leader || left == Some(Effect::Leader))
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

/// Mirrors `std::sync::BarrierWaitResult`.
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Mirrors `std::sync::BarrierWaitResult::is_leader`.
    #[must_use]
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl fmt::Debug for BarrierWaitResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BarrierWaitResult").field("is_leader", &self.is_leader()).finish()
    }
}
