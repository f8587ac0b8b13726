//! Two threads want to set a cell, and push to a stack that a third one empties.
//!
//! ```toml
//! atomic-try-update = "0.0.2"
//! ```

use atomic_try_update::{once::OnceLockFree, stack::Stack};

#[test]
fn set_once() {
    let cell = OnceLockFree::new();
    let set = |value: u32| cell.set(Box::new(value)).is_ok();
    let (one, two) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| set(1));
        (set(2), thread.join().unwrap())
    });
    assert!(one != two && **cell.get().unwrap() == if one { 2 } else { 1 });
}

#[test]
fn all_are_popped() {
    let stack = Stack::default();
    let popped = std::thread::scope(|scope| {
        let _pushing = [(); 2].map(|()| scope.spawn(|| stack.push(Box::new(1))));
        stack.pop_all().count()
    });
    assert_eq!(popped + stack.pop_all().count(), 2);
}
