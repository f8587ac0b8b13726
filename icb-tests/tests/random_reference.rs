//! The random programs: that the reference semantics agrees with itself on them, and that they are worth running.

use icb_tests::abstract_program::execution::Outcome;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::Op;
use icb_tests::abstract_program::random::{Case, MAX_BOUND, case};
use icb_tests::abstract_program::state_graph::StateGraph;
use std::collections::HashSet;
use std::mem::discriminant;
use std::sync::LazyLock;

const SEEDS: std::ops::Range<u64> = 0..400;

fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| SEEDS.map(case).collect());
    &CASES
}

#[test]
fn a_seed_gives_one_program() {
    for seed in SEEDS.step_by(50) {
        assert_eq!(case(seed).program, case(seed).program);
    }
    let distinct: HashSet<_> = cases().iter().map(|case| &case.program.threads).collect();
    assert!(distinct.len() * 10 > SEEDS.count() * 9, "only {} distinct programs", distinct.len());
}

#[test]
fn merging_states_agrees_with_enumeration() {
    for Case { program, sync_only, every_access } in cases() {
        for (granularity, all) in
            [(Granularity::SyncOnly, sync_only), (Granularity::EveryAccess, every_access)]
        {
            let graph = StateGraph::build(program, granularity, Some(MAX_BOUND), 100_000).unwrap();
            for bound in 0..=MAX_BOUND {
                let terminals = all.terminals(bound).len();
                assert_eq!(graph.terminal_count(bound), terminals, "{granularity:?}, {bound}: {program}");
            }
        }
    }
}

/// Theorems 2 and 3 of "Iterative context bounding" (PLDI 2007): scheduling points at synchronization only find
/// a race with at most c preemptions exactly if there is one, and if there is none, every other outcome.
#[test]
fn scheduling_at_synchronization_only_loses_nothing() {
    for Case { program, sync_only, every_access } in cases() {
        for bound in 0..=MAX_BOUND {
            let (coarse, fine) = (sync_only.outcomes(bound), every_access.outcomes(bound));
            let raced = (coarse.contains(&Outcome::Race), fine.contains(&Outcome::Race));
            assert_eq!(raced.0, raced.1, "races with at most {bound} preemptions: {program}");
            if !raced.0 {
                assert_eq!(coarse, fine, "outcomes with at most {bound} preemptions: {program}");
            }
        }
    }
}

/// The programs use the whole language, fail in every way, and do so at every bound.
#[test]
fn the_programs_are_worth_running() {
    let cases = cases();
    let ops: Vec<&Op> = cases.iter().flat_map(|case| case.program.threads.iter().flatten()).collect();
    let kinds: HashSet<_> = ops.iter().map(|op| discriminant(*op)).collect();
    assert_eq!(kinds.len(), 18, "kinds of operations: all but `exit`, `nop`, `set` and `add`");

    let count = |predicate: &dyn Fn(&Case) -> bool| cases.iter().filter(|case| predicate(case)).count();
    let first = |wanted: fn(&Outcome) -> bool, bound| {
        count(&|case: &Case| case.sync_only.first_bound(wanted) == Some(bound))
    };
    let deadlock = |outcome: &Outcome| matches!(outcome, Outcome::Deadlock { .. });
    let race = |outcome: &Outcome| *outcome == Outcome::Race;
    let failure_free = count(&|case| case.sync_only.first_failing_bound().is_none());
    let new_outcomes_at =
        |bound: usize| count(&|case| case.sync_only.outcomes(bound) != case.sync_only.outcomes(bound - 1));
    let figures = format!(
        "deadlocks by first bound {:?}, races {:?}, no failure {failure_free}, new outcomes at bounds 1 to 3 {:?}",
        [first(deadlock, 0), first(deadlock, 1), first(deadlock, 2)],
        [first(race, 0), first(race, 1), first(race, 2)],
        [new_outcomes_at(1), new_outcomes_at(2), new_outcomes_at(3)],
    );
    println!("{figures}");
    assert!(failure_free >= 100, "{figures}");
    assert!(first(deadlock, 0) >= 10 && first(deadlock, 1) >= 5, "{figures}");
    assert!(first(race, 0) >= 10 && first(race, 1) >= 5, "{figures}");
    assert!(new_outcomes_at(1) >= 100 && new_outcomes_at(2) >= 20 && new_outcomes_at(3) >= 1, "{figures}");
}
