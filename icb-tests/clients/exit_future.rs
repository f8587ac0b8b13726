//! Two wait for a signal.
//!
//! ```toml
//! exit-future = "0.2"
//! pollster = "0.4"
//! ```

#[test]
fn both_are_told() {
    let (signal, exit) = exit_future::signal();
    let same = exit.clone();
    let other = std::thread::spawn(move || pollster::block_on(same));
    let third = std::thread::spawn(move || signal.fire().unwrap());
    pollster::block_on(exit);
    other.join().unwrap();
    third.join().unwrap();
}
