//! An asynchronous processing environment: a stand-in, written for this project, for APE (Musuvathi and Qadeer, PLDI 2007,
//! §4.1), whose source is not published. The paper lists four bugs in it, two that show without a preemption, one that takes
//! 1 and one that takes 2, and so do these.
//!
//! Work items wait in a queue for one of two workers; whoever submitted an item can wait until it is done, or cancel it. The
//! main thread sets the environment up, submits items, and shuts it down. A worker that is busy lends the environment a
//! journal, into which the other one may write.

use icb_std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;
use std::collections::VecDeque;

/// Which environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As described.
    Correct,
    /// `shut_down` wakes one worker; the other one waits for ever. Takes no preemption.
    WakesOne,
    /// The end of an item is a signal without memory: it is lost on those who do not wait yet. Takes no preemption: while the
    /// main thread waits for the first item, the second one ends.
    ForgetsSignals,
    /// `cancel` looks at an item's state and then changes it: an item can be cancelled that has begun. Takes 1 preemption,
    /// between the two.
    CancelsLate,
    /// The journal is looked for and then used, without a lock: its worker may have taken it back. Takes 2 preemptions: of the
    /// worker whose journal it is, and of the one that has found it.
    BorrowsWithoutLock,
}

const QUEUED: usize = 0;
const BEGUN: usize = 1;
const CANCELLED: usize = 2;

/// One piece of work.
struct Item {
    state: AtomicUsize,
    ran: AtomicBool,
    done: Mutex<bool>,
    done_signal: Condvar,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Arc<Item>>,
    shut_down: bool,
}

struct Environment {
    version: Version,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Somebody lends a journal.
    lent: AtomicBool,
    journal: Mutex<Option<usize>>,
    /// Lines in the journal that is lent; 0 where there is none.
    bare_journal: AtomicUsize,
    /// A journal was used that had been taken back.
    misused: AtomicBool,
}

impl Environment {
    fn new(version: Version) -> Self {
        Environment {
            version,
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            lent: AtomicBool::new(false),
            journal: Mutex::new(None),
            bare_journal: AtomicUsize::new(0),
            misused: AtomicBool::new(false),
        }
    }

    fn submit(&self) -> Arc<Item> {
        let item = Arc::new(Item {
            state: AtomicUsize::new(QUEUED),
            ran: AtomicBool::new(false),
            done: Mutex::new(false),
            done_signal: Condvar::new(),
        });
        self.queue.lock().unwrap().items.push_back(item.clone());
        self.changed.notify_one();
        item
    }

    /// Waits until the item is done.
    fn wait(&self, item: &Item) {
        let mut done = item.done.lock().unwrap();
        if self.version == Version::ForgetsSignals {
            drop(item.done_signal.wait(done).unwrap());
            return;
        }
        while !*done {
            done = item.done_signal.wait(done).unwrap();
        }
    }

    /// Cancels an item that has not begun.
    fn cancel(&self, item: &Item) -> bool {
        if self.version == Version::CancelsLate {
            let queued = item.state.load(SeqCst) == QUEUED;
            if queued {
                item.state.store(CANCELLED, SeqCst);
            }
            return queued;
        }
        item.state.compare_exchange(QUEUED, CANCELLED, SeqCst, SeqCst).is_ok()
    }

    fn shut_down(&self) {
        self.queue.lock().unwrap().shut_down = true;
        if self.version == Version::WakesOne {
            self.changed.notify_one();
        } else {
            self.changed.notify_all();
        }
    }

    /// A worker: one item after another, until the environment is shut down and nothing is left.
    fn work(&self) {
        loop {
            let mut queue = self.queue.lock().unwrap();
            while queue.items.is_empty() && !queue.shut_down {
                queue = self.changed.wait(queue).unwrap();
            }
            let Some(item) = queue.items.pop_front() else { return };
            drop(queue);
            if item.state.compare_exchange(QUEUED, BEGUN, SeqCst, SeqCst).is_ok() {
                item.ran.store(true, SeqCst);
                self.process();
            }
            *item.done.lock().unwrap() = true;
            item.done_signal.notify_all();
        }
    }

    /// The work itself: lends the own journal, unless another one is lent; then writes into that.
    fn process(&self) {
        if self.version == Version::BorrowsWithoutLock {
            if self.bare_journal.load(SeqCst) > 0 {
                // It may have been taken back meanwhile.
                if self.bare_journal.load(SeqCst) == 0 {
                    self.misused.store(true, SeqCst);
                }
            } else if !self.lent.swap(true, SeqCst) {
                self.bare_journal.store(1, SeqCst);
                self.bare_journal.store(0, SeqCst);
                self.lent.store(false, SeqCst);
            }
            return;
        }
        if !self.lent.swap(true, SeqCst) {
            *self.journal.lock().unwrap() = Some(1);
            *self.journal.lock().unwrap() = None;
            self.lent.store(false, SeqCst);
        } else if let Some(lines) = &mut *self.journal.lock().unwrap() {
            *lines += 1;
        }
    }
}

/// The main thread sets the environment up, starts two workers, submits three items, cancels the last one if it has not
/// begun, waits for the others, and shuts down.
pub fn run(version: Version) {
    let environment = Arc::new(Environment::new(version));
    let worker = || {
        let environment = environment.clone();
        thread::spawn(move || environment.work())
    };
    let workers = [worker(), worker()];
    let items = [environment.submit(), environment.submit(), environment.submit()];
    let cancelled = environment.cancel(&items[2]);
    environment.wait(&items[0]);
    environment.wait(&items[1]);
    environment.shut_down();
    for worker in workers {
        worker.join().unwrap();
    }
    assert!(!environment.misused.load(SeqCst), "a journal is used that has been taken back");
    let ran = items.map(|item| item.ran.load(SeqCst));
    assert_eq!(ran, [true, true, !cancelled], "an item runs unless it is cancelled");
}
