//! A clock that a thread sets now and then; the others read an atomic variable.
//!
//! ```toml
//! coarsetime = "0.1"
//! ```

use coarsetime::{Clock, Instant, Updater};

#[test]
fn it_does_not_go_back() {
    let updater = Updater::new(1).start().unwrap();
    let first = Instant::recent();
    let second = Instant::recent();
    assert!(second >= first);
    assert!(Clock::recent_since_epoch().as_secs() > 0);
    updater.stop().unwrap();
}
