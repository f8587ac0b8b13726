//! Explicit-state models: a Rust type that says which states there are and what each thread does next.
//!
//! A model is explored in two ways. [`StateSearch`] keeps the states it has seen (as ZING does) and so copes with cyclic
//! state spaces; [`ModelProgram`] runs it one execution after another, so that every strategy and reduction for
//! real programs can be used on it. Neither knows a strategy, a coroutine or the environment.

mod fingerprint;
mod program;
mod report;
mod search;
mod table;

pub use program::ModelProgram;
pub use report::{Memory, StateReport};
pub use search::{StateSearch, Storage};

use crate::trace::{Action, ObjectId, Operation, Ordering};
use std::hash::Hash;

/// A multithreaded program as a state machine. Threads are numbered from 0.
///
/// Everything must be a function of the arguments: the same state always has the same enabled threads, and the same step
/// always leads to the same state.
pub trait Model {
    /// Everything that can change, local variables and program counters of the threads included. Two states that are equal
    /// must behave alike.
    type State: Clone + Eq + Hash;

    /// Where executions begin; at least one state, and at most 67,108,864.
    fn initial_states(&self) -> Vec<Self::State>;

    /// How many threads there are in this state, those that have ended included. At most 64.
    fn thread_count(&self, state: &Self::State) -> usize;

    /// Whether the thread's next step can be taken.
    fn is_enabled(&self, state: &Self::State, thread: usize) -> bool;

    /// Whether the thread has come to its end: it is not enabled, and that is no deadlock.
    fn has_ended(&self, state: &Self::State, thread: usize) -> bool;

    /// Takes the next step of an enabled thread, with one of its outcomes.
    ///
    /// # Errors
    /// In words, the assertion that the step violates. The state does not matter then.
    fn step(&self, state: &mut Self::State, thread: usize, outcome: u32) -> Result<(), String>;

    /// How many outcomes the next step of an enabled thread has; all of them are explored, at no cost. At most 67,108,864 (2^26): the
    /// search of all states panics where there are more.
    fn outcome_count(&self, _state: &Self::State, _thread: usize) -> u32 {
        1
    }

    /// What must be true in every state.
    ///
    /// # Errors
    /// In words, what is not.
    fn invariant(&self, _state: &Self::State) -> Result<(), String> {
        Ok(())
    }

    /// Whether the thread's next step could block in some state: it counts among the paper's potentially blocking steps.
    fn may_block(&self, _state: &Self::State, _thread: usize) -> bool {
        false
    }

    /// Whether the thread's next step is a yield: a switch right after it costs nothing.
    fn is_yield(&self, _state: &Self::State, _thread: usize) -> bool {
        false
    }

    /// What the thread's next step does, for traces.
    fn words(&self, _state: &Self::State, thread: usize) -> String {
        format!("step of thread {thread}")
    }

    /// What the thread's next step touches, for reductions of executions; by default something that all threads write,
    /// so that no two steps commute.
    fn operation(&self, _state: &Self::State, _thread: usize) -> Operation {
        Operation::new(Action::ReadModifyWrite(Ordering::SeqCst), ObjectId::new(0))
    }

    /// The representative of all states that differ from this one only in names (of threads, of objects on a heap), and the
    /// name that `thread` has in it. `None`: the state represents itself. Representatives must not depend on `thread`, and
    /// equal behaviour must be preserved: step for step, thread for renamed thread.
    fn canonical(&self, _state: &Self::State, _thread: usize) -> Option<(Self::State, usize)> {
        None
    }

    /// Bytes that the state keeps on the heap, for the figures on memory.
    fn heap_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}

/// Threads that can go on in this state, lowest first.
fn enabled<M: Model>(model: &M, state: &M::State) -> u64 {
    let count = model.thread_count(state);
    assert!(count <= 64, "a model has at most 64 threads, and this state has {count}");
    (0..count).filter(|&thread| model.is_enabled(state, thread)).fold(0, |set, thread| set | 1 << thread)
}

/// The numbers in a set of threads.
fn members(mut set: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let first = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(first)
    })
}

/// The threads that are blocked for ever in a state where nobody can go on; empty if all have ended.
fn blocked<M: Model>(model: &M, state: &M::State) -> Vec<usize> {
    (0..model.thread_count(state)).filter(|&thread| !model.has_ended(state, thread)).collect()
}

/// A deadlock in words.
fn deadlock_words<M: Model>(model: &M, state: &M::State, blocked: &[usize]) -> String {
    let each = blocked.iter().map(|&thread| format!("T{thread} waits to {}", model.words(state, thread)));
    each.collect::<Vec<_>>().join("; ")
}
