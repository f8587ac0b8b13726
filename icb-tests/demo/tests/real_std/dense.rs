//! Small programs of few kinds of things, each done often, searched in this process: with every reduction they come to the same outcomes, or fail at the
//! same bound. There are no data races here.
//!
//! The long run: `cargo icb test -p icb-demo --features random --test real_std dense`, with `PROGRAM_SEEDS=0..5000` and `PROGRAM_BOUND=2`.

use super::Do::{self, *};
use super::{body, generator, note};
use icb_std::model::{Builder, FailureKind, Reduction};

use std::collections::BTreeSet;

type Threads = Vec<Vec<(Do, usize)>>;

/// Programs in which something was wrong once.
const KNOWN: &[&[&[Do]]] = &[
    // What is done under the lock from one wait to the next.
    &[&[Tell], &[AwaitWhile, StepLock], &[Tell, StepLock]],
    &[&[Tell, MiddleSet, AwaitWhile], &[AwaitWhile, Small], &[Tell, Tell, AwaitWhile]],
    // A loop with a pause that waits for an atomic of the real std.
    &[&[SpinLock], &[SpinLock, SpinLock], &[StepStore]],
];

/// Rows from which dense programs are made: few kinds of things, each done often.
const SUBJECTS: [&[Do]; 17] = [
    &[PanicInit, Init, InitAround, Get, Set],
    &[PanicCall, ForceCall, IsOnce, IsOnce, CallOnce],
    &[Small, SmallBeside, Middle, MiddleSet],
    &[SeqWrite, SeqRead, StepStore],
    &[Nested, StepUnder, UnderStep, SpawnUnder],
    &[Ready, Spin, Publish, Consume, Put, Take, Swap, SwapFenced],
    &[Submit, TryReceive],
    &[SpinLock, SpinLock, Word],
    &[SpinReady, SpinReady, Ready, StepStore],
    &[SpinStep, SpinStep, Ready, Word, WordAdd],
    &[Park, ParkUntil, Unpark],
    &[Scope, Word, WordUpdate],
    &[Word, WordAdd, WordLoad, WordUpdate, WordUnder, StepTry],
    &[WeakMut, WeakDrop, IntoInner, Downgrade, Upgrade, Clone, Drop, MakeMut, GetMut, Counts, Unwrap],
    &[PanicUnder, IsPoisoned, Lock, TryLock, LockAround, UnderStep],
    &[Read, ReadAround, Write, WriteAround, TryRead, TryWrite],
    &[Await, AwaitWhile, AwaitSome, Tell, TellAll, Meet],
];

/// One or two subjects, one object or two, and steps.
fn program(seed: u64) -> Threads {
    let mut below = generator(seed);
    let mut kinds: Vec<Do> = Vec::new();
    for _ in 0..1 + below(2) {
        let subject = SUBJECTS[below(SUBJECTS.len())];
        kinds.extend((0..1 + below(3)).map(|_| subject[below(subject.len())]));
    }
    kinds.extend(
        &[StepLoad, StepStore, StepAdd, StepTwice, StepLock, StepTry][..][below(5)..][..1 + below(2)],
    );
    let objects = 1 + usize::from(below(4) == 0);
    let (threads, longest) = [(2, 4), (3, 2), (3, 3), (2, 3)][below(4)];
    (0..threads)
        .map(|_| (0..1 + below(longest)).map(|_| (kinds[below(kinds.len())], below(objects))).collect())
        .collect()
}

/// What a search comes to.
#[derive(PartialEq, Eq, Debug)]
enum Found {
    Outcomes(BTreeSet<u64>),
    FailsAt(u32),
}

/// Nothing if the program is too large.
fn search(threads: &Threads, reduction: Reduction, bound: u32) -> Option<Found> {
    let file = format!("{}/icb-dense-{}", std::env::temp_dir().display(), std::process::id());
    let to = file.clone();
    let builder = Builder::new().max_bound(bound).reduction(reduction).max_executions(20_000);
    let report = builder.explore(body(threads.clone(), move |seen| note(&to, seen)));
    let seen = std::fs::read(&file).unwrap_or_default();
    let _ = std::fs::remove_file(&file);
    match report.failure {
        Some(failure) => {
            let kind = failure.kind;
            assert!(kind != FailureKind::DataRace, "{threads:?}: {kind} {}", failure.message);
            Some(Found::FailsAt(failure.bound))
        }
        None if report.stopped.is_some() => None,
        None => {
            let (seen, _) = seen.as_chunks();
            Some(Found::Outcomes(seen.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect()))
        }
    }
}

fn compare(threads: &Threads, bound: u32) {
    let Some(plain) = search(threads, Reduction::None, bound) else { return };
    for reduction in [Reduction::PartialOrder, Reduction::Visited] {
        let found = search(threads, reduction, bound);
        assert!(found.as_ref() == Some(&plain), "{threads:?}, {reduction:?}: {found:?} instead of {plain:?}");
    }
}

/// Without the instrumentation pass what the real `std` does is not known.
#[test]
fn dense_programs_come_to_the_same_however_they_are_searched() {
    let variable = |name| std::env::var(name).ok();
    let Some(seeds) = variable("PROGRAM_SEEDS") else { return };
    let (first, end) = seeds.split_once("..").unwrap();
    let bound = variable("PROGRAM_BOUND").map_or(2, |text| text.parse().unwrap());
    for known in KNOWN {
        compare(&known.iter().map(|thread| thread.iter().map(|&what| (what, 0)).collect()).collect(), bound);
    }
    for seed in first.parse().unwrap()..end.parse().unwrap() {
        compare(&program(seed), bound);
    }
}
