//! Channels with blocking and asynchronous ends.
//!
//! ```toml
//! crossfire = "3"
//! pollster = "0.4"
//! ```

#[test]
fn in_order() {
    let (sender, receiver) = crossfire::spsc::bounded_blocking::<u32>(1);
    let thread = std::thread::spawn(move || (0..2).for_each(|message| sender.send(message).unwrap()));
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(0), Ok(1)));
    assert!(receiver.recv().is_err());
    thread.join().unwrap();
}

#[test]
fn one_waits_asynchronously() {
    let (sender, receiver) = crossfire::mpmc::bounded_async::<u32>(1);
    let thread = std::thread::spawn(move || pollster::block_on(sender.send(1)).unwrap());
    assert_eq!(pollster::block_on(receiver.recv()), Ok(1));
    thread.join().unwrap();
}
