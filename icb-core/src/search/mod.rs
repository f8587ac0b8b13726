//! Strategies: in which order executions are tried, and the choice at each scheduling point.

mod context_bounded;
mod depth_first;
mod frontier;
mod replay;
mod stack;

pub use crate::program::Strategy;
pub use context_bounded::ContextBounded;
pub use depth_first::DepthFirst;
pub use frontier::{Frontier, FrontierError};
pub use replay::Replay;
