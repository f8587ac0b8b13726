//! The Bluetooth driver of the KISS paper (Qadeer and Wu, PLDI 2004, Figure 2).
//!
//! `PnpAdd` performs I/O unless the driver is being stopped; `PnpStop` waits until nobody is inside and then frees
//! everything. The published driver checks `stoppingFlag` and increments `pendingIo` in two steps: a stop in between
//! goes unnoticed, and I/O is done in a stopped driver. The fixed driver increments first and checks afterwards.

use icb_std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;

/// Which driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As published: check, then increment.
    Published,
    /// Increment, then check.
    Fixed,
}

/// The device extension, and the paper's global `stopped`.
#[derive(Debug)]
pub struct Driver {
    version: Version,
    /// Threads inside the driver, plus one until it is stopped.
    pending_io: AtomicI32,
    stopping_flag: AtomicBool,
    stopping_event: Mutex<bool>,
    stopping_event_happened: Condvar,
    stopped: AtomicBool,
}

impl Driver {
    /// A running driver.
    #[must_use]
    pub fn new(version: Version) -> Self {
        Driver {
            version,
            pending_io: AtomicI32::new(1),
            stopping_flag: AtomicBool::new(false),
            stopping_event: Mutex::new(false),
            stopping_event_happened: Condvar::new(),
            stopped: AtomicBool::new(false),
        }
    }

    /// `BCSP_IoIncrement`: enters the driver, unless it is being stopped.
    fn io_increment(&self) -> bool {
        match self.version {
            Version::Published => {
                if self.stopping_flag.load(SeqCst) {
                    return false;
                }
                self.pending_io.fetch_add(1, SeqCst);
                true
            }
            Version::Fixed => {
                self.pending_io.fetch_add(1, SeqCst);
                if self.stopping_flag.load(SeqCst) {
                    self.io_decrement();
                    return false;
                }
                true
            }
        }
    }

    /// `BCSP_IoDecrement`: leaves the driver; the last one out sets the event.
    fn io_decrement(&self) {
        if self.pending_io.fetch_sub(1, SeqCst) == 1 {
            *self.stopping_event.lock().unwrap() = true;
            self.stopping_event_happened.notify_all();
        }
    }

    /// `BCSP_PnpAdd`: performs I/O.
    pub fn pnp_add(&self) {
        if self.io_increment() {
            assert!(!self.stopped.load(SeqCst), "I/O in a stopped driver");
            self.io_decrement();
        }
    }

    /// `BCSP_PnpStop`: stops the driver when nobody is inside.
    pub fn pnp_stop(&self) {
        self.stopping_flag.store(true, SeqCst);
        self.io_decrement();
        let mut event = self.stopping_event.lock().unwrap();
        while !*event {
            event = self.stopping_event_happened.wait(event).unwrap();
        }
        drop(event);
        self.stopped.store(true, SeqCst);
    }
}

/// One thread stops the driver, `adders` perform I/O; the calling thread is one of them.
pub fn run(version: Version, adders: usize) {
    let driver = Arc::new(Driver::new(version));
    let mut threads = Vec::new();
    let stopper = driver.clone();
    threads.push(thread::spawn(move || stopper.pnp_stop()));
    for _ in 1..adders {
        let adder = driver.clone();
        threads.push(thread::spawn(move || adder.pnp_add()));
    }
    driver.pnp_add();
    for thread in threads {
        thread.join().unwrap();
    }
}
