//! The latest value, for those who watch.
//!
//! ```toml
//! watch = "0.2"
//! ```

#[test]
fn the_latest_is_seen() {
    let (sender, mut receiver) = watch::channel(0);
    let mut second = receiver.clone();
    let other = std::thread::spawn(move || {
        sender.send(1);
        sender.send(2);
    });
    let third = std::thread::spawn(move || while second.wait() != 2 {});
    while receiver.wait() != 2 {}
    other.join().unwrap();
    third.join().unwrap();
}
