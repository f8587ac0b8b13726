//! A value is observed while another thread sets it.
//!
//! ```toml
//! eyeball = "0.8"
//! pollster = "0.4"
//! ```

use eyeball::SharedObservable;

#[test]
fn the_last_value_is_seen() {
    let value = SharedObservable::new(0);
    let mut observer = value.subscribe();
    let same = value.clone();
    let other = std::thread::spawn(move || {
        same.set(1);
        same.set(2);
    });
    let mut last = 0;
    while last < 2 {
        let new = pollster::block_on(observer.next()).unwrap();
        assert!(last < new);
        last = new;
    }
    other.join().unwrap();
    drop(value);
    assert_eq!(pollster::block_on(observer.next()), None);
}
