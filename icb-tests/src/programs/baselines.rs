//! Small programs on which other tools have been measured, with as many threads and rounds as one likes: what a
//! reduction leaves of them is known. None of them fails.

use super::{bluetooth, prodcons};
use icb_std::cell::UnsafeCell;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Mutex, RwLock};
use icb_std::thread::{self, JoinHandle};
use std::sync::Arc;

/// A name and what to run.
pub type Entry = (&'static str, fn());

fn spawn_all(count: usize, f: impl Fn(usize) + Clone + Send + 'static) -> Vec<JoinHandle<()>> {
    let spawn = |index| {
        let f = f.clone();
        thread::spawn(move || f(index))
    };
    (0..count).map(spawn).collect()
}

fn join_all(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap();
    }
}

/// `n` threads, `k` times each: load, store the successor.
pub fn counter_racy(n: usize, k: usize) {
    let counter = Arc::new(AtomicUsize::new(0));
    join_all(spawn_all(n, move |_| {
        for _ in 0..k {
            let value = counter.load(SeqCst);
            counter.store(value + 1, SeqCst);
        }
    }));
}

/// `n` threads, `k` times each: an increment under a mutex.
pub fn mutex_counter(n: usize, k: usize) {
    let counter = Arc::new(Mutex::new(0));
    join_all(spawn_all(n, move |_| {
        for _ in 0..k {
            *counter.lock().unwrap() += 1;
        }
    }));
}

/// Cilk's deque under its THE protocol, in a buffer that is large enough. Indices begin at 1, so that a tail below an
/// empty deque's head is no underflow.
struct Deque {
    head: AtomicUsize,
    tail: AtomicUsize,
    items: Vec<AtomicUsize>,
    conflict: Mutex<()>,
}

impl Deque {
    fn push(&self, item: usize) {
        let tail = self.tail.load(SeqCst);
        self.items[tail % self.items.len()].store(item, SeqCst);
        self.tail.store(tail + 1, SeqCst);
    }

    fn pop(&self) -> Option<usize> {
        let mut tail = self.tail.fetch_sub(1, SeqCst) - 1;
        if self.head.load(SeqCst) > tail {
            self.tail.fetch_add(1, SeqCst);
            let guard = self.conflict.lock().unwrap();
            tail = self.tail.fetch_sub(1, SeqCst) - 1;
            if self.head.load(SeqCst) > tail {
                self.tail.fetch_add(1, SeqCst);
                return None;
            }
            drop(guard);
        }
        Some(self.items[tail % self.items.len()].load(SeqCst))
    }

    fn steal(&self) -> Option<usize> {
        let _guard = self.conflict.lock().unwrap();
        let head = self.head.fetch_add(1, SeqCst);
        if head + 1 > self.tail.load(SeqCst) {
            self.head.fetch_sub(1, SeqCst);
            return None;
        }
        Some(self.items[head % self.items.len()].load(SeqCst))
    }
}

/// The victim, main, pushes `size` items and pops as many; a thief steals as often.
pub fn wsq(size: usize) {
    let deque = Arc::new(Deque {
        head: AtomicUsize::new(1),
        tail: AtomicUsize::new(1),
        items: (0..size).map(|_| AtomicUsize::new(0)).collect(),
        conflict: Mutex::new(()),
    });
    let theirs = deque.clone();
    let thief = thread::spawn(move || {
        for _ in 0..size {
            theirs.steal();
        }
    });
    for item in 0..size {
        deque.push(item);
    }
    for _ in 0..size {
        deque.pop();
    }
    thief.join().unwrap();
}

/// An index-based stack; 0 is nobody.
struct Stack {
    head: AtomicUsize,
    next: Vec<Cell>,
}

struct Cell(UnsafeCell<usize>);

// SAFETY: a node's cell is written by its owner before the node is in the stack, and read only after it was found there.
unsafe impl Sync for Cell {}

impl Stack {
    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(SeqCst);
            // SAFETY: the node is not in the stack, so it is the caller's.
            self.next[node].0.with_mut(|next| unsafe { *next = head });
            if self.head.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            if head == 0 {
                return None;
            }
            // SAFETY: nodes are not pushed again, so nobody writes to one that was found in the stack.
            let next = self.next[head].0.with(|next| unsafe { *next });
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                return Some(head);
            }
        }
    }
}

/// `n` threads, main one of them: each pushes one node and pops one.
pub fn treiber(n: usize) {
    let next = (0..=n).map(|_| Cell(UnsafeCell::new(0))).collect();
    let stack = Arc::new(Stack { head: AtomicUsize::new(0), next });
    let theirs = stack.clone();
    let threads = spawn_all(n - 1, move |index| {
        theirs.push(index + 2);
        theirs.pop();
    });
    stack.push(1);
    stack.pop();
    join_all(threads);
}

/// `n` philosophers who take the lower fork first.
pub fn dining_ok(n: usize) {
    let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
    join_all(spawn_all(n, move |index| {
        let (left, right) = (index, (index + 1) % n);
        let _first = forks[left.min(right)].lock().unwrap();
        let _second = forks[left.max(right)].lock().unwrap();
    }));
}

/// Readers and one writer, main, `k` rounds each.
pub fn rwlock_mix(readers: usize, k: usize) {
    let value = Arc::new(RwLock::new(0));
    let theirs = value.clone();
    let threads = spawn_all(readers, move |_| {
        for _ in 0..k {
            let _ = *theirs.read().unwrap();
        }
    });
    for _ in 0..k {
        *value.write().unwrap() += 1;
    }
    join_all(threads);
}

/// The programs, and whether all that they synchronize with are locks.
pub const PROGRAMS: [(Entry, bool); 19] = [
    (("counter_racy(2,2)", || counter_racy(2, 2)), false),
    (("counter_racy(2,3)", || counter_racy(2, 3)), false),
    (("counter_racy(3,1)", || counter_racy(3, 1)), false),
    (("counter_racy(3,2)", || counter_racy(3, 2)), false),
    (("mutex_counter(2,2)", || mutex_counter(2, 2)), true),
    (("mutex_counter(3,1)", || mutex_counter(3, 1)), true),
    (("mutex_counter(3,2)", || mutex_counter(3, 2)), true),
    (("wsq(1)", || wsq(1)), false),
    (("wsq(2)", || wsq(2)), false),
    (("wsq(3)", || wsq(3)), false),
    (("bluetooth(2)", || bluetooth::run(bluetooth::Version::Fixed, 2)), false),
    (("prodcons(2,1,1)", || prodcons::run(prodcons::Version::TwoCondvars, 2, 1, 1)), true),
    (("prodcons(2,2,1)", || prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1)), true),
    (("dining_ok(3)", || dining_ok(3)), true),
    (("treiber(2)", || treiber(2)), false),
    (("treiber(3)", || treiber(3)), false),
    (("rwlock_mix(2,1)", || rwlock_mix(2, 1)), true),
    (("rwlock_mix(2,2)", || rwlock_mix(2, 2)), true),
    (("rwlock_mix(3,2)", || rwlock_mix(3, 2)), true),
];
