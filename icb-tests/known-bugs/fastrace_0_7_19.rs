//! The collector finds the queue of a thread empty, and only then asks whether the thread has gone: a span that was sent in between is thrown away.
//! Found: both spans are reported.
//!
//! ```toml
//! fastrace = { version = "=0.7.19", features = ["enable"] }
//! ```

use fastrace::collector::{Config, TestReporter};
use fastrace::prelude::*;

#[test]
fn a_span_of_a_thread_that_ends() {
    let (reporter, records) = TestReporter::new();
    fastrace::set_reporter(reporter, Config::default());
    let root = Span::root("root", SpanContext::new(TraceId(1), SpanId(1)));
    let child = Span::enter_with_parent("child", &root);
    std::thread::spawn(move || drop(child)).join().unwrap();
    drop(root);
    fastrace::flush();
    assert_eq!(records.lock().len(), 2, "both spans are reported");
}
