//! A global allocator of the program's own. The engine allocates too, in the middle of its work, so what such an allocator counts and locks
//! with cannot be part of the model: the static variables that it uses are found before the first execution, and left alone.

use super::{image, passing};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// So many variables are found; further ones are part of the model.
const MOST: usize = 64;
/// Bytes that are allocated to see what is used: small, and more than a page.
const SIZES: [usize; 3] = [8, 200, 20_000];

thread_local! {
    static LEARNS: Cell<bool> = const { Cell::new(false) };
}

static COUNT: AtomicUsize = AtomicUsize::new(0);
static ADDRESSES: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

/// Finds out what the global allocator uses. Call it outside any execution.
pub(super) fn learn() {
    struct Learns;
    impl Drop for Learns {
        fn drop(&mut self) {
            LEARNS.set(false);
        }
    }
    LEARNS.set(true);
    let _learns = Learns;
    passing::nothing_during(allocate);
}

fn allocate() {
    for size in SIZES {
        drop(black_box(vec![0_u8; size]));
        let mut bytes = black_box(Vec::<u8>::with_capacity(size));
        bytes.resize(size, 1);
        bytes.reserve_exact(size);
        drop(black_box(bytes));
    }
}

/// The variable is used outside any execution.
#[inline]
pub(super) fn note(address: usize) {
    if LEARNS.get() {
        add(address);
    }
}

#[cold]
fn add(address: usize) {
    if image::contains(std::ptr::without_provenance(address)) && !holds(address) {
        // Where several threads learn at once each finds the same, and at worst an address stands here twice.
        let index = COUNT.load(Relaxed);
        if let Some(place) = ADDRESSES.get(index) {
            place.store(address, Relaxed);
            COUNT.store(index + 1, Relaxed);
        }
    }
}

/// Whether the variable is the allocator's.
#[inline]
pub(super) fn holds(address: usize) -> bool {
    let count = COUNT.load(Relaxed);
    count > 0 && ADDRESSES.iter().take(count).any(|place| place.load(Relaxed) == address)
}
