//! A use after free that needs an interleaving and that no mirrored object is part of: one thread takes a pointer to a number
//! and reads the number later, another one frees it. For tools that see memory.

use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use icb_std::thread;

/// Which program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// The number is read later than the pointer to it.
    ReadsLate,
    /// Whoever takes the pointer out owns the number.
    TakesOut,
}

/// One thread reads the number, another one frees it.
pub fn run(version: Version) {
    let number = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(7_u64))));
    let readers = Arc::new(AtomicUsize::new(0));
    let theirs = number.clone();
    let other = thread::spawn(move || free(theirs.swap(std::ptr::null_mut(), SeqCst)));
    let taken = match version {
        Version::ReadsLate => number.load(SeqCst),
        Version::TakesOut => number.swap(std::ptr::null_mut(), SeqCst),
    };
    readers.fetch_add(1, SeqCst);
    if !taken.is_null() {
        // SAFETY: `TakesOut` owns the number. `ReadsLate` does not, which is what is to be found.
        let read = unsafe { taken.read_volatile() };
        std::hint::black_box(read);
    }
    other.join().unwrap();
    if version == Version::TakesOut {
        free(taken);
    }
}

fn free(number: *mut u64) {
    if !number.is_null() {
        // SAFETY: it came from `Box::into_raw`, and was swapped for null, so this is done once.
        drop(unsafe { Box::from_raw(number) });
    }
}
