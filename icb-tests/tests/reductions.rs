//! Reductions lose nothing: the same sets of terminal states as the reference, at each bound and without one, on the oracle
//! programs, and as the plain search on random programs.

use icb_core::program::Strategy;
use icb_core::reduction::{SleepRule, Visited};
use icb_core::search::{ContextBounded, DepthFirst};
use icb_core::trace::Report;
use icb_tests::abstract_program::execution::Outcome;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::{Lifecycle, Program};
use icb_tests::abstract_program::oracles::{Oracle, oracles};
use icb_tests::abstract_program::random;
use icb_tests::abstract_program::state_graph::StateGraph;
use icb_tests::abstract_program::terminals::{self, Terminals};
use icb_tests::searches::reduced;
use std::collections::BTreeSet;

const RULES: [SleepRule; 2] = [SleepRule::Step, SleepRule::Block];

fn search(strategy: &mut dyn Strategy, program: &Program) -> (Report, BTreeSet<u128>) {
    terminals::reached(strategy, program, Granularity::SyncOnly)
}

/// The reduced search reaches what the plain one reaches, at each bound. Returns the executions of both at the last.
fn compare(program: &Program, max_bound: u32) -> [u64; 3] {
    let mut counts = [0; 3];
    for bound in 0..=max_bound {
        let (plain, expected) = search(&mut ContextBounded::new(Some(bound)), program);
        counts[0] = plain.execution_count();
        for (rule, count) in RULES.into_iter().zip(1..) {
            let mut strategy = reduced(Some(bound)).sleep_rule(rule);
            let (report, states) = search(&mut strategy, program);
            assert!(
                states == expected,
                "{rule:?} at bound {bound}: {} of {} states: {program}",
                states.len(),
                expected.len()
            );
            assert!(
                report.execution_count() <= plain.execution_count(),
                "{rule:?} at bound {bound}: {program}"
            );
            counts[count] = report.execution_count();
        }
    }
    counts
}

/// All searches that claim a bound reach exactly these states at it; `None`: without a bound.
fn check_sets(program: &Program, bound: Option<u32>, expected: &BTreeSet<u128>, plain: bool) -> [u64; 4] {
    let mut strategies: [(&str, Box<dyn Strategy>); 4] = [
        ("none", Box::new(ContextBounded::new(bound))),
        ("step sleep", Box::new(reduced(bound).sleep_rule(SleepRule::Step))),
        ("block sleep", Box::new(reduced(bound).sleep_rule(SleepRule::Block))),
        ("visited", Box::new(Visited::new(bound))),
    ];
    let mut counts = [0; 4];
    for ((name, strategy), count) in strategies.iter_mut().zip(&mut counts).skip(usize::from(!plain)) {
        let (report, states) = search(strategy.as_mut(), program);
        let (found, all) = (states.intersection(expected).count(), expected.len());
        assert!(
            states == *expected,
            "{name} at bound {bound:?}: {found} of {all} states, {} others: {program}",
            states.len() - found
        );
        assert!(bound.is_some() || report.exhausted(), "{name}: {program}");
        *count = report.execution_count();
    }
    counts
}

#[test]
fn oracle_programs_keep_their_terminal_states() {
    for Oracle { program, expected } in oracles() {
        let max = expected.terminals.len() - 1;
        let build = |bound| StateGraph::build(&program, Granularity::SyncOnly, bound, usize::MAX);
        let graph = build(Some(max)).expect("there is no limit");
        let terminals = Terminals::of(&program, Granularity::SyncOnly, &graph);
        let mut counts = [0; 4];
        for bound in 0..=max {
            let states = terminals.up_to(bound);
            assert_eq!(states.len(), expected.terminals[bound], "the reference at bound {bound}: {program}");
            counts = check_sets(&program, Some(bound as u32), &states, true);
        }
        println!("{:28} T({max}) {:5} {counts:?}", program.name, expected.terminals[max]);
        for lifecycle in [Lifecycle::MainWithExitSteps, Lifecycle::MainLikeStd] {
            if expected.under_main.is_some() {
                compare(&program.under_main(lifecycle), 2);
            }
        }
    }
}

#[test]
fn without_a_bound_oracle_programs_keep_their_terminal_states() {
    /// Too many terminal states: 184,756.
    const ENDLESS: &str = "O20";
    /// Too many executions for the plain search.
    const LARGE: [&str; 2] = ["O17", "O33"];
    for Oracle { program, expected } in oracles() {
        if program.name.starts_with(ENDLESS) {
            continue;
        }
        let graph = StateGraph::build(&program, Granularity::SyncOnly, None, usize::MAX);
        let graph = graph.expect("there is no limit");
        let states = Terminals::of(&program, Granularity::SyncOnly, &graph).up_to(usize::MAX);
        assert_eq!(states.len(), expected.all_terminals, "the reference: {program}");
        let plain = !LARGE.iter().any(|name| program.name.starts_with(name));
        let counts = check_sets(&program, None, &states, plain);
        println!("{:28} T {:5} {counts:?}", program.name, expected.all_terminals);
    }
}

/// A data race ends its execution half-way, in a state that depends on how far the others had come; what is kept is
/// whether there is a failure, at each bound.
fn compare_failures(program: &Program, max_bound: u32) {
    for bound in 0..=max_bound {
        let (plain, _) = search(&mut ContextBounded::new(Some(bound)), program);
        for rule in RULES {
            let mut strategy = reduced(Some(bound)).sleep_rule(rule);
            let (report, _) = search(&mut strategy, program);
            let failed = (plain.failure.is_some(), report.failure.is_some());
            assert_eq!(failed.0, failed.1, "{rule:?} at bound {bound}: {program}");
        }
    }
}

#[test]
fn random_programs_keep_their_terminal_states() {
    let count: u64 = std::env::var("ICB_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let from: u64 = std::env::var("ICB_RANDOM_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut totals = [0; 3];
    for seed in from..from + count {
        let case = random::case(seed);
        if case.sync_only.first_bound(|outcome| matches!(outcome, Outcome::Race)).is_some() {
            compare_failures(&case.program, 3);
            continue;
        }
        let counts = compare(&case.program, 3);
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        let (_, expected) = search(&mut DepthFirst::new(), &case.program);
        let (_, states) = search(&mut reduced(None), &case.program);
        assert!(
            states == expected,
            "unbounded: {} of {} states: {}",
            states.len(),
            expected.len(),
            case.program
        );
    }
    println!("plain {} step {} block {}", totals[0], totals[1], totals[2]);
}
