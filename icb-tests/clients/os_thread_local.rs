//! Each thread has a value of its own, kept by the operating system.
//!
//! ```toml
//! os-thread-local = "0.1"
//! ```

use os_thread_local::ThreadLocal;
use std::cell::Cell;
use std::sync::Arc;

#[test]
fn a_value_each() {
    let local = Arc::new(ThreadLocal::new(|| Cell::new(0)));
    let theirs = local.clone();
    let thread = std::thread::spawn(move || {
        theirs.with(|value| value.set(value.get() + 1));
        theirs.with(Cell::get)
    });
    local.with(|value| value.set(value.get() + 1));
    assert_eq!(thread.join().unwrap(), 1);
    assert_eq!(local.with(Cell::get), 1);
}
