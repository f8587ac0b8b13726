//! Random programs written as source by the build script, and compiled against the mirror as a user's would be: the same
//! outcomes with and without reduction, at each bound and, where that is short, without one.

use icb_core::program::{End, Strategy};
use icb_core::reduction::Visited;
use icb_core::runtime::Settings;
use icb_core::search::{ContextBounded, DepthFirst};
use icb_tests::searches::reduced;
use icb_tests::seeds;
use icb_tests::watched::{self, Slot};
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

    /// One function for all closures: spawning is compiled once, and not five hundred times.
    fn spawn(body: Box<dyn FnOnce() + Send>) -> thread::JoinHandle<()> {
        thread::spawn(body)
    }

    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

const MAX_BOUND: u32 = 2;
/// Searches with more executions are left out.
const MAX_EXECUTIONS: u64 = 4_000;
const MAX_STEPS: u64 = 400;

/// How executions ended, and what their threads had seen.
type Outcomes = BTreeSet<(String, Vec<Vec<u64>>)>;

/// Outcomes and terminal states; `None`: there are too many executions.
fn search(program: fn(&Arc<Log>), strategy: &mut dyn Strategy) -> Option<(Outcomes, BTreeSet<u128>)> {
    let settings =
        Settings { spurious: false, unwind_failed: true, max_steps: MAX_STEPS, ..Settings::default() };
    let kept: Slot<Arc<Log>> = Slot::default();
    let keep = kept.clone();
    let body = move || {
        let log: Arc<Log> = Arc::default();
        keep.put(log.clone());
        program(&log);
    };
    let found = watched::search(body, settings, strategy, Some(MAX_EXECUTIONS), |_, result| {
        let log = kept.take().unwrap_or_default();
        let seen = std::mem::take(&mut *log.0.lock().unwrap_or_else(PoisonError::into_inner));
        match &result.end {
            End::Passed => Some(("passed".to_owned(), seen)),
            End::Failed(failure) => Some((failure.kind.to_string(), seen)),
            End::GivenUp => None,
        }
    });
    let last = found.up_to_each_bound().pop().filter(|_| found.report.stopped.is_none())?;
    Some((last.outcomes, last.states))
}

#[test]
fn outcomes_are_the_same_with_and_without_reduction() {
    let total = Mutex::new([0_u64; 4]);
    seeds::for_each(0..programs::ALL.len() as u64, |number| {
        let program = programs::ALL[number as usize];
        let mut counts = [1, 0, 0, 0];
        for bound in 0..=MAX_BOUND {
            let Some(plain) = search(program, &mut ContextBounded::new(Some(bound))) else { break };
            let reduced = search(program, &mut reduced(Some(bound)));
            assert!(reduced.as_ref() == Some(&plain), "p{number} at bound {bound}: {plain:?} {reduced:?}");
            let visited = search(program, &mut Visited::new(Some(bound)));
            assert!(visited.as_ref() == Some(&plain), "p{number} at bound {bound}: {plain:?} {visited:?}");
            counts[1] += 1;
            counts[3] += plain.0.iter().any(|(end, _)| end != "passed") as u64;
        }
        if let Some(plain) = search(program, &mut DepthFirst::new()) {
            let reduced = search(program, &mut reduced(None));
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
