//! A number on the heap, which is replaced by a larger one if the pointer to it is still the one that was read: one block
//! is taken for another if it lies where that one lay.

use icb_std::sync::atomic::{AtomicPtr, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;

/// It is read, and freed, under a lock.
struct Replaced {
    current: AtomicPtr<u64>,
    reading: Mutex<()>,
}

impl Replaced {
    fn add(&self, amount: u64) {
        loop {
            let (before, value) = {
                let _reading = self.reading.lock().unwrap();
                let current = self.current.load(SeqCst);
                // SAFETY: it is freed under the lock, by who has put another in its place before.
                (current, unsafe { *current })
            };
            let after = Box::into_raw(Box::new(value + amount));
            let replaced = self.current.compare_exchange(before, after, SeqCst, SeqCst);
            let _reading = self.reading.lock().unwrap();
            // SAFETY: nobody else leads to the one that was replaced, or to the one that has not come to its place.
            drop(unsafe { Box::from_raw(replaced.unwrap_or(after)) });
            if replaced.is_ok() {
                return;
            }
        }
    }
}

/// One thread takes the second number of the other one for the first, if they lie at the same address.
///
/// # Panics
/// If it has.
pub fn takes_one_for_another() {
    let first = Box::into_raw(Box::new(1));
    let number = Arc::new(Replaced { current: AtomicPtr::new(first), reading: Mutex::new(()) });
    let same = number.clone();
    let other = thread::spawn(move || {
        same.add(10);
        same.add(20);
    });
    number.add(100);
    other.join().unwrap();
    // SAFETY: nobody else is left.
    let last = unsafe { Box::from_raw(number.current.load(SeqCst)) };
    assert_eq!(*last, 131, "something was lost");
}
