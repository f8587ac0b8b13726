//! Algorithms that need an ordering which no data race shows: without it they fail under weak memory, at a known bound, and only there.

use icb_std::model::{Builder, Reduction};
use icb_std::sync::Arc;
use icb_std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use icb_std::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence, fence};
use icb_std::{hint, thread};

/// The bound at which it fails first, `None` up to bound 3.
fn first_failing(weak_memory: bool, reduction: Reduction, body: fn()) -> Option<u32> {
    let builder = Builder::new().max_bound(3).spurious(false).reduction(reduction);
    let report = builder.weak_memory(weak_memory).explore(body);
    assert!(report.failure.is_some() || report.complete);
    report.failure.map(|failure| failure.bound)
}

/// Dekker's entry, once: who sees the other's flag stays out.
fn dekker(store: Ordering, load: Ordering) {
    let flags: Arc<[AtomicBool; 2]> = Arc::default();
    let inside = Arc::new(AtomicUsize::new(0));
    let enter = move |flags: &[AtomicBool; 2], inside: &AtomicUsize, me: usize| {
        flags[me].store(true, store);
        if !flags[1 - me].load(load) {
            inside.fetch_add(1, Relaxed);
        }
    };
    let (theirs, counted) = (flags.clone(), inside.clone());
    let other = thread::spawn(move || enter(&theirs, &counted, 1));
    enter(&flags, &inside, 0);
    other.join().unwrap();
    assert!(inside.load(Relaxed) < 2, "both are inside");
}

/// Peterson's lock around an update in two steps.
fn peterson(order: fn(bool) -> Ordering) {
    let shared: Arc<([AtomicBool; 2], AtomicUsize, AtomicUsize)> = Arc::default();
    let work = move |(flags, turn, value): &([AtomicBool; 2], AtomicUsize, AtomicUsize), me: usize| {
        flags[me].store(true, order(true));
        turn.store(1 - me, order(true));
        while flags[1 - me].load(order(false)) && turn.load(order(false)) == 1 - me {
            hint::spin_loop();
        }
        value.store(value.load(Relaxed) + 1, Relaxed);
        flags[me].store(false, Release);
    };
    let theirs = shared.clone();
    let other = thread::spawn(move || work(&theirs, 1));
    work(&shared, 0);
    other.join().unwrap();
    assert_eq!(shared.2.load(Relaxed), 2, "an update is lost");
}

/// A sequence lock with two words, once written and once read.
fn sequence_lock(orders: bool) {
    let shared: Arc<(AtomicUsize, [AtomicUsize; 2])> = Arc::default();
    let theirs = shared.clone();
    let writer = thread::spawn(move || {
        let (sequence, words) = &*theirs;
        sequence.store(1, Relaxed);
        if orders {
            fence(Release);
        }
        words[0].store(7, Relaxed);
        words[1].store(7, Relaxed);
        sequence.store(2, if orders { Release } else { Relaxed });
    });
    let (sequence, words) = &*shared;
    let before = sequence.load(if orders { Acquire } else { Relaxed });
    let read = [words[0].load(Relaxed), words[1].load(Relaxed)];
    if orders {
        fence(Acquire);
    }
    if before.is_multiple_of(2) && sequence.load(Relaxed) == before {
        assert_eq!(read[0], read[1], "torn");
    }
    writer.join().unwrap();
}

/// A hazard pointer: the reader publishes what it is about to use and looks again; who takes it out looks at what is published.
fn hazard_pointer(order: fn()) {
    /// The source, the hazard, and whether what was in the source has been freed.
    type Shared = (AtomicUsize, AtomicUsize, AtomicBool);
    let shared: Arc<Shared> = Arc::new((AtomicUsize::new(1), AtomicUsize::new(0), AtomicBool::new(false)));
    let theirs = shared.clone();
    let owner = thread::spawn(move || {
        let (source, hazard, freed) = &*theirs;
        source.store(0, Release);
        order();
        if hazard.load(Acquire) != 1 {
            freed.swap(true, AcqRel);
        }
    });
    let (source, hazard, freed) = &*shared;
    hazard.store(1, Release);
    order();
    if source.load(Acquire) == 1 {
        // An update sees the newest value.
        assert!(!freed.fetch_or(false, AcqRel), "used after it was freed");
        hazard.store(0, Release);
    }
    owner.join().unwrap();
}

/// What crates write for a full fence on x86, and the same without the word to the compiler, which is none.
fn exchange(tells_compiler: bool) {
    let local = AtomicUsize::new(0);
    _ = local.compare_exchange(0, 1, SeqCst, SeqCst);
    if tells_compiler {
        compiler_fence(SeqCst);
    }
}

/// The same in assembly, as event-listener and concurrent-queue have it.
#[cfg(target_arch = "x86_64")]
fn locked_instruction() {
    let mut local = 0_usize;
    // SAFETY: the address is that of a variable which nobody else knows.
    unsafe {
        icb_std::arch::asm!("lock not qword ptr [{0}]", in(reg) &raw mut local, options(nostack, preserves_flags));
    }
}

#[test]
fn what_needs_an_ordering_fails_without_it() {
    /// Its name, the algorithm, and the bound at which it fails.
    type Case = (&'static str, fn(), Option<u32>);
    let full_fence_by_exchange = cfg!(any(target_arch = "x86", target_arch = "x86_64"));
    let table: &[Case] = &[
        ("Dekker, acquire and release", || dekker(Release, Acquire), Some(1)),
        ("Dekker, SeqCst loads alone", || dekker(Release, SeqCst), Some(1)),
        ("Dekker, SeqCst", || dekker(SeqCst, SeqCst), None),
        (
            "Peterson, acquire and release",
            || peterson(|stores| if stores { Release } else { Acquire }),
            Some(2),
        ),
        ("Peterson, SeqCst", || peterson(|_| SeqCst), None),
        ("sequence lock, relaxed", || sequence_lock(false), Some(2)),
        ("sequence lock", || sequence_lock(true), None),
        ("hazard pointer without fences", || hazard_pointer(|| ()), Some(2)),
        ("hazard pointer", || hazard_pointer(|| fence(SeqCst)), None),
        ("hazard pointer, for the compiler", || hazard_pointer(|| compiler_fence(SeqCst)), Some(2)),
        ("hazard pointer, exchanges", || hazard_pointer(|| exchange(false)), Some(2)),
        (
            "hazard pointer, exchanges as fences",
            || hazard_pointer(|| exchange(true)),
            if full_fence_by_exchange { None } else { Some(2) },
        ),
        #[cfg(target_arch = "x86_64")]
        ("hazard pointer, locked instructions", || hazard_pointer(locked_instruction), None),
    ];
    for &(name, body, expected) in table {
        let found = first_failing(true, Reduction::PartialOrder, body);
        println!("{name}: {found:?}");
        assert_eq!(found, expected, "{name}");
        assert_eq!(first_failing(true, Reduction::None, body), expected, "{name}, every execution");
        assert_eq!(first_failing(false, Reduction::PartialOrder, body), None, "{name}, without stale values");
    }
}

/// A search without stale values says whether there would have been any: of whatever fails with them, and not of what has none.
#[test]
fn what_is_left_out_without_stale_values_is_told() {
    let left_out = |weak_memory: bool, body: fn()| {
        let report = Builder::new().max_bound(1).weak_memory(weak_memory).explore(body);
        assert!(report.complete || weak_memory);
        report.bounds.iter().any(|bound| bound.stale_left_out)
    };
    /// A counter, read when all is over.
    fn counter() {
        let count = Arc::new(AtomicUsize::new(0));
        let same = count.clone();
        let other = thread::spawn(move || same.fetch_add(1, Relaxed));
        count.fetch_add(1, Relaxed);
        other.join().unwrap();
        assert_eq!(count.load(Relaxed), 2);
    }
    /// Locks, and a flag of one thread.
    fn lock() {
        let value = Arc::new(icb_std::sync::Mutex::new(0));
        let same = value.clone();
        let other = thread::spawn(move || *same.lock().unwrap() += 1);
        *value.lock().unwrap() += 1;
        let own = AtomicBool::new(false);
        own.store(true, Relaxed);
        assert!(own.load(Relaxed));
        other.join().unwrap();
    }
    let table: [(&str, fn(), bool); 8] = [
        ("Dekker, acquire and release", || dekker(Release, Acquire), true),
        ("Dekker, SeqCst loads alone", || dekker(Release, SeqCst), true),
        ("Dekker, SeqCst", || dekker(SeqCst, SeqCst), false),
        ("sequence lock, read before it is written", || sequence_lock(false), true),
        ("sequence lock", || sequence_lock(true), true),
        ("hazard pointer without fences", || hazard_pointer(|| ()), true),
        ("counter", counter, false),
        ("lock", lock, false),
    ];
    for (name, body, expected) in table {
        assert_eq!(left_out(false, body), expected, "{name}");
        assert!(!left_out(true, body), "{name}, with stale values");
    }
}

/// `membarrier(2)`: one thread asks for a barrier in all, the other says a word to the compiler.
#[cfg(target_os = "linux")]
#[test]
fn a_barrier_in_all_threads_makes_compiler_fences_fences() {
    const PRIVATE_EXPEDITED: libc::c_int = 8;
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 16;
    fn membarrier(command: libc::c_int) -> libc::c_long {
        // SAFETY: takes no pointers.
        unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
    }
    fn in_all() {
        assert_eq!(membarrier(PRIVATE_EXPEDITED), 0);
    }
    fn store_buffering(registers: bool, light: fn(), heavy: fn()) {
        assert!(!registers || membarrier(REGISTER_PRIVATE_EXPEDITED) == 0);
        let [one, other]: [Arc<AtomicBool>; 2] = Default::default();
        let (theirs, mine) = (one.clone(), other.clone());
        let reader = thread::spawn(move || {
            theirs.store(true, Relaxed);
            light();
            mine.load(Relaxed)
        });
        other.store(true, Relaxed);
        heavy();
        assert!(one.load(Relaxed) | reader.join().unwrap());
    }
    let table: [(fn(), Option<u32>); 4] = [
        (|| store_buffering(true, || compiler_fence(SeqCst), in_all), None),
        (|| store_buffering(true, || (), in_all), Some(1)),
        (|| store_buffering(true, || compiler_fence(SeqCst), || ()), Some(1)),
        (|| store_buffering(false, || compiler_fence(SeqCst), || compiler_fence(SeqCst)), Some(1)),
    ];
    for (number, (body, expected)) in table.into_iter().enumerate() {
        for reduction in [Reduction::PartialOrder, Reduction::None] {
            assert_eq!(first_failing(true, reduction, body), expected, "{number}, {reduction:?}");
        }
        assert_eq!(
            first_failing(false, Reduction::PartialOrder, body),
            None,
            "{number}, without stale values"
        );
    }
}
