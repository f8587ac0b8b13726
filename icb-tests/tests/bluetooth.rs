//! The Bluetooth driver fails with one preemption; the fixed one does not.

use icb_std::model::{Builder, FailureKind, Granularity};
use icb_tests::programs::bluetooth::{Version, run};

#[test]
fn the_published_driver_fails_with_one_preemption() {
    for adders in [1, 2] {
        let report = Builder::new().max_bound(3).explore(move || run(Version::Published, adders));
        let failure = report.failure.as_ref().expect("the published driver is wrong");
        assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 1));
        assert_eq!(failure.message, "I/O in a stopped driver");
        assert_eq!(report.proved_bound(), Some(0));
    }
}

#[test]
fn the_fixed_driver_passes() {
    for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
        for adders in [1, 2] {
            let report = Builder::new()
                .max_bound(3)
                .granularity(granularity)
                .explore(move || run(Version::Fixed, adders));
            assert!(report.failure.is_none() && report.complete, "{report:?}");
            assert_eq!(report.proved_bound(), Some(3));
        }
    }
}
