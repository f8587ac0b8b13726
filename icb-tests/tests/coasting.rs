//! Steps of which nothing can come are written down and not analysed (`reduction/partial_order/coast.rs`). That changes nothing
//! but the time: with and without it the same executions are run, in the same order.
//!
//! The long run: `ICB_SEEDS=0..20000 cargo test --release -p icb-tests --test coasting -- --nocapture`.

use icb_core::program::{End, Program, Strategy};
use icb_core::reduction::{Doing, PartialOrder, SplitSearch};
use icb_tests::random_real::compare::{DETACHED_MANNERS, MANNERS, WEAK_MANNERS};
use icb_tests::random_real::generate::{self, dense, features};
use icb_tests::random_real::language::Instruction::{self, *};
use icb_tests::random_real::language::{Farewell, Handle, Order, Program as RandomProgram, Span, Thread};
use icb_tests::random_real::search::{Manner, body};
use icb_tests::searches::{coroutines, reduced};
use icb_tests::seeds;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs of every run.
const SEEDS: Range<u64> = 0..120;
const MAX_BOUND: u32 = 3;
/// Of each search so many executions are compared.
const MAX_EXECUTIONS: usize = 1_000;

/// An execution: its bound, its steps, its terminal state, the message of its failure.
type Run = (u32, u64, u128, String);

/// A random program. In every second one each thread does everything twice, so that executions are longer.
fn program(seed: u64) -> RandomProgram {
    let mut program = generate::program(seed);
    if seed % 2 == 1 {
        for thread in &mut program.threads {
            if !thread.code.iter().any(|instruction| matches!(instruction, Instruction::Spawn(_))) {
                thread.code.extend_from_within(..);
            }
        }
    }
    program
}

fn runs(program: &RandomProgram, manner: Manner, search: &mut dyn Strategy) -> Vec<Run> {
    let (body, kept) = body(program);
    let mut coroutines = coroutines(body, manner.settings());
    let mut runs = Vec::new();
    loop {
        while search.begin() {
            let outcome = coroutines.run(search.chooser(), None);
            search.end(&outcome);
            drop(kept.take());
            let end = match outcome.end {
                End::Failed(failure) => failure.message,
                End::Passed | End::GivenUp => String::new(),
            };
            runs.push((search.bound(), outcome.step_count, outcome.fingerprint, end));
            if runs.len() == MAX_EXECUTIONS {
                return runs;
            }
        }
        if !search.advance() {
            return runs;
        }
    }
}

/// The first difference between what two searches of the program run.
fn compare(
    program: &RandomProgram,
    manner: Manner,
    coasting: &mut dyn Strategy,
    plain: &mut dyn Strategy,
) -> u64 {
    let (found, expected) = (runs(program, manner, coasting), runs(program, manner, plain));
    for at in 0..found.len().max(expected.len()) {
        let (found, expected) = (found.get(at), expected.get(at));
        assert_eq!(found, expected, "{manner:?}: execution {at}\n{program}");
    }
    found.len() as u64
}

fn search() -> PartialOrder {
    PartialOrder::new(Some(MAX_BOUND))
}

#[test]
fn coasting_changes_nothing_but_the_time() {
    let [compared, coasted, landed] = [const { AtomicU64::new(0) }; 3];
    seeds::for_each(seeds::from_environment().unwrap_or(SEEDS), |seed| {
        for manner in MANNERS.into_iter().chain(WEAK_MANNERS) {
            let (mut coasting, mut plain) = (search(), search().without_coasting());
            let count = compare(&program(seed), manner, &mut coasting, &mut plain);
            let (steps, landings) = coasting.coasted();
            compared.fetch_add(count, Ordering::Relaxed);
            coasted.fetch_add(steps, Ordering::Relaxed);
            landed.fetch_add(landings, Ordering::Relaxed);
            assert_eq!(plain.coasted(), (0, 0));
        }
    });
    println!("{compared:?} executions compared, {coasted:?} steps coasted, {landed:?} landings");
    assert!(coasted.into_inner() > compared.into_inner() / 10, "too little was coasted");
    assert!(landed.into_inner() > 100 || seeds::from_environment().is_some(), "there were too few landings");
}

/// The same of the rest of std, and where threads that wait for ever are no failure.
#[test]
fn coasting_changes_nothing_with_other_features() {
    seeds::for_each(seeds::from_environment().unwrap_or(0..78), |seed| {
        let program = features::program(seed);
        for manner in MANNERS.into_iter().chain(DETACHED_MANNERS) {
            compare(&program, manner, &mut search(), &mut search().without_coasting());
        }
    });
}

/// The same where things do something when they are dropped.
#[test]
fn coasting_changes_nothing_where_things_are_dropped() {
    seeds::for_each(seeds::from_environment().unwrap_or(0..100), |seed| {
        for program in [dense::of_partings(seed), dense::of_panics(seed)] {
            for manner in MANNERS.into_iter().chain(DETACHED_MANNERS) {
                compare(&program, manner, &mut search(), &mut search().without_coasting());
            }
        }
    });
}

/// Who ends a scope has joined a thread that has left, and comes to its end later: programs in which that was taken for a race in one search and not in
/// the other.
#[test]
fn a_thread_that_has_left_comes_to_its_end_later() {
    let scope = |count, handle| Scope { first: 1, count, inner: 0, handle };
    let programs: [&[&[Instruction]]; 3] = [
        &[&[scope(2, Handle::Dropped), Load(0, Order::Relaxed)], &[], &[Leave(Farewell::Writes(0))]],
        &[&[scope(1, Handle::PassedOn), Store(0, 1, Order::Relaxed)], &[Leave(Farewell::NotifiesAll(0))]],
        &[&[scope(1, Handle::Asked)], &[ReceiveFor(0, Span::Long), Leave(Farewell::Unparks)]],
    ];
    for threads in programs {
        let threads = threads.iter().map(|code| Thread { code: code.to_vec(), keeps: false }).collect();
        let channels = vec![(Some(0), 0), (Some(1), 2)];
        let mut program =
            RandomProgram { threads, channels, barriers: vec![2; 2], ..RandomProgram::default() };
        for is_acquainted in [false, true] {
            program.is_acquainted = is_acquainted;
            for manner in MANNERS.into_iter().chain(DETACHED_MANNERS) {
                compare(&program, manner, &mut search(), &mut search().without_coasting());
            }
        }
    }
}

/// The same where a search is cut up into items after a few executions each.
#[test]
fn coasting_changes_nothing_in_parts_of_a_search() {
    let seeds = seeds::from_environment().unwrap_or(SEEDS.start..SEEDS.end / 2);
    seeds::for_each(seeds, |seed| {
        for executions in [2, 7] {
            let cut = |search| SplitSearch::of_items(Doing::new(search).max_executions(executions));
            let manner = MANNERS[seed as usize % MANNERS.len()];
            compare(&program(seed), manner, &mut cut(search()), &mut cut(search().without_coasting()));
        }
    });
}

/// A thread is spawned by a step that is written down, and others follow before its parent can be left: a program in which one was lost.
#[test]
fn a_thread_that_is_spawned_meanwhile_is_taken_notice_of() {
    let thread = |keeps, code: &[Instruction]| Thread { code: code.to_vec(), keeps };
    let main =
        [Spawn(2), ArcGetMut, Spawn(1), Fence(Order::Relaxed), Store(1, 2, Order::Synchronizing), Join(2)];
    let program = RandomProgram {
        threads: vec![
            thread(true, &main),
            thread(false, &[Store(1, 1, Order::Relaxed)]),
            thread(true, &[ArcClone, ArcClone]),
        ],
        channels: vec![(Some(0), 0), (Some(1), 0)],
        barriers: vec![3, 1],
        ..RandomProgram::default()
    };
    for manner in MANNERS.into_iter().chain(WEAK_MANNERS) {
        for bound in (0..=MAX_BOUND).map(Some) {
            compare(&program, manner, &mut reduced(bound), &mut reduced(bound).without_coasting());
        }
    }
}
