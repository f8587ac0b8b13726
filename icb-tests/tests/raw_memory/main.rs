//! Theorems 2 and 3 of Musuvathi and Qadeer (PLDI 2007) on raw memory: scheduling points at synchronization alone, with
//! every access checked for races, find at each bound what scheduling points at every access find. The accesses are
//! compiled with the instrumentation pass (`accesses.rs`, by `build.rs`), and go through the engine's hooks.
//!
//! The long run: `ICB_SEEDS=0..20000 cargo test --release -p icb-tests --test raw_memory -- --nocapture`.

#![cfg(raw_accesses)]

mod atomics;
mod interpreter;
mod language;

use icb_core::program::{End, Granularity, Strategy};
use icb_core::reduction::PartialOrder;
use icb_core::runtime::Settings;
use icb_core::search::ContextBounded;
use icb_core::trace::FailureKind;
use icb_tests::seeds;
use icb_tests::watched::{self, Slot};
use interpreter::{Record, Shared};
use language::Program;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Programs of every run.
const SEEDS: Range<u64> = 0..1_000;
const MAX_BOUND: u32 = 3;
/// Bounds whose search at every access would run more executions are left out.
const MAX_EXECUTIONS: u64 = 40_000;

/// What an execution came to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Passed(Record),
    Race,
    /// Another failure, of this kind.
    Failed(String),
}

type Level = watched::Level<Outcome>;

/// What a search finds, bound by bound: only bounds that were searched completely.
struct Found {
    levels: Vec<Level>,
    promotions: u64,
    executions: u64,
}

fn search(program: &Arc<Program>, granularity: Granularity, strategy: &mut dyn Strategy) -> Found {
    let settings = Settings { granularity, unwind_failed: true, spurious: false, ..Settings::default() };
    let kept: Slot<icb_std::sync::Arc<Shared>> = Slot::default();
    let (keep, body) = (kept.clone(), program.clone());
    let main = move || {
        interpreter::run(&body, |shared| {
            // An execution may be run once more before anybody takes it: to drop what the first run left would be a step.
            std::mem::forget(keep.put(shared));
        });
    };
    let mut promotions = 0;
    let found = watched::search(main, settings, strategy, Some(MAX_EXECUTIONS), |_, result| {
        promotions += u64::from(result.promoted);
        let shared = kept.take();
        match &result.end {
            End::Passed => Some(Outcome::Passed(shared.map(|shared| shared.record()).unwrap_or_default())),
            End::Failed(failure) if failure.kind == FailureKind::DataRace => Some(Outcome::Race),
            End::Failed(failure) => Some(Outcome::Failed(failure.kind.to_string())),
            End::GivenUp => None,
        }
    });
    Found { levels: found.up_to_each_bound(), promotions, executions: found.report.execution_count() }
}

/// What was compared.
#[derive(Default, Debug)]
struct Tally {
    programs: u64,
    /// Bounds compared.
    bounds: u64,
    racy: u64,
    failing: u64,
    fine: u64,
    /// Programs some of whose memory was found to be shared and became scheduling points.
    promoted: u64,
    executions_at_synchronization: u64,
    executions_at_accesses: u64,
}

/// The last level holds for every higher bound if the search came to its end.
fn at(found: &Found, bound: usize) -> Option<&Level> {
    found.levels.get(bound.min(found.levels.len().checked_sub(1)?))
}

fn races(level: &Level) -> bool {
    level.outcomes.contains(&Outcome::Race)
}

fn fails(level: &Level) -> bool {
    level.outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Passed(_)))
}

fn judge(place: &str, every: &Level, sync: &Level, reduced: &Level) {
    assert_eq!(races(sync), races(every), "races: {place}");
    // Where an execution is cut short by a failure, one that stands for others has to fail too, in whatever way.
    assert_eq!(fails(reduced), fails(every), "failures, reduced: {place}");
    if !races(every) {
        assert_eq!(sync.outcomes, every.outcomes, "outcomes: {place}");
    }
    if !fails(every) {
        assert_eq!(reduced.outcomes, every.outcomes, "outcomes, reduced: {place}");
    }
}

fn compare(seed: u64, tally: &Mutex<Tally>) {
    let program = Arc::new(language::program(seed));
    let every = search(&program, Granularity::EveryAccess, &mut ContextBounded::new(Some(MAX_BOUND)));
    let sync = search(&program, Granularity::SyncOnly, &mut ContextBounded::new(Some(MAX_BOUND)));
    let reduced = search(&program, Granularity::SyncOnly, &mut PartialOrder::new(Some(MAX_BOUND)));
    for (bound, level) in every.levels.iter().enumerate() {
        let found =
            |found| at(found, bound).unwrap_or_else(|| panic!("{program}bound {bound} is not searched"));
        judge(&format!("{program}at bound {bound}"), level, found(&sync), found(&reduced));
    }
    let mut tally = tally.lock().expect("no panics here");
    let last = every.levels.last().cloned().unwrap_or_default();
    tally.programs += 1;
    tally.bounds += every.levels.len() as u64;
    tally.racy += u64::from(races(&last));
    tally.failing += u64::from(!races(&last) && fails(&last));
    tally.fine += u64::from(!fails(&last));
    tally.promoted += u64::from(every.promotions > 0);
    tally.executions_at_synchronization += sync.executions;
    tally.executions_at_accesses += every.executions;
}

#[test]
fn scheduling_at_synchronization_finds_what_scheduling_at_every_access_finds() {
    assert_eq!(language::SITES, 4);
    let tally = Mutex::default();
    let seeds = seeds::from_environment().unwrap_or(SEEDS);
    let count = seeds.end - seeds.start;
    seeds::for_each(seeds, |seed| compare(seed, &tally));
    let tally = tally.into_inner().expect("no panics here");
    println!("{tally:?}");
    // There is something to find, and something to compare.
    assert_eq!(tally.programs, count);
    assert!(tally.racy * 10 > count && tally.fine * 10 > count && tally.promoted * 10 > count, "{tally:?}");
    assert!(tally.bounds >= 3 * count, "{tally:?}");
}
