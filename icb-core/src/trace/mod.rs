//! Plain data that leaves the process under test: ids, operations, schedules, traces, failures, summaries and
//! the messages that carry them. Nothing here runs a program, knows a coroutine or reads the environment;
//! `cargo-icb` depends on this module only.

pub mod coverage;
mod death;
mod explanation;
mod failure;
pub mod flight;
mod id;
mod json;
mod message;
mod operation;
pub mod plot;
mod schedule;
mod shard;
mod step;
mod strategy;
mod summary;
pub mod table;

pub use death::{Death, signal_name};
pub use explanation::{Explanation, Order, Simplified};
pub use failure::{COMPUTES, DeadlockEntry, Failure, FailureKind, MemoryEvent, MemoryEventKind, RaceAccess};
pub use id::{ObjectId, ThreadId};
pub use message::{
    CANNOT_TELL, CANNOT_TELL_EXIT, EXPLAIN_SECONDS, FrontierFile, Message, PROTOCOL_VERSION, STACK_SIZES,
    TracePiece, encode, journal_name,
};
#[cfg(any(test, feature = "decode"))]
pub use message::{ProtocolError, decode};
pub use operation::{Access, Action, Mode, ObjectClass, Operation, Ordering, SURROUNDINGS};
pub use schedule::{ParseScheduleError, Schedule, ScheduleEntry};
pub use shard::{Ownership, Piece, Shard, ShardPart};
pub use step::{
    Frame, LATE, LATE_END, OF, ObjectInfo, PRINTED, STALE, SourceLocation, Step, Switch, ThreadInfo, Trace,
};
pub use strategy::{STRATEGY_WORDS, StrategyKind};
pub use summary::{BoundReport, Growth, Report, Stopped, preemptions};
