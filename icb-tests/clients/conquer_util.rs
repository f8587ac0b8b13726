//! A value for each thread, which all are read from in the end.
//!
//! ```toml
//! conquer-util = { version = "0.3", features = ["align", "tls"] }
//! ```

use conquer_util::BoundedThreadLocal;
use std::cell::Cell;
use std::sync::Arc;

#[test]
fn each_has_its_own() {
    let local = Arc::new(BoundedThreadLocal::<Cell<u32>>::new(2));
    let other = local.clone();
    let count = |local: &BoundedThreadLocal<Cell<u32>>| {
        let token = local.thread_token().unwrap();
        let count: &Cell<u32> = token.get();
        count.set(count.get() + 1);
    };
    let thread = std::thread::spawn(move || count(&other));
    count(&local);
    thread.join().unwrap();
    let local = Arc::into_inner(local).unwrap();
    assert_eq!(local.into_iter().map(|count| count.get()).sum::<u32>(), 2);
}
