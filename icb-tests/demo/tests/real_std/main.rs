//! As `foreign.rs`, with the rest of what the real `std` has: cells that are initialised once, locks that are tried, poisoned and waited for
//! with a time, locks held across whatever others wait for, boxes and plain memory that are handed over in the right way. A data race is a mistake of the
//! tool here, but where a program has been given one.

mod actions;
mod dense;

use Do::*;
use actions::{Mine, Plain, Shared, act};
use icb_std::model::Builder;
use icb_std::thread;
use std::sync::Arc;

/// What a thread does, to one of two objects.
#[derive(Clone, Copy, Debug)]
enum Do {
    StepLoad,
    StepStore,
    StepLock,
    /// Under the lock is plain memory.
    Lock,
    LockAround,
    TryLock,
    /// Another lock, and a step, under the lock.
    Nested,
    StepUnder,
    UnderStep,
    SpawnUnder,
    PanicUnder,
    IsPoisoned,
    Read,
    ReadAround,
    Write,
    WriteAround,
    TryRead,
    TryWrite,
    Await,
    AwaitWhile,
    AwaitSome,
    Tell,
    TellAll,
    Meet,
    CallOnce,
    IsOnce,
    Init,
    InitAround,
    Set,
    Get,
    Force,
    /// A box is put under a lock, or taken from there and freed.
    Put,
    Take,
    /// The same by a pointer.
    Swap,
    SwapFenced,
    /// Memory is written by one thread, which then says so.
    Publish,
    Consume,
    Spin,
    Clone,
    Drop,
    Look,
    GetMut,
    Unwrap,
    MakeMut,
    Downgrade,
    Upgrade,
    Counts,
    /// Initialisation that panics.
    PanicInit,
    PanicCall,
    ForceCall,
    WaitOnce,
    /// Variables that lie beside each other.
    Small,
    SmallBeside,
    Middle,
    /// Who sets one that is not set is alone with plain memory.
    MiddleSet,
    SeqWrite,
    SeqRead,
    SpinLock,
    SpinStep,
    SpinReady,
    Ready,
    Submit,
    TryReceive,
    Park,
    ParkUntil,
    Unpark,
    Scope,
    Word,
    WordAdd,
    WordLoad,
    WordUpdate,
    WeakMut,
    WeakDrop,
    IntoInner,
    StepTwice,
    StepAdd,
    StepTry,
    WordUnder,
    /// Not in the right way.
    Race,
    RaceUnderOther,
}
const ALL: [Do; 47] = [
    StepLoad,
    StepStore,
    StepLock,
    Lock,
    LockAround,
    TryLock,
    Nested,
    StepUnder,
    UnderStep,
    SpawnUnder,
    PanicUnder,
    IsPoisoned,
    Read,
    ReadAround,
    Write,
    WriteAround,
    TryRead,
    TryWrite,
    Await,
    AwaitWhile,
    AwaitSome,
    Tell,
    TellAll,
    Meet,
    CallOnce,
    IsOnce,
    Init,
    InitAround,
    Set,
    Get,
    Force,
    Put,
    Take,
    Swap,
    SwapFenced,
    Publish,
    Consume,
    Spin,
    Clone,
    Drop,
    Look,
    GetMut,
    Unwrap,
    MakeMut,
    Downgrade,
    Upgrade,
    Counts,
];

/// What each thread does, and how many outcomes go to one that is a failure.
fn program(seed: u64) -> (Vec<Vec<(Do, usize)>>, u64) {
    let mut below = generator(seed);
    let mut kinds: Vec<Do> = (0..3 + below(4)).map(|_| ALL[below(ALL.len())]).collect();
    kinds.extend([StepLoad, StepStore]);
    if below(6) == 0 {
        kinds.extend([Race, RaceUnderOther]);
    }
    let objects = 1 + below(2);
    let threads = (0..2 + below(2))
        .map(|_| (0..2 + below(4)).map(|_| (kinds[below(kinds.len())], below(objects))).collect())
        .collect();
    (threads, 2 + below(40) as u64)
}

/// SplitMix64: Steele, Lea and Flood, OOPSLA 2014.
fn generator(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |end: usize| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// Others are explored with `PROGRAM_SEED=1000`.
fn explore(number: u64) {
    let variable = |name| std::env::var(name).ok();
    let base = variable("PROGRAM_SEED").and_then(|text| text.parse::<u64>().ok());
    let seed = base.unwrap_or(0) + number;
    let (threads, rarity) = program(seed);
    let outcomes = variable("PROGRAM_OUTCOMES").map(|directory| format!("{directory}/{seed}"));
    if variable("PROGRAM_SHOWN").is_some() {
        eprintln!("{seed}: {threads:?} {rarity}");
    }
    Builder::new().check(body(threads, move |seen| match &outcomes {
        Some(file) => note(file, seen),
        None => assert!(seen % rarity != 1, "{seen}"),
    }));
}

/// A model of these threads, of which `end` is told what they have seen.
fn body(
    threads: Vec<Vec<(Do, usize)>>,
    end: impl Fn(u64) + std::marker::Send + Sync + 'static,
) -> impl Fn() + std::marker::Send + Sync {
    let threads = Arc::new(threads);
    move || {
        let shared = Arc::new(Shared::new());
        let counted: [Arc<Plain>; 2] = Default::default();
        let run = |number: usize| {
            let (threads, shared) = (threads.clone(), shared.clone());
            let held = counted.clone().map(Some);
            move || {
                let mut mine = Mine { me: number as u64 + 1, held, weak: [None, None] };
                let mut seen = 0_u64;
                for &(what, i) in &threads[number] {
                    seen = seen.wrapping_mul(31) + act(what, i, &shared, &mut mine);
                }
                seen
            }
        };
        let others: Vec<_> = (1..threads.len()).map(|number| thread::spawn(run(number))).collect();
        if threads.iter().flatten().any(|(what, _)| matches!(what, Unpark)) {
            let mut parked: Vec<_> = others.iter().map(|other| other.thread().clone()).collect();
            parked.push(thread::current());
            *shared.parked.lock().unwrap() = parked;
        }
        let first = run(0);
        drop((counted, shared));
        let mut seen = first();
        for other in others {
            seen = seen.wrapping_mul(37) + other.join().unwrap();
        }
        end(seen);
    }
}

/// All outcomes are written down where searches are to be compared by them.
fn note(file: &str, seen: u64) {
    use std::io::Write as _;
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
    file.write_all(&seen.to_le_bytes()).unwrap();
}

icb_tests::numbered_tests! { explore:
    a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9,
    b0 = 10, b1 = 11, b2 = 12, b3 = 13, b4 = 14, b5 = 15, b6 = 16, b7 = 17, b8 = 18, b9 = 19,
    c0 = 20, c1 = 21, c2 = 22, c3 = 23, c4 = 24, c5 = 25, c6 = 26, c7 = 27, c8 = 28, c9 = 29,
    d0 = 30, d1 = 31, d2 = 32, d3 = 33, d4 = 34, d5 = 35, d6 = 36, d7 = 37, d8 = 38, d9 = 39,
}
