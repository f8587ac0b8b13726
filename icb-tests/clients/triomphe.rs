//! The last owner may take the value out.
//!
//! ```toml
//! triomphe = "0.1"
//! ```

use triomphe::Arc;

#[test]
fn one_last_owner() {
    let first = Arc::new(5);
    let second = first.clone();
    let thread = std::thread::spawn(move || *second);
    assert_eq!(*first, 5);
    drop(first);
    assert_eq!(thread.join().unwrap(), 5);
}
