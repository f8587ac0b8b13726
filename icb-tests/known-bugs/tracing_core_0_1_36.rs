//! Events are lost for ever: a thread that comes to a place for the first time while the subscriber is being made the default finds none, and notes that
//! nobody is interested.
//! Found: the event is seen.
//!
//! ```toml
//! tracing-core = "=0.1.36"
//! tracing = { version = "0.1", default-features = false, features = ["std"] }
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

struct Counter(Arc<AtomicUsize>);

impl Subscriber for Counter {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn say() {
    tracing::info!("here");
}

#[test]
fn events_are_seen_by_the_default() {
    let count = Arc::new(AtomicUsize::new(0));
    let thread = std::thread::spawn(say);
    tracing::subscriber::set_global_default(Counter(count.clone())).unwrap();
    thread.join().unwrap();
    let before = count.load(Ordering::Relaxed);
    say();
    assert_eq!(count.load(Ordering::Relaxed), before + 1, "the event is seen");
}
