//! The search with a table of states: exact context bounds of all states, and a check on the reduction without a table.

use icb_core::explore::Explorer;
use icb_core::program::{Granularity as Points, Program as CoreProgram, Strategy};
use icb_core::reduction::{PartialOrder, Visited};
use icb_core::runtime::Settings;
use icb_core::trace::Report;
use icb_std::model::{Builder, Reduction};
use icb_tests::abstract_program::as_program::AbstractProgram;
use icb_tests::abstract_program::dense;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::oracles::{Oracle, oracles};
use icb_tests::abstract_program::state_graph::StateGraph;
use icb_tests::programs::{baselines, bluetooth, lock_order};
use icb_tests::searches::{coroutines, every_execution};
use icb_tests::seeds;
use std::sync::atomic::{AtomicU64, Ordering};

const MAX_BOUND: usize = 3;

fn explore(strategy: &mut dyn Strategy, subject: &mut dyn CoreProgram) -> Report {
    Explorer::new(every_execution(None)).run(strategy, subject)
}

/// How many states have a context bound of at most 0, 1, 2, ….
fn cumulative(counts: &[u64]) -> Vec<u64> {
    let sums = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    sums.collect()
}

#[test]
fn oracle_programs_have_the_states_they_should() {
    for Oracle { program, expected } in oracles() {
        let mut search = Visited::new(Some(MAX_BOUND as u32));
        let report = explore(&mut search, &mut AbstractProgram::new(&program, Granularity::SyncOnly));
        let mut states = cumulative(search.state_counts());
        states.resize(MAX_BOUND + 1, *states.last().expect("bound 0"));
        println!("{:28} {states:?} in {} executions", program.name, report.execution_count());
        assert_eq!(states, expected.states.map(|count| count as u64), "{}", program.name);
        for bound in &report.bounds {
            assert_eq!(bound.states, expected.terminals[bound.bound as usize] as u64, "{}", program.name);
        }
    }
}

#[test]
fn random_programs_have_the_states_of_the_graph() {
    const SEEDS: u64 = 400;
    let compared = AtomicU64::new(0);
    seeds::for_each(0..SEEDS, |seed| {
        let program = dense::program(seed);
        let Some(graph) = StateGraph::build(&program, Granularity::SyncOnly, None, 3_000) else { return };
        let mut search = Visited::new(None);
        let report = explore(&mut search, &mut AbstractProgram::new(&program, Granularity::SyncOnly));
        assert!(report.exhausted(), "{program}");
        let states = cumulative(search.state_counts());
        for (bound, &count) in states.iter().enumerate() {
            let expected = graph.state_count(bound) as u64;
            assert_eq!(count, expected, "states at bound {bound}: {program}");
            let terminals = report.bounds[bound].states;
            assert_eq!(
                terminals,
                graph.terminal_count(bound) as u64,
                "terminals at bound {bound}: {program}"
            );
        }
        compared.fetch_add(1, Ordering::Relaxed);
    });
    assert!(compared.into_inner() * 2 > SEEDS, "most programs are small enough");
}

#[test]
fn real_programs_reach_the_same_terminal_states() {
    for ((name, program), _) in baselines::PROGRAMS {
        if ["counter_racy(3,2)", "prodcons(2,2,1)"].contains(&name) {
            continue;
        }
        for granularity in [Points::SyncOnly, Points::EveryAccess] {
            let states = |strategy: &mut dyn Strategy| {
                let settings = Settings { spurious: false, granularity, ..Settings::default() };
                let report = explore(strategy, &mut coroutines(program, settings));
                let mut states: Vec<u64> = report.bounds.iter().map(|bound| bound.states).collect();
                // Where a bound cuts nothing the search is over.
                states.resize(3, *states.last().expect("bound 0"));
                states
            };
            let reduced = states(&mut PartialOrder::new(Some(2)));
            assert_eq!(states(&mut Visited::new(Some(2))), reduced, "{name} {granularity:?}");
        }
    }
}

/// Through the public interface.
#[test]
fn failures_are_found_at_their_bound() {
    let visited = || Builder::new().max_bound(2).reduction(Reduction::Visited);
    let failing: [fn(); 2] = [
        || bluetooth::run(bluetooth::Version::Published, 2),
        || lock_order::philosophers(lock_order::Version::AsItComes, 3),
    ];
    for program in failing {
        let report = visited().explore(program);
        assert_eq!(report.failure.as_ref().map(|failure| failure.bound), Some(1), "{report:?}");
    }
    let fixed = || bluetooth::run(bluetooth::Version::Fixed, 2);
    let report = visited().explore(fixed);
    assert!(report.failure.is_none() && report.complete, "{report:?}");
    // It is the search with a table that has been run.
    let counts = |report: &Report| {
        report.bounds.iter().map(|bound| (bound.executions, bound.states)).collect::<Vec<_>>()
    };
    let search = explore(&mut Visited::new(Some(2)), &mut coroutines(fixed, Settings::default()));
    assert_eq!(counts(&report), counts(&search));
    let every = Builder::new().max_bound(2).reduction(Reduction::None).explore(fixed);
    let sum = |report: &Report| report.bounds.iter().map(|bound| bound.executions).sum::<u64>();
    assert!(sum(&report) < sum(&every), "{report:?} {every:?}");
    assert_eq!(report.bounds.last().map(|bound| bound.states), every.bounds.last().map(|bound| bound.states));
}
