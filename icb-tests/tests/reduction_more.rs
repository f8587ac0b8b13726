//! Partial-order reduction loses nothing on more dense random programs of single themes: see `reduction_themes.rs`, and
//! `random_real/generate/more.rs` for what these programs are about.
//!
//! The long run of a theme: `ICB_SEEDS=0..5000 cargo test --release -p icb-tests --test reduction_more -- --nocapture --exact
//! keys_keep_their_outcomes`. `ICB_MOST` is the most executions of a plain search.

use icb_tests::random_real::campaign::{
    at_each_bound, campaign, compared, in_manners, promoted, with_reduction,
};
use icb_tests::random_real::compare::{FREEING_MANNERS, WEAK_MANNERS};
use icb_tests::random_real::generate::{more, rare, themes};
use icb_tests::seeds;
use std::ops::Range;

/// Programs of every run.
const SEEDS: Range<u64> = 0..80;
/// Those of which only one can be run at a time.
const FUTEX_SEEDS: Range<u64> = 0..40;

/// Objects that are there before each execution.
#[test]
fn statics_keep_their_outcomes() {
    compared(FUTEX_SEEDS, &WEAK_MANNERS[..1], more::of_statics);
}

/// What the system keeps for each thread.
#[test]
fn keys_keep_their_outcomes() {
    compared(SEEDS, &[], more::of_keys);
}

/// Barriers and initialisers that are used again.
#[test]
fn what_is_used_again_keeps_its_outcomes() {
    compared(SEEDS, &[], more::of_again);
}

#[test]
fn downgrades_keep_their_outcomes() {
    compared(SEEDS, &[], more::of_downgrades);
}

#[test]
fn handles_that_are_handed_on_keep_their_outcomes() {
    compared(SEEDS, &FREEING_MANNERS, more::of_handed_on);
}

#[test]
fn owners_keep_their_outcomes() {
    compared(SEEDS, &FREEING_MANNERS, more::of_owners);
}

#[test]
fn disconnects_keep_their_outcomes() {
    compared(SEEDS, &[], more::of_disconnects);
}

#[test]
fn futexes_among_what_is_dropped_keep_their_outcomes() {
    compared(FUTEX_SEEDS, &[], more::of_futex_partings);
}

#[test]
fn nested_scopes_keep_their_outcomes() {
    compared(SEEDS, &FREEING_MANNERS, more::of_nested_scopes);
}

/// What is freed too early is found at the same bound.
#[test]
fn frees_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, themes::of_boxes, |program| {
        in_manners(program, &FREEING_MANNERS, with_reduction)
    });
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, rare::of_stacks, |program| {
        in_manners(program, &FREEING_MANNERS, at_each_bound)
    });
}

/// Cells that race become scheduling points.
#[test]
fn promoted_cells_keep_their_outcomes() {
    for program in [more::of_owners, more::of_downgrades, more::of_handed_on, rare::of_late] {
        campaign(seeds::from_environment().unwrap_or(FUTEX_SEEDS), 1, program, |program| {
            in_manners(program, &promoted(), at_each_bound)
        });
    }
}

/// Both tell of panics of threads that unwind already, and wait for each other where they write that. It is no step of a program.
#[test]
fn searches_at_once_do_not_disturb_each_other() {
    let program = rare::of_late(760);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..4 {
                    in_manners(&program, &promoted(), at_each_bound)
                        .unwrap_or_else(|difference| panic!("{difference:?}\n{program}"));
                }
            });
        }
    });
}
