//! Coroutines of two threads.
//!
//! ```toml
//! corosensei = "0.3"
//! ```

use corosensei::{Coroutine, CoroutineResult};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn go(count: Arc<AtomicU32>) {
    let mut coroutine = Coroutine::new(move |yielder, ()| {
        let seen = count.load(Ordering::SeqCst);
        yielder.suspend(());
        count.fetch_add(1, Ordering::SeqCst);
        seen
    });
    assert!(matches!(coroutine.resume(()), CoroutineResult::Yield(())));
    assert!(matches!(coroutine.resume(()), CoroutineResult::Return(0 | 1)));
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
