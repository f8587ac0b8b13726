//! One thread takes from its own queue, another one steals half of it.
//!
//! ```toml
//! st3 = "0.4"
//! ```

use st3::fifo::Worker;

#[test]
fn each_item_once() {
    let worker = Worker::<usize>::new(4);
    let stealer = worker.stealer();
    [1, 2, 3].map(|item| worker.push(item).unwrap());
    let thread = std::thread::spawn(move || {
        let loot = Worker::new(4);
        let count = stealer.steal(&loot, |count| count / 2).unwrap_or(0);
        let items: Vec<usize> = std::iter::from_fn(|| loot.pop()).collect();
        assert_eq!(items.len(), count);
        items.iter().sum::<usize>()
    });
    let mine: usize = std::iter::from_fn(|| worker.pop()).sum();
    let theirs = thread.join().unwrap();
    let left: usize = std::iter::from_fn(|| worker.pop()).sum();
    assert_eq!(mine + theirs + left, 6);
}
