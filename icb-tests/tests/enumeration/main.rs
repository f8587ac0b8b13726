//! What a program can come to with the mirrored objects is what an enumeration of all its states comes to, no more and no less: channels of all
//! kinds, park tokens, barriers, read-write locks, condition variables with timeouts, one-time initialisation, threads that are joined, asked whether they have
//! ended, and left alone. The enumeration is written after the documentation of `std` and shares nothing with the engine.
//!
//! The long run: `ICB_SEEDS=0..50 cargo test --release -p icb-tests --test enumeration`, and so on with other seeds (a process has room for
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

/// Programs with more executions than this are passed over.
const MAX_EXECUTIONS: u64 = 3_000;

/// Everything that the executions of a program come to; with at most so many preemptions, if there is a bound. `None`: there are too many.
fn explored(
    program: &Program,
    reduction: Reduction,
    bound: Option<u32>,
    spurious: bool,
) -> Option<BTreeSet<Told>> {
    let builder = Builder::new().reduction(reduction).spurious(spurious).max_executions(MAX_EXECUTIONS);
    let (program, thread_count) = (program.clone(), program.threads.len());
    told::explored(builder, bound, thread_count, move |telling| mirrored::run(&program, telling))
}

/// What costs the tester less than the enumeration. Where nobody can go on, all timed waits are over together, and not one after another; and a thread that has
/// been kept from ending ends for nothing; and an operation of a channel that could have waited may have been, for nothing, and have taken a token.
fn is_cheaper(ops: &[Op]) -> bool {
    let has = |is: fn(&Op) -> bool| ops.iter().any(is);
    let loses_tokens = has(|op| matches!(op, Op::Send(_) | Op::Receive)) && has(|op| matches!(op, Op::Park));
    let is =
        |op: &Op| matches!(op, Op::ReceiveTimeout | Op::WaitTimeout | Op::ParkTimeout | Op::IsFinished(_));
    ops.iter().any(is) || loses_tokens
}

/// Without a bound a wait is over too early three times in a row at most.
fn is_cut_short(ops: &[Op], spurious: bool) -> bool {
    let timed = |op: &Op| matches!(op, Op::ReceiveTimeout | Op::WaitTimeout | Op::ParkTimeout);
    ops.iter().filter(|op| timed(op) || spurious && matches!(op, Op::Park | Op::Wait)).count() > 3
}

/// Compares random programs made of what is drawn, at each bound and without one.
fn compare(draws: &[Draw]) {
    let compared = Mutex::new(0);
    seeds::for_each(seeds::from_environment().unwrap_or(200..240), |seed| {
        let program = language::generate(seed, draws);
        for bound in [Some(0), Some(1), Some(2), Some(3), None] {
            // In one program they do, in another they do not.
            let spurious = seed % 2 == 0;
            if bound.is_none() && program.has(|ops| is_cut_short(ops, spurious)) {
                return;
            }
            let Some(expected) = enumerated::outcomes(&program, bound, spurious) else { return };
            for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
                let Some(found) = explored(&program, reduction, bound, spurious) else { return };
                // Who leaves a barrier can still go on, in the tester, when the others have left.
                let leaves = spurious && program.has(|ops| ops.contains(&Op::Arrive));
                let may_be_more = leaves || bound.is_some() && program.has(is_cheaper);
                told::check(&expected, &found, may_be_more, || {
                    format!("{reduction:?}, bound {bound:?}, spurious {spurious}, seed {seed}: {program:?}")
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
    channels: Transfer Transfer Transfer TryTransfer DropEnd Lock Store Store Load Load;
    channels_with_timeouts: Transfer Transfer TryTransfer ReceiveTimeout ReceiveTimeout DropEnd Store Load;
    park_tokens: Park Park Unpark Unpark Unpark Lock Store Store Load Load;
    park_tokens_with_timeouts: Park ParkTimeout ParkTimeout Unpark Unpark Unpark Lock Store Load;
    park_tokens_and_channels: Transfer Transfer Transfer TryTransfer Park Unpark Unpark Store Store Load;
    condition_variables: Lock Lock Lock Wait Wait Wait NotifyOne NotifyAll Store Load;
    condition_variables_with_timeouts: Lock Lock Lock Wait Wait WaitTimeout WaitTimeout NotifyOne NotifyAll Store Load;
    initialisation: Initialise Initialise Set Get Get Get Store Store Load Lock;
    read_write_locks: Read Read TryRead TryRead Write Write TryWrite Release Release Store Load;
    ends: IsFinished IsFinished Transfer TryTransfer ReceiveTimeout Store Load Lock NotifyOne;
    all_sorts: Transfer TryTransfer ReceiveTimeout Lock Lock Wait WaitTimeout NotifyOne Initialise Set Get Store Load;
}
