//! The exchange with which a sender takes the empty place orders nothing: nothing says that the receiver has read what was there.
//! Found: data race: .
//!
//! ```toml
//! lfqueue = "=0.8.1"
//! ```

use lfqueue::SingleSize;
use std::sync::Arc;

#[test]
fn the_place_is_used_again() {
    let queue = Arc::new(SingleSize::<Box<u32>>::new());
    assert!(queue.enqueue(Box::new(1)).is_ok());
    let receiver = {
        let queue = Arc::clone(&queue);
        std::thread::spawn(move || queue.dequeue())
    };
    let sent = queue.enqueue(Box::new(2)).is_ok();
    assert_eq!(receiver.join().unwrap(), Some(Box::new(1)));
    assert_eq!(queue.dequeue(), sent.then(|| Box::new(2)));
}
