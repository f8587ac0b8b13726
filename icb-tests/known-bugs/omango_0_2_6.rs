//! A bounded queue drops what is in all of its places when it goes, also what has been taken out.
//! Found: double free: .
//!
//! ```toml
//! omango = "=0.2.6"
//! ```

use omango::queue::spsc;

#[test]
fn what_was_received_is_dropped_once() {
    let (sender, receiver) = spsc::bounded::<Box<u32>>(1);
    let thread = std::thread::spawn(move || sender.send(Box::new(1)).unwrap());
    assert_eq!(*receiver.recv().unwrap(), 1);
    thread.join().unwrap();
}
