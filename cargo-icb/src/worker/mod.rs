//! Running tests: what to run next, processes, what they say, and what that means.

pub(crate) mod budget;
pub(crate) mod flight;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod process;
pub(crate) mod replay;
pub(crate) mod tokens;
pub(crate) mod verdict;
