//! A span ends once, with the last of two threads that are in it.
//!
//! ```toml
//! tracing-subscriber = "0.3"
//! tracing = "0.1"
//! ```

use std::sync::{Arc, Mutex};
use tracing::span::Id;
use tracing::{Dispatch, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

struct Ended(Arc<Mutex<Vec<&'static str>>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Ended {
    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.0.lock().unwrap().push(context.span(&id).unwrap().name());
    }
}

#[test]
fn a_span_ends_once() {
    let ended = Arc::new(Mutex::new(Vec::new()));
    let dispatch = Dispatch::new(Registry::default().with(Ended(ended.clone())));
    tracing::dispatcher::with_default(&dispatch, || {
        let span = tracing::info_span!("work");
        let same = span.clone();
        let thread = std::thread::spawn(move || same.in_scope(|| ()));
        span.in_scope(|| ());
        drop(span);
        thread.join().unwrap();
    });
    assert_eq!(*ended.lock().unwrap(), ["work"]);
}
