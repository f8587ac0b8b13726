//! One waits for two others.
//!
//! ```toml
//! wg = { version = "1", features = ["future"] }
//! pollster = "0.4"
//! ```

#[test]
fn blocking() {
    let group = wg::WaitGroup::new();
    for _ in 0..2 {
        let group = group.add(1);
        std::thread::spawn(move || group.done());
    }
    group.wait();
    assert_eq!(group.remaining(), 0);
}

#[test]
fn futures() {
    let group = wg::future::WaitGroup::new();
    for _ in 0..2 {
        let group = group.add(1);
        std::thread::spawn(move || group.done());
    }
    pollster::block_on(group.wait());
    assert_eq!(group.remaining(), 0);
}
