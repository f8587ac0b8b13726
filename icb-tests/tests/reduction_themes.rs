//! Partial-order reduction loses nothing on dense random programs of single themes: see `reduction_features.rs`, and
//! `random_real/generate/themes.rs` for what these programs are about.
//!
//! The long run of a theme: `ICB_SEEDS=0..5000 cargo test --release -p icb-tests --test reduction_themes -- --nocapture --exact
//! poison_keeps_its_outcomes`; of futexes a hundred programs in a process, as threads that wait for one cannot be unwound and keep their stacks.
//! `ICB_MOST` is the most executions of a plain search.

use icb_core::reduction::Flaw;
use icb_tests::random_real::campaign::{
    ENOUGH, assert_flaw_is_found, at_each_bound, campaign, in_manners, with_reduction,
};
use icb_tests::random_real::compare::{DETACHED_MANNERS, Difference, MANNERS, Tally, WEAK_MANNERS};
use icb_tests::random_real::generate::{rare, themes};
use icb_tests::random_real::language::Instruction::{self, *};
use icb_tests::random_real::language::{Program, Thread};
use icb_tests::random_real::search::Manner;
use icb_tests::seeds;
use std::ops::Range;

/// Programs of every run.
const SEEDS: Range<u64> = 0..150;
/// Those that are larger.
const FEW_SEEDS: Range<u64> = 0..80;
/// Those of which only one can be run at a time.
const FUTEX_SEEDS: Range<u64> = 0..100;

/// As what is promoted may depend on the bound.
fn with_promotion(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    let mut tally = Tally::default();
    for weak_memory in [false, true] {
        let manner = Manner { promote: true, weak_memory, ..manner };
        tally += at_each_bound(program, manner)?;
    }
    Ok(tally)
}

fn compared(seeds: Range<u64>, program: fn(u64) -> Program) {
    compared_for_the_most_part(seeds, ENOUGH, program);
}

/// Compared, at least so many searches for each that is too large.
fn compared_for_the_most_part(seeds: Range<u64>, least: u64, program: fn(u64) -> Program) {
    let manners = [&MANNERS[..], &DETACHED_MANNERS].concat();
    campaign(seeds::from_environment().unwrap_or(seeds), least, program, |program| {
        in_manners(program, &manners, with_reduction)
    });
}

#[test]
fn futexes_keep_their_outcomes() {
    compared(FUTEX_SEEDS, themes::of_futexes);
}

#[test]
fn freed_memory_keeps_its_outcomes() {
    compared(SEEDS, themes::of_boxes);
}

#[test]
fn poison_keeps_its_outcomes() {
    compared(SEEDS, themes::of_poison);
}

#[test]
fn meetings_keep_their_outcomes() {
    compared(SEEDS, themes::of_meetings);
}

#[test]
fn endings_keep_their_outcomes() {
    compared(SEEDS, themes::of_endings);
}

/// What is dropped looks, chooses, pauses, loops, or waits for threads.
#[test]
fn late_looks_keep_their_outcomes() {
    compared(SEEDS, rare::of_late);
}

#[test]
fn late_looks_with_stale_values_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(FEW_SEEDS), 1, rare::of_late, |program| {
        in_manners(program, &WEAK_MANNERS, with_reduction)
    });
}

/// Loops of waits for a time.
#[test]
fn patience_keeps_its_outcomes() {
    compared_for_the_most_part(FEW_SEEDS, 1, rare::of_patience);
}

/// Channels that are made to get an answer.
#[test]
fn answers_keep_their_outcomes() {
    compared(FEW_SEEDS, rare::of_answers);
}

/// Wakers of tasks.
#[test]
fn tasks_keep_their_outcomes() {
    compared_for_the_most_part(FEW_SEEDS, 1, rare::of_tasks);
}

/// Objects on a stack, two times at the same place.
#[test]
fn stacks_keep_their_outcomes() {
    compared_for_the_most_part(FEW_SEEDS, 1, rare::of_stacks);
}

/// Threads that spawn others in their scope.
#[test]
fn scopes_keep_their_outcomes() {
    compared(FEW_SEEDS, rare::of_scopes);
}

/// Cells that race, and those that what is dropped looks at.
#[test]
fn cells_keep_their_outcomes() {
    compared(FEW_SEEDS, rare::of_cells);
}

#[test]
fn promoted_cells_of_all_kinds_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(FEW_SEEDS), 1, rare::of_cells, |program| {
        in_manners(program, &MANNERS[..2], with_promotion)
    });
}

/// A thread that finds its object gone when it is chosen ends the execution before it has taken its step.
#[test]
fn what_is_gone_when_a_thread_is_chosen_is_a_failure_like_any_other() {
    let programs: [&[&[Instruction]]; 3] = [
        &[&[Spawn(1), BoxUse(0)], &[BoxPut(0), BoxFree(0), BoxUse(0)]],
        &[&[Spawn(1), Spawn(2), Join(2)], &[BoxPut(0), BoxUseTwice(0)], &[BoxPut(0)]],
        &[&[Spawn(2), BoxPut(0), Spawn(1), Join(1)], &[BoxFree(0)], &[BoxUse(0)]],
    ];
    for threads in programs {
        let threads = threads.iter().map(|code| Thread { code: code.to_vec(), keeps: false }).collect();
        let program =
            Program { threads, channels: vec![(None, 0); 2], barriers: vec![1; 2], ..Program::default() };
        if let Err(difference) = in_manners(&program, &MANNERS, with_reduction) {
            panic!("{difference:?}\n{program}");
        }
    }
}

/// Cells that race become scheduling points.
#[test]
fn promoted_cells_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, themes::of_orders, |program| {
        in_manners(program, &MANNERS[..2], with_promotion)
    });
}

#[test]
fn stale_values_keep_their_outcomes() {
    campaign(seeds::from_environment().unwrap_or(SEEDS), 1, themes::of_orders, |program| {
        in_manners(program, &WEAK_MANNERS, with_reduction)
    });
}

/// A search that is unsound in a known way is found out by each theme.
#[test]
fn flaws_are_found() {
    const PROGRAMS: u64 = 1_000;
    type Theme = fn(u64) -> Program;
    const THEMES: [(Theme, Manner, Flaw); 7] = [
        (themes::of_boxes, MANNERS[0], Flaw::PartsIgnored),
        (themes::of_poison, MANNERS[0], Flaw::BlockedIgnored),
        (themes::of_meetings, MANNERS[0], Flaw::EnablingIgnored),
        (themes::of_endings, MANNERS[0], Flaw::BlockedIgnored),
        (themes::of_orders, Manner { promote: true, ..MANNERS[0] }, Flaw::NaiveSleep),
        (themes::of_orders, WEAK_MANNERS[0], Flaw::NoConservativePoints),
        (themes::of_futexes, MANNERS[0], Flaw::NoConservativePoints),
    ];
    for (program, manner, flaw) in THEMES {
        assert_flaw_is_found(program, manner, flaw, PROGRAMS);
    }
}
