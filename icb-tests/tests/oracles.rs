//! The searches against the oracle table, through an interpreter of the oracle programs: with nothing left out,
//! execution counts and terminal states at each bound are exact.

use icb_core::explore::Explorer;
use icb_core::search::{ContextBounded, DepthFirst, Strategy};
use icb_core::trace::Report;
use icb_tests::abstract_program::as_program::AbstractProgram;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::{Lifecycle, Program};
use icb_tests::abstract_program::oracles::{Oracle, oracles};
use icb_tests::abstract_program::state_graph::StateGraph;
use icb_tests::searches::every_execution;

const MAX_BOUND: u32 = 4;

/// Programs with too many executions to run all of them in every test run: 756,756 and more.
const TOO_LARGE: [&str; 2] = ["O17 fg-indep-heavy", "O33 k-no-fallback"];

fn is_too_large(program: &Program) -> bool {
    TOO_LARGE.iter().any(|name| program.name.starts_with(name))
}

fn search(strategy: &mut dyn Strategy, program: &mut AbstractProgram<'_>) -> Report {
    Explorer::new(every_execution(None)).run(strategy, program)
}

/// Executions with exactly so many preemptions, and terminal states with at most so many. Bounds after the last
/// one that has executions are left out of a report: they add nothing.
fn figures<const N: usize>(report: &Report) -> ([u64; N], [u64; N]) {
    let executions = std::array::from_fn(|bound| report.bounds.get(bound).map_or(0, |b| b.executions));
    let last = report.bounds.last().map_or(0, |b| b.states);
    let states = std::array::from_fn(|bound| report.bounds.get(bound).map_or(last, |b| b.states));
    (executions, states)
}

#[test]
fn context_bounding_reproduces_the_table() {
    for Oracle { program, expected } in oracles() {
        let mut subject = AbstractProgram::new(&program, Granularity::SyncOnly);
        let report = search(&mut ContextBounded::new(Some(MAX_BOUND)), &mut subject);
        let (executions, states) = figures::<5>(&report);
        assert_eq!(executions, expected.executions, "executions of {program}");
        assert_eq!(states, expected.terminals.map(|t| t as u64), "terminal states of {program}");
        assert!(report.bounds.iter().all(|bound| bound.complete), "{report:?}: {program}");
        assert_eq!(subject.deadlocks().len(), expected.deadlocks, "deadlocked terminal states of {program}");
        let failed: u64 = report.bounds.iter().map(|bound| bound.failures).sum();
        assert_eq!(failed > 0, expected.deadlocks > 0, "{program}");
        assert_eq!(report.failure.is_some(), expected.deadlocks > 0, "{program}");
    }
}

/// Every execution once, in either order: the same number of executions, the same terminal states.
fn compare_with_depth_first(program: &Program, all_terminals: u64, deadlocks: usize) {
    let mut bounded = AbstractProgram::new(program, Granularity::SyncOnly);
    let by_bound = search(&mut ContextBounded::new(None), &mut bounded);
    let mut unbounded = AbstractProgram::new(program, Granularity::SyncOnly);
    let by_depth = search(&mut DepthFirst::new(), &mut unbounded);
    assert!(by_bound.exhausted() && by_depth.exhausted(), "{program}");
    assert_eq!(by_bound.execution_count(), by_depth.execution_count(), "executions of {program}");
    assert_eq!(by_bound.step_count(), by_depth.step_count(), "steps of {program}");
    for (report, subject) in [(&by_bound, &bounded), (&by_depth, &unbounded)] {
        let states = report.bounds.last().map(|bound| bound.states);
        assert_eq!(states, Some(all_terminals), "terminal states of {program}");
        assert_eq!(subject.deadlocks().len(), deadlocks, "deadlocked terminal states of {program}");
    }
}

#[test]
fn depth_first_and_context_bounding_run_the_same_executions() {
    for Oracle { program, expected } in oracles() {
        if !is_too_large(&program) {
            compare_with_depth_first(&program, expected.all_terminals as u64, expected.deadlocks);
        }
    }
}

/// `cargo test --release -p icb-tests --test oracles -- --ignored`
#[test]
#[ignore = "it runs millions of executions"]
fn depth_first_and_context_bounding_run_the_same_executions_of_large_programs() {
    for Oracle { program, expected } in oracles() {
        if is_too_large(&program) {
            compare_with_depth_first(&program, expected.all_terminals as u64, expected.deadlocks);
        }
    }
}

/// A main thread changes how many executions there are, and not where they lead, whether the end of a thread is a
/// step of its own or belongs to its last one.
#[test]
fn a_main_thread_does_not_change_terminal_states() {
    for Oracle { program, expected } in oracles() {
        let Some(under_main) = expected.under_main else { continue };
        for lifecycle in [Lifecycle::MainWithExitSteps, Lifecycle::MainLikeStd] {
            let program = program.under_main(lifecycle);
            let mut subject = AbstractProgram::new(&program, Granularity::SyncOnly);
            let report = search(&mut ContextBounded::new(Some(2)), &mut subject);
            let (_, states) = figures::<3>(&report);
            assert_eq!(states, under_main.terminals.map(|t| t as u64), "terminal states of {program}");
            let graph =
                StateGraph::build(&program, Granularity::SyncOnly, Some(2), 100_000).expect("it is small");
            assert_eq!(states, std::array::from_fn(|bound| graph.terminal_count(bound) as u64), "{program}");
        }
    }
}
