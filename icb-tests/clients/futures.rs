//! A channel between two executors.
//!
//! ```toml
//! futures = "0.3"
//! ```

use futures::channel::oneshot;
use futures::executor::block_on;

#[test]
fn a_value_is_received() {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::spawn(move || sender.send(3).unwrap());
    assert_eq!(block_on(receiver), Ok(3));
    thread.join().unwrap();
}
