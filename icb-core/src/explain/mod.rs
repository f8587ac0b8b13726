//! Why an execution fails: which orders between threads it takes, and whether a simpler one fails as well. Both are
//! found out by running other executions, never by guessing from the trace. It knows programs and choosers, but
//! neither coroutines nor settings.

mod case;
mod guide;
mod orders;
mod plan;
mod simplify;
mod trials;

pub(crate) use case::{Case, Piece, from_bytes, to_bytes};
pub use orders::orders;
pub(crate) use simplify::move_blocks;
pub use simplify::simplify;
pub(crate) use trials::{Came, Trial, Trials};

use crate::trace::table::is_machinery_file;
use crate::trace::{Failure, FailureKind};

/// Whether the two are the same failure, as far as that can be told without backtraces: where the tool itself has panicked, these alone
/// know where in the program that was, and the message has to do. Of a death its words tell of what it was.
pub(crate) fn is_same(a: &Failure, b: &Failure) -> bool {
    let place = |failure: &Failure| {
        let at = failure.location.as_ref().filter(|at| !is_machinery_file(&at.file));
        at.map(|at| (at.file.clone(), at.line))
    };
    let panics_alike = || match (place(a), place(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.message == b.message,
    };
    let dies_alike = || how_it_died(a) == how_it_died(b);
    a.kind == b.kind
        && match a.kind {
            FailureKind::Panic => panics_alike(),
            FailureKind::Abort => dies_alike(),
            _ => true,
        }
}

/// The signal or exit code of a death, in words: what follows says who accessed what, or what was printed.
fn how_it_died(failure: &Failure) -> &str {
    failure.message.split([':', '\n']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SourceLocation;

    #[test]
    fn a_panic_is_known_by_its_place_or_by_its_words() {
        let panic = |message: &str, place: Option<&str>| {
            let mut failure = Failure::new(FailureKind::Panic, message);
            failure.location = place.map(|file| SourceLocation { file: file.to_owned(), line: 1, column: 1 });
            failure
        };
        let (program, tool) = (Some("src/lib.rs"), Some("icb-std/harness/src/lib.rs"));
        for (a, b, same) in [
            (panic("x", program), panic("y", program), true),
            (panic("x", program), panic("x", Some("src/other.rs")), false),
            (panic("x", program), panic("x", tool), true),
            (panic("x", program), panic("y", tool), false),
            (panic("x", tool), panic("x", None), true),
            (panic("x", tool), panic("y", tool), false),
        ] {
            assert_eq!(is_same(&a, &b), same, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_death_is_known_by_its_signal() {
        let death = |message: &str| Failure::new(FailureKind::Abort, message);
        let access = death("the process died of SIGSEGV: T1 accesses 0x0, where it must not");
        assert!(is_same(&access, &death("the process died of SIGSEGV\nIt printed last:\nx")));
        assert!(!is_same(&access, &death("the process died of SIGABRT")));
    }
}
