//! The last of two values that were stored is not seen: a reader held up the first, the second waits for somebody to bring it in, and the
//! reader that goes brings in the first only.
//! Found: the last value is seen.
//!
//! ```toml
//! swap-arc = "=0.1.1"
//! ```

use std::sync::Arc;
use swap_arc::SwapArc;

#[test]
fn the_last_store_is_seen() {
    let value: Arc<SwapArc<u32>> = Arc::new(SwapArc::new(Arc::new(1)));
    let (written, read) = (value.clone(), value.clone());
    let writer = std::thread::spawn(move || {
        written.store(Arc::new(2));
        written.store(Arc::new(3));
    });
    let reader = std::thread::spawn(move || drop(read.load()));
    writer.join().unwrap();
    reader.join().unwrap();
    assert_eq!(*value.load_full(), 3, "the last value is seen");
}
