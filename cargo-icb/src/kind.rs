//! Files that this tool leaves: of which kind one is, and which command takes it. What is in them beyond that, others know.

use crate::exit_code::Error;
use crate::shard::MAGIC;
use serde_json::Value;
use std::path::Path;

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A failure: the schedule, and how to replay it.
    Failure,
    /// A failure with every step.
    Trace,
    /// What a run has told.
    Run,
    /// What a shard has done.
    Shard,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Failure => "a stored failure",
            Kind::Trace => "a stored trace",
            Kind::Run => "a stored run",
            Kind::Shard => "the result of a shard",
        }
    }

    /// What can be done with it.
    fn commands(self) -> &'static str {
        match self {
            Kind::Failure => "`cargo icb replay FILE` takes it",
            Kind::Trace => "`cargo icb timeline FILE` and `cargo icb diff FILE FILE` take it",
            Kind::Run => "`cargo icb show FILE` takes it",
            Kind::Shard => "`cargo icb merge DIRECTORY` takes it with all the others",
        }
    }

    /// The kind of a file with this content, if it is one of ours.
    fn of(content: &[u8]) -> Option<Kind> {
        if content.starts_with(MAGIC.as_bytes()) {
            return Some(Kind::Shard);
        }
        let first = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let is_line = |line: &Value| line.get("icb").is_some() && line.get("event").is_some();
        if serde_json::from_slice::<Value>(first).is_ok_and(|line| is_line(&line)) {
            return Some(Kind::Run);
        }
        let whole: Value = serde_json::from_slice(content).ok()?;
        whole.get("format")?;
        match (whole.get("schedule"), whole.get("failure")) {
            (Some(_), None) => Some(Kind::Failure),
            (None, Some(_)) => Some(Kind::Trace),
            _ => None,
        }
    }
}

/// What is to be said of a file that could not be read as one of the `wanted` kind, if it is one of another: it is not damaged.
pub(crate) fn of_another(path: &Path, wanted: Kind) -> Option<Error> {
    let kind = Kind::of(&std::fs::read(path).ok()?).filter(|kind| *kind != wanted)?;
    let (is, what, commands) = (kind.name(), wanted.name(), kind.commands());
    Some(Error::NotStored(format!("{} is {is}, and this takes {what}; {commands}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_is_its_content_says() {
        for (content, kind) in [
            (format!("{MAGIC} 12 00ff\n{{}}\n"), Some(Kind::Shard)),
            ("{\"icb\":1,\"event\":\"run_started\"}\n{\"icb\":1,\"event\":\"te".to_owned(), Some(Kind::Run)),
            ("{\n  \"format\": 1,\n  \"schedule\": \"icb1:\"\n}\n".to_owned(), Some(Kind::Failure)),
            ("{\"format\":1,\"test\":\"a::lib::b\",\"failure\":{}}".to_owned(), Some(Kind::Trace)),
            ("{\"format\":1}".to_owned(), None),
            ("{\"schedule\":\"icb1:\"}".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(Kind::of(content.as_bytes()), kind, "{content}");
        }
    }
}
