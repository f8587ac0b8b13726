//! Searches compared on many random programs, and the smallest program on which they differ.

use super::compare::{
    DETACHED_MANNERS, Difference, MANNERS, Tally, WEAK_MANNERS, compare, compare_each_bound, shrink,
};
use super::language::Program;
use super::search::Manner;
use crate::searches::reduced;
use crate::seeds;
use icb_core::program::Strategy;
use icb_core::reduction::{Flaw, Visited};
use icb_core::search::ContextBounded;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A long run says how far it is after so many programs.
const TOLD_AFTER: u64 = 5_000;

/// The largest bound of the usual comparisons.
pub const MAX_BOUND: u32 = 3;

/// Bounds whose plain search would run more executions are left out of them: see [`max_executions`].
pub const MAX_EXECUTIONS: u64 = 300;

/// So many searches are to be compared for each that is too large to be.
pub const ENOUGH: u64 = 4;

/// Searches of a program, compared in a manner.
pub type Compare = fn(&Program, Manner) -> Result<Tally, Difference>;

/// What the process has once, for programs that call the system (futexes are known by their addresses) or share statics.
static SYSTEM: Mutex<()> = Mutex::new(());

/// Held while such a program is searched: they are run one at a time.
#[must_use]
pub fn alone(program: &Program) -> Option<MutexGuard<'static, ()>> {
    program.uses_system().then(|| SYSTEM.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The most executions of a plain search: so many, but a run may ask for larger programs, or for smaller ones, with `ICB_MOST`.
#[must_use]
pub fn max_executions(usual: u64) -> u64 {
    std::env::var("ICB_MOST").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Compares in these manners, [`alone`]. A divergence counts as a difference too, and so does an error of the engine.
///
/// # Errors
/// With the first difference.
pub fn in_manners(program: &Program, manners: &[Manner], compare: Compare) -> Result<Tally, Difference> {
    let _alone = alone(program);
    let mut tally = Tally::default();
    for &manner in manners {
        tally += catch_unwind(AssertUnwindSafe(|| compare(program, manner))).unwrap_or_else(|payload| {
            let message = payload.downcast::<String>().map_or_else(|_| String::new(), |message| *message);
            Err(Difference { manner, bound: None, what: format!("the search panicked: {message}") })
        })?;
    }
    Ok(tally)
}

/// All three searches, the plain one first, each of this bound alone.
#[must_use]
pub fn all_searches(bound: Option<u32>) -> Vec<(&'static str, Box<dyn Strategy>)> {
    vec![
        ("plain", Box::new(ContextBounded::new(bound))),
        ("reduced", Box::new(reduced(bound))),
        ("table of states", Box::new(Visited::new(bound))),
    ]
}

/// The plain search and the default one, bound after bound.
///
/// # Errors
/// With the first difference.
pub fn with_reduction(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    compare(program, manner, MAX_BOUND, max_executions(MAX_EXECUTIONS), &reduced)
}

/// [`all_searches`]: the table of states too, which goes on from nothing that another bound has come to.
///
/// # Errors
/// With the first difference.
pub fn at_each_bound(program: &Program, manner: Manner) -> Result<Tally, Difference> {
    compare_each_bound(program, manner, MAX_BOUND, max_executions(MAX_EXECUTIONS), &all_searches)
}

/// A campaign in the usual manners and in these `others`: the default search in all of them, and [`at_each_bound`] in one of them by turns.
///
/// # Panics
/// As [`campaign`].
pub fn compared(seeds: Range<u64>, others: &[Manner], program: fn(u64) -> Program) {
    let manners = [&MANNERS[..], &DETACHED_MANNERS, others].concat();
    campaign(seeds::from_environment().unwrap_or(seeds), 1, program, |program| {
        let mut tally = in_manners(program, &manners, with_reduction)?;
        let turn = program.seed as usize % manners.len();
        tally += in_manners(program, &manners[turn..=turn], at_each_bound)?;
        Ok(tally)
    });
}

/// Manners in which what races becomes a scheduling point.
#[must_use]
pub fn promoted() -> Vec<Manner> {
    let promote = |&manner: &Manner| Manner { promote: true, ..manner };
    MANNERS[..2].iter().chain(&WEAK_MANNERS[..1]).map(promote).collect()
}

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

/// Finds the first of so many programs on which a default search with this flaw differs from the plain one at bounds up to 2, and prints it.
///
/// # Panics
/// If there is none.
pub fn assert_flaw_is_found(program: fn(u64) -> Program, manner: Manner, flaw: Flaw, programs: u64) {
    let differs = |&seed: &u64| {
        let program = program(seed);
        let _alone = alone(&program);
        let found = compare_each_bound(&program, manner, 2, MAX_EXECUTIONS, &|bound| {
            vec![
                ("plain", Box::new(ContextBounded::new(bound))),
                ("flawed", Box::new(reduced(bound).flawed(flaw))),
            ]
        });
        found.is_err()
    };
    let seed = (0..programs).find(differs);
    let Some(seed) = seed else { panic!("{flaw:?} is not found by {programs} programs in {manner:?}") };
    println!("{flaw:?}: {}", program(seed));
}
