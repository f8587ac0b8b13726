//! Why an execution fails: which orders between threads it takes, and whether a simpler one fails as well. Both are
//! found out by running other executions, never by guessing from the trace. It knows programs and choosers, but
//! neither coroutines nor settings.

mod guide;
mod orders;
mod plan;
mod simplify;

pub use orders::orders;
pub use simplify::simplify;

use crate::trace::{Failure, FailureKind};

/// Steps of an execution that is explained, at most: to explain longer ones takes too long.
pub const MAX_STEPS: usize = 2000;

/// Whether the two are the same failure, as far as that can be told without backtraces.
fn is_same(a: &Failure, b: &Failure) -> bool {
    let place = |failure: &Failure| failure.location.as_ref().map(|at| (at.file.clone(), at.line));
    a.kind == b.kind && (a.kind != FailureKind::Panic || place(a) == place(b))
}
