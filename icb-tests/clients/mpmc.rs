//! Two threads push, and one pops.
//!
//! ```toml
//! mpmc = "0.1"
//! ```

#[test]
fn two_producers() {
    let queue = mpmc::Queue::with_capacity(2);
    let other = queue.clone();
    let thread = std::thread::spawn(move || other.push(1).unwrap());
    queue.push(2).unwrap();
    let first = queue.pop();
    thread.join().unwrap();
    let mut all: Vec<u32> = first.into_iter().chain(std::iter::from_fn(|| queue.pop())).collect();
    all.sort();
    assert_eq!(all, [1, 2]);
}
