//! Random programs in which most of what orders the threads is no step: locks, reference counts and atomics of the real `std`, each program a test of
//! its own. Whether it fails depends on what its threads have seen, and is not to depend on how `cargo icb` goes about it.

use icb_std::model::Builder;
use icb_std::sync::atomic::AtomicU64 as Steps;
use icb_std::thread;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, RwLock};

/// What a thread does, to one of two objects.
#[derive(Clone, Copy, Debug)]
enum Do {
    StepLoad(usize),
    StepStore(usize, u64),
    Load(usize, Ordering),
    Store(usize, u64, Ordering),
    Add(usize, Ordering),
    Swap(usize, u64, Ordering),
    Exchange(usize, u64),
    /// What is under the lock tells who was there, and in which order.
    Lock(usize),
    /// The same, with a step under the lock: others come to it meanwhile.
    LockAround(usize),
    /// Readers and a writer, who comes to a step under the lock.
    ReadAround(usize),
    WriteAround(usize),
    /// Waits until somebody has come by, or says that one has.
    Await(usize),
    Tell(usize),
    /// Who drops the last reference is told.
    Drop(usize),
    CloneAndDrop(usize),
    Count(usize),
    Write,
    Read,
}
use Do::*;

struct Shared {
    steps: [Steps; 2],
    words: [AtomicU64; 2],
    locks: [Mutex<u64>; 2],
    shelves: [RwLock<u64>; 2],
    told: [(Mutex<u64>, Condvar); 2],
    plain: UnsafeCell<u64>,
}

// SAFETY: that the memory is accessed without an order is what is being tested; one thread runs at a time.
unsafe impl Sync for Shared {}

/// Tells that the last reference was dropped.
struct Told {
    drops: Arc<AtomicUsize>,
}

impl std::ops::Drop for Told {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
    }
}

fn act(what: Do, shared: &Shared, held: &mut [Option<Arc<Told>>; 2], me: u64) -> u64 {
    match what {
        StepLoad(i) => shared.steps[i].load(SeqCst),
        StepStore(i, value) => {
            shared.steps[i].store(value, SeqCst);
            0
        }
        Load(i, order) => shared.words[i].load(order),
        Store(i, value, order) => {
            shared.words[i].store(value, order);
            0
        }
        Add(i, order) => shared.words[i].fetch_add(1, order),
        Swap(i, value, order) => shared.words[i].swap(value, order),
        Exchange(i, value) => shared.words[i]
            .compare_exchange(value, value + 3, AcqRel, Acquire)
            .unwrap_or_else(|seen| seen + 100),
        Lock(i) => {
            let mut inside = shared.locks[i].lock().unwrap();
            *inside = *inside * 5 + me;
            *inside
        }
        LockAround(i) => {
            let mut inside = shared.locks[i].lock().unwrap();
            *inside = *inside * 5 + me + shared.steps[i].load(SeqCst);
            *inside
        }
        ReadAround(i) => {
            let seen = shared.shelves[i].read().unwrap();
            *seen + shared.steps[i].load(SeqCst)
        }
        WriteAround(i) => {
            let mut inside = shared.shelves[i].write().unwrap();
            *inside = *inside * 5 + me + shared.steps[i].load(SeqCst);
            *inside
        }
        Await(i) => {
            let (lock, condvar) = &shared.told[i];
            let mut told = lock.lock().unwrap();
            while *told == 0 {
                told = condvar.wait(told).unwrap();
            }
            *told
        }
        Tell(i) => {
            let (lock, condvar) = &shared.told[i];
            *lock.lock().unwrap() += me;
            condvar.notify_one();
            0
        }
        Drop(i) => {
            let Some(last) = held[i].take() else { return 7 };
            let drops = last.drops.clone();
            let before = drops.load(SeqCst);
            drop(last);
            (drops.load(SeqCst) - before) as u64
        }
        CloneAndDrop(i) => {
            drop(held[i].clone());
            0
        }
        Count(i) => held[i].as_ref().map_or(7, |held| Arc::strong_count(held) as u64),
        Write => {
            // SAFETY: see `Shared`.
            unsafe { *shared.plain.get() += 1 };
            0
        }
        Read => {
            // SAFETY: see `Shared`.
            black_box(unsafe { *shared.plain.get() });
            0
        }
    }
}

/// What each thread does, and how many outcomes go to one that is a failure.
fn program(seed: u64) -> (Vec<Vec<Do>>, u64) {
    // SplitMix64: Steele, Lea and Flood, OOPSLA 2014.
    let mut state = seed;
    let mut below = |end: u64| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    };
    let threads = 2 + below(2);
    let races = below(6) == 0;
    let mut threads: Vec<Vec<Do>> = (0..threads).map(|_| vec![StepLoad(0); below(2) as usize]).collect();
    for thread in &mut threads {
        for _ in 0..3 + below(3) {
            let i = below(2) as usize;
            let order = |orders: [Ordering; 3], n: u64| orders[n as usize];
            thread.push(match below(if races { 20 } else { 18 }) {
                0 | 1 => StepLoad(i),
                2 | 3 => StepStore(i, below(3)),
                4 => Load(i, order([Relaxed, Acquire, SeqCst], below(3))),
                5 => Store(i, below(3), order([Relaxed, Release, SeqCst], below(3))),
                6 => Add(i, order([Relaxed, AcqRel, Release], below(3))),
                7 => Swap(i, below(3), order([Relaxed, AcqRel, Acquire], below(3))),
                8 => Exchange(i, below(3)),
                9 => Lock(i),
                10 => Drop(i),
                11 => CloneAndDrop(i),
                12 => Count(i),
                13 => LockAround(i),
                14 => ReadAround(i),
                15 => WriteAround(i),
                16 => Await(0),
                17 => Tell(0),
                18 => Write,
                _ => Read,
            });
        }
    }
    (threads, 2 + below(40))
}

/// Others are explored with `PROGRAM_SEED=1000`.
fn explore(number: u64) {
    let base = std::env::var("PROGRAM_SEED").ok().and_then(|text| text.parse::<u64>().ok());
    let (threads, rarity) = program(base.unwrap_or(0) + number);
    let threads = Arc::new(threads);
    Builder::new().check(move || {
        let shared = Arc::new(Shared {
            steps: [Steps::new(0), Steps::new(0)],
            words: Default::default(),
            locks: Default::default(),
            shelves: Default::default(),
            told: Default::default(),
            plain: UnsafeCell::new(0),
        });
        let drops: [Arc<AtomicUsize>; 2] = Default::default();
        let counted = drops.map(|drops| Arc::new(Told { drops }));
        let run = |number: usize| {
            let (threads, shared) = (threads.clone(), shared.clone());
            let held = counted.clone().map(Some);
            move || {
                let mut held = held;
                let mut seen = 0_u64;
                for &what in &threads[number] {
                    seen = seen.wrapping_mul(31) + act(what, &shared, &mut held, number as u64 + 1);
                }
                seen
            }
        };
        let others: Vec<_> = (1..threads.len()).map(|number| thread::spawn(run(number))).collect();
        let first = run(0);
        drop(counted);
        let mut seen = first();
        for other in others {
            seen = seen.wrapping_mul(37) + other.join().unwrap();
        }
        assert!(seen % rarity != 1, "{seen}");
    });
}

icb_tests::numbered_tests! { explore:
    a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9,
    b0 = 10, b1 = 11, b2 = 12, b3 = 13, b4 = 14, b5 = 15, b6 = 16, b7 = 17, b8 = 18, b9 = 19,
    c0 = 20, c1 = 21, c2 = 22, c3 = 23, c4 = 24, c5 = 25, c6 = 26, c7 = 27, c8 = 28, c9 = 29,
    d0 = 30, d1 = 31, d2 = 32, d3 = 33, d4 = 34, d5 = 35, d6 = 36, d7 = 37, d8 = 38, d9 = 39,
}
