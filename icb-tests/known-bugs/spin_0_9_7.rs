//! `Once::try_call_once` reaches what it holds for unreachable (RUSTSEC-2023-0031).
//! Found: Encountered INCOMPLETE when polling Once.
//!
//! ```toml
//! spin = { version = "=0.9.7", default-features = false, features = ["once"] }
//! # yanked: spin 0.9.7 c0959fd6f767df20b231736396e4f602171e00d95205676286e79d4a4eb67bef
//! ```
//!
//! Mended:
//!
//! ```toml
//! spin = { version = "=0.9.9", default-features = false, features = ["once"] }
//! ```

#[test]
fn a_failed_initialisation_beside_another() {
    let once = spin::Once::<u32>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = once.try_call_once(|| Err(()));
        });
        assert_eq!(*once.call_once(|| 7), 7);
    });
}
