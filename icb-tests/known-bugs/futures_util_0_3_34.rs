//! `Shared`: who polls while another one does registers and waits; if that one has polled before the value came, and goes, nobody polls again
//! (rust-lang/futures-rs#2706).
//! Found: deadlock: .
//!
//! ```toml
//! futures-util = "=0.3.34"
//! futures-channel = "=0.3.34"
//! pollster = "0.4"
//! ```

use futures_util::FutureExt;

#[test]
fn the_value_comes() {
    let (sender, receiver) = futures_channel::oneshot::channel::<()>();
    let mine = receiver.shared();
    let theirs = mine.clone();
    let impatient = std::thread::spawn(move || {
        theirs.now_or_never();
    });
    let other = std::thread::spawn(move || sender.send(()).unwrap());
    pollster::block_on(mine).unwrap();
    impatient.join().unwrap();
    other.join().unwrap();
}
