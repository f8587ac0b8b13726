//! One execution in progress: a state with everything that has to be known about the way to it.

use super::dependence::{HappensBeforeState, History};
use super::interpreter::{Granularity, Machine};
use super::language::{Program, REGISTER_COUNT};
use super::races::{Race, RaceDetector};
use super::state::State;

/// How an execution ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Outcome {
    /// All threads have ended.
    Finished {
        /// Final values of the atomic variables.
        variables: Vec<usize>,
        /// Final values of the data cells.
        cells: Vec<usize>,
        /// Final registers of each thread.
        registers: Vec<[usize; REGISTER_COUNT]>,
    },
    /// Some threads can never go on.
    Deadlock {
        /// These, lowest first.
        blocked: Vec<usize>,
    },
    /// Two unordered accesses to a data cell; the execution stops there.
    Race,
}

impl Outcome {
    /// Whether the outcome is what a tester must report as a failure.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self, Outcome::Finished { .. })
    }
}

/// An execution in progress.
#[derive(Clone, Debug)]
pub struct Execution<'p> {
    machine: Machine<'p>,
    state: State,
    history: History,
    detector: RaceDetector,
    race: Option<Race>,
    last: Option<usize>,
}

impl<'p> Execution<'p> {
    /// An execution that has not begun.
    #[must_use]
    pub fn new(program: &'p Program, granularity: Granularity) -> Self {
        let machine = Machine::new(program, granularity);
        Execution {
            machine,
            state: machine.initial(),
            history: History::new(program.threads.len()),
            detector: RaceDetector::new(program.threads.len(), program.object_counts()),
            race: None,
            last: None,
        }
    }

    /// The threads that can take the next step: none if the execution is over.
    #[must_use]
    pub fn enabled(&self) -> Vec<usize> {
        if self.race.is_some() {
            return Vec::new();
        }
        (0..self.machine.thread_count()).filter(|&thread| self.machine.enabled(&self.state, thread)).collect()
    }

    /// What it costs to run `thread` next: 1 for a preemption, else 0.
    #[must_use]
    pub fn cost(&self, thread: usize) -> usize {
        usize::from(self.machine.preempts(&self.state, self.last, thread))
    }

    /// The executions that arise if `thread` takes the next step: one for each of its free branches.
    pub fn successors(&self, thread: usize) -> impl Iterator<Item = Self> + '_ {
        (0..self.machine.branch_count(&self.state, thread)).map(move |branch| {
            let mut next = self.clone();
            let step = next.machine.step(&mut next.state, thread, branch);
            next.history.record(thread, &step);
            next.race = step.effects.iter().find_map(|&effect| next.detector.apply(thread, effect));
            next.last = Some(thread);
            next
        })
    }

    /// The happens-before state reached.
    #[must_use]
    pub fn happens_before(&self) -> &HappensBeforeState {
        self.history.state()
    }

    /// The race that ended the execution.
    #[must_use]
    pub fn race(&self) -> Option<Race> {
        self.race
    }

    /// How the execution has ended; it must be over.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        if self.race.is_some() {
            return Outcome::Race;
        }
        let blocked: Vec<usize> = self.state.unfinished().collect();
        if !blocked.is_empty() {
            return Outcome::Deadlock { blocked };
        }
        Outcome::Finished {
            variables: self.state.variables().to_vec(),
            cells: self.state.cells().to_vec(),
            registers: (0..self.machine.thread_count()).map(|t| *self.state.registers(t)).collect(),
        }
    }
}
