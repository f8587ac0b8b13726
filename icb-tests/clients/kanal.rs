//! A channel with one place, and one without.
//!
//! ```toml
//! kanal = "0.1"
//! ```

#[test]
fn one_place() {
    let (sender, receiver) = kanal::bounded(1);
    let thread = std::thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}

#[test]
fn the_receiver_goes() {
    let (sender, receiver) = kanal::bounded(0);
    let thread = std::thread::spawn(move || _ = sender.send(Box::new(1)));
    drop(receiver);
    thread.join().unwrap();
}
