//! The oracle programs as Rust programs: a main thread spawns and joins their threads, which use `icb_std`. The
//! terminal states at each bound are those of the table.

use icb_std::model::{Builder, Granularity};
use icb_tests::abstract_program::brute_force;
use icb_tests::abstract_program::interpreter::Granularity as ReferenceGranularity;
use icb_tests::abstract_program::language::{Lifecycle, NotifyOrder, Op, Program};
use icb_tests::abstract_program::oracles::{Expected, Oracle, UnderMain, oracles};
use icb_tests::abstract_program::real::{self, explore};
use icb_tests::abstract_program::state_graph::StateGraph;

/// Programs with too many executions to run all of them in every test run.
const TOO_LARGE: [&str; 5] = ["O3 ", "O16 ", "O17 ", "O20 ", "O33 "];

/// The program as a Rust program can be: its threads begin with a step of their own and end with their last one.
fn like_std(program: &Program) -> Program {
    let mut program = match program.lifecycle {
        Lifecycle::AllPresent => program.under_main(Lifecycle::MainLikeStd),
        Lifecycle::MainWithExitSteps | Lifecycle::MainLikeStd => Program {
            lifecycle: Lifecycle::MainLikeStd,
            threads: program.threads.iter().map(|code| without_exit(code)).collect(),
            ..program.clone()
        },
    };
    program.notify = NotifyOrder::Any;
    program
}

fn without_exit(code: &[Op]) -> Vec<Op> {
    code.iter().copied().filter(|op| *op != Op::Exit).collect()
}

/// The column of the table; where it is empty, the figures of the reference.
fn expected_under_main(program: &Program, expected: &Expected) -> UnderMain {
    expected.under_main.unwrap_or_else(|| {
        let graph = StateGraph::build(program, ReferenceGranularity::SyncOnly, Some(2), 100_000)
            .expect("it is small");
        let all_terminals = expected.all_terminals;
        UnderMain { terminals: std::array::from_fn(|bound| graph.terminal_count(bound)), all_terminals }
    })
}

fn builder() -> Builder {
    Builder::new().spurious(false).keep_going(true)
}

#[test]
fn terminal_states_are_those_of_the_table() {
    for Oracle { program, expected } in oracles() {
        let program = like_std(&program);
        let report = explore(&program, builder().max_bound(2)).report;
        let last = report.bounds.last().map_or(0, |bound| bound.states);
        let states =
            std::array::from_fn(|bound| report.bounds.get(bound).map_or(last, |b| b.states) as usize);
        assert_eq!(
            states,
            expected_under_main(&program, &expected).terminals,
            "terminal states of {program}"
        );
        assert!(report.bounds.iter().all(|bound| bound.complete), "{report:?}: {program}");
        let deadlock = report.failure.is_some();
        assert!(!deadlock || expected.deadlocks > 0, "{:?}: {program}", report.failure);
    }
}

/// Every execution is run, and in neither granularity is there another one: oracle programs have no data.
#[test]
fn executions_are_those_of_the_reference() {
    for Oracle { program, expected } in oracles() {
        let program = like_std(&program);
        let all = brute_force::enumerate(&program, ReferenceGranularity::SyncOnly, 2, 200_000)
            .expect("not too many");
        for granularity in [Granularity::SyncOnly, Granularity::EveryAccess] {
            let found = real::enumerate(&program, granularity, Some(2));
            for bound in 0..=2 {
                assert_eq!(
                    found.execution_count(bound),
                    all.execution_count(bound),
                    "bound {bound} of {program}"
                );
                assert_eq!(found.outcomes(bound), all.outcomes(bound), "bound {bound} of {program}");
            }
        }
        let deadlocks =
            all.outcomes(2).iter().any(icb_tests::abstract_program::execution::Outcome::is_failure);
        assert_eq!(deadlocks, expected.deadlocks > 0, "{program}");
    }
}

fn compare_all_terminal_states(large: bool) {
    for Oracle { program, expected } in oracles() {
        let is_large = TOO_LARGE.iter().any(|name| program.name.starts_with(name));
        // These two have more interleavings under a main thread than one would wait for.
        let is_endless = ["O17 ", "O33 "].iter().any(|name| program.name.starts_with(name));
        if is_large != large || is_endless {
            continue;
        }
        let program = like_std(&program);
        let began = std::time::Instant::now();
        let report = explore(&program, builder().unbounded()).report;
        println!("{}: {} executions, {:?}", program.name, report.execution_count(), began.elapsed());
        assert_eq!(
            report.bounds.last().map(|b| b.states as usize),
            Some(expected.all_terminals),
            "{program}"
        );
        assert!(report.exhausted(), "{program}");
    }
}

#[test]
fn all_terminal_states_are_reached_in_the_end() {
    compare_all_terminal_states(false);
}

/// `cargo test --release -p icb-tests --test oracles_real -- --ignored`
#[test]
#[ignore = "it runs many millions of executions"]
fn all_terminal_states_of_large_programs_are_reached_in_the_end() {
    compare_all_terminal_states(true);
}
