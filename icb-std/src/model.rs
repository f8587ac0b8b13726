//! Placeholder of the public interface of the explorer: runs the closure once, on real threads.

/// Runs the closure once.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    f();
}
