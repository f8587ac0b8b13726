//! A task waits for its token to be stopped.
//!
//! ```toml
//! stop-token = "0.7"
//! pollster = "0.4"
//! ```

use stop_token::StopSource;

#[test]
fn stopped() {
    let source = StopSource::new();
    let token = source.token();
    let thread = std::thread::spawn(move || pollster::block_on(token));
    drop(source);
    thread.join().unwrap();
}
