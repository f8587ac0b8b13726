//! `clean` finds that nobody has borrowed the value, and moves and frees what it was; a clone of the pointer has counted itself and loaded the
//! place in between, and reads there.
//! Found: data race: .
//!
//! ```toml
//! rcu-clean = "=0.1.8"
//! ```

use rcu_clean::ArcRcu;

#[test]
fn a_value_is_read_while_another_cleans() {
    let mut value = ArcRcu::new(Box::new(1));
    let same = value.clone();
    *value.update() = Box::new(2);
    let reader = std::thread::spawn(move || **same);
    value.clean();
    assert_eq!(reader.join().unwrap(), 2);
}
