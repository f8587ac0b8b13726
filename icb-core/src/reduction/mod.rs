//! Which executions are left out because others stand for them.

mod partial_order;
mod visited;

pub use crate::program::{Everything, Reduction};
#[doc(hidden)]
pub use partial_order::Flaw;
pub use partial_order::{PartialOrder, SleepRule};
pub use visited::Visited;
