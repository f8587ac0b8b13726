//! The messages that a worker process writes: one JSON object a line, each with the version of the protocol.

use super::json;
use super::{BoundReport, Failure, Frame, ObjectInfo, Report, ShardPart, Step, ThreadId, ThreadInfo, Trace};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The exit code of a test process that cannot write its messages.
pub const CANNOT_TELL_EXIT: i32 = 97;

/// How the line begins that it prints then; the path and the reason follow.
pub const CANNOT_TELL: &str = "icb: cannot write messages to ";

/// How long is looked for the orders that a failure takes, in seconds, if nothing else is said.
pub const EXPLAIN_SECONDS: f64 = 2.0;

/// How many bytes the stack of a thread can have: with less nothing runs, and more is a slip that no system gives.
pub const STACK_SIZES: RangeInclusive<u64> = 16 * 1024..=1 << 36;

/// Version of the message protocol. A reader refuses any other.
pub const PROTOCOL_VERSION: u32 = 2;

/// In the directory of a test process, `NAME-N` is the journal of its model number N at this bound, `NAME-isolated-N` that of isolated executions; `None`: of all executions at once.
#[must_use]
pub fn journal_name(bound: Option<u32>) -> String {
    bound.map_or_else(|| "journal-all".to_owned(), |bound| format!("journal-{bound}"))
}

/// Where a model's frontier (the work left for the next bound) was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FrontierFile {
    /// Path of the file.
    pub path: String,
    /// Work items in it.
    pub item_count: u64,
    /// Size in bytes.
    pub byte_count: u64,
}

/// What a worker tells.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Message {
    /// A call of `model` or `Builder::check` begins; the test is under control from here.
    Started {
        /// Number of the call within the test, counted from 0.
        model: u32,
        /// Process id, for the watchdog.
        pid: u32,
        /// First bound that will be searched.
        min_bound: u32,
        /// Last bound that will be searched, if there is a last one.
        max_bound: Option<u32>,
    },
    /// Sent a few times a second.
    Progress {
        /// Number of the model.
        model: u32,
        /// Figures of the bound at work so far.
        bound: BoundReport,
        /// Work items left at this bound, as far as known.
        frontier: u64,
        /// Share of the bound that is done, between 0 and 1, by the search's own estimate.
        done: Option<f64>,
    },
    /// A bound is finished, or cut short.
    Bound {
        /// Number of the model.
        model: u32,
        /// Figures.
        bound: BoundReport,
        /// What was carried to disk for the next bound.
        frontier: Option<FrontierFile>,
    },
    /// A failure; its trace is filled in when this run is a replay.
    Failure {
        /// Number of the model.
        model: u32,
        /// The failure.
        failure: Box<Failure>,
    },
    /// The failure of a replay once more, with what the process has found out about it since.
    Explained {
        /// Number of the model.
        model: u32,
        /// The failure, perhaps shown by a simpler schedule.
        failure: Box<Failure>,
    },
    /// The replayed schedule ended without a failure.
    ReplayPassed {
        /// Number of the model.
        model: u32,
        /// The trace of the passing execution.
        failure: Box<Failure>,
    },
    /// A replay has come one piece further: told as it happens, so that a process that dies leaves its trace.
    Traced {
        /// Number of the model.
        model: u32,
        /// The piece.
        piece: TracePiece,
    },
    /// A bound of which this process has done one part is finished.
    Shard {
        /// Number of the model.
        model: u32,
        /// The bound.
        bound: u32,
        /// The part.
        part: ShardPart,
        /// File of the fingerprints of the states reached, 16 bytes each.
        states: String,
    },
    /// A call of `model` or `check` is over.
    Finished {
        /// Number of the model.
        model: u32,
        /// Everything that was done.
        report: Box<Report>,
    },
    /// The settings are wrong; nothing was run.
    Refused {
        /// One sentence: what, where, how to mend it.
        message: String,
    },
}

/// A piece of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TracePiece {
    /// A thread begins.
    Thread(ThreadInfo),
    /// An object is used for the first time.
    Object(ObjectInfo),
    /// A frame that the backtraces of the steps after it refer to.
    Frame(Frame),
    /// A step has been taken.
    Step(Box<Step>),
}

impl TracePiece {
    /// Adds the piece to a trace. The first thread of an execution begins a new one.
    pub fn add_to(self, trace: &mut Trace) {
        match self {
            TracePiece::Thread(thread) => {
                if thread.id == ThreadId::MAIN && !trace.threads.is_empty() {
                    *trace = Trace::default();
                }
                trace.threads.push(thread);
            }
            TracePiece::Object(object) => trace.objects.push(object),
            TracePiece::Frame(frame) => trace.frames.push(frame),
            TracePiece::Step(step) => trace.steps.push(*step),
        }
    }
}

#[derive(Serialize)]
#[cfg_attr(any(test, feature = "decode"), derive(Deserialize))]
struct Envelope {
    icb: u32,
    #[serde(flatten)]
    message: Message,
}

/// Why a line is not a message.
#[cfg(any(test, feature = "decode"))]
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// Another version.
    #[error(
        "the worker speaks protocol version {0}, this cargo-icb speaks {PROTOCOL_VERSION}; use the same version of cargo-icb and icb-std"
    )]
    Version(u32),
    /// Not JSON, or not a message.
    #[error("the worker sent a line that is no message: {0}")]
    Syntax(#[from] serde_json::Error),
}

/// A message as one line of text, without the line end.
#[must_use]
pub fn encode(message: &Message) -> String {
    let envelope = Envelope { icb: PROTOCOL_VERSION, message: message.clone() };
    json::to_string(&envelope)
        .unwrap_or_else(|error| unreachable!("messages hold nothing that JSON cannot express: {error}"))
}

/// Reads one line.
///
/// # Errors
/// If the line is of another protocol version or no message.
#[cfg(any(test, feature = "decode"))]
pub fn decode(line: &str) -> Result<Message, ProtocolError> {
    #[derive(Deserialize)]
    struct Version {
        icb: u32,
    }
    let version: Version = serde_json::from_str(line)?;
    if version.icb != PROTOCOL_VERSION {
        return Err(ProtocolError::Version(version.icb));
    }
    Ok(serde_json::from_str::<Envelope>(line)?.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::FailureKind;

    #[test]
    fn messages_round_trip() {
        let mut failure = Failure::new(FailureKind::Deadlock, "T0 waits for Mutex #1, held by T1");
        failure.schedule = "icb1:0*3!1*2,0".parse().unwrap();
        let report = Report { failure: Some(failure.clone()), ..Report::default() };
        for message in [
            Message::Started { model: 0, pid: 7, min_bound: 0, max_bound: Some(2) },
            Message::Progress { model: 1, bound: BoundReport::new(1), frontier: 3, done: Some(0.5) },
            Message::Failure { model: 0, failure: Box::new(failure) },
            Message::Finished { model: 0, report: Box::new(report) },
        ] {
            let line = encode(&message);
            assert!(!line.contains('\n'));
            assert_eq!(decode(&line).unwrap(), message);
        }
    }

    #[test]
    fn other_versions_are_refused() {
        assert!(matches!(decode(r#"{"icb":99,"event":"x"}"#), Err(ProtocolError::Version(99))));
        assert!(matches!(decode("hello"), Err(ProtocolError::Syntax(_))));
    }
}
