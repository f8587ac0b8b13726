//! Nothing but relaxed accesses: what the worker has pushed is taken without anything that orders it.
//! Found: data race: .
//!
//! ```toml
//! swap-queue = "=1.1.0"
//! pollster = "0.4"
//! ```

use swap_queue::Worker;

#[test]
fn all_are_taken() {
    let worker = Worker::new();
    let stealer = worker.push(1).unwrap();
    let thread = std::thread::spawn(move || pollster::block_on(stealer.take()).iter().sum::<u32>());
    let rest = worker.push(2).map_or(0, |stealer| pollster::block_on(stealer.take()).iter().sum());
    assert_eq!(thread.join().unwrap() + rest, 3);
}
