//! Two words are copied while they are written.
//!
//! ```toml
//! atomic-memcpy = "0.2"
//! ```

use atomic_memcpy::{atomic_load, atomic_store};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::{Acquire, Release};

struct Shared(UnsafeCell<[usize; 2]>);

// SAFETY: it is come to by atomic copies only.
unsafe impl Sync for Shared {}

#[test]
fn each_word_is_whole() {
    let shared = Shared(UnsafeCell::new([0; 2]));
    std::thread::scope(|scope| {
        let shared = &shared;
        // SAFETY: the pointer is valid, and nobody has a reference.
        scope.spawn(move || unsafe { atomic_store(shared.0.get(), [1; 2], Release) });
        // SAFETY: as above, and every pattern is a value.
        let words = unsafe { atomic_load(shared.0.get(), Acquire).assume_init() };
        assert!(words.iter().all(|&word| word <= 1));
    });
}
