//! Two threads are the first to look at a static.
//!
//! ```toml
//! lazy_static = "1"
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

static MADE: AtomicU32 = AtomicU32::new(0);

lazy_static::lazy_static! {
    static ref NUMBERS: Mutex<Vec<u32>> = {
        MADE.fetch_add(1, Ordering::Relaxed);
        Mutex::new(vec![1])
    };
}

#[test]
fn it_is_made_once() {
    std::thread::scope(|scope| {
        scope.spawn(|| NUMBERS.lock().unwrap().push(2));
        NUMBERS.lock().unwrap().push(3);
    });
    assert_eq!((NUMBERS.lock().unwrap().len(), MADE.load(Ordering::Relaxed)), (3, 1));
}
