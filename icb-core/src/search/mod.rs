//! Strategies: in which order executions are tried, and the choice at each scheduling point.

mod context_bounded;
mod delay_bounded;
mod depth_bounded;
mod depth_first;
mod frontier;
mod priority;
mod random;
mod replay;
mod spill;
mod stack;
mod stack_discipline;

pub use crate::program::Strategy;
pub use context_bounded::ContextBounded;
pub use delay_bounded::DelayBounded;
pub use depth_bounded::DepthBounded;
pub use depth_first::DepthFirst;
pub use frontier::{Frontier, FrontierError};
pub use priority::Priority;
pub use random::RandomWalk;
pub use replay::Replay;
pub use spill::Spill;
pub use stack_discipline::StackDiscipline;
