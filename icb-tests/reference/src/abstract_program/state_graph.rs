//! The graph of happens-before states, with the context bound of each: the fewest preemptions that reach it.
//!
//! A 0-1 breadth-first search over pairs of a state and the thread to run there: the future depends on the
//! state and the last thread only, so each pair is expanded once, at its least cost. It merges what
//! [`brute_force`](super::brute_force) enumerates, so the two check each other.

use super::dependence::HappensBeforeState;
use super::execution::{Execution, Outcome};
use super::interpreter::Granularity;
use super::language::Program;
use std::collections::{HashMap, VecDeque};

/// A state that was reached.
#[derive(Clone, Copy, Debug)]
struct Node {
    context_bound: usize,
    terminal: bool,
    deadlocked: bool,
    /// How it was reached first: from which state, by which branch of which thread.
    way: Option<Choice>,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    from: usize,
    thread: usize,
    branch: usize,
}

/// The happens-before states of a program.
#[derive(Clone, Debug, Default)]
pub struct StateGraph {
    nodes: Vec<Node>,
}

/// A pair of a state, reached by way of some last thread, and the thread to run there.
struct Edge<'p> {
    from: Execution<'p>,
    thread: usize,
    cost: usize,
}

impl StateGraph {
    /// Builds the graph of all states whose context bound is at most `max_bound` (`None`: of all states).
    /// Returns `None` if there are more than `max_states`.
    #[must_use]
    pub fn build(
        program: &Program,
        granularity: Granularity,
        max_bound: Option<usize>,
        max_states: usize,
    ) -> Option<Self> {
        let mut graph = StateGraph::default();
        let mut index: HashMap<HappensBeforeState, usize> = HashMap::new();
        let mut expanded: HashMap<(usize, usize), usize> = HashMap::new();
        let mut queue: VecDeque<Edge<'_>> = VecDeque::new();
        let mut reached = vec![(Execution::new(program, granularity), 0, None)];
        loop {
            for (execution, cost, way) in std::mem::take(&mut reached) {
                let id = *index.entry(execution.happens_before().clone()).or_insert(graph.nodes.len());
                if id == graph.nodes.len() {
                    graph.nodes.push(Node::new(&execution, cost, way));
                }
                let node = &mut graph.nodes[id];
                node.context_bound = node.context_bound.min(cost);
                for thread in execution.enabled() {
                    let cost = cost + execution.cost(thread);
                    let best = expanded.entry((id, thread)).or_insert(usize::MAX);
                    if cost >= *best || max_bound.is_some_and(|bound| cost > bound) {
                        continue;
                    }
                    *best = cost;
                    let edge = Edge { from: execution.clone(), thread, cost };
                    if execution.cost(thread) == 0 { queue.push_front(edge) } else { queue.push_back(edge) }
                }
            }
            if graph.nodes.len() > max_states {
                return None;
            }
            let Some(Edge { from, thread, cost }) = queue.pop_front() else { return Some(graph) };
            let id = index[from.happens_before()];
            if expanded[&(id, thread)] == cost {
                let next = from.successors(thread).enumerate();
                let way = |branch| Some(Choice { from: id, thread, branch });
                reached.extend(next.map(|(branch, next)| (next, cost, way(branch))));
            }
        }
    }

    /// Number of states with a context bound of at most `bound`.
    #[must_use]
    pub fn state_count(&self, bound: usize) -> usize {
        self.nodes.iter().filter(|node| node.context_bound <= bound).count()
    }

    /// Number of terminal states with a context bound of at most `bound`.
    #[must_use]
    pub fn terminal_count(&self, bound: usize) -> usize {
        self.terminals().filter(|node| node.context_bound <= bound).count()
    }

    /// Of each terminal state its context bound, and a way there: the threads that take the steps, and by which branch.
    pub fn ways_to_terminals(&self) -> impl Iterator<Item = (usize, Vec<(usize, usize)>)> + '_ {
        self.terminals().map(|node| {
            let mut way = Vec::new();
            let mut next = node.way;
            while let Some(Choice { from, thread, branch }) = next {
                way.push((thread, branch));
                next = self.nodes[from].way;
            }
            way.reverse();
            (node.context_bound, way)
        })
    }

    /// Number of terminal states in which threads are blocked for ever.
    #[must_use]
    pub fn deadlock_count(&self) -> usize {
        self.terminals().filter(|node| node.deadlocked).count()
    }

    /// The largest context bound of a terminal state.
    #[must_use]
    pub fn max_context_bound(&self) -> usize {
        self.terminals().map(|node| node.context_bound).max().unwrap_or(0)
    }

    fn terminals(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.terminal)
    }
}

impl Node {
    fn new(execution: &Execution<'_>, cost: usize, way: Option<Choice>) -> Self {
        let terminal = execution.enabled().is_empty();
        let deadlocked = terminal && matches!(execution.outcome(), Outcome::Deadlock { .. });
        Node { context_bound: cost, terminal, deadlocked, way }
    }
}
