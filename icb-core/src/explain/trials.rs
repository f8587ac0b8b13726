//! Executions by which something is found out about a failure, wherever they are run.

use super::guide::{Guide, Manner};
use super::is_same;
use super::plan::{Edge, Plan};
use crate::program::{End, Program};
use crate::trace::{Failure, Schedule};

/// An execution that keeps some orders of a failing one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial<'a> {
    pub(super) failure: &'a Failure,
    pub(super) plan: &'a Plan,
    pub(super) kept: &'a [Edge],
    /// The other way round.
    pub(super) reversed: Option<Edge>,
    pub(super) manner: Manner,
}

/// What a trial comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// It fails like the failure.
    Fails,
    /// It has kept the orders, and does not. An empty schedule: it has ended its process, and what it did until then is not known.
    Passes(Schedule),
    /// The orders could not be kept, or it was not run to its end.
    SaysNothing,
    /// It has found out what memory is shared, and has to be run once more.
    Learns,
}

/// Whoever runs trials.
pub(crate) trait Trials {
    /// Runs one.
    fn run(&mut self, trial: &Trial<'_>) -> Came;
}

impl Trial<'_> {
    /// Runs it with a program.
    pub(crate) fn run(&self, program: &mut dyn Program) -> Came {
        let mut guide = Guide::new(self.plan, self.kept, self.reversed, self.manner);
        let outcome = program.run(&mut guide, None);
        match &outcome.end {
            End::Failed(other) if is_same(self.failure, other) => Came::Fails,
            _ if outcome.promoted => Came::Learns,
            End::GivenUp => Came::SaysNothing,
            _ if guide.gave_way => Came::SaysNothing,
            End::Passed | End::Failed(_) => Came::Passes(guide.into_schedule()),
        }
    }
}

/// Trials are run here, by this program.
pub(super) struct Here<'a>(pub(super) &'a mut dyn Program);

impl Trials for Here<'_> {
    fn run(&mut self, trial: &Trial<'_>) -> Came {
        trial.run(self.0)
    }
}

/// It fails.
const FAILS: u8 = 0;
/// It passes; its schedule follows.
const PASSES: u8 = 1;
/// Anything else.
const SAYS_NOTHING: u8 = 2;

impl Came {
    /// For another process. What was learned is not told so.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Came::Fails => vec![FAILS],
            Came::Passes(schedule) => [&[PASSES], schedule.to_string().as_bytes()].concat(),
            Came::SaysNothing | Came::Learns => vec![SAYS_NOTHING],
        }
    }

    /// What another process has told. `None`: no process tells this.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Came> {
        match bytes.split_first()? {
            (&FAILS, []) => Some(Came::Fails),
            (&PASSES, text) => std::str::from_utf8(text).ok()?.parse().ok().map(Came::Passes),
            (&SAYS_NOTHING, []) => Some(Came::SaysNothing),
            _ => None,
        }
    }
}
