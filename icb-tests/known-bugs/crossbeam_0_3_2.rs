//! The list of those who take part in epochs is made by whoever comes first; the others come to it by a relaxed load.
//! Found: data race.
//!
//! ```toml
//! crossbeam = "=0.3.2"
//! ```
//!
//! ```toml
//! crossbeam = "=0.4.1"
//! ```

use crossbeam::epoch;

#[test]
fn both_take_part() {
    let other = std::thread::spawn(|| drop(epoch::pin()));
    drop(epoch::pin());
    other.join().unwrap();
}
