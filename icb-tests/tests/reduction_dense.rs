//! Partial-order reduction loses nothing on dense random programs: at each bound, and without one, the same set of terminal
//! states as the brute-force graph of all happens-before states, which shares no code with the search.
//!
//! The long run: `ICB_SEEDS=0..100000 cargo test --release -p icb-tests --test reduction_dense -- --nocapture`.

use icb_core::program::Strategy;
use icb_core::reduction::{Flaw, SleepRule};
use icb_tests::abstract_program::dense;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::Program;
use icb_tests::abstract_program::state_graph::StateGraph;
use icb_tests::abstract_program::terminals::{self, Terminals};
use icb_tests::searches::{reduced, run_count};
use icb_tests::seeds;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

/// Programs of every run.
const SEEDS: Range<u64> = 0..2_000;
const MAX_BOUND: usize = 3;
/// Programs with more happens-before states are left out.
const MAX_STATES: usize = 6_000;

/// Executions, those given up half-way too, and terminal states.
fn search(strategy: &mut dyn Strategy, program: &Program) -> (u64, BTreeSet<u128>) {
    let (report, states) = terminals::reached(strategy, program, Granularity::SyncOnly);
    assert!(report.stopped.is_none(), "{program}");
    (run_count(&report), states)
}

#[derive(Debug, Default)]
struct Tally {
    programs: u64,
    cases: u64,
    skipped: u64,
    states: [u64; MAX_BOUND + 2],
    runs: [u64; MAX_BOUND + 2],
}

/// What is lost, in words.
fn check(program: &Program, flaw: Flaw, tally: &mut Tally) -> Result<(), String> {
    let all = StateGraph::build(program, Granularity::SyncOnly, None, MAX_STATES);
    let some = || StateGraph::build(program, Granularity::SyncOnly, Some(MAX_BOUND), MAX_STATES);
    let (graph, has_all) = match all {
        Some(graph) => (graph, true),
        None => match some() {
            Some(graph) => (graph, false),
            None => {
                tally.skipped += 1;
                return Ok(());
            }
        },
    };
    tally.programs += 1;
    let terminals = Terminals::of(program, Granularity::SyncOnly, &graph);
    for bound in 0..=MAX_BOUND + 1 {
        let unbounded = bound > MAX_BOUND;
        if unbounded && !has_all {
            continue;
        }
        let expected = terminals.up_to(if unbounded { usize::MAX } else { bound });
        for rule in [SleepRule::Block, SleepRule::Step] {
            let strategy = reduced((!unbounded).then_some(bound as u32));
            let (runs, states) = search(&mut strategy.sleep_rule(rule).flawed(flaw), program);
            if states != expected {
                let (found, all) = (states.intersection(&expected).count(), expected.len());
                let more = states.len() - found;
                return Err(format!(
                    "{found} of {all} states at bound {bound} with {rule:?}, {more} that should not be: {program}"
                ));
            }
            if rule == SleepRule::Block {
                tally.cases += 1;
                tally.states[bound] += states.len() as u64;
                tally.runs[bound] += runs;
            }
        }
    }
    Ok(())
}

#[test]
fn dense_programs_keep_their_terminal_states() {
    let total = Mutex::new((Tally::default(), 0));
    seeds::for_each(seeds::from_environment().unwrap_or(SEEDS), |seed| {
        let mut tally = Tally::default();
        let result = check(&dense::program(seed), Flaw::None, &mut tally);
        let mut total = total.lock().expect("no panics here");
        total.0.programs += tally.programs;
        total.0.cases += tally.cases;
        total.0.skipped += tally.skipped;
        for bound in 0..tally.states.len() {
            total.0.states[bound] += tally.states[bound];
            total.0.runs[bound] += tally.runs[bound];
        }
        if let Err(what) = result {
            total.1 += 1;
            println!("{what}");
        }
    });
    let (tally, losses) = total.into_inner().expect("no panics here");
    println!("{tally:?}");
    assert_eq!(losses, 0, "programs of which something is lost");
    assert!(tally.programs > tally.skipped || seeds::from_environment().is_some(), "too little was compared");
}

/// A search that is unsound in a known way is found out by the programs of every run.
#[test]
fn flaws_are_found() {
    // Each with one of them that shows it, which is tried first.
    const FLAWS: [(Flaw, u64); 6] = [
        (Flaw::NoConservativePoints, 1),
        (Flaw::NaiveSleep, 1),
        (Flaw::BlockedIgnored, 19),
        (Flaw::EnablingIgnored, 54),
        (Flaw::OneCandidate, 1817),
        (Flaw::NoFallback, 355),
    ];
    for (flaw, known) in FLAWS {
        let mut seeds = std::iter::once(known).chain(SEEDS);
        let lost = seeds.find_map(|seed| check(&dense::program(seed), flaw, &mut Tally::default()).err());
        let Some(lost) = lost else { panic!("{flaw:?} is not found by the programs {SEEDS:?}") };
        println!("{flaw:?}: {lost}");
    }
}
