//! Handlers come and go while they are called.
//!
//! ```toml
//! event-listener-primitives = "2"
//! ```

use event_listener_primitives::{Bag, BagOnce};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn come_and_go() {
    let (bag, calls) = (Bag::<Arc<dyn Fn() + Send + Sync>>::default(), Arc::new(AtomicU32::new(0)));
    let count = || -> Arc<dyn Fn() + Send + Sync> {
        let calls = calls.clone();
        Arc::new(move || drop(calls.fetch_add(1, Ordering::Relaxed)))
    };
    let id = bag.add(count());
    std::thread::scope(|scope| {
        scope.spawn(|| drop(id));
        let _second = bag.add(count());
        bag.call_simple();
    });
    assert!([1, 2].contains(&calls.load(Ordering::Relaxed)));
}

#[test]
fn called_once() {
    let (bag, calls) = (BagOnce::<Box<dyn FnOnce() + Send>>::default(), Arc::new(AtomicU32::new(0)));
    let mine = calls.clone();
    bag.add(Box::new(move || drop(mine.fetch_add(1, Ordering::Relaxed)))).detach();
    std::thread::scope(|scope| {
        scope.spawn(|| bag.call_simple());
        bag.call_simple();
    });
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}
