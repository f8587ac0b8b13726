//! Threads of the engine beside the one that runs executions. It knows nothing of what they are for.

use std::io;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};

/// Starts a thread, and waits until it has begun. What `std` keeps of its threads in statics changes when one begins, and when one
/// ends; during an execution that would be a change of the program's memory that the program has not made, and whether a turn of a
/// loop counts as idle depends on that. So whoever starts a thread also joins it.
pub(super) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let (begun, begins) = mpsc::sync_channel::<()>(0);
    let thread = Builder::new().name(name.to_owned()).spawn(move || {
        drop(begun);
        work();
    })?;
    // Nothing is sent: the other end goes when the thread has begun.
    let _ = begins.recv();
    Ok(thread)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    /// `std` names a thread after it has noted it.
    #[test]
    fn what_is_started_has_begun() {
        for number in 0..50 {
            let name = format!("beside-{number}");
            let (end, ends) = std::sync::mpsc::channel::<()>();
            let thread = super::start(&name, move || assert!(ends.recv().is_err())).unwrap();
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            assert!(names.into_iter().any(|known| known.trim_end() == name), "{name}");
            drop(end);
            thread.join().unwrap();
        }
    }
}
