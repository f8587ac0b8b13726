//! Shared-memory channels of a data-flow graph: a stand-in, written for this project, for the channels of Dryad (Musuvathi
//! and Qadeer, PLDI 2007, §4.1 and Figure 3), whose source is not published. The paper lists five bugs, one that shows
//! without a preemption and four that take 1, among them the use after free of its Figure 3, and so do these.
//!
//! Vertices write items into a bounded channel; the channel's reader has two workers of its own, which hand items to the
//! application. To close a reader is to send each worker a stop message and to wait until all are answered. Five threads:
//! the test, which is the application too, two writers, two workers.

use icb_std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;
use std::collections::VecDeque;

/// Which channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As described.
    Correct,
    /// The application waits for its items without looking whether they are there already. Takes no preemption.
    WaitsUnasked,
    /// Figure 3: `close` waits for the answers to the stop messages, not for the workers; the reader is freed while a worker
    /// is about to enter its critical section. Takes 1 preemption, right there, and several switches that are free.
    FreesEarly,
    /// The writer looks whether there is room, and then writes. Takes 1 preemption in between.
    Overfills,
    /// Bytes are counted by a load and a store. Takes 1 preemption in between.
    LosesBytes,
    /// Closing takes the base lock and then the queue's, alerting the application the other way round. Takes 1 preemption.
    LocksBothWays,
}

/// What a worker is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Message {
    Item(usize),
    Stop,
}

const CAPACITY: usize = 1;
const WORKERS: usize = 2;

/// The reader of a channel.
struct Reader {
    version: Version,
    queue: Mutex<VecDeque<Message>>,
    not_empty: Condvar,
    not_full: Condvar,
    /// Stop messages that are not answered.
    unanswered: Mutex<usize>,
    answered: Condvar,
    /// Figure 3's `m_baseCS`.
    base: Mutex<usize>,
    bytes: AtomicUsize,
}

/// What outlives the channel: the application's side.
struct Application {
    version: Version,
    delivered: Mutex<usize>,
    delivery: Condvar,
}

impl Reader {
    fn new(version: Version) -> Self {
        Reader {
            version,
            queue: Mutex::new(VecDeque::new()),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
            unanswered: Mutex::new(WORKERS),
            answered: Condvar::new(),
            base: Mutex::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    fn write(&self, message: Message) {
        let mut queue = self.queue.lock().unwrap();
        while queue.len() >= CAPACITY && message != Message::Stop {
            queue = self.not_full.wait(queue).unwrap();
        }
        if self.version == Version::Overfills && message != Message::Stop {
            drop(queue);
            queue = self.queue.lock().unwrap();
            assert!(queue.len() < CAPACITY, "more items than there is room for");
        }
        queue.push_back(message);
        drop(queue);
        self.not_empty.notify_one();
    }

    fn read(&self) -> Message {
        let mut queue = self.queue.lock().unwrap();
        loop {
            if let Some(message) = queue.pop_front() {
                self.not_full.notify_one();
                return message;
            }
            queue = self.not_empty.wait(queue).unwrap();
        }
    }

    fn count_bytes(&self, bytes: usize) {
        if self.version == Version::LosesBytes {
            self.bytes.store(self.bytes.load(SeqCst) + bytes, SeqCst);
        } else {
            self.bytes.fetch_add(bytes, SeqCst);
        }
    }

    /// Called by a worker that has been told to stop: Figure 3.
    fn alert_application(&self) {
        // A preemption here, and the reader may be gone.
        let mut alerts = self.base.lock().unwrap();
        *alerts += 1;
    }

    fn answer_stop(&self) {
        *self.unanswered.lock().unwrap() -= 1;
        self.answered.notify_one();
    }

    /// A worker of the reader.
    fn work(&self, application: &Application) {
        loop {
            match self.read() {
                Message::Item(bytes) => {
                    self.count_bytes(bytes);
                    if self.version == Version::LocksBothWays {
                        let queue = self.queue.lock().unwrap();
                        let alerts = self.base.lock().unwrap();
                        drop((alerts, queue));
                    }
                    application.deliver();
                }
                Message::Stop if self.version == Version::FreesEarly => {
                    self.answer_stop();
                    self.alert_application();
                    return;
                }
                Message::Stop => {
                    self.alert_application();
                    self.answer_stop();
                    return;
                }
            }
        }
    }

    fn close(&self) {
        for _ in 0..WORKERS {
            self.write(Message::Stop);
        }
        if self.version == Version::LocksBothWays {
            let alerts = self.base.lock().unwrap();
            let queue = self.queue.lock().unwrap();
            drop((queue, alerts));
        }
        let mut unanswered = self.unanswered.lock().unwrap();
        while *unanswered > 0 {
            unanswered = self.answered.wait(unanswered).unwrap();
        }
    }
}

impl Application {
    fn deliver(&self) {
        *self.delivered.lock().unwrap() += 1;
        self.delivery.notify_one();
    }

    /// Waits until the first item has arrived.
    fn run(&self) {
        let mut delivered = self.delivered.lock().unwrap();
        if self.version == Version::WaitsUnasked {
            drop(self.delivery.wait(delivered).unwrap());
            return;
        }
        while *delivered == 0 {
            delivered = self.delivery.wait(delivered).unwrap();
        }
    }
}

/// Two writers send an item of one byte each to a reader with two workers; then the reader is closed and freed.
pub fn run(version: Version) {
    // As in the original, everybody has a pointer to the reader, and the test frees it.
    let reader = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(Reader::new(version)))));
    let application = Arc::new(Application { version, delivered: Mutex::new(0), delivery: Condvar::new() });
    // SAFETY: it is freed below, after everybody else is done with it. Where that is wrong the tester says so: what is freed
    // stays in quarantine until the execution ends.
    let access = |pointer: &Arc<AtomicPtr<Reader>>| unsafe { &*pointer.load(SeqCst) };
    let worker = || {
        let (reader, application) = (access(&reader), application.clone());
        thread::spawn(move || reader.work(&application))
    };
    let mut workers = vec![worker(), worker()];
    let writer = || {
        let reader = access(&reader);
        thread::spawn(move || reader.write(Message::Item(1)))
    };
    let writers = [writer(), writer()];
    application.run();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let to = access(&reader);
    to.close();
    if version != Version::FreesEarly {
        workers.drain(..).for_each(|worker| worker.join().unwrap());
        assert_eq!(to.bytes.load(SeqCst), 2, "bytes are lost");
    }
    // SAFETY: the pointer came from `Box::into_raw`, and this is the only place that frees it. `FreesEarly` wrongly assumes
    // that no worker uses it any more.
    drop(unsafe { Box::from_raw(reader.load(SeqCst)) });
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
