//! Strategies: in which order executions are tried, and the choice at each scheduling point.

mod context_bounded;
mod depth_first;
mod frontier;
mod replay;
mod stack;

pub use context_bounded::ContextBounded;
pub use depth_first::DepthFirst;
pub use frontier::{Frontier, FrontierError};
pub use replay::Replay;

use crate::program::{Chooser, Outcome};

/// A search through the executions of a program. It is asked for the choices of one execution after another.
pub trait Strategy: Chooser {
    /// Prepares the next execution of the current bound. `false`: there is none left.
    fn begin(&mut self) -> bool;

    /// The execution is over.
    fn end(&mut self, outcome: &Outcome);

    /// The current bound.
    fn bound(&self) -> u32;

    /// Goes on to the next bound. `false`: no execution has more preemptions than the current bound, or the last
    /// bound has been reached.
    fn advance(&mut self) -> bool;

    /// Whether nothing has been left out so far because of the bound.
    fn is_exhausted(&self) -> bool;

    /// Work items known to be left at the current bound, and the share of the bound that is done, if known.
    fn progress(&self) -> (u64, Option<f64>);

    /// The program has changed its scheduling points: everything begins anew.
    fn restart(&mut self);

    /// What is left for the next bound, to be carried to another process.
    fn take_frontier(&mut self) -> Option<Frontier> {
        None
    }

    /// This search, as the one who chooses.
    fn chooser(&mut self) -> &mut dyn Chooser;
}
