//! The trace of one replayed execution: what is shown to people.

use super::{Access, Action, Explanation, Mode, ObjectClass, ObjectId, Operation, Schedule, ThreadId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A place in source code.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct SourceLocation {
    /// File, as the compiler names it.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column, counted from 1.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl From<&std::panic::Location<'_>> for SourceLocation {
    fn from(location: &std::panic::Location<'_>) -> Self {
        SourceLocation { file: location.file().to_owned(), line: location.line(), column: location.column() }
    }
}

/// One frame of a backtrace.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Demangled function name.
    pub function: String,
    /// Where in it, if debug information says.
    pub location: Option<SourceLocation>,
}

/// How a step's thread came to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Switch {
    /// The same thread goes on.
    Stay,
    /// Another thread, at no cost: the one before was blocked, had ended or had yielded.
    Free,
    /// Another thread, although the one before could have gone on.
    Preemption,
}

/// How the note of a step begins that has read a stale value of an atomic variable.
pub const STALE: &str = "a stale value";
/// What the note of a `notify_one` says that finds nobody because the time of all who waited is over.
pub const LATE: &str = "nobody waits any more";
/// What the note of a look at a thread says that has ended, and is found not to have done so yet.
pub const LATE_END: &str = "its end is still to come";
/// How the note of a choice of a number begins: below which it is.
pub const OF: &str = "of ";

/// One step of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Position in the execution, counted from 0.
    pub index: usize,
    /// Who took it.
    pub thread: ThreadId,
    /// How that thread came to run.
    pub switch: Switch,
    /// What it did.
    pub operation: Operation,
    /// The step went on early: a timed wait expired, or a wait woke spuriously, at a cost of 1.
    pub early: bool,
    /// Branches taken inside the step.
    pub branches: Vec<u32>,
    /// The value read, as text.
    pub read: Option<String>,
    /// The value written, as text.
    pub written: Option<String>,
    /// Outcome in words, where the action alone does not say it (`failed`, `timed out`, `poisoned`).
    pub note: Option<String>,
    /// Where in the program.
    pub location: Option<SourceLocation>,
    /// For a preemption: the backtrace of the thread that was preempted, innermost frame first.
    pub preempted: Option<Vec<Frame>>,
    /// Who was preempted.
    pub preempted_thread: Option<ThreadId>,
    /// What it touched, in the sense of the dependence order. Empty for a data access that is no step of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<Access>,
    /// Backtrace of its thread, innermost frame first: positions in [`Trace::frames`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backtrace: Vec<u32>,
    /// Where in [`Trace::printed`], in bytes, that begins which its thread printed between this step and the next one of any thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed_from: Option<usize>,
}

/// A thread of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadInfo {
    /// Its number in this execution.
    pub id: ThreadId,
    /// Its name in every execution: `main`, `main.1` (the second thread that main spawned), `main.1.0`, …
    pub path: String,
    /// The name given with `Builder::name`.
    pub name: Option<String>,
    /// Where it was spawned.
    pub spawned_at: Option<SourceLocation>,
}

/// An object of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ObjectInfo {
    /// Its number in this execution.
    pub id: ObjectId,
    /// What it is.
    pub class: ObjectClass,
    /// How it is called in the report, for example `AtomicUsize` or `Mutex<Queue>`.
    pub type_name: String,
    /// Where it was first used (constructors are `const` and leave no trace).
    pub first_used_at: Option<SourceLocation>,
    /// Name of the static, where it is one.
    pub symbol: Option<String>,
}

/// Everything that is shown about one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The schedule it followed.
    pub schedule: Schedule,
    /// Its threads, by number.
    pub threads: Vec<ThreadInfo>,
    /// Its objects, by number.
    pub objects: Vec<ObjectInfo>,
    /// Its steps.
    pub steps: Vec<Step>,
    /// Backtrace of the failing thread, innermost frame first.
    pub failure_backtrace: Vec<Frame>,
    /// The frames that the backtraces of steps are made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// Which orders between threads it takes, where that has been found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Box<Explanation>>,
    /// What the program printed meanwhile, on both standard streams: the end of it, where it is long.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub printed: String,
}

/// In the directory of a test process, `printed-N` is the file with what the replay of its model number N has printed.
pub const PRINTED: &str = "printed";

impl Trace {
    /// How many steps it has that are their own.
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.steps.iter().filter(|step| step.is_own()).count()
    }

    /// The backtrace of a step, innermost frame first.
    pub fn backtrace<'a>(&'a self, step: &'a Step) -> impl Iterator<Item = &'a Frame> {
        step.backtrace.iter().filter_map(|&position| self.frames.get(position as usize))
    }

    /// What was printed before the first step, by the main thread.
    #[must_use]
    pub fn printed_before(&self) -> &str {
        let end = self.steps.first().and_then(|step| step.printed_from);
        end.and_then(|end| self.printed.get(..end)).unwrap_or_default()
    }

    /// What the thread of the step at this position printed between it and the next one. Empty where that is not known.
    #[must_use]
    pub fn printed_after(&self, position: usize) -> &str {
        let from = |step: &Step| step.printed_from;
        let Some(start) = self.steps.get(position).and_then(from) else { return "" };
        let end = self.steps.get(position + 1).and_then(from).unwrap_or(self.printed.len());
        self.printed.get(start..end).unwrap_or_default()
    }

    /// Takes what was printed, of which the steps bear positions in `bytes`: the end of it, so many bytes at most, from the beginning of a
    /// line, as text. The positions of the steps are moved accordingly.
    pub fn take_printed(&mut self, bytes: &[u8], max: usize) {
        let cut = bytes.len().saturating_sub(max);
        // The first line may be a part of one.
        let rest =
            bytes[cut..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| cut + end + 1);
        let mut done = if cut > 0 { rest } else { 0 };
        self.printed.clear();
        for step in &mut self.steps {
            let Some(from) = &mut step.printed_from else { continue };
            let end = (*from).clamp(done, bytes.len().max(done));
            self.printed += &String::from_utf8_lossy(&bytes[done..end]);
            (*from, done) = (self.printed.len(), end);
        }
        self.printed += &String::from_utf8_lossy(&bytes[done..]);
    }
}

impl Step {
    /// Whether it has read a stale value of an atomic variable, at a cost of 1.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.contains(STALE))
    }

    /// Whether a timed wait has expired although others could go on, at a cost of 1.
    #[must_use]
    pub fn expires_early(&self) -> bool {
        let timed = matches!(
            self.operation.action,
            Action::Park { timed: true }
                | Action::Reacquire { timed: true }
                | Action::Receive { timed: true }
        );
        self.early && timed && !self.wakes_before_its_time()
    }

    /// Whether a timed wait has ended for no reason: of the two ways in which it ends early, the second.
    fn wakes_before_its_time(&self) -> bool {
        matches!(self.operation.action, Action::Reacquire { timed: true })
            && self.branches.first() == Some(&1)
    }

    /// How many timed waits are over when they are notified, although others could go on, at a cost of 1 each.
    #[must_use]
    pub fn late_count(&self) -> usize {
        match self.operation.action {
            Action::NotifyOne => usize::from(self.note.as_deref() == Some(LATE)),
            Action::NotifyAll => self.branches.iter().filter(|&&branch| branch == 1).count(),
            _ => 0,
        }
    }

    /// Whether a wait has ended for no reason, at a cost of 1.
    #[must_use]
    pub fn wakes_spuriously(&self) -> bool {
        let waits = matches!(self.operation.action, Action::Park { .. } | Action::Reacquire { .. });
        self.wakes_before_its_time() || self.early && waits && !self.expires_early()
    }

    /// Whether a loop that waits for a change goes round once more without one, at a cost of 1.
    #[must_use]
    pub fn spins_on(&self) -> bool {
        self.early && !self.expires_early() && !self.wakes_spuriously()
    }

    /// Whether it is a weak exchange that has failed although the value was the expected one, at a cost of 1.
    #[must_use]
    pub fn fails_spuriously(&self) -> bool {
        // A stale value is chosen first, with an outcome of its own.
        let chosen = self.branches.get(usize::from(self.is_stale())..).unwrap_or_default();
        matches!(self.operation.action, Action::CompareExchange { weak: true, .. })
            && self.written.is_none()
            && chosen.last() == Some(&1)
    }

    /// Whether it finds that a thread which has ended has not done so yet, at a cost of 1.
    #[must_use]
    pub fn sees_late_end(&self) -> bool {
        self.operation.action == Action::CountRead && self.note.as_deref() == Some(LATE_END)
    }

    /// Whether it is a step of its own: a data access that is no scheduling point belongs to the step before it, and
    /// bears the number of the one after. So does the choice of a number.
    #[must_use]
    pub fn is_own(&self) -> bool {
        let data = matches!(self.operation.action, Action::CellRead | Action::CellWrite | Action::CellAccess);
        !(data && self.accesses.is_empty() || self.is_choice())
    }

    /// Whether it is the choice of a number, which is no step.
    #[must_use]
    pub fn is_choice(&self) -> bool {
        self.operation.action == Action::Choose
    }

    /// Whether the two cannot be exchanged: they touch an object, and not both only read it, or only update it.
    #[must_use]
    pub fn conflicts_with(&self, other: &Step) -> bool {
        self.accesses.iter().any(|a| {
            other.accesses.iter().any(|b| a.object == b.object && (a.mode != b.mode || a.mode == Mode::Write))
        })
    }
}
