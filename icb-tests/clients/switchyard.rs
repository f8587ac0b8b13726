//! A pool of one thread, which keeps to one processor, does two jobs.
//!
//! ```toml
//! switchyard = "0.3"
//! pollster = "0.4"
//! ```

use switchyard::{Switchyard, threads};

#[test]
fn both_jobs_are_done() {
    assert_eq!(threads::thread_info().logical, 2);
    let yard = Switchyard::new(threads::single_thread(None, Some(1)), || ()).unwrap();
    let jobs = [1, 2].map(|job| yard.spawn(0, async move { job }));
    assert_eq!(jobs.map(pollster::block_on), [1, 2]);
}
