//! Hooks that see panics.

use crate::plain;
use icb_std::model::{Reduction, choose};
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex};
use icb_std::{panic, thread};

/// A hook is called in the thread that panics, once, before it unwinds, and may use what the model has.
#[test]
fn the_hook_of_an_execution_sees_its_panics() {
    let report = plain().max_bound(2).explore(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let theirs = log.clone();
        panic::set_hook(Box::new(move |info| {
            let line = info.location().unwrap().line();
            let text = *info.payload().downcast_ref::<&str>().unwrap();
            theirs.lock().unwrap().push((text, line, thread::current().id(), thread::panicking()));
        }));
        let first = thread::spawn(|| panic!("one"));
        let id = first.thread().id();
        let caught = panic::catch_unwind(|| panic!("two"));
        assert!(caught.is_err() && first.join().is_err());
        let _ = panic::take_hook();
        assert!(thread::spawn(|| panic!("three")).join().is_err());
        let mut log = log.lock().unwrap();
        log.sort_by_key(|(text, ..)| *text);
        let told: Vec<_> =
            log.iter().map(|(text, _, thread, panicking)| (*text, *thread, *panicking)).collect();
        assert_eq!(told, [("one", id, true), ("two", thread::current().id(), true)]);
        assert_eq!(log[0].1 + 2, log[1].1);
    });
    assert!(report.failure.is_none() && report.exhausted(), "{report}");
}

/// Hooks that call those that were there before them.
#[test]
fn hooks_are_chained() {
    let report = plain().max_bound(1).explore(|| {
        let calls = Arc::new(Mutex::new(Vec::new()));
        for name in ["inner", "outer"] {
            let (before, calls) = (panic::take_hook(), calls.clone());
            panic::set_hook(Box::new(move |info| {
                calls.lock().unwrap().push(name);
                before(info);
            }));
        }
        assert!(thread::spawn(|| panic!("expected")).join().is_err());
        assert_eq!(*calls.lock().unwrap(), ["outer", "inner"]);
    });
    assert!(report.failure.is_none() && report.exhausted(), "{report}");
}

/// What one execution sets is gone in the next.
#[test]
fn every_execution_begins_without_a_hook() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let report = plain().max_bound(1).explore(|| {
        let sets = choose(2) == 0;
        if sets {
            panic::set_hook(Box::new(|_| _ = CALLS.fetch_add(1, SeqCst)));
        }
        assert!(thread::spawn(|| panic!("expected")).join().is_err());
        assert_eq!(CALLS.load(SeqCst), usize::from(sets));
    });
    assert!(report.failure.is_none() && report.exhausted(), "{report}");
}

/// A hook is shared by all threads: who sets it too late misses a panic. That is one preemption away, whoever runs first.
#[test]
fn when_a_hook_is_set_matters() {
    fn sets(calls: &Arc<AtomicUsize>) {
        let calls = calls.clone();
        panic::set_hook(Box::new(move |_| _ = calls.fetch_add(1, SeqCst)));
    }
    let too_late = || {
        let calls = Arc::new(AtomicUsize::new(0));
        let thread = thread::spawn(|| panic!("expected"));
        sets(&calls);
        assert!(thread.join().is_err());
        assert_eq!(calls.load(SeqCst), 1, "missed");
    };
    let in_time = || {
        let calls = Arc::new(AtomicUsize::new(0));
        let theirs = calls.clone();
        let thread = thread::spawn(move || sets(&theirs));
        // What a panic does belongs to the step before it, so there has to be one after the spawn.
        let before = calls.load(SeqCst);
        assert!(panic::catch_unwind(|| panic!("expected")).is_err());
        thread.join().unwrap();
        assert_eq!(calls.load(SeqCst), before, "called");
    };
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        for (body, message) in [(too_late as fn(), "missed"), (in_time, "called")] {
            let builder = plain().max_bound(2).reduction(reduction);
            let failure = builder.explore(body).failure.unwrap_or_else(|| panic!("{reduction:?}: {message}"));
            assert_eq!((failure.message.contains(message), failure.bound), (true, 1), "{failure}");
            let replayed = builder.replay(failure.schedule).explore(body).failure.unwrap();
            assert!(replayed.message.contains(message), "{replayed}");
        }
    }
}
