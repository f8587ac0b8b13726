//! One message, two receivers.
//!
//! ```toml
//! async-broadcast = "0.7"
//! futures = "0.3"
//! ```

use futures::executor::block_on;

#[test]
fn both_receive() {
    let (sender, mut receiver) = async_broadcast::broadcast(1);
    let mut theirs = receiver.clone();
    let thread = std::thread::spawn(move || block_on(theirs.recv()));
    block_on(async {
        sender.broadcast(5).await.unwrap();
        assert_eq!(receiver.recv().await, Ok(5));
    });
    assert_eq!(thread.join().unwrap(), Ok(5));
}
