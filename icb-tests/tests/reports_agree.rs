//! What `reduction_campaign` compares, through the public interface: the bound and kind of the first failure, and the states of searches without.
//!
//! It has a process to itself: blocks lie at the same addresses in every execution of one search at a time only, and how often a
//! thread that spins is seen to do the same again depends on that.

use icb_core::search::ContextBounded;
use icb_std::model::{Builder, Reduction, Report};
use icb_tests::random_real::compare::MANNERS;
use icb_tests::random_real::generate;
use icb_tests::random_real::language::Instruction::*;
use icb_tests::random_real::search::search;
use icb_tests::random_real::walk::run;
use icb_tests::seeds;
use std::ops::Range;
use std::sync::Arc;

/// Programs of every run.
const SEEDS: Range<u64> = 0..600;
/// Bounds whose plain search would run more executions are left out.
const MAX_EXECUTIONS: u64 = 700;

#[test]
fn reports_agree() {
    /// Of so many programs one is explored.
    const REPORTED: u64 = 12;
    let (mut failing, mut passing) = (0, 0);
    for seed in seeds::from_environment().unwrap_or(SEEDS).filter(|seed| seed.is_multiple_of(REPORTED)) {
        let program = Arc::new(generate::program(seed));
        let plain = search(&program, MANNERS[1], &mut ContextBounded::new(Some(2)), MAX_EXECUTIONS);
        if plain.stopped {
            continue;
        }
        let explore = |reduction| -> Report {
            let program = Arc::clone(&program);
            let builder = Builder::new().max_bound(2).keep_going(true).max_steps(600).reduction(reduction);
            builder.explore(move || run(&program, std::mem::forget))
        };
        let (plain, reduced) = (explore(Reduction::None), explore(Reduction::PartialOrder));
        let bound = |report: &Report| report.failure.as_ref().map(|failure| failure.bound);
        assert_eq!(bound(&plain), bound(&reduced), "{program}");
        failing += u64::from(plain.failure.is_some());
        if plain.failure.is_none() && !program.has(|i| matches!(i, ArcTryUnwrap | WeakUpgrade)) {
            for (plain, reduced) in plain.bounds.iter().zip(&reduced.bounds) {
                assert_eq!(plain.states, reduced.states, "bound {}: {program}", plain.bound);
            }
            passing += 1;
        }
    }
    println!("{failing} programs fail, {passing} pass");
    assert!(failing.min(passing) > 5 || seeds::from_environment().is_some(), "too little was compared");
}
