//! The reference semantics against the oracle table: two ways of counting, one by one and by merging states,
//! must both arrive at the numbers.

use icb_tests::abstract_program::brute_force::enumerate;
use icb_tests::abstract_program::execution::Outcome;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::{Lifecycle, Program};
use icb_tests::abstract_program::oracles::{Oracle, oracles};
use icb_tests::abstract_program::state_graph::StateGraph;

const MAX_EXECUTIONS: u64 = 50_000;
const MAX_STATES: usize = 100_000;

/// The program whose state graph is too large to build; it is checked up to a bound.
const TOO_LARGE: &str = "O20 2x10-rmw";

fn graph_of(program: &Program, max_bound: Option<usize>) -> StateGraph {
    StateGraph::build(program, Granularity::SyncOnly, max_bound, MAX_STATES).expect("the graph is small")
}

#[test]
fn enumeration_reproduces_the_table() {
    for Oracle { program, expected } in oracles() {
        let all = enumerate(&program, Granularity::SyncOnly, 4, MAX_EXECUTIONS).unwrap();
        let executions: Vec<u64> = (0..=4).map(|bound| all.execution_count(bound)).collect();
        let terminals: Vec<usize> = (0..=4).map(|bound| all.terminals(bound).len()).collect();
        assert_eq!(executions, expected.executions, "executions of {program}");
        assert_eq!(terminals, expected.terminals, "terminal states of {program}");
        let deadlocks = all.outcomes(4).iter().any(|outcome| matches!(outcome, Outcome::Deadlock { .. }));
        assert_eq!(deadlocks, expected.deadlocks > 0, "deadlocks of {program}");
    }
}

#[test]
fn merging_states_reproduces_the_table() {
    for Oracle { program, expected } in oracles() {
        let too_large = program.name == TOO_LARGE;
        let graph = graph_of(&program, too_large.then_some(4));
        let terminals: Vec<usize> = (0..=4).map(|bound| graph.terminal_count(bound)).collect();
        let states: Vec<usize> = (0..=3).map(|bound| graph.state_count(bound)).collect();
        assert_eq!(terminals, expected.terminals, "terminal states of {program}");
        assert_eq!(states, expected.states, "states of {program}");
        assert_eq!(graph.deadlock_count(), expected.deadlocks, "deadlocks of {program}");
        if !too_large {
            assert_eq!(graph.terminal_count(usize::MAX), expected.all_terminals, "terminals of {program}");
            assert_eq!(graph.max_context_bound(), expected.max_context_bound, "{program}");
        }
    }
}

/// A main thread changes the executions but not the terminal states, whether the end of a thread is a step of
/// its own or, as in a Rust program, part of the last one.
#[test]
fn a_main_thread_does_not_change_terminal_states() {
    let under_main = oracles().into_iter().filter_map(|o| Some((o.program, o.expected.under_main?)));
    for (program, expected) in under_main {
        for lifecycle in [Lifecycle::MainWithExitSteps, Lifecycle::MainLikeStd] {
            let program = program.under_main(lifecycle);
            let graph = graph_of(&program, None);
            let terminals: Vec<usize> = (0..=2).map(|bound| graph.terminal_count(bound)).collect();
            assert_eq!(terminals, expected.terminals, "terminal states of {program}");
            assert_eq!(graph.terminal_count(usize::MAX), expected.all_terminals, "terminals of {program}");
        }
    }
}

/// Closed forms: two threads of K conflicting sections have 2, 2(K-1), 2(K-1)^2, (K-1)^2(K-2) executions with
/// exactly 0, 1, 2, 3 preemptions, no two of them equivalent.
#[test]
fn closed_forms_hold() {
    use icb_tests::abstract_program::shorthand::{increment, lock, repeat, unlock};
    for sections in 2..=8_u64 {
        let others = sections - 1;
        let expected = [2, 2 * others, 2 * others * others, others * others * (sections - 2)];
        for body in [vec![increment(0)], vec![lock(0), unlock(0)]] {
            let code = repeat(usize::try_from(sections).unwrap(), &body);
            let program = Program::new(format!("{sections} sections"), vec![code; 2]);
            let graph = graph_of(&program, Some(3));
            let all = enumerate(&program, Granularity::SyncOnly, 3, MAX_EXECUTIONS).unwrap();
            let mut sum = 0;
            for (bound, expected) in expected.into_iter().enumerate() {
                sum += expected;
                assert_eq!(graph.terminal_count(bound) as u64, sum, "{program}");
                if body.len() == 1 {
                    assert_eq!(all.execution_count(bound), expected, "{program}");
                }
            }
        }
    }
}
