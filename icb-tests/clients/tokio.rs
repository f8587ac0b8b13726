//! A oneshot and a notification between two threads, on the current-thread runtime.
//!
//! ```toml
//! tokio = { version = "1", features = ["rt", "sync"] }
//! ```

use tokio::runtime::Builder;
use tokio::sync::oneshot;

#[test]
fn a_value_is_received() {
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::spawn(move || sender.send(3).unwrap());
    let runtime = Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(receiver).unwrap(), 3);
    thread.join().unwrap();
}
