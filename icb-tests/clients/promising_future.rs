//! A promise is kept while somebody waits for it.
//!
//! ```toml
//! promising-future = "0.2"
//! ```

use promising_future::future_promise;

#[test]
fn the_value_comes() {
    let (future, promise) = future_promise();
    let thread = std::thread::spawn(move || promise.set(1));
    assert_eq!(future.value(), Some(1));
    thread.join().unwrap();
}

#[test]
fn a_broken_promise_is_told() {
    let (future, promise) = future_promise::<u32>();
    let thread = std::thread::spawn(move || drop(promise));
    assert_eq!(future.value(), None);
    thread.join().unwrap();
}
