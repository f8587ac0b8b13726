//! A program that puts panics to silence by a hook of the real `std` while it explores. Hooks are the process's: nothing else runs in this one.

use icb_std::model::{Builder, FailureKind, Report};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;
use std::panic::{set_hook, take_hook};

/// As tests do that expect panics: the hook that was there is kept, and set again afterwards.
fn silently(explore: impl Fn() -> Report) -> Report {
    let before = take_hook();
    set_hook(Box::new(|_| ()));
    let report = explore();
    set_hook(before);
    report
}

/// Its lock is poisoned, and its destructors know why they are called.
fn a_thread_panics() {
    struct Unwinds;
    impl Drop for Unwinds {
        fn drop(&mut self) {
            assert!(thread::panicking());
        }
    }
    let shared = Arc::new(Mutex::new(0));
    let theirs = shared.clone();
    let thread = thread::spawn(move || {
        let _unwinds = Unwinds;
        let _guard = theirs.lock().unwrap();
        panic!("expected");
    });
    let result: Result<(), _> = thread.join();
    assert!(result.is_err() && shared.is_poisoned() && shared.lock().is_err());
}

type Exploration = fn(&dyn Fn() -> Report) -> Report;

#[test]
fn panics_mean_the_same_whoever_else_hears_of_them() {
    let fails = || Builder::new().explore(|| panic!("the message"));
    let passes = || Builder::new().explore(a_thread_panics);
    let explorations: [Exploration; 3] =
        [|explore| explore(), |explore| silently(explore), |explore| silently(|| silently(explore))];
    for round in 0..3 {
        for (number, run) in explorations.iter().enumerate() {
            let failure = run(&fails).failure.expect("it panics");
            assert_eq!((failure.kind, failure.message.as_str()), (FailureKind::Panic, "the message"));
            assert!(failure.location.is_some(), "{number} in round {round}");
            let report = run(&passes);
            assert!(report.failure.is_none() && report.complete, "{number} in round {round}: {report}");
        }
    }
}
