//! Two take what is there, and one waits for more.
//!
//! ```toml
//! leaky-bucket = "1"
//! tokio = { version = "1", features = ["rt", "time"] }
//! ```

use leaky_bucket::RateLimiter;
use std::sync::Arc;

#[test]
fn two_take() {
    let limiter = Arc::new(RateLimiter::builder().initial(1).max(2).build());
    let theirs = limiter.clone();
    let thread = std::thread::spawn(move || theirs.try_acquire(1));
    let ours = limiter.try_acquire(1);
    assert!(ours != thread.join().unwrap());
}

#[test]
fn one_waits() {
    let limiter = Arc::new(RateLimiter::builder().initial(1).max(2).build());
    let take = |limiter: Arc<RateLimiter>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(limiter.acquire_one());
    };
    let theirs = limiter.clone();
    let thread = std::thread::spawn(move || take(theirs));
    take(limiter);
    thread.join().unwrap();
}
