//! Two messages through a channel with one place, and a receiver that goes.
//!
//! ```toml
//! tachyonix = "0.3"
//! pollster = "0.4"
//! ```

use pollster::block_on;

#[test]
fn one_place() {
    let (sender, mut receiver) = tachyonix::channel(1);
    let thread = std::thread::spawn(move || {
        block_on(async {
            sender.send(1).await.unwrap();
            sender.send(2).await.unwrap();
        })
    });
    let mut receive = || block_on(receiver.recv());
    assert_eq!((receive(), receive()), (Ok(1), Ok(2)));
    assert!(receive().is_err());
    thread.join().unwrap();
}

#[test]
fn the_receiver_goes() {
    let (sender, receiver) = tachyonix::channel(1);
    let thread = std::thread::spawn(move || {
        block_on(async { (sender.send(Box::new(1)).await.is_ok(), sender.send(Box::new(2)).await.is_ok()) })
    });
    drop(receiver);
    assert!(!thread.join().unwrap().1);
}
