//! Searches compared on many random programs, and the smallest program on which they differ.

use super::compare::{Difference, Tally, shrink};
use super::language::Program;
use crate::seeds;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// A long run says how far it is after so many programs.
const TOLD_AFTER: u64 = 5_000;

/// So many searches are to be compared for each that is too large to be.
pub const ENOUGH: u64 = 4;

/// Makes a program from each seed and compares searches of it, at least so many for each that is too large.
///
/// # Panics
/// If they differ on a program, which is printed as small as it can be made; or if too little was compared, unless the seeds are those of
/// the environment.
pub fn campaign(
    seeds: Range<u64>,
    least: u64,
    program: impl Fn(u64) -> Program + Sync,
    check: impl Fn(&Program) -> Result<Tally, Difference> + Sync,
) {
    let total = Mutex::new(Tally::default());
    let (done, differences) = (AtomicU64::new(0), AtomicU64::new(0));
    seeds::for_each(seeds, |seed| {
        let program = program(seed);
        let done = done.fetch_add(1, Ordering::Relaxed);
        if done > 0 && done.is_multiple_of(TOLD_AFTER) {
            let differ = differences.load(Ordering::Relaxed);
            println!("{done} programs, {differ} differ: {:?}", total.lock().expect("no panics here"));
        }
        match check(&program) {
            Ok(tally) => *total.lock().expect("no panics here") += tally,
            Err(difference) => {
                differences.fetch_add(1, Ordering::Relaxed);
                let smallest = shrink(&program, &|program| check(program).is_err());
                let difference = check(&smallest).err().unwrap_or(difference);
                println!("{difference:?}\n{smallest}");
            }
        }
    });
    let total = total.into_inner().expect("no panics here");
    println!("{total:?}");
    assert_eq!(differences.into_inner(), 0, "programs on which the searches differ");
    let enough = total.searches > least * total.unbounded_skipped;
    assert!(enough || seeds::from_environment().is_some(), "too little was compared");
}
