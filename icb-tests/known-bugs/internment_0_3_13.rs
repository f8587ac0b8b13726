//! Use after free when the last `ArcIntern` of a value is dropped (RUSTSEC-2020-0017).
//! Found: use after free: AtomicUsize.
//!
//! ```toml
//! internment = "=0.3.13"
//! ```
//!
//! Mended:
//!
//! ```toml
//! internment = "=0.4.0"
//! ```

use internment::ArcIntern;

#[test]
fn the_last_one_goes_while_another_comes() {
    let first = ArcIntern::<u64>::new(5);
    let thread = std::thread::spawn(move || drop(first));
    let second = ArcIntern::<u64>::new(5);
    assert_eq!(*second, 5);
    drop(second);
    thread.join().unwrap();
}
