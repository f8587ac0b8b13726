//! An atomic number, and one that is too large for the processor.
//!
//! ```toml
//! atomic = "0.6"
//! bytemuck = "1"
//! ```

use atomic::{Atomic, Ordering};

#[test]
fn a_word() {
    let word = Atomic::new(0_u32);
    std::thread::scope(|scope| {
        scope.spawn(|| word.fetch_add(1, Ordering::AcqRel));
        word.fetch_add(1, Ordering::AcqRel);
    });
    assert_eq!(word.load(Ordering::Acquire), 2);
}

#[test]
fn more_than_a_word() {
    let words = Atomic::new([0_u64; 3]);
    std::thread::scope(|scope| {
        scope.spawn(|| words.store([1; 3], Ordering::Release));
        let [one, two, three] = words.load(Ordering::Acquire);
        assert!(one == two && two == three);
    });
    assert_eq!(words.compare_exchange([1; 3], [2; 3], Ordering::AcqRel, Ordering::Acquire), Ok([1; 3]));
}
