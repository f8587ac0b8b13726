//! The benchmark programs of the papers: every seeded bug is found at exactly its bound and none below, and what is right
//! passes one bound further than the dearest bug.

use icb_std::model::{Builder, FailureKind, Reduction};
use icb_tests::programs::{ape, bluetooth, dryad, file_system, work_stealing_queue as queue};

/// The program fails so, with exactly `bound` preemptions, and not with fewer; with and without reduction.
#[track_caller]
fn fails(kind: FailureKind, bound: u32, message: &str, program: impl Fn() + Send + Sync + Clone + 'static) {
    fails_with(&[Reduction::PartialOrder, Reduction::None], kind, bound, message, program);
}

#[track_caller]
fn fails_with(
    reductions: &[Reduction],
    kind: FailureKind,
    bound: u32,
    message: &str,
    program: impl Fn() + Send + Sync + Clone + 'static,
) {
    for &reduction in reductions {
        let report = Builder::new().max_bound(bound).reduction(reduction).explore(program.clone());
        let failure = report.failure.as_ref().unwrap_or_else(|| panic!("passes: {report:?}"));
        assert_eq!((failure.kind, failure.bound), (kind, bound), "{failure}");
        assert!(failure.message.contains(message), "{failure}");
        assert_eq!(report.proved_bound(), bound.checked_sub(1));
    }
}

#[track_caller]
fn passes(bound: u32, program: impl Fn() + Send + Sync + 'static) {
    let report = Builder::new().max_bound(bound).explore(program);
    assert!(report.failure.is_none() && report.complete, "{report:?}");
    assert_eq!(report.proved_bound(), Some(bound));
}

#[test]
fn bluetooth() {
    use bluetooth::{Version::*, run};
    fails(FailureKind::Panic, 1, "I/O in a stopped driver", || run(Published, 2));
    passes(2, || run(Fixed, 2));
}

#[test]
fn file_system() {
    use file_system::{Version::*, run};
    fails(FailureKind::DataRace, 0, "", || run(LooksOutside, 2, 2, 2));
    passes(3, || run(Correct, 3, 2, 2));
}

#[test]
fn work_stealing_queue() {
    use queue::{Version::*, run};
    fails(FailureKind::Panic, 1, "taken once", || run(LooksBeforeAnnouncing));
    fails(FailureKind::Panic, 2, "taken once", || run(StealsWithoutLock));
    fails(FailureKind::Panic, 2, "taken once", || run(NoSpareSlot));
    passes(3, || run(Correct));
}

#[test]
fn asynchronous_processing_environment() {
    use ape::{Version::*, run};
    fails(FailureKind::Deadlock, 0, "", || run(WakesOne));
    fails(FailureKind::Deadlock, 0, "", || run(ForgetsSignals));
    fails(FailureKind::Panic, 1, "unless it is cancelled", || run(CancelsLate));
    fails(FailureKind::Panic, 2, "taken back", || run(BorrowsWithoutLock));
    passes(2, || run(Correct));
}

#[test]
fn dryad_channels() {
    use dryad::{Version, Version::*, run};
    // Every execution would be half a million.
    let fails = |kind, bound, message, version: Version| {
        fails_with(&[Reduction::PartialOrder], kind, bound, message, move || run(version));
    };
    fails(FailureKind::Deadlock, 0, "", WaitsUnasked);
    fails(FailureKind::UseAfterFree, 1, "used after its memory has been freed", FreesEarly);
    fails(FailureKind::Panic, 1, "room", Overfills);
    fails(FailureKind::Panic, 1, "bytes are lost", LosesBytes);
    fails(FailureKind::Deadlock, 1, "", LocksBothWays);
    passes(1, || run(Correct));
}
