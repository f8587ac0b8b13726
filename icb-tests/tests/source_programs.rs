//! Random programs written as source by the build script, and compiled against the mirror as a user's would be: the same
//! outcomes with and without reduction, at each bound and, where that is short, without one.

use icb_core::explore::{Explorer, Limits, Options};
use icb_core::program::{Chooser, End, Observer, Outcome, Program, Strategy};
use icb_core::recording::Tape;
use icb_core::reduction::{PartialOrder, Visited};
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_core::search::{ContextBounded, DepthFirst};
use icb_tests::seeds;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What the threads of one execution have seen. It is std's: noting something is no step.
#[derive(Debug, Default)]
struct Log(Mutex<Vec<Vec<u64>>>);

impl Log {
    fn note(&self, thread: usize, value: u64) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() <= thread {
            seen.resize(thread + 1, Vec::new());
        }
        seen[thread].push(value);
    }
}

mod programs {
    use super::Log;
    use icb_std::sync::atomic::AtomicU64;
    use icb_std::sync::atomic::Ordering::{Relaxed, SeqCst};
    use icb_std::sync::{Condvar, Mutex, OnceLock, RwLock, mpsc};
    use icb_std::thread;
    use std::sync::Arc;

    #[derive(Debug, Default)]
    struct Shared {
        v: [AtomicU64; 2],
        m: [Mutex<u64>; 2],
        rw: RwLock<u64>,
        c: Condvar,
        once: OnceLock<u64>,
    }

    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

const MAX_BOUND: u32 = 2;
/// Searches with more executions are left out.
const MAX_EXECUTIONS: u64 = 4_000;
const MAX_STEPS: u64 = 400;

/// How executions ended, and what their threads had seen.
type Outcomes = BTreeSet<(String, Vec<Vec<u64>>)>;

/// A program whose outcomes are noted.
struct Watched {
    coroutines: CoroutineProgram,
    log: Arc<Mutex<Arc<Log>>>,
    outcomes: Outcomes,
}

impl Program for Watched {
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> Outcome {
        let result = self.coroutines.run(chooser, observer);
        let log = std::mem::take(&mut *self.log.lock().unwrap_or_else(PoisonError::into_inner));
        let seen = std::mem::take(&mut *log.0.lock().unwrap_or_else(PoisonError::into_inner));
        match &result.end {
            End::Passed => self.outcomes.insert(("passed".to_owned(), seen)),
            End::Failed(failure) => self.outcomes.insert((failure.kind.to_string(), seen)),
            End::GivenUp => false,
        };
        result
    }
}

/// Outcomes and terminal states; `None`: there are too many executions.
fn search(program: fn(&Arc<Log>), strategy: &mut dyn Strategy) -> Option<(Outcomes, BTreeSet<u128>)> {
    let log: Arc<Mutex<Arc<Log>>> = Arc::default();
    let kept = log.clone();
    let body = move || {
        let log = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        program(&log);
    };
    let settings =
        Settings { spurious: false, unwind_failed: true, max_steps: MAX_STEPS, ..Settings::default() };
    let tape = Tape::new(4 * MAX_STEPS as usize);
    let coroutines = CoroutineProgram::new(Arc::new(body), settings, tape);
    let mut watched = Watched { coroutines, log, outcomes: BTreeSet::new() };
    let limits = Limits { max_executions: Some(MAX_EXECUTIONS), max_duration: None };
    let options = Options { limits, stop_at_failure: false, check_determinism: false, ..Options::default() };
    let mut explorer = Explorer::new(options);
    let report = explorer.run(strategy, &mut watched);
    report.stopped.is_none().then(|| (watched.outcomes, explorer.states().iter().copied().collect()))
}

#[test]
fn outcomes_are_the_same_with_and_without_reduction() {
    let total = Mutex::new([0_u64; 4]);
    seeds::for_each(0..programs::ALL.len() as u64, |number| {
        let program = programs::ALL[number as usize];
        let mut counts = [1, 0, 0, 0];
        for bound in 0..=MAX_BOUND {
            let Some(plain) = search(program, &mut ContextBounded::new(Some(bound))) else { break };
            let reduced = search(program, &mut PartialOrder::new(Some(bound)).from_bound(bound));
            assert!(reduced.as_ref() == Some(&plain), "p{number} at bound {bound}: {plain:?} {reduced:?}");
            let visited = search(program, &mut Visited::new(Some(bound)));
            assert!(visited.as_ref() == Some(&plain), "p{number} at bound {bound}: {plain:?} {visited:?}");
            counts[1] += 1;
            counts[3] += plain.0.iter().any(|(end, _)| end != "passed") as u64;
        }
        if let Some(plain) = search(program, &mut DepthFirst::new()) {
            let reduced = search(program, &mut PartialOrder::new(None).unbounded_at_once());
            assert!(reduced.as_ref() == Some(&plain), "p{number} without a bound: {plain:?} {reduced:?}");
            counts[2] += 1;
        }
        let mut total = total.lock().expect("no panics here");
        total.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    });
    let [programs, bounded, unbounded, failing] = total.into_inner().expect("no panics here");
    println!(
        "{programs} programs, {bounded} searches with a bound ({failing} with failures), {unbounded} without"
    );
    assert!(programs == 300 && bounded > 700, "nearly all of them are small enough");
}
