//! The programs of the suite, once, as a text that is compiled against a library. Knows nothing of the libraries; a bench
//! about plain memory compiles it against std.
//!
//! `Arc` is std's everywhere, atomics are SeqCst. Every visible operation (atomic access, lock, unlock, wait, notify,
//! spawn, join) calls `step`, which counts in the counting copy of a world and does nothing in the timed one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Visible operations since the last [`take_steps`].
pub(crate) static STEPS: AtomicU64 = AtomicU64::new(0);

/// The visible operations counted so far; the count begins anew.
pub(crate) fn take_steps() -> u64 {
    STEPS.swap(0, Relaxed)
}

/// A name and what to run.
pub(crate) type Entry = (&'static str, fn());

/// Data that threads share without synchronizing on it. The library under test has no such cell, so nothing is checked.
#[derive(Debug)]
pub(crate) struct Unchecked<T>(std::cell::UnsafeCell<T>);

impl<T> Unchecked<T> {
    /// A cell.
    pub(crate) fn new(value: T) -> Self {
        Unchecked(std::cell::UnsafeCell::new(value))
    }
    /// One read.
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }
    /// One write.
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

macro_rules! world {
    ($(#[$doc:meta])* $world:ident, $library:ident, $cell:ty, $counts:literal) => {
        $(#[$doc])*
        pub(crate) mod $world {
            use $crate::world::{Entry, STEPS};
            use ::$library::sync::atomic::AtomicUsize;
            use ::$library::sync::{Condvar, Mutex, MutexGuard, RwLock};
            use ::$library::thread::{self, JoinHandle};
            use std::collections::VecDeque;
            use std::sync::Arc;
            use std::sync::atomic::Ordering::{Relaxed, SeqCst};

            #[inline(always)]
            fn step() {
                if $counts {
                    STEPS.store(STEPS.load(Relaxed) + 1, Relaxed);
                }
            }

            // ---- the visible operations -------------------------------------------------------------------------

            struct Atomic(AtomicUsize);

            impl Atomic {
                fn new(value: usize) -> Self {
                    Atomic(AtomicUsize::new(value))
                }
                #[inline(always)]
                fn load(&self) -> usize {
                    step();
                    self.0.load(SeqCst)
                }
                #[inline(always)]
                fn store(&self, value: usize) {
                    step();
                    self.0.store(value, SeqCst);
                }
                #[inline(always)]
                fn fetch_add(&self, value: usize) -> usize {
                    step();
                    self.0.fetch_add(value, SeqCst)
                }
                #[inline(always)]
                fn fetch_sub(&self, value: usize) -> usize {
                    step();
                    self.0.fetch_sub(value, SeqCst)
                }
                #[inline(always)]
                fn compare_exchange(&self, current: usize, new: usize) -> bool {
                    step();
                    self.0.compare_exchange(current, new, SeqCst, SeqCst).is_ok()
                }
            }

            /// Two visible operations: the lock, and the unlock when the guard is dropped.
            #[inline(always)]
            fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
                step();
                step();
                mutex.lock().unwrap()
            }

            #[inline(always)]
            fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
                step();
                condvar.wait(guard).unwrap()
            }

            #[inline(always)]
            fn notify_one(condvar: &Condvar) {
                step();
                condvar.notify_one();
            }

            #[inline(always)]
            fn spawn(f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
                step();
                thread::spawn(f)
            }

            fn join_all(threads: Vec<JoinHandle<()>>) {
                for thread in threads {
                    step();
                    thread.join().unwrap();
                }
            }

            fn spawn_all(count: usize, f: impl Fn(usize) + Clone + Send + 'static) -> Vec<JoinHandle<()>> {
                (0..count)
                    .map(|index| {
                        let f = f.clone();
                        spawn(move || f(index))
                    })
                    .collect()
            }

            // ---- the programs -----------------------------------------------------------------------------------

            /// `n` threads, `k` times each: load, store the successor.
            pub(crate) fn counter_racy(n: usize, k: usize) {
                let counter = Arc::new(Atomic::new(0));
                join_all(spawn_all(n, move |_| {
                    for _ in 0..k {
                        let value = counter.load();
                        counter.store(value + 1);
                    }
                }));
            }

            /// The same under a mutex.
            pub(crate) fn mutex_counter(n: usize, k: usize) {
                let counter = Arc::new(Mutex::new(0));
                join_all(spawn_all(n, move |_| {
                    for _ in 0..k {
                        *lock(&counter) += 1;
                    }
                }));
            }

            /// Cilk's deque under its THE protocol.
            struct Deque {
                head: Atomic,
                tail: Atomic,
                items: Vec<Atomic>,
                conflict: Mutex<()>,
            }

            impl Deque {
                fn push(&self, item: usize) {
                    let tail = self.tail.load();
                    self.items[tail % self.items.len()].store(item);
                    self.tail.store(tail + 1);
                }

                fn pop(&self) -> Option<usize> {
                    let mut tail = self.tail.fetch_sub(1) - 1;
                    if self.head.load() > tail {
                        self.tail.fetch_add(1);
                        let guard = lock(&self.conflict);
                        tail = self.tail.fetch_sub(1) - 1;
                        if self.head.load() > tail {
                            self.tail.fetch_add(1);
                            return None;
                        }
                        drop(guard);
                    }
                    Some(self.items[tail % self.items.len()].load())
                }

                fn steal(&self) -> Option<usize> {
                    let _guard = lock(&self.conflict);
                    let head = self.head.fetch_add(1);
                    if head + 1 > self.tail.load() {
                        self.head.fetch_sub(1);
                        return None;
                    }
                    Some(self.items[head % self.items.len()].load())
                }
            }

            /// The victim pushes `size` items and pops as many, a thief steals as often.
            pub(crate) fn wsq(size: usize) {
                let deque = Arc::new(Deque {
                    // Not 0, so that a tail below an empty deque's head is no overflow.
                    head: Atomic::new(1),
                    tail: Atomic::new(1),
                    items: (0..size).map(|_| Atomic::new(0)).collect(),
                    conflict: Mutex::new(()),
                });
                let theirs = deque.clone();
                let thief = spawn(move || {
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
                join_all(vec![thief]);
            }

            /// A bounded buffer under one mutex with two condvars; main consumes.
            pub(crate) fn prodcons(producers: usize, items: usize, capacity: usize) {
                let shared = Arc::new((Mutex::new(VecDeque::with_capacity(capacity)), Condvar::new(), Condvar::new()));
                let theirs = shared.clone();
                let threads = spawn_all(producers, move |index| {
                    let (buffer, not_full, not_empty) = &*theirs;
                    for item in 0..items {
                        let mut guard = lock(buffer);
                        while guard.len() == capacity {
                            guard = wait(not_full, guard);
                        }
                        guard.push_back(index * items + item);
                        notify_one(not_empty);
                    }
                });
                let (buffer, not_full, not_empty) = &*shared;
                for _ in 0..producers * items {
                    let mut guard = lock(buffer);
                    while guard.is_empty() {
                        guard = wait(not_empty, guard);
                    }
                    guard.pop_front();
                    notify_one(not_full);
                }
                join_all(threads);
            }

            /// An index-based stack; 0 is nobody.
            struct Stack {
                head: Atomic,
                next: Vec<Cell>,
            }

            struct Cell($cell);

            // SAFETY: the programs order their accesses; where the library can, it checks that.
            unsafe impl Sync for Cell {}
            // SAFETY: as above.
            unsafe impl Send for Cell {}

            impl Stack {
                fn push(&self, node: usize) {
                    loop {
                        let head = self.head.load();
                        // SAFETY: the node is not in the stack, so it is the caller's.
                        self.next[node].0.with_mut(|next| unsafe { *next = head });
                        if self.head.compare_exchange(head, node) {
                            return;
                        }
                    }
                }

                fn pop(&self) -> Option<usize> {
                    loop {
                        let head = self.head.load();
                        if head == 0 {
                            return None;
                        }
                        // SAFETY: nodes are not pushed again, so nobody writes to one that was found in the stack.
                        let next = self.next[head].0.with(|next| unsafe { *next });
                        if self.head.compare_exchange(head, next) {
                            return Some(head);
                        }
                    }
                }
            }

            /// `n` threads, main one of them: each pushes one node and pops one.
            pub(crate) fn treiber(n: usize) {
                let stack = Arc::new(Stack {
                    head: Atomic::new(0),
                    next: (0..=n).map(|_| Cell(<$cell>::new(0))).collect(),
                });
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
            pub(crate) fn dining_ok(n: usize) {
                let forks: Arc<Vec<Mutex<()>>> = Arc::new((0..n).map(|_| Mutex::new(())).collect());
                join_all(spawn_all(n, move |index| {
                    let (left, right) = (index, (index + 1) % n);
                    let _first = lock(&forks[left.min(right)]);
                    let _second = lock(&forks[left.max(right)]);
                }));
            }

            /// Readers and one writer, main, `k` rounds each.
            pub(crate) fn rwlock_mix(readers: usize, k: usize) {
                let value = Arc::new(RwLock::new(0));
                let theirs = value.clone();
                let threads = spawn_all(readers, move |_| {
                    for _ in 0..k {
                        step();
                        step();
                        let _ = *theirs.read().unwrap();
                    }
                });
                for _ in 0..k {
                    step();
                    step();
                    *value.write().unwrap() += 1;
                }
                join_all(threads);
            }

            /// Two threads, `k` loads and stores each: a long execution.
            pub(crate) fn long(k: usize) {
                let counter = Arc::new(Atomic::new(0));
                join_all(spawn_all(2, move |_| {
                    for _ in 0..k {
                        let value = counter.load();
                        counter.store(value + 1);
                    }
                }));
            }

            /// A thread that spawns and joins the next one, and so on: many threads, few of which can go on.
            fn relay_from(left: usize, counter: Arc<Atomic>) {
                if left > 0 {
                    let theirs = counter.clone();
                    let next = spawn(move || relay_from(left - 1, theirs));
                    counter.fetch_add(1);
                    join_all(vec![next]);
                }
                counter.fetch_add(1);
            }

            /// `n` threads, main one of them.
            pub(crate) fn relay(n: usize) {
                relay_from(n - 1, Arc::new(Atomic::new(0)));
            }

            /// What is measured.
            pub(crate) const PROGRAMS: [Entry; 17] = [
                ("counter_racy(2,2)", || counter_racy(2, 2)),
                ("counter_racy(2,3)", || counter_racy(2, 3)),
                ("counter_racy(3,1)", || counter_racy(3, 1)),
                ("counter_racy(3,2)", || counter_racy(3, 2)),
                ("mutex_counter(2,2)", || mutex_counter(2, 2)),
                ("mutex_counter(3,1)", || mutex_counter(3, 1)),
                ("mutex_counter(3,2)", || mutex_counter(3, 2)),
                ("wsq(1)", || wsq(1)),
                ("wsq(2)", || wsq(2)),
                ("prodcons(2,1,1)", || prodcons(2, 1, 1)),
                ("prodcons(2,2,1)", || prodcons(2, 2, 1)),
                ("treiber(2)", || treiber(2)),
                ("treiber(3)", || treiber(3)),
                ("dining_ok(3)", || dining_ok(3)),
                ("rwlock_mix(2,2)", || rwlock_mix(2, 2)),
                ("long(2,75)", || long(75)),
                ("relay(16)", || relay(16)),
            ];
        }
    };
}
