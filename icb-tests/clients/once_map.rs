//! Two threads make the value of one key.
//!
//! ```toml
//! once_map = "0.4"
//! ```

#[test]
fn made_once() {
    let map = std::sync::Arc::new(once_map::OnceMap::<u32, Box<u32>>::new());
    let theirs = map.clone();
    let thread = std::thread::spawn(move || *theirs.insert(1, |_| Box::new(10)));
    assert_eq!(*map.insert(1, |_| Box::new(20)), thread.join().unwrap());
}
