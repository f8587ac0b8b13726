//! A work-stealing queue after Cilk's THE protocol (Frigo, Leiserson and Randall, PLDI 1998, section 5), in a bounded
//! circular buffer, and three versions with a seeded bug each: the benchmark of iterative context bounding (Musuvathi and
//! Qadeer, PLDI 2007, section 4), whose source is not published; it lists one bug that takes 1 preemption and two that
//! take 2, and so do these.
//!
//! The victim, who owns the queue, pushes and pops at the tail; thieves steal at the head. The victim takes the lock only
//! if it may be after the same item as a thief; thieves always do. Both announce first (`tail - 1`, `head + 1`) and look
//! afterwards at what the other has announced.
//!
//! In the circular buffer a slot is used again. A thief moves the head before it reads its item, so the slot before the
//! head may still be in use: one slot more than items fit.

use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;

/// Which queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As described.
    Correct,
    /// `pop` looks at the head before it announces. The last item can be stolen in between, and is then taken twice:
    /// the victim is preempted once, the thief runs to its end.
    LooksBeforeAnnouncing,
    /// `steal` does without the lock. A thief announces, finds nothing and is stopped before it takes that back; the
    /// victim, whose lock no longer makes it wait for the thief, believes its last item stolen and finds the queue empty
    /// though it is not. The victim is preempted for the thief, and the thief before it steps back.
    StealsWithoutLock,
    /// The buffer has as many slots as items fit. A thief that has moved the head and not yet read its item finds
    /// another one there: the victim is preempted for the thief, and the thief for a push.
    NoSpareSlot,
}

/// The queue. Indices grow; a slot is index modulo number of slots. Both begin at 1, so that `tail - 1` is no underflow.
#[derive(Debug)]
pub struct Queue {
    version: Version,
    capacity: usize,
    head: AtomicUsize,
    tail: AtomicUsize,
    slots: Vec<AtomicUsize>,
    conflict: Mutex<()>,
}

impl Queue {
    /// An empty queue for `capacity` items.
    #[must_use]
    pub fn new(version: Version, capacity: usize) -> Self {
        let slots = if version == Version::NoSpareSlot { capacity } else { capacity + 1 };
        Queue {
            version,
            capacity,
            head: AtomicUsize::new(1),
            tail: AtomicUsize::new(1),
            slots: (0..slots).map(|_| AtomicUsize::new(0)).collect(),
            conflict: Mutex::new(()),
        }
    }

    fn slot(&self, index: usize) -> &AtomicUsize {
        &self.slots[index % self.slots.len()]
    }

    /// The victim's: adds an item, unless the queue is full.
    ///
    /// # Errors
    /// The item, if the queue is full.
    pub fn push(&self, item: usize) -> Result<(), usize> {
        let tail = self.tail.load(SeqCst);
        // A thief that gives up takes its step back: for a moment the head may be one beyond the tail.
        if tail.saturating_sub(self.head.load(SeqCst)) >= self.capacity {
            return Err(item);
        }
        self.slot(tail).store(item, SeqCst);
        self.tail.store(tail + 1, SeqCst);
        Ok(())
    }

    /// The victim's: takes the newest item.
    pub fn pop(&self) -> Option<usize> {
        if self.version == Version::LooksBeforeAnnouncing {
            let tail = self.tail.load(SeqCst) - 1;
            if self.head.load(SeqCst) > tail {
                return None;
            }
            self.tail.store(tail, SeqCst);
            return Some(self.slot(tail).load(SeqCst));
        }
        let tail = self.tail.load(SeqCst) - 1;
        self.tail.store(tail, SeqCst);
        if self.head.load(SeqCst) > tail {
            // The last item may be a thief's, or there is none: back, and once more with the lock.
            self.tail.store(tail + 1, SeqCst);
            let _guard = self.conflict.lock().unwrap();
            self.tail.store(tail, SeqCst);
            if self.head.load(SeqCst) > tail {
                self.tail.store(tail + 1, SeqCst);
                return None;
            }
        }
        Some(self.slot(tail).load(SeqCst))
    }

    /// A thief's: takes the oldest item.
    pub fn steal(&self) -> Option<usize> {
        let _guard = (self.version != Version::StealsWithoutLock).then(|| self.conflict.lock().unwrap());
        let head = self.head.load(SeqCst);
        self.head.store(head + 1, SeqCst);
        if head + 1 > self.tail.load(SeqCst) {
            self.head.store(head, SeqCst);
            return None;
        }
        Some(self.slot(head).load(SeqCst))
    }
}

/// The caller is the victim: pushes three items, of which two fit unless one is stolen meanwhile, and pops until nothing
/// is left. A thief steals twice. Each item is taken once.
pub fn run(version: Version) {
    let queue = Arc::new(Queue::new(version, 2));
    let theirs = queue.clone();
    let thief = thread::spawn(move || [theirs.steal(), theirs.steal()]);
    let mut pushed = Vec::new();
    for item in 1..=3 {
        if queue.push(item).is_ok() {
            pushed.push(item);
        }
    }
    let mut taken = Vec::new();
    while let Some(item) = queue.pop() {
        taken.push(item);
        assert!(taken.len() <= pushed.len(), "more items than were pushed");
    }
    taken.extend(thief.join().unwrap().into_iter().flatten());
    taken.sort_unstable();
    assert_eq!(taken, pushed, "each item is taken once");
}
