//! Partial-order reduction loses nothing on dense random programs of what is made of std's parts, nor on those of any theme in any manner: see
//! `reduction_more.rs`, and `random_real/generate/patterns.rs` for what these programs are about.
//!
//! The long run of a theme: `ICB_SEEDS=0..5000 cargo test --release -p icb-tests --test reduction_patterns -- --nocapture --exact
//! work_keeps_its_outcomes`. `ICB_MOST` is the most executions of a plain search.

use icb_core::program::{Granularity, Strategy};
use icb_core::reduction::{PartialOrder, Visited};
use icb_tests::random_real::campaign::{all_searches, campaign, in_manners, max_executions};
use icb_tests::random_real::compare::{
    DETACHED_MANNERS, Difference, FREEING_MANNERS, MANNERS, Tally, WEAK_MANNERS, compare, compare_bound_by_bound,
    compare_each_bound,
};
use icb_tests::random_real::generate::patterns;
use icb_tests::random_real::language::Program;
use icb_tests::random_real::search::Manner;
use icb_tests::searches::reduced;
use icb_tests::seeds;
use std::ops::Range;

/// Programs of every run.
const SEEDS: Range<u64> = 0..60;
const MAX_BOUND: u32 = 3;
/// Bounds whose plain search would run more executions are left out.
const MAX_EXECUTIONS: u64 = 300;

fn with_reduction(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    compare(program, manner, MAX_BOUND, max_executions(MAX_EXECUTIONS), &reduced)
}

/// Of the table of states too, which goes on from nothing that an other bound has come to.
fn with_table(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    compare_each_bound(program, manner, MAX_BOUND, max_executions(MAX_EXECUTIONS), &all_searches)
}

/// In the usual manners by the default search, and by the table of states in one of them by turns; `others`: in these too.
fn compared(others: &[Manner], program: fn(u64) -> Program) {
    let manners = [&MANNERS[..], &DETACHED_MANNERS, others].concat();
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, program, |program| {
        let mut tally = in_manners(program, &manners, with_reduction)?;
        let turn = program.seed as usize % manners.len();
        tally += in_manners(program, &manners[turn..=turn], with_table)?;
        Ok(tally)
    });
}

fn promoted() -> Vec<Manner> {
    let promote = |&manner: &Manner| Manner { promote: true, ..manner };
    MANNERS[..2].iter().chain(&WEAK_MANNERS[..1]).map(promote).collect()
}

#[test]
fn work_keeps_its_outcomes() {
    compared(&FREEING_MANNERS[..1], patterns::of_work);
}

#[test]
fn panics_that_are_handed_on_keep_their_outcomes() {
    compared(&FREEING_MANNERS[..1], patterns::of_handed_on_panics);
}

#[test]
fn thread_locals_keep_their_outcomes() {
    compared(&WEAK_MANNERS[..1], patterns::of_own);
}

#[test]
fn handmade_locks_keep_their_outcomes() {
    compared(&[], patterns::of_handmade);
}

#[test]
fn handmade_locks_with_stale_values_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, patterns::of_handmade, |program| {
        let mut tally = in_manners(program, &WEAK_MANNERS, with_reduction)?;
        tally += in_manners(program, &promoted(), with_table)?;
        Ok(tally)
    });
}

#[test]
fn locks_that_are_taken_again_keep_their_outcomes() {
    compared(&WEAK_MANNERS[..1], patterns::of_taken_again);
}

#[test]
fn things_that_are_moved_keep_their_outcomes() {
    compared(&[&WEAK_MANNERS[..1], &FREEING_MANNERS].concat(), patterns::of_things);
}

#[test]
fn waiters_keep_their_outcomes() {
    compared(&[], patterns::of_waiters);
}

/// By searches that go on from what lower bounds have come to.
fn bound_by_bound(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    let searches: [Box<dyn Strategy>; 2] =
        [Box::new(PartialOrder::new(Some(MAX_BOUND))), Box::new(Visited::new(Some(MAX_BOUND)))];
    let mut tally = Tally::default();
    for mut search in searches {
        tally += compare_bound_by_bound(
            program,
            manner,
            MAX_BOUND,
            max_executions(MAX_EXECUTIONS),
            &mut *search,
        )?;
    }
    Ok(tally)
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
    }
}

/// The programs of any theme, each in a manner of its own.
#[test]
fn all_themes_keep_their_outcomes_in_mixed_manners() {
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, patterns::of_any_theme, |program| {
        let number = program.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        let manner = mixed_manner(number);
        let mut tally = in_manners(program, &[manner], with_table)?;
        if !manner.promote {
            tally += in_manners(program, &[manner], with_reduction)?;
            tally += in_manners(program, &[manner], bound_by_bound)?;
        }
        Ok(tally)
    });
}
