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
use std::collections::VecDeque;
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

    /// Runs executions that keep these orders, `without` being the one in question, up to the first that does not fail like the failure.
    fn without(&mut self, kept: &[Edge], without: Edge) -> Without {
        let manners = MANNERS.map(|manner| (None, manner));
        for (reversed, manner) in [(Some(without), Manner::AsBefore)].into_iter().chain(manners) {
            if Instant::now() >= self.until {
                return Without::NotTried;
            }
            if let Came::Passes(schedule) = self.run(kept, reversed, manner) {
                return Without::Passes(schedule);
            }
        }
        Without::Fails
    }
}

/// What executions come to that keep all orders but one.
enum Without {
    /// Such a one does not fail like the failure.
    Passes(Schedule),
    /// None of those tried.
    Fails,
    /// There was no time to try all.
    NotTried,
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
    let mut left: VecDeque<Edge> = plan.edges.iter().copied().collect();
    let mut hidden = plan.indirect.clone();
    while let Some(edge) = left.pop_front() {
        let rest: Vec<Edge> = kept.iter().copied().filter(|other| *other != edge).collect();
        if witnesses.iter().any(|(other, _)| implies(other, &edge)) {
            // The same executions keep the rest and keep all: to tell it again would say nothing.
            kept = rest;
            continue;
        }
        match probe.without(&rest, edge) {
            Without::Passes(witness) => witnesses.push((edge, Some(witness))),
            Without::NotTried => {
                complete = false;
                witnesses.push((edge, None));
            }
            Without::Fails => {
                kept = rest;
                for come in come_to_light(&mut hidden, &kept, &edge) {
                    let place = left.partition_point(|other| turn(other) < turn(&come));
                    left.insert(place, come);
                    kept.push(come);
                }
            }
        }
    }
    let orders = witnesses
        .into_iter()
        .map(|(edge, without)| Order { before: edge.positions.0, after: edge.positions.1, without })
        .collect();
    Some(Explanation { orders, executions: probe.executions, complete, simplified: None })
}

/// When an order is tried: the later its second step, and of those with the same one, the earlier its first.
const fn turn(edge: &Edge) -> (usize, std::cmp::Reverse<usize>) {
    (edge.positions.1, std::cmp::Reverse(edge.positions.0))
}

/// Orders that need not be looked at one by one, at most: with more of them there is no time.
const MAX_HIDDEN: usize = 500;

/// The orders that were hidden behind one that is no longer kept: nothing else makes them now.
fn come_to_light(hidden: &mut Vec<Edge>, kept: &[Edge], dropped: &Edge) -> Vec<Edge> {
    if hidden.len() > MAX_HIDDEN {
        return Vec::new();
    }
    let is_around =
        |edge: &Edge| edge.positions.0 <= dropped.positions.0 && dropped.positions.1 <= edge.positions.1;
    hidden.extract_if(.., |edge| is_around(edge) && !is_made(edge, kept)).collect()
}

/// Whether the order follows from others, and from the threads' own orders.
fn is_made(order: &Edge, others: &[Edge]) -> bool {
    let mut reached = vec![order.before];
    let mut next = 0;
    while let Some(&place) = reached.get(next) {
        next += 1;
        if place.thread == order.after.thread && place.ordinal <= order.after.ordinal {
            return true;
        }
        for other in others {
            let follows = other.before.thread == place.thread && place.ordinal <= other.before.ordinal;
            if follows && !reached.contains(&other.after) {
                reached.push(other.after);
            }
        }
    }
    false
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

    #[test]
    fn orders_that_others_made_come_to_light() {
        let edge = |before: (usize, usize), after: (usize, usize), positions| {
            let place = |(thread, ordinal)| Place { thread, ordinal };
            Edge { before: place(before), after: place(after), positions }
        };
        // Three threads arrive one after the other; one of them has done something else in between.
        let (first, second) = (edge((0, 0), (1, 1), (0, 2)), edge((1, 1), (2, 0), (2, 3)));
        let both = edge((0, 0), (2, 0), (0, 3));
        assert!(is_made(&both, &[first, second]) && !is_made(&both, &[second]));
        assert!(is_made(&both, &[edge((0, 1), (2, 0), (1, 3))]));
        let mut hidden = vec![both];
        assert_eq!(come_to_light(&mut hidden, &[first, second], &edge((0, 0), (3, 0), (0, 1))), []);
        assert_eq!(come_to_light(&mut hidden, &[second], &first), [both]);
        assert_eq!(hidden, []);
        assert!(turn(&second) < turn(&both));
    }
}
