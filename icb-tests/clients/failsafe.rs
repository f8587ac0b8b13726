//! A circuit breaker.
//!
//! ```toml
//! failsafe = "1.3"
//! ```

use failsafe::{CircuitBreaker, Config, Error, backoff, failure_policy};
use std::time::Duration;

#[test]
fn two_failures_open_it() {
    let policy = failure_policy::consecutive_failures(2, backoff::constant(Duration::from_secs(60)));
    let breaker = Config::new().failure_policy(policy).build();
    let other = breaker.clone();
    let thread = std::thread::spawn(move || other.call(|| Err::<(), _>(1)).is_err());
    assert!(breaker.call(|| Err::<(), _>(2)).is_err());
    assert!(thread.join().unwrap());
    assert!(matches!(breaker.call(|| Ok::<_, ()>(())), Err(Error::Rejected)));
}
