//! Terminal happens-before states as sets: those that the reference has found, and those that a search reaches, under one
//! name each, the tester's fingerprint.
//!
//! The reference finds its states without the tester; only then is one way to each of them walked under the tester, which
//! names it.

use super::as_program::AbstractProgram;
use super::interpreter::Granularity;
use super::language::Program;
use super::state_graph::StateGraph;
use crate::searches::every_execution;
use icb_core::explore::Explorer;
use icb_core::program::{
    BranchPoint, Chooser, End, Outcome, Program as CoreProgram, SchedulingPoint, Strategy,
};
use icb_core::trace::{Report, ThreadId};
use std::collections::BTreeSet;

/// The terminal states of a program, with the context bound of each.
#[derive(Clone, Debug)]
pub struct Terminals(Vec<(usize, u128)>);

impl Terminals {
    /// Those of the graph.
    ///
    /// # Panics
    /// If the tester does not follow one of the ways, or two states of the reference are one for the tester.
    #[must_use]
    pub fn of(program: &Program, granularity: Granularity, graph: &StateGraph) -> Self {
        let mut subject = AbstractProgram::new(program, granularity);
        let name = |(bound, way): (usize, Vec<(usize, usize)>)| {
            let length = way.len() as u64;
            let outcome: Outcome = subject.run(&mut Follower { way, at: 0 }, None);
            assert!(!matches!(outcome.end, End::GivenUp) && outcome.step_count == length, "{program}");
            (bound, outcome.fingerprint)
        };
        let terminals: Vec<(usize, u128)> = graph.ways_to_terminals().map(name).collect();
        let names: BTreeSet<u128> = terminals.iter().map(|&(_, name)| name).collect();
        assert_eq!(names.len(), terminals.len(), "two states have one fingerprint: {program}");
        Terminals(terminals)
    }

    /// Those with at most this context bound.
    #[must_use]
    pub fn up_to(&self, bound: usize) -> BTreeSet<u128> {
        self.0.iter().filter(|(least, _)| *least <= bound).map(|&(_, name)| name).collect()
    }
}

/// The terminal states that a search reaches.
pub fn reached(
    strategy: &mut dyn Strategy,
    program: &Program,
    granularity: Granularity,
) -> (Report, BTreeSet<u128>) {
    let mut subject = AbstractProgram::new(program, granularity);
    let mut explorer = Explorer::new(every_execution(None));
    let report = explorer.run(strategy, &mut subject);
    (report, explorer.states().iter().copied().collect())
}

/// Walks a way.
struct Follower {
    way: Vec<(usize, usize)>,
    at: usize,
}

impl Chooser for Follower {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.at = point.step as usize;
        self.way.get(self.at).map(|&(thread, _)| ThreadId::new(thread))
    }
    fn choose_branch(&mut self, _: &BranchPoint) -> u32 {
        self.way[self.at].1 as u32
    }
    fn wants_every_point(&self) -> bool {
        true
    }
}
