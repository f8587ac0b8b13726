//! Two wait for a latch that comes down once.
//!
//! ```toml
//! latches = { version = "0.2", features = ["sync", "futex", "task", "std"] }
//! pollster = "0.4"
//! ```

#[test]
fn with_a_mutex() {
    let latch = latches::sync::Latch::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| latch.wait());
        scope.spawn(|| latch.count_down());
        latch.wait();
    });
}

#[test]
fn with_a_futex() {
    let latch = latches::futex::Latch::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| latch.wait());
        scope.spawn(|| latch.count_down());
        latch.wait();
    });
}

#[test]
fn with_futures() {
    let latch = latches::task::Latch::new(1);
    std::thread::scope(|scope| {
        scope.spawn(|| pollster::block_on(latch.wait()));
        scope.spawn(|| latch.count_down());
        pollster::block_on(latch.wait());
    });
}
