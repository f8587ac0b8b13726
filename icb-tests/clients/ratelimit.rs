//! Two take one token.
//!
//! ```toml
//! ratelimit = "2"
//! ```

use ratelimit::Ratelimiter;
use std::sync::Arc;

#[test]
fn one_token() {
    let limiter = Arc::new(Ratelimiter::builder(1).max_tokens(1).initial_available(1).build().unwrap());
    let theirs = limiter.clone();
    let thread = std::thread::spawn(move || theirs.try_wait().is_ok());
    let ours = limiter.try_wait().is_ok();
    assert!(ours != thread.join().unwrap());
}
