//! A worker writes what is logged.
//!
//! ```toml
//! slog-async = "2"
//! slog = "2"
//! ```

use slog::{Drain, Logger, Never, OwnedKVList, Record, info, o};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

struct Counting(Arc<AtomicU32>);

impl Drain for Counting {
    type Ok = ();
    type Err = Never;

    fn log(&self, _: &Record<'_>, _: &OwnedKVList) -> Result<(), Never> {
        self.0.fetch_add(1, Relaxed);
        Ok(())
    }
}

#[test]
fn all_is_written() {
    let count = Arc::new(AtomicU32::new(0));
    let (drain, guard) = slog_async::Async::new(Counting(count.clone())).build_with_guard();
    let logger = Logger::root(drain.ignore_res(), o!());
    let other = logger.clone();
    let thread = std::thread::spawn(move || info!(other, "one"));
    info!(logger, "two");
    thread.join().unwrap();
    drop(guard);
    assert_eq!(count.load(Relaxed), 2);
}
