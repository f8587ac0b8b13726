//! Shared-memory channels of a data-flow graph: a stand-in, written for this project, for the channels of Dryad (Musuvathi
//! and Qadeer, PLDI 2007, §4.1 and Figure 3), whose source is not published. The paper lists five bugs, one that shows
//! without a preemption and four that take 1, among them the use after free of its Figure 3, and so do these.
//!
//! Vertices write items into a bounded channel; the channel's reader has two workers of its own, one for data and one for
//! control, which hand items to the application. To close a reader is to send each worker a stop message and to wait until all are answered. Five threads:
//! the test, which is the application too, two writers, two workers.

use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;
use std::collections::VecDeque;

/// Which channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As described.
    Correct,
    /// The application waits for an item without looking whether all are there already. Takes no preemption.
    WaitsUnasked,
    /// Figure 3: `close` waits for the answers to the stop messages, not for the workers; the reader is freed while a worker
    /// is about to enter its critical section. Takes 1 preemption, right there, and several switches that are free.
    FreesEarly,
    /// The writer looks whether there is room, and then writes. Takes 1 preemption in between.
    Overfills,
    /// Bytes are counted by a load and a store, by both workers. Takes 1 preemption in between.
    LosesBytes,
    /// Closing takes the base lock and then the queue's, alerting the application the other way round. Takes 1 preemption.
    LocksBothWays,
}

/// What a worker is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Message {
    Item,
    Stop,
}

const CAPACITY: usize = 1;
const WORKERS: usize = 2;
const ITEMS: usize = 2;

#[derive(Default)]
struct Queue {
    messages: VecDeque<Message>,
    /// The most items that have been in it.
    longest: usize,
}

/// What one worker reads from.
#[derive(Default)]
struct Lane {
    queue: Mutex<Queue>,
    not_empty: Condvar,
    not_full: Condvar,
}

/// The reader of a channel.
struct Reader {
    version: Version,
    lanes: [Lane; WORKERS],
    /// Stop messages that are not answered.
    unanswered: Mutex<usize>,
    answered: Condvar,
    /// Figure 3's `m_baseCS`.
    base: Mutex<usize>,
    /// A byte for each message.
    bytes: AtomicUsize,
}

/// What outlives the channel: the application's side.
struct Application {
    version: Version,
    delivered: Mutex<usize>,
    delivery: Condvar,
}

impl Lane {
    fn write_item(&self, version: Version) {
        let mut queue = self.queue.lock().unwrap();
        while queue.messages.len() >= CAPACITY {
            queue = self.not_full.wait(queue).unwrap();
        }
        if version == Version::Overfills {
            drop(queue);
            queue = self.queue.lock().unwrap();
        }
        queue.messages.push_back(Message::Item);
        queue.longest = queue.longest.max(queue.messages.len());
        drop(queue);
        self.not_empty.notify_one();
    }

    fn write_stop(&self) {
        self.queue.lock().unwrap().messages.push_back(Message::Stop);
        self.not_empty.notify_one();
    }

    fn read(&self) -> Message {
        let mut queue = self.queue.lock().unwrap();
        loop {
            if let Some(message) = queue.messages.pop_front() {
                self.not_full.notify_one();
                return message;
            }
            queue = self.not_empty.wait(queue).unwrap();
        }
    }
}

impl Reader {
    fn new(version: Version) -> Self {
        Reader {
            version,
            lanes: Default::default(),
            unanswered: Mutex::new(WORKERS),
            answered: Condvar::new(),
            base: Mutex::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    fn count_byte(&self) {
        if self.version == Version::LosesBytes {
            self.bytes.store(self.bytes.load(SeqCst) + 1, SeqCst);
        } else {
            self.bytes.fetch_add(1, SeqCst);
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
    fn work(&self, lane: usize, application: &Application) {
        loop {
            let message = self.lanes[lane].read();
            self.count_byte();
            match message {
                Message::Item => application.deliver(),
                Message::Stop if self.version == Version::FreesEarly => {
                    self.answer_stop();
                    return self.alert_application();
                }
                Message::Stop => {
                    if self.version == Version::LocksBothWays {
                        let queue = self.lanes[lane].queue.lock().unwrap();
                        let alerts = self.base.lock().unwrap();
                        drop((alerts, queue));
                    }
                    self.alert_application();
                    return self.answer_stop();
                }
            }
        }
    }

    fn close(&self) {
        for lane in &self.lanes {
            lane.write_stop();
            if self.version == Version::LocksBothWays {
                let alerts = self.base.lock().unwrap();
                let queue = lane.queue.lock().unwrap();
                drop((queue, alerts));
            }
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

    /// Waits until all items have arrived.
    fn wait(&self) {
        let mut delivered = self.delivered.lock().unwrap();
        if self.version == Version::WaitsUnasked {
            drop(self.delivery.wait(delivered).unwrap());
            return;
        }
        while *delivered < ITEMS {
            delivered = self.delivery.wait(delivered).unwrap();
        }
    }
}

/// Two writers send an item each to a reader with two workers; then the reader is closed and freed.
pub fn run(version: Version) {
    // As in the original, everybody has a pointer to the reader, and the test frees it.
    let pointer = Box::into_raw(Box::new(Reader::new(version)));
    // SAFETY: it is freed below, after everybody else is done with it. Where that is wrong the tester says so: what is freed
    // stays in quarantine until the execution ends.
    let reader: &'static Reader = unsafe { &*pointer };
    let application = Arc::new(Application { version, delivered: Mutex::new(0), delivery: Condvar::new() });
    let worker = |lane| {
        let application = application.clone();
        thread::spawn(move || reader.work(lane, &application))
    };
    let mut workers = vec![worker(0), worker(1)];
    let writer = || thread::spawn(move || reader.lanes[0].write_item(version));
    let writers = [writer(), writer()];
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    application.wait();
    reader.close();
    if version != Version::FreesEarly {
        workers.drain(..).for_each(|worker| worker.join().unwrap());
        assert_eq!(reader.bytes.load(SeqCst), ITEMS + WORKERS, "bytes are lost");
        assert!(
            reader.lanes[0].queue.lock().unwrap().longest <= CAPACITY,
            "more items than there is room for"
        );
    }
    // SAFETY: the pointer came from `Box::into_raw`, and this is the only place that frees it. `FreesEarly` wrongly assumes
    // that no worker uses it any more.
    drop(unsafe { Box::from_raw(pointer) });
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}
