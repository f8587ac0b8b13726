//! A failure that is to be explained, as a fork that has seen nothing of it is told; and what the fork answers.

use super::orders::orders_of;
use super::plan::{Edge, Place, Plan};
use super::trials::Trials;
use crate::trace::{Action, Explanation, Failure, FailureKind, Order, SourceLocation};
use crate::varint::{self, Reader};
use std::time::Instant;

/// What has to be known of a failure to find out which orders it takes.
#[derive(Debug)]
pub(crate) struct Case {
    /// By which it is recognised; without a trace.
    failure: Failure,
    plan: Plan,
}

/// A piece of a case. It leads nowhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece {
    Kind(FailureKind),
    /// A byte of the message.
    Message(u8),
    /// A byte of the file's name where it failed.
    File(u8),
    Line(u32),
    /// One more thread of the plan.
    Thread,
    /// Of a parent, the child with this number: a thread.
    Child((usize, u32), usize),
    Step(Place, bool),
    Action(usize, Action),
    Branch(usize, u32),
    Edge(Edge),
    Indirect(Edge),
}

impl Case {
    /// Reads a failure's trace. `None`: it is too long, or there is none.
    pub(crate) fn new(failure: &Failure) -> Option<Case> {
        let plan = Plan::new(failure)?;
        let mut mark = Failure::new(failure.kind, &*failure.message);
        mark.location = failure.location.clone();
        Some(Case { failure: mark, plan })
    }

    /// What another process is told.
    pub(crate) fn to_pieces(&self) -> Vec<Piece> {
        let Case { failure, plan } = self;
        let mut pieces = vec![Piece::Kind(failure.kind)];
        pieces.extend(failure.message.bytes().map(Piece::Message));
        if let Some(location) = &failure.location {
            pieces.push(Piece::Line(location.line));
            pieces.extend(location.file.bytes().map(Piece::File));
        }
        pieces.extend(plan.actions.iter().map(|_| Piece::Thread));
        pieces.extend(plan.threads.iter().map(|(&child, &thread)| Piece::Child(child, thread)));
        pieces.extend(plan.steps.iter().map(|&(place, early)| Piece::Step(place, early)));
        for (thread, actions) in plan.actions.iter().enumerate() {
            pieces.extend(actions.iter().map(|&action| Piece::Action(thread, action)));
        }
        for (thread, branches) in plan.branches.iter().enumerate() {
            pieces.extend(branches.iter().map(|&branch| Piece::Branch(thread, branch)));
        }
        pieces.extend(plan.edges.iter().copied().map(Piece::Edge));
        pieces.extend(plan.indirect.iter().copied().map(Piece::Indirect));
        pieces
    }

    /// What another process has told. `None`: it is not complete.
    pub(crate) fn from_pieces(pieces: &[Piece]) -> Option<Case> {
        let (mut kind, mut message, mut file, mut line) = (None, Vec::new(), Vec::new(), None);
        let mut plan = Plan::empty(0);
        for piece in pieces {
            match *piece {
                Piece::Kind(of) => kind = Some(of),
                Piece::Message(byte) => message.push(byte),
                Piece::File(byte) => file.push(byte),
                Piece::Line(of) => line = Some(of),
                Piece::Thread => {
                    plan.actions.push(Vec::new());
                    plan.branches.push(Vec::new());
                }
                Piece::Child(child, thread) => drop(plan.threads.insert(child, thread)),
                Piece::Step(place, early) => plan.steps.push((place, early)),
                Piece::Action(thread, action) => plan.actions.get_mut(thread)?.push(action),
                Piece::Branch(thread, branch) => plan.branches.get_mut(thread)?.push(branch),
                Piece::Edge(edge) => plan.edges.push(edge),
                Piece::Indirect(edge) => plan.indirect.push(edge),
            }
        }
        let mut failure = Failure::new(kind?, String::from_utf8(message).ok()?);
        let file = String::from_utf8(file).ok()?;
        failure.location = line.map(|line| SourceLocation { file, line, column: 1 });
        Some(Case { failure, plan })
    }

    /// Finds out which orders the failure takes. `None`: it does not fail again when all its orders are kept.
    pub(crate) fn orders(&self, trials: &mut dyn Trials, until: Instant) -> Option<Explanation> {
        orders_of(trials, &self.failure, &self.plan, until)
    }
}

/// An explanation for another process: orders and figures, without what a simplification came to.
pub(crate) fn to_bytes(explanation: &Explanation) -> Vec<u8> {
    let mut bytes = Vec::new();
    varint::write(&mut bytes, explanation.executions);
    varint::write(&mut bytes, explanation.complete.into());
    for order in &explanation.orders {
        varint::write(&mut bytes, order.before as u64);
        varint::write(&mut bytes, order.after as u64);
        varint::write(&mut bytes, order.without.is_some().into());
        let text = order.without.as_ref().map(ToString::to_string).unwrap_or_default();
        varint::write(&mut bytes, text.len() as u64);
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

/// What another process has told. `None`: no process tells this.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Explanation> {
    let mut reader = Reader::new(bytes);
    let executions = reader.number()?;
    let complete = reader.number()? != 0;
    let mut orders = Vec::new();
    while !reader.is_empty() {
        let (before, after) = (reader.length()?, reader.length()?);
        let is_there = reader.number()? != 0;
        let length = reader.length()?;
        let text = std::str::from_utf8(reader.take(length)?).ok()?;
        let without = if is_there { Some(text.parse().ok()?) } else { None };
        orders.push(Order { before, after, without });
    }
    Some(Explanation { orders, executions, complete, simplified: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Schedule, ThreadId};

    fn place(thread: usize, ordinal: usize) -> Place {
        Place { thread, ordinal }
    }

    #[test]
    fn a_case_arrives_as_it_was_sent() {
        let mut failure = Failure::new(FailureKind::Panic, "wórds");
        failure.location = Some(SourceLocation { file: "src/a.rs".to_owned(), line: 7, column: 1 });
        let mut plan = Plan::empty(2);
        plan.threads.insert((0, 0), 1);
        plan.steps = vec![(place(0, 0), false), (place(1, 0), true)];
        plan.actions = vec![vec![Action::Spawn, Action::Park { timed: true }], vec![Action::Begin]];
        plan.branches[1] = vec![3, 0];
        plan.edges = vec![Edge { before: place(0, 1), after: place(1, 0), positions: (1, 2) }];
        plan.indirect = vec![Edge { before: place(0, 0), after: place(1, 0), positions: (0, 2) }];
        let case = Case { failure, plan };
        let arrived = Case::from_pieces(&case.to_pieces()).unwrap();
        assert_eq!(format!("{arrived:?}"), format!("{case:?}"));
        assert!(Case::from_pieces(&case.to_pieces()[1..]).is_none());
    }

    #[test]
    fn an_explanation_arrives_as_it_was_sent() {
        let without = Schedule::new(vec![crate::trace::ScheduleEntry::Run {
            thread: ThreadId::new(0),
            preemption: false,
            early: false,
        }]);
        let orders = vec![
            Order { before: 1, after: 300, without: Some(without) },
            Order { before: 2, after: 3, without: None },
            Order { before: 2, after: 3, without: Some(Schedule::default()) },
        ];
        let explanation = Explanation { orders, executions: 1000, complete: true, simplified: None };
        let bytes = to_bytes(&explanation);
        assert_eq!(from_bytes(&bytes), Some(explanation));
        assert_eq!(from_bytes(&bytes[..bytes.len() - 1]), None);
    }
}
