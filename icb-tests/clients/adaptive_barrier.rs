//! Two meet at a barrier, and one goes away.
//!
//! ```toml
//! adaptive-barrier = "1"
//! ```

use adaptive_barrier::{Barrier, PanicMode};

#[test]
fn one_leads() {
    let mut one = Barrier::new(PanicMode::Poison);
    let mut two = one.clone();
    let three = one.clone();
    let going = std::thread::spawn(move || drop(three));
    let other = std::thread::spawn(move || two.wait().is_leader());
    let leads = one.wait().is_leader();
    assert!(leads != other.join().unwrap());
    going.join().unwrap();
}
