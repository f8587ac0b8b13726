//! Which executions are left out because others stand for them.

mod partial_order;

pub use crate::program::{Everything, Reduction};
pub use partial_order::{PartialOrder, SleepRule};
