//! Two count, and one ticks steadily.
//!
//! ```toml
//! indicatif = "0.18"
//! ```

use indicatif::ProgressBar;
use std::time::Duration;

#[test]
fn two_count() {
    let bar = ProgressBar::hidden();
    let theirs = bar.clone();
    let thread = std::thread::spawn(move || theirs.inc(1));
    bar.inc(1);
    thread.join().unwrap();
    assert_eq!(bar.position(), 2);
}

#[test]
fn one_ticks() {
    let bar = ProgressBar::hidden();
    bar.enable_steady_tick(Duration::from_millis(10));
    bar.inc(1);
    bar.disable_steady_tick();
    bar.finish();
    assert!(bar.is_finished());
}
