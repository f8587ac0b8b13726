//! Partial-order reduction loses nothing on dense random programs of what is made of std's parts, nor on those of any theme in any manner: see
//! `reduction_more.rs`, and `random_real/generate/patterns.rs` for what these programs are about.
//!
//! The long run of a theme: `ICB_SEEDS=0..5000 cargo test --release -p icb-tests --test reduction_patterns -- --nocapture --exact
//! work_keeps_its_outcomes`; of all themes seven hundred programs in a process. `ICB_MOST` is the most executions of a plain search.

use icb_core::program::{Granularity, Strategy};
use icb_core::reduction::{Flaw, PartialOrder, Visited};
use icb_tests::random_real::campaign::{
    MAX_BOUND, MAX_EXECUTIONS, assert_flaw_is_found, at_each_bound, campaign, compared, in_manners,
    max_executions, promoted, with_reduction,
};
use icb_tests::random_real::compare::{
    DETACHED_MANNERS, Difference, FREEING_MANNERS, MANNERS, Tally, WEAK_MANNERS, compare_bound_by_bound,
};
use icb_tests::random_real::generate::{patterns, rare};
use icb_tests::random_real::language::Program;
use icb_tests::random_real::search::Manner;
use icb_tests::seeds;
use std::ops::Range;

/// Programs of every run.
const SEEDS: Range<u64> = 0..40;
/// Those that are larger.
const FEW_SEEDS: Range<u64> = 0..12;
/// Those of all themes: not too many in a process, as threads that wait for a futex cannot be unwound and keep their stacks.
const ALL_SEEDS: Range<u64> = 0..50;

#[test]
fn work_keeps_its_outcomes() {
    compared(SEEDS, &FREEING_MANNERS[..1], patterns::of_work);
}

#[test]
fn panics_that_are_handed_on_keep_their_outcomes() {
    compared(SEEDS, &FREEING_MANNERS[..1], patterns::of_handed_on_panics);
}

#[test]
fn thread_locals_keep_their_outcomes() {
    compared(SEEDS, &WEAK_MANNERS[..1], patterns::of_own);
}

#[test]
fn handmade_locks_keep_their_outcomes() {
    compared(FEW_SEEDS, &[], patterns::of_handmade);
}

#[test]
fn handmade_locks_with_stale_values_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(FEW_SEEDS), 1, patterns::of_handmade, |program| {
        let mut tally = in_manners(program, &WEAK_MANNERS, with_reduction)?;
        tally += in_manners(program, &promoted(), at_each_bound)?;
        Ok(tally)
    });
}

#[test]
fn locks_that_are_taken_again_keep_their_outcomes() {
    compared(SEEDS, &WEAK_MANNERS[..1], patterns::of_taken_again);
}

#[test]
fn things_that_are_moved_keep_their_outcomes() {
    compared(SEEDS, &[&WEAK_MANNERS[..1], &FREEING_MANNERS].concat(), patterns::of_things);
}

#[test]
fn what_is_locked_to_the_end_keeps_its_outcomes() {
    compared(SEEDS, &FREEING_MANNERS[..1], patterns::of_locked_to_the_end);
}

#[test]
fn long_programs_keep_their_outcomes() {
    compared(SEEDS, &[], patterns::of_long);
}

#[test]
fn waiters_keep_their_outcomes() {
    compared(SEEDS, &[], patterns::of_waiters);
}

#[test]
fn families_keep_their_outcomes() {
    compared(SEEDS, &[], patterns::of_families);
}

/// By searches that go on from what lower bounds have come to.
fn bound_by_bound(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    let searches: [Box<dyn Strategy>; 2] =
        [Box::new(PartialOrder::new(Some(MAX_BOUND))), Box::new(Visited::new(Some(MAX_BOUND)))];
    let mut tally = Tally::default();
    for mut search in searches {
        tally +=
            compare_bound_by_bound(program, manner, MAX_BOUND, max_executions(MAX_EXECUTIONS), &mut *search)?;
    }
    Ok(tally)
}

/// Where time passes only when nobody can go on.
fn patient() -> Vec<Manner> {
    let manners = [&MANNERS[..2], &DETACHED_MANNERS[..1], &WEAK_MANNERS[..1]].concat();
    manners.into_iter().map(|manner| Manner { auto_advance: true, ..manner }).collect()
}

/// Sleeps and waits for a time that order something.
#[test]
fn long_sleeps_keep_their_outcomes() {
    for program in [rare::of_patience, patterns::of_any_theme] {
        campaign(seeds::from_environment().unwrap_or(FEW_SEEDS), 1, program, |program| {
            let mut tally = in_manners(program, &patient(), with_reduction)?;
            tally += in_manners(program, &patient()[..1], at_each_bound)?;
            Ok(tally)
        });
    }
}

/// Manners that have several things of others.
fn mixed_manner(number: u64) -> Manner {
    let has = |bit: u32| number >> bit & 1 == 1;
    Manner {
        granularity: if has(0) { Granularity::EveryAccess } else { Granularity::SyncOnly },
        spurious: has(1),
        weak_memory: has(2),
        promote: has(3),
        detached: has(4),
        idle_turns: false,
        check_frees: has(5),
        reuse_addresses: has(7),
        auto_advance: has(6),
    }
}

/// The programs of any theme, each in a manner of its own.
#[test]
fn all_themes_keep_their_outcomes_in_mixed_manners() {
    campaign(seeds::from_environment().unwrap_or(ALL_SEEDS), 1, patterns::of_any_theme, |program| {
        let number = program.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        let manner = mixed_manner(number);
        let mut tally = in_manners(program, &[manner], at_each_bound)?;
        if !manner.promote {
            tally += in_manners(program, &[manner], with_reduction)?;
            tally += in_manners(program, &[manner], bound_by_bound)?;
        }
        Ok(tally)
    });
}

/// A search that is unsound in a known way is found out by each theme.
#[test]
fn flaws_are_found() {
    const PROGRAMS: u64 = 300;
    type Theme = fn(u64) -> Program;
    const THEMES: [(Theme, Flaw); 10] = [
        (patterns::of_work, Flaw::BlockedIgnored),
        (patterns::of_handed_on_panics, Flaw::NaiveSleep),
        (patterns::of_own, Flaw::EnablingIgnored),
        (patterns::of_own, Flaw::PartsIgnored),
        (patterns::of_handmade, Flaw::PartsIgnored),
        (patterns::of_taken_again, Flaw::BlockedIgnored),
        (patterns::of_things, Flaw::NaiveSleep),
        (patterns::of_waiters, Flaw::NoConservativePoints),
        (patterns::of_locked_to_the_end, Flaw::BlockedIgnored),
        (patterns::of_long, Flaw::NoConservativePoints),
    ];
    for (program, flaw) in THEMES {
        assert_flaw_is_found(program, MANNERS[0], flaw, PROGRAMS);
    }
}
