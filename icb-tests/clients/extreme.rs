//! A small executor, for a future that another thread completes.
//!
//! ```toml
//! extreme = "666"
//! futures-channel = "0.3"
//! ```

#[test]
fn it_is_woken() {
    let (sender, receiver) = futures_channel::oneshot::channel();
    let other = std::thread::spawn(move || sender.send(7).unwrap());
    assert_eq!(extreme::run(receiver), Ok(7));
    other.join().unwrap();
}
