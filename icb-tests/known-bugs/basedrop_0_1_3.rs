//! A writer exchanges the pointer and finds that nobody reads, by an exchange and a load that a total order of all sequentially consistent
//! operations does not hold: a reader that has counted itself still loads the old pointer, whose object the collector frees.
//! Found: use after free: .
//! Options: --weak-memory
//!
//! ```toml
//! basedrop = "=0.1.3"
//! ```

use basedrop::{Collector, Shared, SharedCell};
use std::sync::Arc;

#[test]
fn a_value_is_replaced_while_it_is_read() {
    let mut collector = Collector::new();
    let handle = collector.handle();
    let cell = Arc::new(SharedCell::new(Shared::new(&handle, 1)));
    let read = cell.clone();
    let reader = std::thread::spawn(move || *read.get());
    cell.set(Shared::new(&handle, 2));
    collector.collect();
    assert!([1, 2].contains(&reader.join().unwrap()));
}
