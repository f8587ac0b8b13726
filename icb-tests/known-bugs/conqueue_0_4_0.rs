//! A sender looks into the first node of the list, which the receiver has taken out and freed.
//! Found: use after free: .
//!
//! ```toml
//! conqueue = "=0.4.0"
//! ```

use conqueue::Queue;

#[test]
fn a_receiver_goes_while_values_are_sent() {
    let (sender, mut receiver) = Queue::unbounded::<Box<u32>>();
    let thread = std::thread::spawn(move || {
        sender.push(Box::new(1));
        sender.push(Box::new(2));
    });
    let _ = receiver.pop();
    drop(receiver);
    thread.join().unwrap();
}
