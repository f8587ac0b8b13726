//! A tree of two threads shares out work.
//!
//! ```toml
//! thread-tree = "0.3"
//! ```

#[test]
fn both_halves_are_done() {
    let tree = thread_tree::ThreadTree::new_with_level(1);
    let mut numbers = [1, 2, 3, 4];
    let (left, right) = numbers.split_at_mut(2);
    let sums = tree.top().join(
        |_| {
            left[0] = 5;
            left.iter().sum::<i32>()
        },
        |_| right.iter().sum::<i32>(),
    );
    assert_eq!(sums, (7, 7));
    assert_eq!(numbers[0], 5);
}
