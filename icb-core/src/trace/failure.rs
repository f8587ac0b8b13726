//! What can go wrong with a program under test.

use super::{Frame, Operation, Schedule, SourceLocation, ThreadId, Trace};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What happened to a block of memory that a failure is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MemoryEventKind {
    /// It was allocated.
    Allocated,
    /// It was used for the last time.
    UsedLast,
    /// Memory that held a pointer to it was freed, and none that was freed later did.
    Lost,
    /// It was freed.
    Freed,
    /// It was freed although it had been before.
    FreedAgain,
}

/// One moment in the life of a block of memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoryEvent {
    /// What.
    pub kind: MemoryEventKind,
    /// Who.
    pub thread: ThreadId,
    /// Where.
    pub location: Option<SourceLocation>,
    /// Backtrace, innermost frame first.
    pub backtrace: Vec<Frame>,
}

/// How the message of a failure begins in which a thread computes without a step.
pub const COMPUTES: &str = "the test computes ";

/// The kinds of failure.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureKind {
    /// A panic left the test closure, or a thread that nobody joined.
    Panic,
    /// Threads that can never go on.
    Deadlock,
    /// Two accesses to the same data, one a write, not ordered by happens-before.
    DataRace,
    /// Threads that spin for ever on values that nobody will change.
    Livelock,
    /// One execution took more steps than the limit.
    StepLimit,
    /// An access to memory or to an object that has been freed.
    UseAfterFree,
    /// Memory freed twice.
    DoubleFree,
    /// Memory that is never freed.
    Leak,
    /// A thread blocks, or computes, outside anything the tool controls.
    Blocked,
    /// A thread's stack overflowed.
    StackOverflow,
    /// A state of a model violates the model's invariant.
    Invariant,
    /// The process under test died.
    Abort,
    /// A replay did not match: the test depends on something other than the schedule.
    Divergence,
}

impl FailureKind {
    /// In words, for a headline.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            FailureKind::Panic => "panic",
            FailureKind::Deadlock => "deadlock",
            FailureKind::DataRace => "data race",
            FailureKind::Livelock => "livelock",
            FailureKind::StepLimit => "step limit reached",
            FailureKind::UseAfterFree => "use after free",
            FailureKind::DoubleFree => "double free",
            FailureKind::Leak => "leak",
            FailureKind::Blocked => "blocked outside the model",
            FailureKind::StackOverflow => "stack overflow",
            FailureKind::Invariant => "invariant violated",
            FailureKind::Abort => "abort",
            FailureKind::Divergence => "divergence",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// One thread of a deadlock or livelock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeadlockEntry {
    /// The thread that cannot go on.
    pub thread: ThreadId,
    /// What it wants to do.
    pub operation: Operation,
    /// Where in the program it wants to do it (in a replay).
    pub location: Option<SourceLocation>,
    /// Threads that hold what it waits for.
    pub held_by: Vec<ThreadId>,
    /// Who waits to write what it wants to read, and comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<ThreadId>,
    /// In words: `waits for Mutex #2, held by T1`.
    pub words: String,
    /// Backtrace of where it waits, innermost frame first (in a replay).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backtrace: Vec<Frame>,
}

/// One side of a data race.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RaceAccess {
    /// Who accesses.
    pub thread: ThreadId,
    /// Whether it writes.
    pub write: bool,
    /// Whether it frees the memory, which counts as a write.
    #[serde(default)]
    pub frees: bool,
    /// Whether it frees it by the end of the thread, on whose stack it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends: bool,
    /// Where.
    pub location: Option<SourceLocation>,
    /// Backtrace, innermost frame first (in a replay).
    pub backtrace: Vec<Frame>,
    /// How many steps had been taken when it was made (in a replay, of a plain access to memory).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_steps: Option<u64>,
}

impl RaceAccess {
    /// A read or write of which nothing else is known.
    #[must_use]
    pub const fn new(thread: ThreadId, write: bool) -> Self {
        RaceAccess {
            thread,
            write,
            frees: false,
            ends: false,
            location: None,
            backtrace: Vec::new(),
            after_steps: None,
        }
    }
}

/// A failure of the program under test, with the schedule that shows it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What kind.
    pub kind: FailureKind,
    /// In words: the panic message, who waits for what, which accesses race.
    pub message: String,
    /// The bound at which it was found: its number of preemptions.
    pub bound: u32,
    /// Number of the execution that showed it, counted from 1 over all bounds.
    pub execution: u64,
    /// Replays it.
    pub schedule: Schedule,
    /// The thread that failed, where there is one.
    pub thread: Option<ThreadId>,
    /// Panics: nobody has joined the thread, so that Rust's own harness would print the panic and let the test pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unjoined: bool,
    /// Panics: what the test itself panicked with afterwards, and where, unless that says only that the thread panicked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub afterwards: Option<String>,
    /// Failures that are no panic: which threads have panicked before, and where, in this order. What they have not come to may be what the others wait for, and what
    /// they drop as they unwind may be what is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// Where in the program it failed.
    pub location: Option<SourceLocation>,
    /// Panics: how many steps had been taken. Those that follow belong to threads that unwind, or that know nothing of it. Races of plain memory:
    /// the same, and the thread may have gone on to its next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_steps: Option<u64>,
    /// Deadlocks and livelocks: who waits for what.
    pub waiting: Vec<DeadlockEntry>,
    /// Data races: the earlier access and the later one. Uses after free: who freed the memory and who used it then (in a
    /// replay); or who used it and who freed it, if nothing orders the two.
    pub race: Option<Box<[RaceAccess; 2]>>,
    /// What became of the block of memory that the failure is about (in a replay); what `race` tells is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryEvent>,
    /// Its steps; empty until it has been replayed.
    pub trace: Trace,
}

impl Failure {
    /// Joins it with what was recorded of its execution.
    #[cfg(feature = "runtime")]
    pub(crate) fn take_over(&mut self, trace: Trace) {
        let failure_backtrace = std::mem::take(&mut self.trace.failure_backtrace);
        self.trace = Trace { failure_backtrace, schedule: self.schedule.clone(), ..trace };
    }

    /// A failure of which nothing more is known yet.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Failure {
            kind,
            message: message.into(),
            bound: 0,
            execution: 0,
            schedule: Schedule::default(),
            thread: None,
            unjoined: false,
            afterwards: None,
            before: Vec::new(),
            after_steps: None,
            location: None,
            waiting: Vec::new(),
            race: None,
            memory: Vec::new(),
            trace: Trace::default(),
        }
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}
