//! The language run by the engine: threads, atomics of the mirror, and a search.

use super::language::{Instruction, Outcome, Program, VARIABLES};
use crate::watched::{self, Slot};
use icb_core::program::{End, Strategy};
use icb_core::runtime::Settings;
use icb_std::sync::atomic::{AtomicU8, Ordering::Relaxed, fence};
use icb_std::thread;
use std::sync::Arc;

/// What was found up to a bound.
pub type Level = watched::Level<Outcome>;

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
///
/// # Panics
/// If an execution fails: programs of the language cannot.
pub fn search(
    program: &Program,
    weak_memory: bool,
    strategy: &mut dyn Strategy,
    max_executions: u64,
) -> Vec<Level> {
    let settings = Settings { weak_memory, spurious: false, max_steps: 600, ..Settings::default() };
    let kept: Slot<Outcome> = Slot::default();
    let (program, keep) = (Arc::new(program.clone()), kept.clone());
    let body = move || {
        keep.put(run(&program));
    };
    let found = watched::search(body, settings, strategy, Some(max_executions), |_, result| {
        let outcome = kept.take();
        match &result.end {
            End::Passed => outcome,
            End::Failed(failure) => panic!("{failure}"),
            End::GivenUp => None,
        }
    });
    found.up_to_each_bound()
}
