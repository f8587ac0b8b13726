//! Of three threads one gets what there is in an hour.
//!
//! ```toml
//! governor = { version = "0.10", default-features = false, features = ["std"] }
//! ```

use governor::{Quota, RateLimiter};
use std::num::NonZeroU32;

#[test]
fn one_may() {
    let limit = RateLimiter::direct(Quota::per_hour(NonZeroU32::MIN));
    let may = || u32::from(limit.check().is_ok());
    let count = std::thread::scope(|scope| {
        let others = [scope.spawn(may), scope.spawn(may)];
        others.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>() + may()
    });
    assert_eq!(count, 1);
}
