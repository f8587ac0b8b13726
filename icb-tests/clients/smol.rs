//! A timer, which an event loop waits for, and work that is done by a pool of threads.
//!
//! ```toml
//! smol = "2"
//! ```

#[test]
fn a_timer() {
    let begin = std::time::Instant::now();
    smol::block_on(smol::Timer::after(std::time::Duration::from_millis(10)));
    assert!(begin.elapsed().as_millis() >= 10);
}

#[test]
fn done_elsewhere() {
    assert_eq!(smol::block_on(smol::unblock(|| 1 + 1)), 2);
}
