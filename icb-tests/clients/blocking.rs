//! Work that a pool of threads does.
//!
//! ```toml
//! blocking = "1"
//! pollster = "0.4"
//! ```

#[test]
fn a_result() {
    assert_eq!(pollster::block_on(blocking::unblock(|| 3)), 3);
}

#[test]
#[should_panic]
fn a_panic() {
    pollster::block_on(blocking::unblock(|| panic!()));
}
