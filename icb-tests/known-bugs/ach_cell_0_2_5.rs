//! The last reference goes, and looks only after it has counted itself out whether the value is to be dropped; in between somebody takes the value, which
//! looks the same.
//! (With accesses checked another bug is found before: what stands in for masking interrupts writes to a `static mut`.)
//! Found: double free: .
//! Options: --no-accesses
//!
//! ```toml
//! ach-cell = "=0.2.5"
//! ```

use ach_cell::Cell;

#[test]
fn taken_or_dropped() {
    let cell = Cell::new();
    assert!(cell.set(Box::new(1)).is_ok());
    std::thread::scope(|scope| {
        let reference = cell.get().ok().unwrap();
        scope.spawn(move || drop(reference));
        drop(cell.try_take());
    });
}
