//! Generators of two threads.
//!
//! ```toml
//! generator = "0.8"
//! ```

use generator::{Gn, done};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn go(count: Arc<AtomicU32>) {
    let numbers = Gn::new_scoped(move |mut scope| {
        scope.yield_(count.load(Ordering::SeqCst));
        count.fetch_add(1, Ordering::SeqCst);
        done!()
    });
    assert_eq!(numbers.count(), 1);
}

#[test]
fn one_in_each_thread() {
    let count = Arc::new(AtomicU32::new(0));
    let theirs = count.clone();
    let thread = std::thread::spawn(move || go(theirs));
    go(count.clone());
    thread.join().unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 2);
}
