//! Two threads push, and one pops.
//!
//! ```toml
//! treiber_stack = "1"
//! ```

use treiber_stack::TreiberStack;

#[test]
fn each_is_popped_once() {
    let stack = TreiberStack::<Box<u32>>::default();
    let popped = std::thread::scope(|scope| {
        scope.spawn(|| stack.push(Box::new(1)));
        let popper = scope.spawn(|| stack.pop().map_or(0, |number| **number));
        stack.push(Box::new(2));
        popper.join().unwrap()
    });
    let mut sum = popped;
    while let Some(number) = stack.pop() {
        sum += **number;
    }
    assert_eq!(sum, 3);
}
