//! A signal that two threads set, and one reads.
//!
//! ```toml
//! reactive_graph = "0.2"
//! ```

use reactive_graph::prelude::*;
use reactive_graph::signal::ArcRwSignal;

#[test]
fn two_updates() {
    let value = ArcRwSignal::new(0);
    let theirs = value.clone();
    let thread = std::thread::spawn(move || theirs.update(|value| *value += 1));
    value.update(|value| *value += 1);
    thread.join().unwrap();
    assert_eq!(value.get_untracked(), 2);
}
