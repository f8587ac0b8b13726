//! A channel of one message at a time, which is used again and again without an allocation.
//!
//! ```toml
//! multishot = "0.3"
//! pollster = "0.4"
//! ```

use multishot::Receiver;

#[test]
fn each_message_comes() {
    let mut receiver = Receiver::<Box<u32>>::new();
    for number in 1..3 {
        let sender = receiver.sender().unwrap();
        let thread = std::thread::spawn(move || sender.send(Box::new(number)));
        assert_eq!(pollster::block_on(receiver.recv()).unwrap(), Box::new(number));
        thread.join().unwrap();
    }
}

#[test]
fn a_dropped_sender_is_told() {
    let (sender, mut receiver) = multishot::channel::<Box<u32>>();
    let thread = std::thread::spawn(move || drop(sender));
    assert!(pollster::block_on(receiver.recv()).is_err());
    thread.join().unwrap();
}

#[test]
fn the_receiver_goes_first() {
    let (sender, mut receiver) = multishot::channel::<Box<u32>>();
    let thread = std::thread::spawn(move || sender.send(Box::new(1)));
    let _ = pollster::block_on(async {
        std::future::poll_fn(|context| {
            let mut recv = receiver.recv();
            let _ = std::pin::Pin::new(&mut recv).poll(context);
            std::task::Poll::Ready(())
        })
        .await
    });
    drop(receiver);
    thread.join().unwrap();
}
