//! A future is completed by another thread while it is awaited.
//!
//! ```toml
//! manual_future = "0.1"
//! pollster = "0.4"
//! ```

use manual_future::ManualFuture;

#[test]
fn the_value_comes() {
    let (future, completer) = ManualFuture::new();
    let thread = std::thread::spawn(move || pollster::block_on(completer.complete(1)));
    assert_eq!(pollster::block_on(future), 1);
    thread.join().unwrap();
}
