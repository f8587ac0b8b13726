//! Atomic variables that are accessed as plain memory too: a plain access and an atomic one that nothing orders race, unless both read.

use super::interpreter::{read, write, write_half};
use icb_core::program::{End, Strategy};
use icb_core::reduction::PartialOrder;
use icb_core::runtime::Settings;
use icb_core::search::ContextBounded;
use icb_core::trace::FailureKind;
use icb_std::sync::Arc;
use icb_std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use icb_std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, fence};
use icb_std::thread;
use icb_tests::watched;

/// The first race that a search finds, in words; it finds nothing else.
fn race(main: fn(), strategy: &mut dyn Strategy, weak_memory: bool) -> Option<String> {
    let settings = Settings { unwind_failed: true, spurious: false, weak_memory, ..Settings::default() };
    let mut found = None;
    watched::search(main, settings, strategy, Some(100_000), |_, result| {
        if let End::Failed(failure) = &result.end {
            assert_eq!(failure.kind, FailureKind::DataRace, "{failure:?}");
            found.get_or_insert_with(|| failure.message.clone());
        }
        None::<()>
    });
    found
}

#[track_caller]
fn is(main: fn(), expected: Option<[&str; 2]>) {
    for weak_memory in [false, true] {
        let all = race(main, &mut ContextBounded::new(Some(2)), weak_memory);
        let reduced = race(main, &mut PartialOrder::new(Some(2)), weak_memory);
        for found in [all, reduced] {
            let Some(sides) = expected else {
                assert_eq!(found, None);
                continue;
            };
            let found = found.expect("a race is found");
            assert!(sides.iter().all(|side| found.contains(side)), "{found}");
        }
    }
}

#[track_caller]
fn races(main: fn(), sides: [&str; 2]) {
    is(main, Some(sides));
}

#[track_caller]
fn is_fine(main: fn()) {
    is(main, None);
}

/// Two threads on a variable and a flag; the first one is not the main thread.
fn two(first: fn(&AtomicU64, &AtomicUsize), second: fn(&AtomicU64, &AtomicUsize)) {
    let shared = Arc::new((AtomicU64::new(0), AtomicUsize::new(0)));
    let theirs = shared.clone();
    let other = thread::spawn(move || first(&theirs.0, &theirs.1));
    second(&shared.0, &shared.1);
    other.join().unwrap();
    // Everything comes before this.
    write(shared.0.as_ptr(), read(shared.0.as_ptr()));
    shared.0.store(3, Relaxed);
    assert_eq!(read(shared.0.as_ptr()), 3);
}

#[test]
fn a_plain_read_races_with_atomic_writes() {
    let sides = ["plain read by", "atomic write by"];
    races(|| two(|a, _| a.store(1, Release), |a, _| _ = read(a.as_ptr())), sides);
    races(|| two(|a, _| _ = read(a.as_ptr()), |a, _| a.store(1, Release)), sides);
    races(|| two(|a, _| _ = a.fetch_add(1, AcqRel), |a, _| _ = read(a.as_ptr())), sides);
    // An exchange that fails is a read.
    is_fine(|| {
        two(
            |a, _| _ = a.compare_exchange(0, 1, AcqRel, Acquire),
            |a, _| {
                _ = a.compare_exchange(0, 2, AcqRel, Acquire);
                read(a.as_ptr());
            },
        );
    });
}

#[test]
fn a_plain_write_races_with_atomic_accesses() {
    let [reads, writes] = [["plain write by", "atomic read by"], ["plain write by", "atomic write by"]];
    races(|| two(|a, _| _ = a.load(Acquire), |a, _| write(a.as_ptr(), 1)), reads);
    races(|| two(|a, _| write(a.as_ptr(), 1), |a, _| _ = a.load(Acquire)), reads);
    races(|| two(|a, _| a.store(1, Release), |a, _| write(a.as_ptr(), 1)), writes);
    races(|| two(|a, _| _ = a.load(Acquire), |a, _| write_half(a.as_ptr(), 1)), reads);
}

#[test]
fn reads_do_not_race_nor_do_a_threads_own_accesses() {
    is_fine(|| two(|a, _| _ = a.load(Relaxed), |a, _| _ = read(a.as_ptr())));
    is_fine(|| {
        two(
            |a, _| _ = a.load(Relaxed) + read(a.as_ptr()) + a.load(Relaxed),
            |a, _| _ = read(a.as_ptr()) + a.compare_exchange(9, 1, AcqRel, Relaxed).unwrap_err(),
        );
    });
    // The only writer reads what it has written, beside others that read.
    is_fine(|| {
        two(
            |a, _| {
                a.store(1, Relaxed);
                a.store(read(a.as_ptr()) + 1, Relaxed);
            },
            |a, _| _ = a.load(Relaxed) + a.load(Relaxed),
        );
    });
}

#[test]
fn what_is_ordered_by_a_flag_does_not_race() {
    // The acquiring access itself may be of the variable.
    is_fine(|| {
        two(
            |a, flag| {
                write(a.as_ptr(), 1);
                flag.store(1, Release);
            },
            |a, flag| {
                if flag.load(Acquire) == 1 {
                    assert_eq!(a.swap(2, Relaxed), 1);
                    write(a.as_ptr(), 3);
                }
            },
        );
    });
    is_fine(|| {
        two(
            |a, _| {
                if a.load(Acquire) == 1 {
                    write(a.as_ptr(), 2);
                }
            },
            |a, _| a.store(1, Release),
        );
    });
    is_fine(|| {
        two(
            |a, flag| {
                a.store(1, Relaxed);
                fence(Release);
                flag.store(1, Relaxed);
            },
            |a, flag| {
                if flag.load(Relaxed) == 1 {
                    fence(Acquire);
                    assert_eq!(read(a.as_ptr()), 1);
                }
            },
        );
    });
    let unordered = || {
        two(
            |a, flag| {
                a.store(1, Relaxed);
                flag.store(1, Relaxed);
            },
            |a, flag| {
                if flag.load(Acquire) == 1 {
                    read(a.as_ptr());
                }
            },
        );
    };
    races(unordered, ["atomic write by T1", "plain read by T0"]);
}

/// The thread has come to its atomic access, and waits, when the plain one is made.
#[test]
fn an_access_that_has_been_announced_is_compared_as_well() {
    races(
        || {
            two(
                |a, flag| {
                    a.load(Relaxed);
                    flag.store(1, Relaxed);
                    a.load(Relaxed);
                },
                |a, flag| {
                    if flag.load(Acquire) == 1 {
                        thread::yield_now();
                        write(a.as_ptr(), 1);
                    }
                },
            );
        },
        ["plain write by T0", "atomic read by T1"],
    );
}

#[test]
fn a_variable_that_is_published_before_it_is_initialised_races() {
    fn publish(order: icb_std::sync::atomic::Ordering) {
        let shared = Arc::new(AtomicUsize::new(0));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let new = Box::new(AtomicU64::new(0));
            write(new.as_ptr(), 7);
            let new = Box::into_raw(new);
            theirs.store(new.expose_provenance(), order);
            new.expose_provenance()
        });
        let found = std::ptr::with_exposed_provenance::<AtomicU64>(shared.load(Acquire));
        // SAFETY: it is freed after the join.
        if let Some(found) = unsafe { found.as_ref() } {
            found.fetch_add(1, Relaxed);
        }
        let new = other.join().unwrap();
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<AtomicU64>(new)) });
    }
    is_fine(|| publish(Release));
    races(|| publish(Relaxed), ["plain write by T1", "atomic write by T0"]);
}

/// Neighbours in eight bytes are variables of their own.
#[test]
fn a_half_is_not_its_neighbour() {
    fn halves(own: usize) {
        let shared = Arc::new((AtomicU64::new(0), [const { AtomicU32::new(0) }; 2]));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.1[own].store(1, Relaxed));
        write_half(shared.1[0].as_ptr().cast(), 1);
        other.join().unwrap();
    }
    is_fine(|| halves(0));
    races(|| halves(1), ["plain write by T0", "atomic write by T1"]);
}

/// A variable on the stack of a thread, which others reach.
#[test]
fn variables_on_stacks_are_compared_as_well() {
    fn scoped(access: fn(*mut u64), ordered: bool) {
        let variable = AtomicU64::new(0);
        thread::scope(|scope| {
            let other = scope.spawn(|| variable.store(1, Relaxed));
            if ordered {
                other.join().unwrap();
            }
            access(variable.as_ptr());
        });
        write(variable.as_ptr(), 5);
        assert_eq!(variable.load(Relaxed), 5);
    }
    is_fine(|| scoped(|at| _ = read(at), true));
    is_fine(|| scoped(|at| write(at, 1), true));
    races(|| scoped(|at| _ = read(at), false), ["plain read by T0", "atomic write by T1"]);
    races(|| scoped(|at| write(at, 1), false), ["plain write by T0", "atomic write by T1"]);
}
