//! Which alternatives are worth a later execution.

use crate::program::SchedulingPoint;
use crate::trace::ThreadId;

/// Decides, at each scheduling point, which alternatives a strategy keeps for later.
pub trait Reduction {
    /// Whether an execution that lets `alternative` run here instead of the chosen thread is worth running.
    fn keeps(&mut self, point: &SchedulingPoint<'_>, chosen: ThreadId, alternative: ThreadId) -> bool;
}

/// Keeps every alternative: the reference for all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Reduction for Everything {
    #[inline]
    fn keeps(&mut self, _: &SchedulingPoint<'_>, _: ThreadId, _: ThreadId) -> bool {
        true
    }
}
