//! Partial-order reduction on real programs: the same failures at the same bounds, the same terminal states, fewer
//! executions.

use icb_std::model::{Builder, Granularity, Reduction, Report};
use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use icb_std::thread;
use icb_tests::programs::{
    bluetooth, counter, double_checked, lock_order, lost_wakeup, prodcons, rwlock_mix, treiber,
    work_stealing_queue,
};

fn explore(f: fn(), reduction: Reduction, granularity: Granularity, spurious: bool) -> Report {
    Builder::new().max_bound(3).granularity(granularity).spurious(spurious).reduction(reduction).explore(f)
}

/// Programs, right and wrong ones.
const PROGRAMS: &[(&str, fn())] = &[
    ("bluetooth published", || bluetooth::run(bluetooth::Version::Published, 1)),
    ("bluetooth fixed", || bluetooth::run(bluetooth::Version::Fixed, 1)),
    ("bluetooth fixed, 3 threads", || bluetooth::run(bluetooth::Version::Fixed, 2)),
    ("counter racy", || counter::run(counter::Version::LoadThenStore, 2, 2)),
    ("counter", || counter::run(counter::Version::Mutex, 3, 2)),
    ("transfers", || lock_order::transfers(lock_order::Version::AsItComes)),
    ("transfers ordered", || lock_order::transfers(lock_order::Version::Ordered)),
    ("philosophers", || lock_order::philosophers(lock_order::Version::AsItComes, 3)),
    ("philosophers ordered", || lock_order::philosophers(lock_order::Version::Ordered, 3)),
    ("lost wake-up", || lost_wakeup::run(lost_wakeup::Version::LooksOutside)),
    ("prodcons", || prodcons::run(prodcons::Version::TwoCondvars, 2, 1, 1)),
    ("prodcons one condvar", || prodcons::run(prodcons::Version::OneCondvar, 2, 1, 1)),
    ("rwlock", || rwlock_mix::run(rwlock_mix::Version::AtOnce, 2, 2)),
    ("treiber", || treiber::run(treiber::Version::Tagged)),
    ("treiber ABA", || treiber::run(treiber::Version::Plain)),
    ("queue", || work_stealing_queue::run(work_stealing_queue::Version::Correct)),
    ("queue bug 1", || work_stealing_queue::run(work_stealing_queue::Version::LooksBeforeAnnouncing)),
    ("queue bug 2", || work_stealing_queue::run(work_stealing_queue::Version::StealsWithoutLock)),
    ("queue bug 3", || work_stealing_queue::run(work_stealing_queue::Version::NoSpareSlot)),
    ("double-checked", || double_checked::run(double_checked::Version::Relaxed)),
    ("upgrade", upgrade_among_drops),
];

/// A drop is announced before an upgrade and takes effect after it, or is announced after it: in both cases it is not the last one.
fn upgrade_among_drops() {
    let value = Arc::new(AtomicU32::new(1));
    let weak = Arc::downgrade(&value);
    let other = thread::spawn(move || {
        let upgraded = weak.upgrade();
        if let Some(value) = &upgraded {
            value.load(SeqCst);
        }
        drop(upgraded);
        std::mem::forget(weak);
    });
    drop(value);
    other.join().unwrap();
}

/// Failure by bound and kind, or what was proved; and the distinct terminal states of a search without a failure.
fn verdict(report: &Report) -> (Option<(u32, icb_std::model::FailureKind)>, u64) {
    let states = report.bounds.last().map_or(0, |bound| bound.states);
    match &report.failure {
        Some(failure) => (Some((failure.bound, failure.kind)), 0),
        None => (None, states),
    }
}

#[test]
fn verdicts_and_states_are_those_of_the_plain_search() {
    for &(name, program) in PROGRAMS {
        for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
            for spurious in [false, true] {
                let plain = explore(program, Reduction::None, granularity, spurious);
                let reduced = explore(program, Reduction::PartialOrder, granularity, spurious);
                println!(
                    "{name:28} {granularity:?} spurious {spurious}: {} of {} executions, {} states, {:?}",
                    reduced.execution_count(),
                    plain.execution_count(),
                    reduced.bounds.last().map_or(0, |b| b.states),
                    plain.failure.as_ref().map(|f| (f.bound, f.kind)),
                );
                assert_eq!(
                    verdict(&reduced),
                    verdict(&plain),
                    "{name}, {granularity:?}, spurious {spurious}"
                );
            }
        }
    }
}
