//! A pool on a channel, whose end waits for its jobs.
//!
//! ```toml
//! uvth = "4"
//! ```

use std::sync::mpsc::channel;
use uvth::ThreadPoolBuilder;

#[test]
fn all_jobs_are_done() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build();
    let (sender, receiver) = channel();
    for number in 0..2 {
        let sender = sender.clone();
        pool.execute(move || sender.send(number).unwrap());
    }
    drop(sender);
    assert_eq!(receiver.iter().sum::<i32>(), 1);
    pool.terminate();
}
