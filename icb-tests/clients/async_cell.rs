//! A value is put into a cell and taken out.
//!
//! ```toml
//! async_cell = "0.2"
//! pollster = "0.4"
//! ```

use async_cell::sync::AsyncCell;

#[test]
fn taken_once() {
    let cell = AsyncCell::shared();
    let theirs = cell.clone();
    let thread = std::thread::spawn(move || theirs.set(Box::new(1)));
    assert_eq!(pollster::block_on(cell.take()), Box::new(1));
    assert!(cell.try_take().is_none());
    thread.join().unwrap();
}

#[test]
fn two_wait() {
    let cell = AsyncCell::shared();
    let theirs = cell.clone();
    let thread = std::thread::spawn(move || pollster::block_on(theirs.get()));
    let third = cell.clone();
    let setter = std::thread::spawn(move || third.set(1));
    assert_eq!(pollster::block_on(cell.get()), 1);
    assert_eq!(thread.join().unwrap(), 1);
    setter.join().unwrap();
}
