//! Which outcomes C++20 allows, by brute force. Shares no code with `icb-core`.
//!
//! All interleavings are enumerated as total orders of the events; an order gives the modification order of each variable and the
//! order S of SeqCst events. Every read may read from every earlier write of its variable (a read-modify-write from the latest), and an
//! execution is kept if it satisfies the axioms of [intro.races] and [atomics.order], written as they stand, with matrices.

use super::language::{Instruction, Outcome, Program, VARIABLES};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// An event of an execution; its number is its place in the total order.
#[derive(Clone, Copy)]
struct Event {
    thread: usize,
    /// `None`: a fence.
    variable: Option<usize>,
    /// It reads: from this event, or the initial value.
    reads: bool,
    from: Option<usize>,
    writes: Option<u8>,
    order: Ordering,
}

impl Event {
    fn acquires(&self) -> bool {
        (self.reads || self.variable.is_none()) && matches!(self.order, Acquire | AcqRel | SeqCst)
    }
    fn releases(&self) -> bool {
        (self.writes.is_some() || self.variable.is_none()) && matches!(self.order, Release | AcqRel | SeqCst)
    }
    fn is_fence(&self) -> bool {
        self.variable.is_none()
    }
}

type Matrix = Vec<Vec<bool>>;

fn close(matrix: &mut Matrix) {
    let count = matrix.len();
    for k in 0..count {
        for i in 0..count {
            for j in 0..count {
                matrix[i][j] |= matrix[i][k] && matrix[k][j];
            }
        }
    }
}

/// All outcomes of the program.
#[must_use]
pub fn outcomes(program: &Program) -> BTreeSet<Outcome> {
    let mut found = BTreeSet::new();
    let mut reads = vec![Vec::new(); program.threads.len()];
    extend(program, &mut vec![0; program.threads.len()], &mut Vec::new(), &mut reads, &mut found);
    found
}

fn extend(
    program: &Program,
    next: &mut Vec<usize>,
    events: &mut Vec<Event>,
    reads: &mut Vec<Vec<u8>>,
    found: &mut BTreeSet<Outcome>,
) {
    let mut over = true;
    for thread in 0..program.threads.len() {
        let Some(&instruction) = program.threads[thread].get(next[thread]) else { continue };
        over = false;
        next[thread] += 1;
        for (event, read) in candidates(thread, instruction, events) {
            events.push(event);
            reads[thread].extend(read);
            if is_consistent(events) {
                extend(program, next, events, reads, found);
            }
            if read.is_some() {
                reads[thread].pop();
            }
            events.pop();
        }
        next[thread] -= 1;
    }
    if over {
        let last = std::array::from_fn(|variable| value(events, newest(events, variable)));
        assert_eq!(last.len(), VARIABLES);
        found.insert(Outcome { reads: reads.clone(), last });
    }
}

fn newest(events: &[Event], variable: usize) -> Option<usize> {
    events.iter().rposition(|event| event.variable == Some(variable) && event.writes.is_some())
}

fn value(events: &[Event], write: Option<usize>) -> u8 {
    write.and_then(|write| events[write].writes).unwrap_or(0)
}

/// The events that the instruction may be, after these.
fn candidates(thread: usize, instruction: Instruction, events: &[Event]) -> Vec<(Event, Option<u8>)> {
    let fence = Event { thread, variable: None, reads: false, from: None, writes: None, order: Relaxed };
    let sources = |variable: usize| {
        let writes = (0..events.len())
            .filter(move |&at| events[at].variable == Some(variable) && events[at].writes.is_some());
        std::iter::once(None).chain(writes.map(Some))
    };
    match instruction {
        Instruction::Fence(order) => vec![(Event { order, ..fence }, None)],
        Instruction::Store(variable, value, order) => {
            vec![(Event { variable: Some(variable), writes: Some(value), order, ..fence }, None)]
        }
        Instruction::Load(variable, order) => sources(variable)
            .map(|from| {
                let event = Event { variable: Some(variable), reads: true, from, order, ..fence };
                (event, Some(value(events, from)))
            })
            .collect(),
        Instruction::Add(variable, added, order) => {
            let from = newest(events, variable);
            let old = value(events, from);
            let writes = Some(old.wrapping_add(added));
            vec![(Event { variable: Some(variable), reads: true, from, writes, order, ..fence }, Some(old))]
        }
        Instruction::Exchange(variable, expected, new, success, failure) => {
            let from = newest(events, variable);
            let base = Event { variable: Some(variable), reads: true, from, ..fence };
            let fails = sources(variable).filter(|&from| value(events, from) != expected);
            let failing = |from| (Event { from, order: failure, ..base }, Some(value(events, from)));
            let mut all: Vec<_> = fails.map(failing).collect();
            if value(events, from) == expected {
                all.push((Event { writes: Some(new), order: success, ..base }, Some(expected)));
            }
            all
        }
    }
}

/// Whether the write is in the release sequence that the other one heads (or would head).
fn in_sequence(events: &[Event], head: usize, write: usize) -> bool {
    let later = head + 1..=write;
    let variable = events[head].variable;
    write == head
        || (write > head
            && events[write].variable == variable
            && later
                .filter(|&at| events[at].variable == variable && events[at].writes.is_some())
                .all(|at| events[at].reads))
}

/// The ends of what synchronizes: the events that publish for a release, and those that take over for an acquire.
fn synchronizes(events: &[Event], release: usize, acquire: usize) -> bool {
    let (a, b) = (events[release], events[acquire]);
    if !a.releases() || !b.acquires() {
        return false;
    }
    let heads = (release..events.len()).filter(|&at| {
        let is_head =
            if a.is_fence() { at > release && events[at].thread == a.thread } else { at == release };
        is_head && events[at].writes.is_some()
    });
    heads.into_iter().any(|head| {
        (0..=acquire).any(|at| {
            let is_end =
                if b.is_fence() { at < acquire && events[at].thread == b.thread } else { at == acquire };
            is_end && events[at].reads && events[at].from.is_some_and(|from| in_sequence(events, head, from))
        })
    })
}

fn is_consistent(events: &[Event]) -> bool {
    let count = events.len();
    let relation = |holds: &dyn Fn(usize, usize) -> bool| -> Matrix {
        (0..count).map(|a| (0..count).map(|b| holds(a, b)).collect()).collect()
    };
    let mut before = relation(&|a, b| {
        (a < b && events[a].thread == events[b].thread) || (a != b && synchronizes(events, a, b))
    });
    close(&mut before);
    let same = |a: usize, b: usize| events[a].variable.is_some() && events[a].variable == events[b].variable;
    let writes = |at: usize| events[at].writes.is_some();
    let reads = |at: usize| events[at].reads;
    // Where a write stands in the modification order; the initial value before all.
    let rank = |write: Option<usize>| write.map_or(0, |write| write + 1);
    for a in 0..count {
        for b in (0..count).filter(|&b| before[a][b] && same(a, b)) {
            let (from_a, from_b) = (rank(events[a].from), rank(events[b].from));
            let coherent = (!writes(a) || !writes(b) || a < b)
                && (!reads(a) || !reads(b) || from_a <= from_b)
                && (!writes(a) || !reads(b) || rank(Some(a)) <= from_b)
                && (!reads(a) || !writes(b) || from_a < rank(Some(b)));
            if !coherent || before[a][a] {
                return false;
            }
        }
    }
    // Coherence-ordered before.
    let mut ordered = relation(&|a, b| {
        a != b
            && same(a, b)
            && ((writes(a) && reads(b) && events[b].from == Some(a))
                || (writes(a) && writes(b) && a < b)
                || (reads(a) && writes(b) && rank(events[a].from) < rank(Some(b))))
    });
    close(&mut ordered);
    let is_ordered = |at: usize| events[at].order == SeqCst;
    let fences: Vec<usize> = (0..count).filter(|&at| events[at].is_fence() && is_ordered(at)).collect();
    (0..count).all(|a| {
        (0..count).filter(|&b| ordered[a][b]).all(|b| {
            let after = |y: usize| before[b][y];
            let ahead = |x: usize| before[x][a];
            (!is_ordered(a) || !is_ordered(b) || a < b)
                && fences.iter().all(|&y| !is_ordered(a) || !after(y) || a < y)
                && fences.iter().all(|&x| !is_ordered(b) || !ahead(x) || x < b)
                && fences.iter().all(|&x| fences.iter().all(|&y| !ahead(x) || !after(y) || x < y))
        })
    })
}
