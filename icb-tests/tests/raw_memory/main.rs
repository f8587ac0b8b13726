//! Theorems 2 and 3 of Musuvathi and Qadeer (PLDI 2007) on raw memory: scheduling points at synchronization alone, with
//! every access checked for races, find at each bound what scheduling points at every access find. The accesses are
//! compiled with the instrumentation pass (`accesses.rs`, by `build.rs`), and go through the engine's hooks.
//!
//! The long run: `ICB_SEEDS=0..20000 cargo test --release -p icb-tests --test raw_memory -- --nocapture`.

#![cfg(raw_accesses)]

mod interpreter;
mod language;

use icb_core::explore::{Explorer, Limits, Options};
use icb_core::program::{
    Chooser, End, Granularity, Observer, Outcome as CoreOutcome, Program as CoreProgram, Strategy,
};
use icb_core::recording::Tape;
use icb_core::reduction::PartialOrder;
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_core::search::ContextBounded;
use icb_core::trace::FailureKind;
use icb_tests::seeds;
use interpreter::{Record, Shared};
use language::Program;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Programs of every run.
const SEEDS: Range<u64> = 0..1_000;
const MAX_BOUND: u32 = 3;
/// Bounds whose search at every access would run more executions are left out.
const MAX_EXECUTIONS: u64 = 40_000;

/// What was found up to a bound.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Level {
    races: bool,
    /// Kinds of the other failures.
    failures: BTreeSet<String>,
    outcomes: BTreeSet<Record>,
}

/// A program whose outcomes are noted.
struct Watched {
    coroutines: CoroutineProgram,
    kept: Arc<Mutex<Option<icb_std::sync::Arc<Shared>>>>,
    levels: Vec<Level>,
    bound: usize,
    promotions: u64,
}

impl CoreProgram for Watched {
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> CoreOutcome {
        let result = self.coroutines.run(chooser, observer);
        self.promotions += u64::from(result.promoted);
        let shared = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.levels.resize_with(self.levels.len().max(self.bound + 1), Level::default);
        let level = &mut self.levels[self.bound];
        match &result.end {
            End::Passed => {
                _ = level.outcomes.insert(shared.map(|shared| shared.record()).unwrap_or_default())
            }
            End::Failed(failure) if failure.kind == FailureKind::DataRace => level.races = true,
            End::Failed(failure) => _ = level.failures.insert(failure.kind.to_string()),
            End::GivenUp => {}
        }
        result
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.bound = bound as usize;
        self.coroutines.label(bound, execution);
    }
}

/// What a search finds, bound by bound: only bounds that were searched completely.
struct Found {
    levels: Vec<Level>,
    promotions: u64,
    executions: u64,
}

fn search(program: &Arc<Program>, granularity: Granularity, strategy: &mut dyn Strategy) -> Found {
    let settings = Settings { granularity, unwind_failed: true, spurious: false, ..Settings::default() };
    let kept: Arc<Mutex<Option<icb_std::sync::Arc<Shared>>>> = Arc::default();
    let (keep, body) = (kept.clone(), program.clone());
    let main = move || {
        interpreter::run(&body, |shared| {
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
        });
    };
    let coroutines = CoroutineProgram::new(Arc::new(main), settings, Tape::new(4_000));
    let mut watched = Watched { coroutines, kept, levels: Vec::new(), bound: 0, promotions: 0 };
    let limits = Limits { max_executions: Some(MAX_EXECUTIONS), max_duration: None };
    let options = Options {
        limits,
        stop_at_failure: false,
        count_states: false,
        check_determinism: false,
        ..Options::default()
    };
    let report = Explorer::new(options).run(strategy, &mut watched);
    let divergence = report.failure.as_ref().filter(|failure| failure.kind == FailureKind::Divergence);
    assert!(divergence.is_none(), "{}: {divergence:?}", program);
    let mut levels: Vec<Level> = Vec::new();
    for bound in report.bounds.iter().filter(|bound| bound.complete) {
        let mut level = levels.last().cloned().unwrap_or_default();
        let new = watched.levels.get(bound.bound as usize).cloned().unwrap_or_default();
        level.races |= new.races;
        level.failures.extend(new.failures);
        level.outcomes.extend(new.outcomes);
        levels.push(level);
    }
    Found { levels, promotions: watched.promotions, executions: report.execution_count() }
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

impl Level {
    fn fails(&self) -> bool {
        self.races || !self.failures.is_empty()
    }
}

fn judge(place: &str, every: &Level, sync: &Level, reduced: &Level) {
    assert_eq!(sync.races, every.races, "races: {place}");
    // Where an execution is cut short by a failure, one that stands for others has to fail too, in whatever way.
    assert_eq!(reduced.fails(), every.fails(), "failures, reduced: {place}");
    if !every.races {
        assert_eq!(sync.failures, every.failures, "failures: {place}");
        assert_eq!(sync.outcomes, every.outcomes, "outcomes: {place}");
    }
    if !every.fails() {
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
    tally.racy += u64::from(last.races);
    tally.failing += u64::from(!last.races && !last.failures.is_empty());
    tally.fine += u64::from(!last.races && last.failures.is_empty());
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
