//! What a test does by the address of something is a function of its schedule: blocks of memory and stacks lie at the same
//! addresses in every execution, whoever runs it, watches it or keeps something from it.

use icb_std::model::{Builder, FailureKind, Reduction, Report};
use icb_std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex, mpsc};
use icb_std::thread;
use icb_tests::programs::replaced::takes_one_for_another;
use icb_tests::seeds;
use icb_tests::told::Random;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, PoisonError};

/// The tests keep what they find in statics of the real `std`.
fn alone() -> impl Drop {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Addresses that executions have seen, by a number.
struct Seen([AtomicUsize; 64]);

impl Seen {
    const fn new() -> Seen {
        Seen([const { AtomicUsize::new(0) }; 64])
    }

    fn begin(&self) {
        self.0.iter().for_each(|seen| seen.store(0, Relaxed));
    }

    /// Another exploration has stacks of its own.
    fn forget_stacks(&self) {
        self.0[16..].chunks(4).for_each(|seen| seen[2].store(0, Relaxed));
    }

    /// The address is the one that it was the last time.
    fn check<T: ?Sized>(&self, number: usize, there: &T) -> usize {
        let address = std::ptr::from_ref(there).addr();
        let before = self.0[number].swap(address, Relaxed);
        assert!(before == 0 || before == address, "{number} lay at {before:#x} and lies at {address:#x}");
        address
    }
}

static SEEN: Seen = Seen::new();

/// One of four, by the address.
const fn bucket(address: usize) -> usize {
    (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize >> (usize::BITS - 2)
}

/// Three threads take locks by the addresses of things of their own.
fn buckets(rounds: usize) {
    let locks: Arc<Vec<Mutex<usize>>> = Arc::new((0..4).map(|_| Mutex::new(0)).collect());
    SEEN.check(0, &*locks);
    let threads: Vec<_> = (1..=3)
        .map(|number| {
            let locks = locks.clone();
            let name = format!("thread {number}");
            let work = move || {
                for round in 0..rounds {
                    let small = Box::new(7_u64);
                    let large = vec![0_u8; 100_000 * (round + 1)];
                    let aligned = Box::new(Aligned(1));
                    let place = number * 16 + round * 4;
                    SEEN.check(place, &large[..]);
                    SEEN.check(place + 1, &aligned.0);
                    assert_eq!(SEEN.check(place + 1, &*aligned) % 128, 0);
                    SEEN.check(place + 2, &round);
                    *locks[bucket(SEEN.check(place + 3, &*small))].lock().unwrap() += 1;
                }
            };
            thread::Builder::new().name(name).spawn(work).unwrap()
        })
        .collect();
    // In the order of their addresses.
    let mut in_order: Vec<&Mutex<usize>> = vec![&locks[3], &locks[0]];
    in_order.sort_by_key(|lock| std::ptr::from_ref(*lock).addr());
    in_order.into_iter().for_each(|lock| drop(lock.lock().unwrap()));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(locks.iter().map(|lock| *lock.lock().unwrap()).sum::<usize>(), 3 * rounds);
}

#[repr(align(128))]
struct Aligned(u8);

fn counts(report: &Report) -> Vec<(u64, u64, u64)> {
    report.bounds.iter().map(|bound| (bound.executions, bound.states, bound.steps)).collect()
}

#[test]
fn blocks_and_stacks_lie_where_they_lay_before() {
    let _alone = alone();
    SEEN.begin();
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        SEEN.forget_stacks();
        let builder = Builder::new().max_bound(2).reduction(reduction);
        let report = builder.max_executions(2_000).explore(|| buckets(2));
        assert!(report.failure.is_none(), "{reduction:?}: {:?}", report.failure);
        assert!(report.execution_count() > 5, "{reduction:?}");
    }
    SEEN.forget_stacks();
    let report = Builder::new().max_bound(1).check_leaks(true).explore(|| buckets(2));
    assert!(report.failure.is_none() && report.complete, "{:?}", report.failure);
}

#[test]
fn processes_that_search_together_agree() {
    let _alone = alone();
    SEEN.begin();
    let explore = |workers| {
        SEEN.forget_stacks();
        Builder::new().max_bound(2).workers(workers).explore(|| buckets(3))
    };
    let (one, two) = (explore(1), explore(2));
    assert!(one.failure.is_none() && one.complete, "{:?}", one.failure);
    assert!(one.execution_count() > 300, "{} executions", one.execution_count());
    assert_eq!(counts(&one), counts(&two));
}

#[test]
fn a_replay_with_its_backtraces_sees_the_same_addresses() {
    let _alone = alone();
    SEEN.begin();
    // Fails where the second thread is in time; the message has an address.
    let body = || {
        let locks: Arc<Vec<Mutex<u64>>> = Arc::new((0..4).map(|_| Mutex::new(0)).collect());
        let theirs = locks.clone();
        let child = thread::spawn(move || {
            let own = Box::new(1_u64);
            *theirs[bucket(SEEN.check(1, &*own))].lock().unwrap() = *own;
        });
        let own = Box::new(2_u64);
        SEEN.check(2, &*own);
        if let Some(lock) = locks.iter().find(|lock| *lock.lock().unwrap() == 1) {
            panic!("a lock at {:p}, with mine at {own:p}", std::ptr::from_ref(lock));
        }
        child.join().unwrap();
    };
    let failure = Builder::new().max_bound(2).explore(body).failure.expect("it fails");
    assert_eq!(failure.kind, FailureKind::Panic, "{failure}");
    for _ in 0..20 {
        let again =
            Builder::new().replay(failure.schedule.clone()).explore(body).failure.expect("it fails again");
        assert_eq!((&again.message, &again.trace), (&failure.message, &failure.trace));
    }
}

#[test]
fn what_executions_keep_stays_as_it_is_and_moves_nothing_else() {
    static KEPT: LazyLock<std::sync::Mutex<Vec<(usize, String)>>> = LazyLock::new(Default::default);
    let _alone = alone();
    SEEN.begin();
    let report = Builder::new().max_bound(2).max_executions(3_000).explore(|| {
        let mut blocks: Vec<Box<usize>> = Vec::new();
        for number in 0..8 {
            blocks.push(Box::new(number));
            SEEN.check(number, &*blocks[number]);
        }
        let sum = Arc::new(Mutex::new(0));
        let children = [1, 2].map(|value| {
            let sum = sum.clone();
            thread::spawn(move || {
                let own = Box::new(value);
                SEEN.check(8 + value, &*own);
                *sum.lock().unwrap() += *own;
                *sum.lock().unwrap() += *own;
            })
        });
        let seen = *sum.lock().unwrap();
        children.into_iter().for_each(|child| child.join().unwrap());
        let mut kept = KEPT.lock().unwrap();
        let number = kept.len();
        if number % 5 == 4 {
            // Some go again.
            kept.retain(|(number, _)| number % 5 != 1);
        }
        kept.push((number, format!("number {number} has seen {seen}")));
        // Nobody will ever free it.
        std::mem::forget(Box::new(number));
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert!(report.execution_count() > 20);
    for (number, text) in KEPT.lock().unwrap().iter() {
        assert!(text.starts_with(&format!("number {number} has seen ")), "{text}");
    }
}

/// A pointer may be kept in an integer, with a mark in bits that addresses do not have.
#[cfg(target_pointer_width = "64")]
#[test]
fn addresses_in_integers_may_differ() {
    use icb_std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    static KEPT: std::sync::Mutex<Vec<Box<[u64]>>> = std::sync::Mutex::new(Vec::new());
    let _alone = alone();
    KEPT.lock().unwrap().reserve(1000);
    let report = Builder::new().explore(|| {
        // It stays, so the next one lies elsewhere.
        let kept: Box<[u64]> = Box::new([7]);
        let address = kept.as_ptr().addr() as u64;
        KEPT.lock().unwrap().push(kept);
        let place = Arc::new(AtomicU64::new(0));
        let other = place.clone();
        let thread = thread::spawn(move || other.swap(1 << 60 | address, SeqCst));
        place.swap(address, SeqCst);
        thread.join().unwrap();
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
    assert!((2..1000).contains(&report.execution_count()));
    *KEPT.lock().unwrap() = Vec::new();
    let number = AtomicUsize::new(0);
    let report = Builder::new().explore(move || {
        AtomicU64::new(0).swap(number.fetch_add(1, Relaxed) as u64, SeqCst);
    });
    assert_eq!(report.failure.map(|failure| failure.kind), Some(FailureKind::Divergence));
}

/// Bytes of memory that this process uses.
#[cfg(target_os = "linux")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn long_searches_take_no_more_memory_than_short_ones() {
    let _alone = alone();
    SEEN.begin();
    let explore = |count| {
        SEEN.forget_stacks();
        let report = Builder::new()
            .strategy(icb_std::model::Strategy::Random { seed: 1 })
            .max_executions(count)
            .explore(|| buckets(2));
        assert!(report.failure.is_none(), "{:?}", report.failure);
        assert_eq!(report.execution_count(), count);
    };
    explore(500);
    let before = resident();
    explore(4_000);
    let after = resident();
    assert!(after < before + (1 << 20), "{before} bytes, then {after}");
}

#[test]
fn an_exchange_takes_one_block_for_another_where_addresses_are_used_again() {
    let _alone = alone();
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let builder = Builder::new().max_bound(2).reduction(reduction);
        let without = builder.clone().explore(takes_one_for_another);
        assert!(without.complete && without.failure.is_none(), "{reduction:?}: {without}");
        let with = builder.reuse_addresses(true).explore(takes_one_for_another);
        let failure = with.failure.expect("the exchange takes one for the other");
        assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 1), "{reduction:?}: {failure}");
        assert!(failure.message.contains("something was lost"), "{failure}");
        for _ in 0..20 {
            let replay = Builder::new().reuse_addresses(true).replay(failure.schedule.clone());
            let again = replay.explore(takes_one_for_another).failure.expect("it fails again");
            assert_eq!((&again.message, again.kind), (&failure.message, failure.kind));
            let notes = again.trace.steps.iter().filter_map(|step| step.note.as_ref());
            let mut of_reuse =
                notes.filter(|note| note.starts_with("another block lies there than in step "));
            assert!(of_reuse.next().is_some() && of_reuse.next().is_none(), "{failure}");
        }
        let replay = Builder::new().replay(failure.schedule.clone()).explore(takes_one_for_another);
        let otherwise = replay.failure.map(|failure| failure.kind);
        assert!(otherwise.is_none_or(|kind| kind == FailureKind::Divergence), "{otherwise:?}");
    }
}

#[test]
fn where_addresses_are_used_again_a_block_is_new_all_the_same() {
    let _alone = alone();
    static AGAIN: AtomicUsize = AtomicUsize::new(0);
    // Locks, atomics, counts and ends of channels, one after the other at the same place, with another thread each time.
    let body = || {
        let mut before = 0;
        for round in 0..3_u64 {
            let lock = Box::new((Mutex::new(round), AtomicU64::new(round)));
            let here = std::ptr::from_ref(&*lock).addr();
            AGAIN.fetch_add(usize::from(here == before), Relaxed);
            before = here;
            let (sender, receiver) = mpsc::channel();
            let shared = Arc::new((lock, sender));
            let theirs = shared.clone();
            let other = thread::spawn(move || {
                *theirs.0.0.lock().unwrap() += 1;
                theirs.0.1.fetch_add(1, SeqCst);
                theirs.1.send(round).unwrap();
            });
            *shared.0.0.lock().unwrap() += 1;
            assert_eq!(receiver.recv(), Ok(round));
            other.join().unwrap();
            assert_eq!((*shared.0.0.lock().unwrap(), shared.0.1.load(SeqCst)), (round + 2, round + 1));
        }
    };
    let searches =
        [Reduction::None, Reduction::PartialOrder, Reduction::Visited].map(|reduction| (reduction, 1));
    for (reduction, workers) in searches.into_iter().chain([(Reduction::PartialOrder, 2)]) {
        let builder = Builder::new().max_bound(1).reduction(reduction).workers(workers);
        let without = builder.clone().explore(body);
        assert!(without.complete && without.failure.is_none(), "{reduction:?}: {without}");
        assert_eq!(AGAIN.swap(0, Relaxed), 0);
        for builder in [
            builder.clone(),
            builder.check_leaks(true),
            Builder::new().max_bound(1).reduction(reduction).check_frees(true),
        ] {
            let with = builder.reuse_addresses(true).explore(body);
            assert_eq!(counts(&with), counts(&without), "{reduction:?}: {with}");
            assert!(with.to_string().contains("where addresses are used again"), "{with}");
            // With several processes others have counted.
            assert!(AGAIN.swap(0, Relaxed) > 0 || workers > 1);
        }
    }
}

/// Whatever earlier executions have left in the memory.
#[test]
fn addresses_of_blocks_that_nobody_writes_to_are_used_again_too() {
    static AGAIN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    let _alone = alone();
    let place = || {
        let block = std::hint::black_box(Vec::<u64>::with_capacity(4));
        block.as_ptr().addr()
    };
    let look = move || AGAIN[usize::from(place() == place())].fetch_add(1, Relaxed);
    let body = move || {
        let other = thread::spawn(look);
        look();
        other.join().unwrap();
    };
    for reuse in [true, false, true] {
        let report = Builder::new().max_bound(2).reuse_addresses(reuse).explore(body);
        assert!(report.failure.is_none() && report.complete, "{report}");
        let found = AGAIN.each_ref().map(|count| count.swap(0, Relaxed) > 0);
        assert_eq!(found, [!reuse, reuse]);
    }
}

/// As many as a process may keep from its first execution, and more than are written down for other purposes.
#[test]
fn many_blocks_of_the_system_are_used_again() {
    static KEPT: std::sync::Mutex<Vec<Vec<Vec<u64>>>> = std::sync::Mutex::new(Vec::new());
    let _alone = alone();
    let many = || (0..5_000).map(|_| vec![1_u64]).collect::<Vec<_>>();
    let body = move || {
        let blocks = many();
        let last = blocks[4_999].as_ptr().addr();
        let mut kept = KEPT.lock().unwrap();
        if kept.is_empty() {
            // Others lie elsewhere from now on.
            kept.push(many());
        }
        drop(kept);
        drop(blocks);
        let again = std::hint::black_box(vec![2_u64]);
        assert_eq!(again.as_ptr().addr(), last);
        thread::spawn(|| ()).join().unwrap();
    };
    let report = Builder::new().max_bound(1).reuse_addresses(true).explore(body);
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).clear();
    assert!(report.failure.is_none() && report.complete, "{report}");
}

#[test]
fn a_use_after_free_is_found_until_the_address_is_used_again() {
    let _alone = alone();
    let find = |uses_again: bool| {
        let body = move || {
            let first = Box::into_raw(Box::new(AtomicU64::new(1)));
            // SAFETY: that it is used after it has been freed is what is being tested; it stays mapped.
            let first = unsafe {
                (*first).store(2, SeqCst);
                drop(Box::from_raw(first));
                &*first
            };
            let second = uses_again.then(|| Box::new(AtomicU64::new(3)));
            assert_eq!(first.load(SeqCst), 3);
            drop(second);
        };
        Builder::new().max_bound(0).reuse_addresses(true).explore(body).failure.map(|failure| failure.kind)
    };
    assert_eq!((find(false), find(true)), (Some(FailureKind::UseAfterFree), None));
}

#[test]
fn what_is_lost_at_an_address_that_was_used_before_leaks() {
    let _alone = alone();
    // What a static leads to does not leak.
    SEEN.begin();
    for loses in [false, true] {
        let body = move || {
            drop(std::hint::black_box(Box::new(1_u64)));
            let second = std::hint::black_box(Box::new(2_u64));
            if loses {
                std::mem::forget(second)
            } else {
                drop(second)
            }
            thread::spawn(|| ()).join().unwrap();
        };
        let report = Builder::new().max_bound(1).check_leaks(true).reuse_addresses(true).explore(body);
        let found = report.failure.as_ref().map(|failure| failure.kind);
        assert_eq!(found, loses.then_some(FailureKind::Leak), "{:?}", report.failure);
    }
}

/// What a thread does with boxes whose contents nobody looks at: only where they lie makes a difference.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// Allocates one, and puts it into a place; frees what was there.
    Replace(usize),
    /// Remembers which one is in a place.
    Look(usize),
    /// Puts a new one in the place of the one that it remembers, if that is there. What does not come to its place, or is replaced, is freed.
    Exchange(usize),
    /// Whether the one that it remembers is in the place.
    Compare(usize),
    /// Frees what is in the place, which is empty then.
    Clear(usize),
}

const PLACES: usize = 2;

/// What the threads do, the first one being the main thread.
fn doings(seed: u64) -> Vec<Vec<Doing>> {
    let mut random = Random::new(seed, 0);
    let mut random = |below| random.below(below);
    let threads = 2 + random(4) / 3;
    let most = if threads == 2 { 5 } else { 3 };
    let mut doing = |_| {
        let place = random(PLACES);
        match random(8) {
            0 | 1 => Doing::Replace(place),
            2 => Doing::Look(place),
            3..=5 => Doing::Exchange(place),
            6 => Doing::Compare(place),
            _ => Doing::Clear(place),
        }
    };
    (0..threads).map(|_| (0..most).map(&mut doing).collect()).collect()
}

type Places = [AtomicPtr<u64>; PLACES];

/// Frees a block that nobody uses.
fn free(block: *mut u64) {
    if !block.is_null() {
        // SAFETY: it came from a box, and was taken out of its place by the caller alone, or never was in one.
        drop(unsafe { Box::from_raw(block) });
    }
}

fn allocated() -> *mut u64 {
    Box::into_raw(std::hint::black_box(Box::new(0)))
}

/// What the thread has found.
fn act(doings: &[Doing], places: &Places) -> Vec<bool> {
    let mut remembered = std::ptr::null_mut();
    let mut found = Vec::with_capacity(doings.len());
    for doing in doings {
        match *doing {
            Doing::Replace(place) => free(places[place].swap(allocated(), SeqCst)),
            Doing::Look(place) => remembered = places[place].load(SeqCst),
            Doing::Exchange(place) => {
                let new = allocated();
                let exchanged = places[place].compare_exchange(remembered, new, SeqCst, SeqCst);
                found.push(exchanged.is_ok());
                free(exchanged.unwrap_or(new));
            }
            Doing::Compare(place) => found.push(places[place].load(SeqCst) == remembered),
            Doing::Clear(place) => free(places[place].swap(std::ptr::null_mut(), SeqCst)),
        }
    }
    found
}

/// What all threads have found, in all executions up to a bound.
fn outcomes(doings: &[Vec<Doing>], builder: &Builder, bound: u32) -> BTreeSet<Vec<Vec<bool>>> {
    let found = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (doings, keep) = (std::sync::Arc::new(doings.to_vec()), found.clone());
    let report = builder.clone().max_bound(bound).explore(move || {
        let places: Arc<Places> = Arc::new(std::array::from_fn(|_| AtomicPtr::new(allocated())));
        let others: Vec<_> = (1..doings.len())
            .map(|thread| {
                let (doings, places) = (doings.clone(), places.clone());
                thread::spawn(move || act(&doings[thread], &places))
            })
            .collect();
        let mut all = vec![act(&doings[0], &places)];
        all.extend(others.into_iter().map(|other| other.join().unwrap()));
        places.iter().for_each(|place| free(place.load(SeqCst)));
        keep.lock().unwrap().insert(all);
    });
    assert!(report.failure.is_none() && report.complete, "{report}");
    let found = found.lock().unwrap();
    found.clone()
}

/// What is reduced finds whatever the plain search finds at each bound, where only addresses make a difference.
#[test]
fn reductions_find_what_takes_one_block_for_another() {
    let _alone = alone();
    let (programs, different) = (AtomicUsize::new(0), AtomicUsize::new(0));
    seeds::for_each(seeds::from_environment().unwrap_or(0..400), |seed| {
        let doings = doings(seed);
        let builder = Builder::new().reuse_addresses(true);
        for bound in 0..=2 {
            let plain = outcomes(&doings, &builder.clone().reduction(Reduction::None), bound);
            for reduction in [Reduction::PartialOrder, Reduction::Visited] {
                let reduced = outcomes(&doings, &builder.clone().reduction(reduction), bound);
                let differ: Vec<_> = plain.symmetric_difference(&reduced).collect();
                assert!(
                    differ.is_empty(),
                    "seed {seed}, bound {bound}, {reduction:?}: only one of the searches finds {differ:?} in {doings:?}"
                );
            }
            let without = outcomes(&doings, &Builder::new(), bound);
            different.fetch_add(usize::from(without != plain), Relaxed);
        }
        programs.fetch_add(1, Relaxed);
    });
    let (programs, different) = (programs.into_inner(), different.into_inner());
    assert!(
        different > programs / 20,
        "in {different} searches of {programs} programs addresses make a difference"
    );
}
