//! Partial-order reduction loses nothing on random programs of the rest of std: see `reduction_campaign.rs`, and
//! `random_real/generate/features.rs` for what these programs are about.
//!
//! The long run: `ICB_SEEDS=0..1000 cargo test --release -p icb-tests --test reduction_features -- --nocapture --exact
//! features_keep_their_outcomes`, and the next thousand in a process of its own: threads that cannot be unwound where an execution is
//! given up keep their stacks, of which a process has no more than some ten thousand. `ICB_MOST` is the most executions of a plain search.

use icb_core::reduction::{Flaw, Visited};
use icb_tests::random_real::campaign::{
    Compare, ENOUGH, MAX_BOUND, MAX_EXECUTIONS, campaign, in_manners, max_executions, with_reduction,
};
use icb_tests::random_real::compare::{
    DETACHED_MANNERS, Difference, MANNERS, Tally, compare, compare_bound_by_bound, shrink,
};
use icb_tests::random_real::generate::{dense, features};
use icb_tests::random_real::language::Instruction::{self, *};
use icb_tests::random_real::language::{Farewell, Handle, Kept, Order, Pause, Program, Span, Thread};
use icb_tests::random_real::search::Manner;
use icb_tests::searches::reduced;
use icb_tests::seeds;
use std::ops::Range;

/// Programs of every run.
const SEEDS: Range<u64> = 0..150;
/// Those that are searched with a table of states.
const TABLE_SEEDS: Range<u64> = 0..65;
/// Those that wait in loops.
const LOOP_SEEDS: Range<u64> = 0..150;
/// Those that wait in loops without a hint.
const BARE_SEEDS: Range<u64> = 0..75;
/// Those that look under a lock in loops.
const POLL_SEEDS: Range<u64> = 0..50;
const WAIT_SEEDS: Range<u64> = 0..250;
const READER_SEEDS: Range<u64> = 0..200;
const MIXED_SEEDS: Range<u64> = 0..250;
const WORD_SEEDS: Range<u64> = 0..200;
/// Those of few words that wait in loops.
const FEW_LOOP_SEEDS: Range<u64> = 0..80;
/// Those that call the system.
const SYSTEM_SEEDS: Range<u64> = 0..60;

fn with_table(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    let mut search = Visited::new(Some(MAX_BOUND));
    compare_bound_by_bound(program, manner, MAX_BOUND, max_executions(MAX_EXECUTIONS), &mut search)
}

fn with_stale_values(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    with_reduction(program, Manner { weak_memory: true, ..manner })
}

/// In every manner.
fn check(program: &Program, compare: Compare) -> Result<Tally, Difference> {
    in_manners(program, &[&MANNERS[..], &DETACHED_MANNERS].concat(), compare)
}

fn compared(seeds: Range<u64>, program: fn(u64) -> Program, compare: Compare) {
    compared_for_the_most_part(seeds, ENOUGH, program, compare);
}

/// Compared, at least so many searches for each that is too large.
fn compared_for_the_most_part(seeds: Range<u64>, least: u64, program: fn(u64) -> Program, compare: Compare) {
    campaign(seeds::from_environment().unwrap_or(seeds), least, program, |program| check(program, compare));
}

#[test]
fn features_keep_their_outcomes() {
    compared(SEEDS, features::program, with_reduction);
}

#[test]
fn features_with_stale_values_keep_their_outcomes() {
    compared(TABLE_SEEDS, features::program, with_stale_values);
}

/// The search with a table of states: see `tests/visited.rs`.
#[test]
fn features_keep_their_outcomes_with_a_table_of_states() {
    compared(TABLE_SEEDS, features::program, with_table);
}

#[test]
fn waits_keep_their_outcomes_with_a_table_of_states() {
    compared(TABLE_SEEDS, features::waiting_program, with_table);
}

#[test]
fn loops_that_wait_keep_their_outcomes_with_a_table_of_states() {
    compared(TABLE_SEEDS, features::looping_program, with_table);
}

#[test]
fn mixtures_keep_their_outcomes_with_a_table_of_states() {
    compared(TABLE_SEEDS, features::mixed_program, with_table);
}

/// Who waits in a loop goes round as often as makes a difference, wherever it may be counting its rounds.
#[test]
fn loops_that_wait_keep_their_outcomes() {
    compared(LOOP_SEEDS, features::looping_program, with_reduction);
}

/// The same where such a loop does not say that it waits: it is seen that it does the same again.
#[test]
fn loops_without_a_hint_keep_their_outcomes() {
    compared(BARE_SEEDS, features::bare_program, |program, manner| {
        // Forty-eight rounds of each loop make many executions where nothing is seen.
        compare(program, manner, MAX_BOUND, 10 * max_executions(MAX_EXECUTIONS), &reduced)
    });
}

/// The same where it looks under a lock.
#[test]
fn loops_that_look_under_a_lock_keep_their_outcomes() {
    // Without a bound few of them are small enough.
    compared_for_the_most_part(POLL_SEEDS, ENOUGH / 2, features::polling_program, |program, manner| {
        compare(program, manner, MAX_BOUND, 4 * max_executions(MAX_EXECUTIONS), &reduced)
    });
}

/// Waits that end by themselves, before they are told or after that.
#[test]
fn waits_keep_their_outcomes() {
    compared(WAIT_SEEDS, features::waiting_program, with_reduction);
}

/// Readers and writers, and hardly anything else.
#[test]
fn readers_and_writers_keep_their_outcomes() {
    // Without a bound a quarter of them are too large.
    compared_for_the_most_part(READER_SEEDS, ENOUGH * 3 / 4, features::reading_program, with_reduction);
}

/// Two things that meet.
#[test]
fn mixtures_keep_their_outcomes() {
    compared(MIXED_SEEDS, features::mixed_program, with_reduction);
}

/// Few words of one subject.
#[test]
fn few_words_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_one_subject, with_reduction);
}

/// Few words of all subjects.
#[test]
fn few_words_of_all_subjects_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_all_subjects, with_reduction);
}

/// What is dropped does something.
#[test]
fn partings_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_partings, with_reduction);
}

/// Waits that end by themselves, with what ends them and what comes in between.
#[test]
fn times_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_times, with_reduction);
}

/// Threads that park.
#[test]
fn tokens_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_tokens, with_reduction);
}

#[test]
fn tokens_keep_their_outcomes_with_a_table_of_states() {
    compared(TABLE_SEEDS, dense::of_tokens, with_table);
}

/// Panics, and what is let go on the way.
#[test]
fn few_panics_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_panics, with_reduction);
}

/// Loops that wait, next to what waits otherwise.
#[test]
fn few_loops_keep_their_outcomes() {
    compared(FEW_LOOP_SEEDS, dense::of_loops, with_reduction);
}

/// What commutes, and who looks at it.
#[test]
fn owners_and_readers_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_commuting, with_reduction);
}

/// What a thread does depends on what it has seen.
#[test]
fn tries_keep_their_outcomes() {
    compared(WORD_SEEDS, dense::of_tries, with_reduction);
}

/// Loops that wait for other things than variables and locks.
#[test]
fn other_loops_keep_their_outcomes() {
    // Without a bound few of them are small enough.
    compared_for_the_most_part(TABLE_SEEDS, 1, dense::of_other_loops, with_reduction);
}

#[test]
fn few_words_with_stale_values_keep_their_outcomes() {
    compared(TABLE_SEEDS, dense::of_variables, with_stale_values);
}

/// Long runs of these are better divided among processes, of a few hundred programs each: see `SYSTEM_THEMES`.
#[test]
fn calls_of_the_system_keep_their_outcomes() {
    compared(SYSTEM_SEEDS, features::system_program, with_reduction);
}

/// Programs on which outcomes were lost once.
#[test]
fn what_was_lost_once_is_found() {
    let passes_on = Scope { first: 1, count: 2, inner: 0, handle: Handle::PassedOn };
    let (reads, pause) = (false, Pause::Yield);
    let polls = |turns| PollLocked { object: 0, reads, turns, kept: Kept::Heap, pause };
    let turns = |times, turns| TurnLocked { object: 0, reads, times, turns, pause };
    let programs: &[(&str, &[&[Instruction]])] = &[
        ("who looks for events", &[&[Spawn(1), EventWrite(0)], &[EventsPoll]]),
        ("who reads", &[&[Spawn(1), Spawn(2)], &[EventWrite(0)], &[EventRead(0)]]),
        ("who fails", &[&[Spawn(1), EventRead(0), Join(1)], &[FutexStore(0, 1), FutexWaitTimeout(0, 1)]]),
        ("who closes", &[&[Spawn(1), SocketClose], &[EventsWaitTimeout, SocketSend]]),
        (
            "who ends where it went on",
            &[
                &[Spawn(1), Spawn(2), IsFinished(1), Join(1)],
                &[SkipIfZero(0, Order::Relaxed), SkipIfZero(0, Order::Relaxed)],
                &[Add(0, Order::Synchronizing)],
            ],
        ),
        ("who wakes for no reason", &[&[Spawn(1), Yield], &[Lock(1), Wait(1)]]),
        (
            "who goes round before the end",
            &[
                &[Spawn(1), CallOnceForce { once: 1, variable: 0, panics: true }, Add(0, Order::Relaxed)],
                &[OnceWaitForce(1)],
            ],
        ),
        (
            "who lets go while thread-locals are left",
            &[&[Scope { first: 1, count: 1, inner: 0, handle: Handle::Asked }], &[Leave(Farewell::Adds(0))]],
        ),
        (
            "who frees what a thread returns",
            &[
                &[Scope { first: 1, count: 1, inner: 0, handle: Handle::Asked }, Load(1, Order::Relaxed)],
                &[Load(1, Order::Relaxed)],
            ],
        ),
        ("who has joined", &[&[passes_on, UnparkMain], &[], &[]]),
        (
            "who is told in vain while time passes",
            &[
                &[Spawn(1), Spawn(2), Lock(0), WaitTimeoutWhile(0, 2), Join(2)],
                &[NotifyOne(0)],
                &[Lock(1), WaitFor(1, Span::Long)],
            ],
        ),
        (
            "who counts when the test is over",
            &[
                &[Spawn(1)],
                &[Spawn(2), Store(1, 2, Order::Sequential)],
                &[
                    AwaitNonZero { variable: 1, pause: Pause::Spin },
                    SpinWhileZero { variable: 0, turns: 3, pause: Pause::Yield },
                ],
            ],
        ),
        ("who changes what others look at, and goes round", &[&[Spawn(1), turns(1, 5)], &[polls(4)]]),
        (
            "who waits for what goes round",
            &[&[Spawn(1), turns(1, 6), Load(0, Order::Sequential)], &[polls(0), Add(0, Order::Sequential)]],
        ),
        (
            "who waits beside another",
            &[
                &[Spawn(1), Spawn(2), turns(1, 3), Load(0, Order::Sequential)],
                &[polls(0), Add(0, Order::Sequential)],
                &[polls(0)],
            ],
        ),
        ("who puts back what others look at", &[&[Spawn(1), turns(2, 4)], &[polls(4)]]),
        ("who looks beside another one", &[&[Spawn(1), Spawn(2), turns(1, 2)], &[polls(2)], &[polls(1)]]),
        (
            "who lets go in a panic of what it has waited for",
            &[&[Spawn(1), Lock(0), Unlock(0), TryLock(0), Join(1)], &[Lock(0), Panic]],
        ),
        (
            "who wakes for no reason before it is told",
            &[
                &[Lock(0), Spawn(1), Wait(0), Unlock(0), Join(1)],
                &[Lock(0), Spawn(2), Unlock(0), Join(2)],
                &[NotifyOne(0), NotifyOne(0)],
            ],
        ),
        (
            "who heals the lock of one who waits for a time",
            &[&[Spawn(1), Spawn(2), ClearPoison(0), Join(1)], &[NotifyOne(0)], &[Lock(0), WaitTimeout(0)]],
        ),
        (
            "who waits for times when the test is over",
            &[&[Spawn(2), Spawn(1)], &[TryLock(0), WaitTimeoutWhile(0, 3)], &[]],
        ),
        (
            "who has left and drops its locals",
            &[
                &[
                    Scope { first: 1, count: 2, inner: 0, handle: Handle::Asked },
                    Store(0, 1, Order::Synchronizing),
                ],
                &[],
                &[Leave(Farewell::Adds(0))],
            ],
        ),
        (
            "who drops what the test panics with",
            &[&[Spawn(1), PanicWith(Farewell::Notifies(0))], &[Lock(0), Wait(0)]],
        ),
        (
            "who has to wait for a lock while it unwinds",
            &[
                &[Spawn(1), Spawn(2), Within(2), AtEnd(Farewell::Waits(0)), Panic],
                &[Lock(0)],
                &[Lock(0), WaitTimeout(0)],
            ],
        ),
        (
            "who begins, and looks at a lock while it unwinds",
            &[
                &[Spawn(1), AtEnd(Farewell::Tries(0))],
                &[Within(2), AtEnd(Farewell::Tries(0)), Panic, Yield, AtEnd(Farewell::Tries(0)), Panic],
            ],
        ),
        (
            "who looks whether it is the only owner while the others go",
            &[&[Spawn(1), Spawn(2), AwaitOwner(Pause::Yield)], &[ArcDrop], &[ArcDrop]],
        ),
        (
            "who looks whether it can write while the readers go",
            &[
                &[Spawn(1), Spawn(2), AwaitLock { object: 0, writes: true, pause: Pause::Yield }],
                &[Read(0)],
                &[Read(0)],
            ],
        ),
        (
            "who has ended after a pause in a panic",
            &[
                &[
                    Scope { first: 1, count: 1, inner: 3, handle: Handle::Asked },
                    Within(2),
                    AtEnd(Farewell::Pauses(Pause::Yield)),
                    Panic,
                ],
                &[],
            ],
        ),
        (
            "who has asked, and looks at what the thread's locals change",
            &[
                &[Spawn(1), IsFinished(1), SkipIfEven, CellRead(0)],
                &[Leave(Farewell::Adds(0)), Leave(Farewell::Changes(0))],
            ],
        ),
        (
            "who gives up a handle, and has changed what the thread's result looks at",
            &[&[Spawn(1), CellWrite(0), Detach(1)], &[Return(Farewell::LooksAt(0))]],
        ),
        ("who hears of a panic", &[&[passes_on, Load(1, Order::Relaxed)], &[Panic], &[]]),
        (
            "who never begins, and would have dropped something",
            &[
                &[Spawn(2), HandleDrop, SendBurden(0, Farewell::Joins(2)), Spawn(1), Join(1), Join(2)],
                &[SendBurden(0, Farewell::Joins(2)), SendBurden(0, Farewell::Joins(2))],
                &[],
            ],
        ),
        (
            "who comes before one that wakes by itself",
            &[&[Spawn(1), Lock(0), Wait(0)], &[Spawn(2), NotifyOne(0), NotifyOne(0)], &[Lock(0)]],
        ),
        (
            "who goes round before the end or after it",
            &[
                &[Spawn(1), SpinWhileZero { variable: 0, turns: 2, pause: Pause::Spin }],
                &[AwaitNonZero { variable: 0, pause: Pause::Spin }],
            ],
        ),
    ];
    for &(name, threads) in programs {
        let mut program = of_threads(threads);
        for is_acquainted in [false, true] {
            program.is_acquainted = is_acquainted;
            for compare in [with_reduction as Compare, with_table] {
                if let Err(difference) = check(&program, compare) {
                    panic!("{name}: {difference:?}\n{program}");
                }
            }
        }
    }
}

/// Programs on which outcomes were lost once where values may be stale.
#[test]
fn what_was_lost_once_with_stale_values_is_found() {
    let programs: [(&str, [&[Instruction]; 2]); 1] = [(
        "who finds out that a thread has let go, while its locals are left",
        [&[Spawn(1)], &[Return(Farewell::Loads(0)), Leave(Farewell::Initialises(0))]],
    )];
    for (name, threads) in programs {
        for is_acquainted in [false, true] {
            let mut program = of_threads(&threads);
            program.is_acquainted = is_acquainted;
            if let Err(difference) = check(&program, with_stale_values) {
                panic!("{name}: {difference:?}\n{program}");
            }
        }
    }
}

/// The program of these threads, with two channels and two barriers.
/// Programs on which outcomes were lost once where it is a step to clone what an `Arc` holds.
#[test]
fn what_was_lost_once_with_steps_of_values_is_found() {
    let programs: [(&str, [&[Instruction]; 2]); 3] = [
        ("two who make it their own", [&[Spawn(1), ArcMakeMut], &[ArcMakeMut]]),
        ("one who does, and an owner who goes", [&[Spawn(1), ArcMakeMut], &[ArcDrop]]),
        ("two who take it, or clone it", [&[Spawn(1), ArcUnwrapOrClone], &[ArcUnwrapOrClone]]),
    ];
    for (name, threads) in programs {
        let mut program = of_threads(&threads);
        program.counted_drop = true;
        if let Err(difference) = check(&program, with_reduction) {
            panic!("{name}: {difference:?}\n{program}");
        }
    }
}

fn of_threads(threads: &[&[Instruction]]) -> Program {
    let threads = threads.iter().map(|code| Thread { code: code.to_vec(), keeps: false }).collect();
    Program { threads, channels: vec![(None, 0); 2], barriers: vec![1; 2], ..Program::default() }
}

/// A search that is unsound in a known way is found out.
#[test]
fn flaws_are_found() {
    const PROGRAMS: u64 = 2_000;
    type Row = (Flaw, Manner, fn(u64) -> Program);
    const FLAWS: [Row; 6] = [
        (Flaw::NoConservativePoints, MANNERS[0], features::program),
        (Flaw::BlockedIgnored, MANNERS[0], features::program),
        (Flaw::EnablingIgnored, MANNERS[0], features::program),
        (Flaw::OneCandidate, MANNERS[0], features::program),
        (Flaw::LastIgnored, DETACHED_MANNERS[1], features::program),
        (Flaw::EarlySleepsOn, MANNERS[0], dense::of_loops),
    ];
    for (flaw, manner, program) in FLAWS {
        let flawed = |bound| reduced(bound).flawed(flaw);
        let differs = |program: &Program| compare(program, manner, 2, 300, &flawed).is_err();
        let seed = (0..PROGRAMS).find(|&seed| differs(&program(seed)));
        let Some(seed) = seed else { panic!("{flaw:?} is not found by {PROGRAMS} programs") };
        println!("{flaw:?}: {}", shrink(&program(seed), &differs));
    }
}
