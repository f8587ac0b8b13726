//! The language run by the engine: threads, atomics of the mirror, and a search.

use super::language::{Instruction, Outcome, Program, VARIABLES};
use icb_core::explore::{Explorer, Limits, Options};
use icb_core::program::{Chooser, End, Observer, Outcome as CoreOutcome, Program as CoreProgram, Strategy};
use icb_core::recording::Tape;
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_std::sync::atomic::{AtomicU8, Ordering::Relaxed, fence};
use icb_std::thread;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

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

fn perform(variables: &[AtomicU8; VARIABLES], instruction: Instruction) -> Option<u8> {
    match instruction {
        Instruction::Load(variable, order) => Some(variables[variable].load(order)),
        Instruction::Store(variable, value, order) => {
            variables[variable].store(value, order);
            None
        }
        Instruction::Add(variable, value, order) => Some(variables[variable].fetch_add(value, order)),
        Instruction::Exchange(variable, expected, new, success, failure) => {
            let (Ok(read) | Err(read)) =
                variables[variable].compare_exchange(expected, new, success, failure);
            Some(read)
        }
        Instruction::Fence(order) => {
            fence(order);
            None
        }
    }
}

fn run(program: &Arc<Program>) -> Outcome {
    let variables: Arc<[AtomicU8; VARIABLES]> = Arc::default();
    let threads: Vec<_> = (0..program.threads.len())
        .map(|index| {
            let (program, variables) = (program.clone(), variables.clone());
            let code = move || -> Vec<u8> {
                program.threads[index].iter().filter_map(|&i| perform(&variables, i)).collect()
            };
            thread::spawn(code)
        })
        .collect();
    let reads = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    // Whoever has joined all has seen everything: there is nothing stale to be read.
    Outcome { reads, last: std::array::from_fn(|variable| variables[variable].load(Relaxed)) }
}

/// Searches the executions of the program. By bound, cumulative; only bounds that were searched completely.
pub fn search(
    program: &Program,
    weak_memory: bool,
    strategy: &mut dyn Strategy,
    max_executions: u64,
) -> Vec<Level> {
    let program = Arc::new(program.clone());
    let kept: Arc<Mutex<Option<Outcome>>> = Arc::default();
    let settings = Settings { weak_memory, spurious: false, max_steps: 600, ..Settings::default() };
    let keep = Arc::clone(&kept);
    let body = move || {
        let outcome = run(&program);
        *keep.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
    };
    let coroutines = CoroutineProgram::new(Arc::new(body), settings, Tape::new(2400));
    let mut watched = Watched { coroutines, kept, levels: Vec::new(), bound: 0 };
    let limits = Limits { max_executions: Some(max_executions), max_duration: None };
    let options = Options {
        limits,
        stop_at_failure: true,
        count_states: false,
        check_determinism: false,
        ..Options::default()
    };
    let report = Explorer::new(options).run(strategy, &mut watched);
    if let Some(failure) = &report.failure {
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
    levels
}

/// A program whose outcomes are noted.
struct Watched {
    coroutines: CoroutineProgram,
    kept: Arc<Mutex<Option<Outcome>>>,
    levels: Vec<Level>,
    bound: usize,
}

impl CoreProgram for Watched {
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> CoreOutcome {
        let result = self.coroutines.run(chooser, observer);
        let outcome = self.kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (End::Passed, Some(outcome)) = (&result.end, outcome) {
            self.levels.resize_with(self.levels.len().max(self.bound + 1), Level::default);
            let level = &mut self.levels[self.bound];
            level.execution_count += 1;
            level.outcomes.insert(outcome);
            level.states.insert(result.fingerprint);
        }
        result
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.bound = bound as usize;
        self.coroutines.label(bound, execution);
    }
}
