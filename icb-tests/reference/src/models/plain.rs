//! Breadth-first search of the whole state space, without bounds, threads or cleverness: the reference for searches with
//! states. It shares no code with the tester beyond the trait that says what a model is.

use icb_core::model::Model;
use std::collections::{HashMap, VecDeque};

/// What there is to find.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Whole {
    /// Distinct states.
    pub states: usize,
    /// Distinct states in which nobody can go on.
    pub terminal: usize,
    /// Transitions between them.
    pub transitions: usize,
    /// A state can be reached again from itself.
    pub cyclic: bool,
}

/// All states that can be reached. Steps that fail lead nowhere.
#[must_use]
pub fn whole<M: Model>(model: &M) -> Whole {
    let mut numbers: HashMap<M::State, usize> = HashMap::new();
    let mut edges: Vec<Vec<usize>> = Vec::new();
    let mut waiting: VecDeque<M::State> = VecDeque::new();
    let mut number = |state: M::State, waiting: &mut VecDeque<M::State>| {
        let next = numbers.len();
        *numbers.entry(state).or_insert_with_key(|state| {
            waiting.push_back(state.clone());
            next
        })
    };
    for state in model.initial_states() {
        number(state, &mut waiting);
    }
    // States are numbered in the order in which they begin to wait.
    while let Some(state) = waiting.pop_front() {
        edges.push(successors(model, &state).into_iter().map(|after| number(after, &mut waiting)).collect());
    }
    Whole {
        states: edges.len(),
        terminal: edges.iter().filter(|next| next.is_empty()).count(),
        transitions: edges.iter().map(Vec::len).sum(),
        cyclic: is_cyclic(&edges),
    }
}

/// Takes away states that no other state leads to: what remains, if anything, has a cycle.
fn is_cyclic(edges: &[Vec<usize>]) -> bool {
    let mut incoming = vec![0; edges.len()];
    edges.iter().flatten().for_each(|&to| incoming[to] += 1);
    let mut free: Vec<usize> = (0..edges.len()).filter(|&state| incoming[state] == 0).collect();
    let mut taken = 0;
    while let Some(state) = free.pop() {
        taken += 1;
        for &to in &edges[state] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                free.push(to);
            }
        }
    }
    taken < edges.len()
}

/// Where the steps lead that can be taken in a state, without those that fail.
#[must_use]
pub fn successors<M: Model>(model: &M, state: &M::State) -> Vec<M::State> {
    let mut next = Vec::new();
    for thread in (0..model.thread_count(state)).filter(|&thread| model.is_enabled(state, thread)) {
        for outcome in 0..model.outcome_count(state, thread) {
            let mut after = state.clone();
            if model.step(&mut after, thread, outcome).is_ok() {
                next.push(after);
            }
        }
    }
    next
}
