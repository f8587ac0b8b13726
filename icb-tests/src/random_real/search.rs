//! What a search of a random program finds: the outcomes and terminal states at each bound.

use super::language::Program;
use super::walk::{Record, Shared, run};
use icb_core::explore::{Explorer, Limits, Options};
use icb_core::program::{
    Chooser, End, Granularity, Observer, Outcome as CoreOutcome, Program as CoreProgram, Strategy,
};
use icb_core::recording::Tape;
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_core::trace::{Failure, FailureKind};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What an execution came to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// All threads ended.
    Passed(Record),
    /// Some never can; what they want to do.
    Deadlock(Vec<String>, Record),
    /// It was cut short by a failure of this kind.
    Failed(String),
}

impl Outcome {
    /// Whether a thread is left that waits on a condvar without a timeout.
    #[must_use]
    pub fn waits_for_ever_on_a_condvar(&self) -> bool {
        matches!(self, Outcome::Deadlock(blocked, _) if blocked.iter().any(|action| action.starts_with("Reacquire")))
    }
}

/// How executions are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Where threads are switched.
    pub granularity: Granularity,
    /// Whether there are spurious wake-ups.
    pub spurious: bool,
    /// Whether loads of atomic variables may read stale values.
    pub weak_memory: bool,
}

/// What was found up to a bound.
#[derive(Clone, Debug, Default)]
pub struct Level {
    /// Executions run.
    pub execution_count: u64,
    /// Their outcomes.
    pub outcomes: BTreeSet<Outcome>,
    /// Fingerprints of their terminal states.
    pub states: BTreeSet<u128>,
}

impl Level {
    /// Whether an execution was cut short.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    /// Whether an execution failed.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Passed(_)))
    }

    /// The kinds of the failures that cut executions short.
    #[must_use]
    pub fn cuts(&self) -> BTreeSet<&Outcome> {
        self.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_))).collect()
    }
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// By bound, cumulative; only bounds that were searched completely.
    pub levels: Vec<Level>,
    /// Whether the limit on executions cut the search short.
    pub stopped: bool,
}

/// Longest execution.
const MAX_STEPS: u64 = 600;

/// Runs a search of the program.
pub fn search(program: &Program, manner: Manner, strategy: &mut dyn Strategy, max_executions: u64) -> Found {
    let program = Arc::new(program.clone());
    let kept: Arc<Mutex<Option<Arc<Shared>>>> = Arc::default();
    let settings = Settings {
        granularity: manner.granularity,
        spurious: manner.spurious,
        weak_memory: manner.weak_memory,
        unwind_failed: true,
        max_steps: MAX_STEPS,
        ..Settings::default()
    };
    let keep = Arc::clone(&kept);
    let body = move || {
        run(&program, |shared| {
            *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
        });
    };
    let coroutines = CoroutineProgram::new(Arc::new(body), settings, Tape::new(4 * MAX_STEPS as usize));
    let mut watched = Watched { coroutines, kept, levels: Vec::new(), bound: 0 };
    let limits = Limits { max_executions: Some(max_executions), max_duration: None };
    let options = Options {
        limits,
        stop_at_failure: false,
        count_states: false,
        check_determinism: false,
        ..Options::default()
    };
    let report = Explorer::new(options).run(strategy, &mut watched);
    if let Some(failure) = report.failure.as_ref().filter(|f| f.kind == FailureKind::Divergence) {
        panic!("{failure}");
    }
    let mut levels: Vec<Level> = Vec::new();
    for bound in &report.bounds {
        let mut level = levels.last().cloned().unwrap_or_default();
        let new = watched.levels.get(bound.bound as usize).cloned().unwrap_or_default();
        level.execution_count += new.execution_count;
        level.outcomes.extend(new.outcomes);
        level.states.extend(new.states);
        if bound.complete {
            levels.push(level);
        }
    }
    Found { levels, stopped: report.stopped.is_some() }
}

/// A program whose outcomes are noted.
struct Watched {
    coroutines: CoroutineProgram,
    kept: Arc<Mutex<Option<Arc<Shared>>>>,
    levels: Vec<Level>,
    bound: usize,
}

fn deadlock(failure: &Failure) -> Vec<String> {
    let mut blocked: Vec<String> =
        failure.waiting.iter().map(|entry| format!("{:?}", entry.operation.action)).collect();
    blocked.sort_unstable();
    blocked
}

impl CoreProgram for Watched {
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> CoreOutcome {
        let result = self.coroutines.run(chooser, observer);
        let shared = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        let record = || shared.as_ref().map(|shared| shared.take_record()).unwrap_or_default();
        let outcome = match &result.end {
            End::Passed => Outcome::Passed(record()),
            End::Failed(failure) if failure.kind == FailureKind::Deadlock => {
                Outcome::Deadlock(deadlock(failure), record())
            }
            End::Failed(failure) => Outcome::Failed(failure.kind.to_string()),
            End::GivenUp => return result,
        };
        self.levels.resize_with(self.levels.len().max(self.bound + 1), Level::default);
        let level = &mut self.levels[self.bound];
        level.execution_count += 1;
        level.outcomes.insert(outcome);
        level.states.insert(result.fingerprint);
        result
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.bound = bound as usize;
        self.coroutines.label(bound, execution);
    }
}
