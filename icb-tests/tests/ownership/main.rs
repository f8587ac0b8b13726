//! What a program can come to with the mirrored objects is what an enumeration of all its states comes to, no more and no less: panics, caught or joined,
//! and what they poison; owners and their counts, and destructors that others can tell, of shared values, messages and a thread's own values; scopes,
//! threads spawned by others, and joined by others than have spawned them. The enumeration is written after the documentation of `std` and shares
//! nothing with the engine.
//!
//! The long run: `ICB_SEEDS=0..60 cargo test --release -p icb-tests --test ownership`, and so on with other seeds (a process has room for
//! the stacks of so many deadlocks only).

mod enumerated;
mod language;
mod mirrored;

use icb_std::model::{Builder, Reduction};
use icb_tests::told::{self, Told};
use icb_tests::{seeds, tables_of_draws};
use language::{Draw, Op, Program};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Programs with more executions than this are passed over; and in the short run.
const MAX_EXECUTIONS: [u64; 2] = [3_000, 300];

/// Everything that the executions of a program come to; with at most so many preemptions, if there is a bound. `None`: there are too many.
fn explored(program: &Program, reduction: Reduction, bound: Option<u32>) -> Option<BTreeSet<Told>> {
    let max_executions = MAX_EXECUTIONS[usize::from(seeds::from_environment().is_none())];
    let builder = Builder::new().reduction(reduction).spurious(false).allow_unjoined_panics(true);
    let builder = builder.max_executions(max_executions);
    let (program, thread_count) = (program.clone(), program.threads.len());
    told::explored(builder, bound, thread_count, move |telling| mirrored::run(&program, telling))
}

/// What the tester finds beyond the enumeration. Nobody has to see the end of a thread who is not told of it, and a thread that has been kept from
/// ending ends for nothing; and where somebody has waited for a writer that becomes a reader, readers may have to wait until the lock is free.
fn is_told_more(program: &Program, bound: Option<u32>) -> bool {
    let has_store = program.has(|op| matches!(op, Op::Store(_)));
    let asks_for_ends = program.has(|op| matches!(op, Op::IsFinished(_)));
    asks_for_ends && (bound.is_some() || has_store) || program.has(|op| op == Op::WriteToRead)
}

/// Compares random programs made of what is drawn, at each bound and without one.
fn compare(draws: &[Draw]) {
    let compared = Mutex::new(0);
    seeds::for_each(seeds::from_environment().unwrap_or(200..230), |seed| {
        let program = language::generate(seed, draws);
        let asks_for_ends = program.has(|op| matches!(op, Op::IsFinished(_)));
        for bound in [Some(0), Some(1), Some(2), Some(3), None] {
            // To find that a thread is still to end costs something of its own, although the thread may be kept from going on anyway.
            let charged = bound.map(|bound: u32| if asks_for_ends { bound.saturating_sub(2) } else { bound });
            let Some(expected) = enumerated::outcomes(&program, charged) else { return };
            for reduction in [Reduction::None, Reduction::PartialOrder] {
                let Some(found) = explored(&program, reduction, bound) else {
                    if reduction == Reduction::None {
                        continue;
                    }
                    return;
                };
                told::check(&expected, &found, is_told_more(&program, bound), || {
                    format!("{reduction:?}, bound {bound:?}, seed {seed}: {program:?}")
                });
                *compared.lock().unwrap() += 1;
            }
        }
    });
    let compared = *compared.lock().unwrap();
    assert!(compared >= 20, "only {compared} were compared");
}

tables_of_draws! {
    compare:
    atomics: Store Load Add Swap Exchange Exchange Update;
    poisoned_mutexes: Catch Catch Panic Lock Lock Lock TryLock TryLock IsPoisoned ClearPoison Put Store Load Add IsPanicking;
    poisoned_locks: Catch Catch Panic Read Read TryRead Write Write TryWrite TryWrite WriteToRead Release IsLockPoisoned ClearLockPoison Load Add;
    waiting_while: Catch Panic Lock Lock Lock Put Put WaitWhile WaitWhile NotifyOne NotifyAll ClearPoison Add;
    one_time_calls: Catch Catch CallOnce CallOnce CallOnceForce IsCompleted Await Load Add;
    one_time_values: Catch Catch Initialise Initialise Set Get Get Await Force Force Load Add;
    owners: Clone Drop Drop Downgrade DropWeak Upgrade Upgrade StrongCount WeakStrongCount WeakCount WeakWeakCount TryUnwrap IntoInner GetMut Load Add;
    owners_and_panics: Catch Catch Panic Drop Clone Upgrade StrongCount TryUnwrap Lock TryLock Load Add IsPanicking;
    own_values: Touch Touch Touch Catch Panic Load Load Add Lock TryLock IsPanicking;
    unwinding: Catch Defer Defer Defer Panic Panic Lock Lock TryLock Touch IsPanicking Load Add;
    own_values_and_parks: Touch Touch Drop Park Park Unpark Load Add;
    scopes: Scope Scope Panic Touch Drop Lock Load Add Add;
    results: DropHandle DropHandle Scope Catch Panic Load Add Add;
    ends: IsFinished IsFinished IsFinished Touch Touch Scope Load Add Panic;
    owners_within: TransferOwner TransferOwner DropEnd Touch Touch Keep Keep Drop Clone Upgrade StrongCount Load Add Panic;
    barriers: Arrive Arrive Arrive Load Add Store;
    channels: Transfer Transfer TryTransfer Iterate TryIterate DropEnd DropEnd Load Add;
    channels_and_panics: Transfer Transfer Iterate TryIterate DropEnd Catch Panic Load Add Scope;
    all_sorts: Catch Panic Scope Lock TryLock Put WaitWhile NotifyOne Drop Upgrade StrongCount Touch CallOnce Force Transfer TryTransfer Load Add;
}
