//! A static that is made when it is first asked for, and one with a lock.
//!
//! ```toml
//! static_init = "1"
//! ```

use static_init::dynamic;

#[dynamic]
static NUMBER: Box<u32> = Box::new(7);

#[dynamic]
static mut COUNT: u32 = 1;

#[test]
fn made_once() {
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(**NUMBER, 7));
        assert_eq!(**NUMBER, 7);
    });
}

#[test]
fn written_and_read() {
    std::thread::scope(|scope| {
        scope.spawn(|| *COUNT.write() += 1);
        *COUNT.write() += 1;
    });
    assert_eq!(*COUNT.read(), 3);
}
