//! Random programs, run for real under the tester, against brute force over the reference semantics: at each bound
//! and granularity the same outcomes, the same number of executions, the same number of terminal states, and the
//! same first failing bound. And sync-only scheduling with race checking finds what scheduling at every access
//! finds (Theorems 2 and 3 of "Iterative context bounding", PLDI 2007).
//!
//! The long run: `ICB_LONG=1 cargo test --release -p icb-tests --test differential`. `ICB_SEEDS=7000..7100` chooses
//! other programs.

use icb_std::model::{Builder, Granularity};
use icb_tests::abstract_program::brute_force;
use icb_tests::abstract_program::execution::Outcome;
use icb_tests::abstract_program::random::{Case, MAX_BOUND, case};
use icb_tests::abstract_program::real::{Enumeration, enumerate, explore};
use icb_tests::seeds;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs of every run, and of the long one.
const SEEDS: Range<u64> = 0..3_200;
const LONG_SEEDS: Range<u64> = 10_000..60_000;
/// Of so many programs one is also explored through the public interface, up to its first failure.
const REPORTED: u64 = 8;

fn seeds() -> Range<u64> {
    let usual = if std::env::var_os("ICB_LONG").is_some() { LONG_SEEDS } else { SEEDS };
    seeds::from_environment().unwrap_or(usual)
}

/// The tester's view against the reference's, at one granularity.
fn compare(found: &Enumeration, expected: &brute_force::Enumeration, context: &str) {
    for bound in 0..=MAX_BOUND {
        assert_eq!(found.outcomes(bound), expected.outcomes(bound), "outcomes at bound {bound}, {context}");
        let (executions, states) = (found.execution_count(bound), found.state_count(bound));
        assert_eq!(
            executions,
            expected.execution_count(bound),
            "executions with {bound} preemptions, {context}"
        );
        // The reference completes the step in which a race is noticed, the end of the thread included; the tester
        // stops at the access. So they may count different states where executions are cut short by races.
        if !found.outcomes(bound).contains(&Outcome::Race) {
            let terminals = expected.terminals(bound).len() as u64;
            assert_eq!(states, terminals, "terminal states at bound {bound}, {context}");
        }
    }
}

/// Theorems 2 and 3: a race within a bound shows in both granularities or in neither; without one, so does every
/// outcome.
fn compare_granularities(sync_only: &Enumeration, every_access: &Enumeration, context: &str) {
    for bound in 0..=MAX_BOUND {
        let (coarse, fine) = (sync_only.outcomes(bound), every_access.outcomes(bound));
        let (coarse_races, fine_races) = (coarse.contains(&Outcome::Race), fine.contains(&Outcome::Race));
        assert_eq!(coarse_races, fine_races, "races at bound {bound}, {context}");
        if !fine_races {
            assert_eq!(coarse, fine, "outcomes at bound {bound}, {context}");
        }
        let failing =
            |outcomes: &std::collections::BTreeSet<Outcome>| outcomes.iter().any(Outcome::is_failure);
        assert_eq!(failing(&coarse), failing(&fine), "failures at bound {bound}, {context}");
    }
}

#[test]
fn outcomes_at_each_bound_are_those_of_brute_force() {
    let max_bound = Some(u32::try_from(MAX_BOUND).expect("a small bound"));
    let counts: [AtomicU64; 3] = Default::default();
    seeds::for_each(seeds(), |seed| {
        let Case { program, sync_only, every_access } = case(seed);
        let coarse = enumerate(&program, Granularity::SyncOnly, max_bound);
        compare(&coarse, &sync_only, &format!("synchronization only: {program}"));
        let fine = enumerate(&program, Granularity::EveryAccess, max_bound);
        compare(&fine, &every_access, &format!("every access: {program}"));
        compare_granularities(&coarse, &fine, &program.to_string());
        counts[0].fetch_add(1, Ordering::Relaxed);
        counts[1]
            .fetch_add(coarse.report.execution_count() + fine.report.execution_count(), Ordering::Relaxed);
        counts[2].fetch_add(u64::from(coarse.report.failure.is_some()), Ordering::Relaxed);
    });
    let [programs, executions, failing] = counts.map(AtomicU64::into_inner);
    println!("{programs} programs, {failing} of them fail, {executions} executions");
}

#[test]
fn the_reported_failure_has_the_fewest_preemptions() {
    let max_bound = u32::try_from(MAX_BOUND).expect("a small bound");
    seeds::for_each(seeds(), |seed| {
        if !seed.is_multiple_of(REPORTED) {
            return;
        }
        let Case { program, sync_only, every_access } = case(seed);
        for (granularity, expected) in
            [(Granularity::SyncOnly, sync_only), (Granularity::EveryAccess, every_access)]
        {
            let builder = Builder::new().max_bound(max_bound).granularity(granularity).spurious(false);
            let found = explore(&program, builder);
            let first = expected.first_failing_bound();
            let failure = found.report.failure.as_ref();
            assert_eq!(failure.map(|f| f.bound as usize), first, "{granularity:?}: {failure:?}: {program}");
            let outcomes = expected.outcomes(first.unwrap_or(MAX_BOUND));
            assert!(found.outcomes.is_subset(&outcomes), "{granularity:?}: {program}");
            if let Some(failure) = failure {
                assert_eq!(failure.trace.schedule, failure.schedule, "{program}");
                assert_eq!(failure.schedule.preemption_count(), failure.bound, "{program}");
                assert_eq!(found.report.proved_bound(), failure.bound.checked_sub(1), "{program}");
            } else {
                assert_eq!(found.outcomes, outcomes, "{granularity:?}: {program}");
                assert!(found.report.complete, "{program}");
            }
        }
    });
}
