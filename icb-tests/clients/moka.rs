//! Two threads want one value, which is made once.
//!
//! ```toml
//! moka = { version = "0.12", features = ["sync"] }
//! ```

#[test]
fn made_once() {
    let cache = moka::sync::Cache::<u32, u32>::new(4);
    let theirs = cache.clone();
    let thread = std::thread::spawn(move || theirs.get_with(1, || 10));
    assert_eq!(cache.get_with(1, || 20), thread.join().unwrap());
}
