//! Every program: which failure shows, with how many preemptions, and that what is right passes.

use icb_std::model::{Builder, FailureKind, Granularity};
use icb_tests::programs::{
    counter, double_checked, lock_order, lost_wakeup, prodcons, rwlock_mix, treiber,
    work_stealing_queue as queue,
};

/// The program fails so, with exactly `bound` preemptions and not with fewer, in both granularities.
#[track_caller]
fn fails(kind: FailureKind, bound: u32, message: &str, program: fn()) {
    for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
        let report = Builder::new().max_bound(3).granularity(granularity).explore(program);
        let failure =
            report.failure.as_ref().unwrap_or_else(|| panic!("passes at {granularity:?}: {report:?}"));
        assert_eq!((failure.kind, failure.bound), (kind, bound), "{granularity:?}: {failure}");
        assert!(failure.message.contains(message), "{granularity:?}: {failure}");
        assert_eq!(report.proved_bound(), bound.checked_sub(1));
        assert_eq!(failure.schedule.preemption_count(), bound);
    }
}

/// The program has no failure with at most 3 preemptions, in both granularities.
#[track_caller]
fn passes(program: fn()) {
    for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
        let report = Builder::new().max_bound(3).granularity(granularity).explore(program);
        assert!(report.failure.is_none() && report.complete, "{granularity:?}: {report:?}");
        assert_eq!(report.proved_bound(), Some(3));
    }
}

#[test]
fn work_stealing_queue() {
    use queue::{Version::*, run};
    passes(|| run(Correct));
    fails(FailureKind::Panic, 1, "taken once", || run(LooksBeforeAnnouncing));
    fails(FailureKind::Panic, 2, "taken once", || run(StealsWithoutLock));
    fails(FailureKind::Panic, 2, "taken once", || run(NoSpareSlot));
}

#[test]
fn lost_wakeups() {
    use lost_wakeup::{Version::*, run};
    fails(FailureKind::Deadlock, 1, "", || run(LooksOutside));
    passes(|| run(LooksInside));
}

#[test]
fn lock_orders() {
    use lock_order::{Version::*, philosophers, transfers};
    fails(FailureKind::Deadlock, 1, "", || transfers(AsItComes));
    passes(|| transfers(Ordered));
    // Whatever their number: after the first has been preempted with a fork in hand, the others block by themselves.
    fails(FailureKind::Deadlock, 1, "", || philosophers(AsItComes, 2));
    fails(FailureKind::Deadlock, 1, "", || philosophers(AsItComes, 3));
    fails(FailureKind::Deadlock, 1, "", || philosophers(AsItComes, 4));
    passes(|| philosophers(Ordered, 3));
}

#[test]
fn double_checked_locking() {
    use double_checked::{Version::*, run};
    fails(FailureKind::DataRace, 0, "", || run(Relaxed));
    passes(|| run(ReleaseAcquire));
}

#[test]
fn treiber_stack() {
    use treiber::{Version::*, run};
    fails(FailureKind::Panic, 1, "in two places", || run(Plain));
    passes(|| run(Tagged));
}

#[test]
fn counters() {
    use counter::{Version::*, run};
    fails(FailureKind::Panic, 1, "lost update", || run(LoadThenStore, 2, 1));
    fails(FailureKind::Panic, 1, "lost update", || run(LoadThenStore, 3, 2));
    passes(|| run(FetchAdd, 2, 2));
    passes(|| run(Mutex, 2, 2));
}

#[test]
fn bounded_buffer() {
    use prodcons::{Version::*, run};
    fails(FailureKind::Deadlock, 0, "", || run(OneCondvar, 2, 2, 1));
    passes(|| run(TwoCondvars, 2, 1, 1));
}

#[test]
fn readers_and_a_writer() {
    use rwlock_mix::{Version::*, run};
    fails(FailureKind::Panic, 1, "half of a change", || run(InTwoParts, 2, 1));
    passes(|| run(AtOnce, 2, 2));
}
