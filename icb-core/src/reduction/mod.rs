//! Which executions are left out because others stand for them.

mod crew;
mod doing;
mod partial_order;
mod sharing;
mod split_search;
mod visited;

pub use crate::program::{Everything, Reduction};
pub use crew::{Crew, Look, News, Wants};
pub(crate) use doing::BETWEEN_SAVES;
pub use doing::{Doing, Done, Ran};
pub(crate) use partial_order::BOUNDS_BEFORE_UNBOUNDED;
#[doc(hidden)]
pub use partial_order::Flaw;
pub use partial_order::{Item, PartialOrder, Remains, SleepRule};
pub use split_search::SplitSearch;
pub use visited::Visited;
