//! A memo that is computed anew says afterwards that it is up to date, also if its source has been set, and has said so, meanwhile.
//! Found: the last value is seen.
//!
//! ```toml
//! reactive_graph = "=0.2.16"
//! ```

use reactive_graph::computed::ArcMemo;
use reactive_graph::prelude::*;
use reactive_graph::signal::ArcRwSignal;

#[test]
fn set_while_it_is_computed() {
    let value = ArcRwSignal::new(1);
    let doubled = ArcMemo::new({
        let value = value.clone();
        move |_| value.get() * 2
    });
    let thread = std::thread::spawn(move || value.set(2));
    doubled.get_untracked();
    thread.join().unwrap();
    assert_eq!(doubled.get_untracked(), 4, "the last value is seen");
}
