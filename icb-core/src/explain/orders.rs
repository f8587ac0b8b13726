//! The orders between threads that a failure takes. Of all that an execution has, one after another is no longer
//! kept: if executions that keep the rest fail all the same, it does not matter; if one of them does not fail, it
//! does, and that execution is the witness.
//!
//! That *every* execution with the rest fails cannot be found out by running some, so what is left is what it takes
//! as far as the manners tried can tell: following the failing execution as closely as possible, the order reversed,
//! running each thread as long as possible, in turn, and by chance.

use super::guide::Manner;
use super::plan::{Edge, Plan};
use super::trials::{Came, Here, Trial, Trials};
use crate::program::Program;
use crate::trace::{Explanation, Failure, Order, Schedule};
use std::time::Instant;

/// Ways to run what the orders leave open, those that tell most first.
const MANNERS: [Manner; 8] = [
    Manner::AsBefore,
    Manner::First,
    Manner::Last,
    Manner::InTurn,
    Manner::Random(1),
    Manner::Random(2),
    Manner::Random(3),
    Manner::Random(4),
];

struct Probe<'a> {
    trials: &'a mut dyn Trials,
    failure: &'a Failure,
    plan: &'a Plan,
    executions: u64,
    until: Instant,
}

impl Probe<'_> {
    fn run(&mut self, kept: &[Edge], reversed: Option<Edge>, manner: Manner) -> Came {
        self.executions += 1;
        self.trials.run(&Trial { failure: self.failure, plan: self.plan, kept, reversed, manner })
    }

    /// Runs executions that keep these orders, `without` being the one in question. The first that does not fail like
    /// the failure.
    fn passes(&mut self, kept: &[Edge], without: Option<Edge>) -> Option<Schedule> {
        let reversed = without.map(|edge| (Some(edge), Manner::AsBefore));
        let manners = reversed.into_iter().chain(MANNERS.map(|manner| (None, manner)));
        for (reversed, manner) in manners {
            if let Came::Passes(schedule) = self.run(kept, reversed, manner) {
                return Some(schedule);
            }
            if Instant::now() >= self.until {
                break;
            }
        }
        None
    }
}

/// Finds out which orders the failure takes; its trace must hold the accesses of its steps. `None`: the execution is
/// too long, or does not fail again when all its orders are kept.
pub fn orders(program: &mut dyn Program, failure: &Failure, until: Instant) -> Option<Explanation> {
    let plan = Plan::new(failure)?;
    orders_of(&mut Here(program), failure, &plan, until)
}

/// The same of a failure whose plan is known.
pub(super) fn orders_of(
    trials: &mut dyn Trials,
    failure: &Failure,
    plan: &Plan,
    until: Instant,
) -> Option<Explanation> {
    let mut probe = Probe { trials, failure, plan, executions: 0, until };
    let mut kept = plan.edges.clone();
    if probe.run(&kept, None, Manner::AsBefore) != Came::Fails {
        return None;
    }
    let mut witnesses: Vec<(Edge, Option<Schedule>)> = Vec::new();
    let mut complete = true;
    // An order stands behind those that make it, so these have been tried when its turn comes.
    for edge in plan.edges.iter().copied() {
        let rest: Vec<Edge> = kept.iter().copied().filter(|other| *other != edge).collect();
        if witnesses.iter().any(|(other, _)| implies(other, &edge)) {
            // The same executions keep the rest and keep all: to tell it again would say nothing.
            kept = rest;
            continue;
        }
        if Instant::now() >= probe.until {
            complete = false;
            witnesses.push((edge, None));
            continue;
        }
        match probe.passes(&rest, Some(edge)) {
            Some(witness) => witnesses.push((edge, Some(witness))),
            None => kept = rest,
        }
    }
    let orders = witnesses
        .into_iter()
        .map(|(edge, without)| Order { before: edge.positions.0, after: edge.positions.1, without })
        .collect();
    Some(Explanation { orders, executions: probe.executions, complete, simplified: None })
}

/// Whether the threads' own orders make one order of another: a loop that reads the same again and again has as many as it has turns.
const fn implies(one: &Edge, other: &Edge) -> bool {
    let threads = one.before.thread == other.before.thread && one.after.thread == other.after.thread;
    threads && other.before.ordinal <= one.before.ordinal && one.after.ordinal <= other.after.ordinal
}

#[cfg(test)]
mod tests {
    use super::super::plan::Place;
    use super::*;

    #[test]
    fn an_order_makes_those_around_it() {
        let edge = |before: (usize, usize), after: (usize, usize)| {
            let place = |(thread, ordinal)| Place { thread, ordinal };
            Edge { before: place(before), after: place(after), positions: (0, 1) }
        };
        let first = edge((0, 4), (1, 7));
        for (other, expected) in [
            (edge((0, 4), (1, 9)), true),
            (edge((0, 3), (1, 7)), true),
            (edge((0, 5), (1, 9)), false),
            (edge((0, 4), (1, 6)), false),
            (edge((2, 4), (1, 9)), false),
            (edge((0, 4), (2, 9)), false),
        ] {
            assert_eq!(implies(&first, &other), expected, "{other:?}");
        }
    }
}
