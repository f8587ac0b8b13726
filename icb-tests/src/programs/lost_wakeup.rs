//! A thread waits for an event that another thread signals once.
//!
//! The wrong version looks at the flag outside the mutex: the event may happen after the look and before the wait, and
//! then nobody wakes the waiter. The right version looks under the mutex it waits with.

use icb_std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;

/// Where the waiter looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Before it takes the mutex.
    LooksOutside,
    /// Under the mutex, again after every wake-up.
    LooksInside,
}

#[derive(Debug, Default)]
struct Event {
    happened: AtomicBool,
    mutex: Mutex<()>,
    signal: Condvar,
}

impl Event {
    fn wait(&self, version: Version) {
        match version {
            Version::LooksOutside => {
                if !self.happened.load(SeqCst) {
                    let guard = self.mutex.lock().unwrap();
                    drop(self.signal.wait(guard).unwrap());
                }
            }
            Version::LooksInside => {
                let mut guard = self.mutex.lock().unwrap();
                while !self.happened.load(SeqCst) {
                    guard = self.signal.wait(guard).unwrap();
                }
            }
        }
    }

    fn set(&self) {
        let guard = self.mutex.lock().unwrap();
        self.happened.store(true, SeqCst);
        drop(guard);
        self.signal.notify_one();
    }
}

/// The calling thread waits, another one signals.
pub fn run(version: Version) {
    let event = Arc::new(Event::default());
    let other = event.clone();
    let thread = thread::spawn(move || other.set());
    event.wait(version);
    thread.join().unwrap();
}
