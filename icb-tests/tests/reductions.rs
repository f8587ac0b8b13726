//! Partial-order reduction loses nothing: the same terminal states as the plain search, at each bound and without
//! one, on the oracle programs and on random programs.

use icb_core::explore::{Explorer, Options};
use icb_core::program::Strategy;
use icb_core::reduction::{PartialOrder, SleepRule};
use icb_core::search::{ContextBounded, DepthFirst};
use icb_core::trace::Report;
use icb_tests::abstract_program::as_program::AbstractProgram;
use icb_tests::abstract_program::execution::Outcome;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::{Lifecycle, Program};
use icb_tests::abstract_program::oracles::{Oracle, oracles};
use icb_tests::abstract_program::random;
use std::collections::BTreeSet;

const RULES: [SleepRule; 2] = [SleepRule::Step, SleepRule::Block];

fn search(strategy: &mut dyn Strategy, program: &Program) -> (Report, BTreeSet<u128>) {
    let mut subject = AbstractProgram::new(program, Granularity::SyncOnly);
    let options = Options { stop_at_failure: false, check_determinism: false, ..Options::default() };
    let mut explorer = Explorer::new(options);
    let report = explorer.run(strategy, &mut subject);
    (report, explorer.states().iter().copied().collect())
}

/// The reduced search reaches what the plain one reaches, at each bound. Returns the executions of both at the last.
fn compare(program: &Program, max_bound: u32) -> [u64; 3] {
    let mut counts = [0; 3];
    for bound in 0..=max_bound {
        let (plain, expected) = search(&mut ContextBounded::new(Some(bound)), program);
        counts[0] = plain.execution_count();
        for (rule, count) in RULES.into_iter().zip(1..) {
            let mut strategy = PartialOrder::new(Some(bound)).from_bound(bound).sleep_rule(rule);
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

#[test]
fn oracle_programs_keep_their_terminal_states() {
    for Oracle { program, expected } in oracles() {
        let counts = compare(&program, 3);
        println!(
            "{:28} T(3) {:5} plain {:6} step {:5} block {:5}",
            program.name, expected.terminals[3], counts[0], counts[1], counts[2]
        );
        for lifecycle in [Lifecycle::MainWithExitSteps, Lifecycle::MainLikeStd] {
            if expected.under_main.is_some() {
                compare(&program.under_main(lifecycle), 2);
            }
        }
    }
}

#[test]
fn without_a_bound_oracle_programs_keep_their_terminal_states() {
    for Oracle { program, expected } in oracles() {
        if program.name.starts_with("O20") {
            continue;
        }
        let (report, states) = search(&mut PartialOrder::new(None).unbounded_at_once(), &program);
        println!("{:28} T {:5} runs {:5}", program.name, expected.all_terminals, report.execution_count());
        assert_eq!(states.len() as u64, expected.all_terminals as u64, "{program}");
        assert!(report.exhausted());
    }
}

/// A data race ends its execution half-way, in a state that depends on how far the others had come; what is kept is
/// whether there is a failure, at each bound.
fn compare_failures(program: &Program, max_bound: u32) {
    for bound in 0..=max_bound {
        let (plain, _) = search(&mut ContextBounded::new(Some(bound)), program);
        for rule in RULES {
            let mut strategy = PartialOrder::new(Some(bound)).from_bound(bound).sleep_rule(rule);
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
        let (_, states) = search(&mut PartialOrder::new(None).unbounded_at_once(), &case.program);
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
