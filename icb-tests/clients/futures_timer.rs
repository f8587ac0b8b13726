//! A timer whose heap a helper thread keeps; it is set anew while it runs.
//!
//! ```toml
//! futures-timer = "3"
//! pollster = "0.4"
//! ```

use futures_timer::Delay;
use std::time::{Duration, Instant};

#[test]
fn not_before_its_time() {
    let start = Instant::now();
    let mut delay = Delay::new(Duration::from_secs(9));
    delay.reset(Duration::from_millis(5));
    pollster::block_on(delay);
    assert!(start.elapsed() >= Duration::from_millis(5));
}
