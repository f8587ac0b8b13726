//! A run as lines of JSON: one object a line, each with the version of the format. What a live run tells, what a stored
//! run holds and what it tells when it is shown again are the same lines; only progress is not stored.

use crate::event::{Event, Finding, Finished};
use crate::settings::Bound;
use crate::worker::plan::Task;
use crate::worker::verdict::Verdict;
use icb_core::trace::BoundReport;
use serde::{Deserialize, Serialize};

/// Version of the format. Fields may be added to a version; nothing is renamed or taken away.
pub(crate) const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line of a run.
    RunStarted {
        /// Version of cargo-icb.
        version: String,
        /// Root of the workspace, where relative source paths start.
        root: String,
        /// The tests, `PACKAGE::TARGET::TEST`.
        tests: Vec<String>,
        /// The last bound.
        max_bound: Bound,
        /// Packages that are not instrumented: what is proved is proved without them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_instrumented: Vec<LeftOut>,
    },
    /// A test process starts.
    TestStarted {
        /// The test.
        test: String,
        /// First bound that it searches.
        bound: u32,
    },
    /// It is at work. Sent a few times a second.
    Progress {
        /// The test.
        test: String,
        /// Figures of the bound so far.
        figures: BoundReport,
        /// Share of the bound that is done, by the search's own estimate.
        done: Option<f64>,
    },
    /// A failure is being replayed and explained.
    Replaying {
        /// Of which test.
        test: String,
    },
    /// A test process is over. A test that holds comes again, at the next bound.
    TestFinished(Box<TestFinished>),
    /// The last line.
    RunFinished {
        /// The exit code.
        exit: u8,
        /// How long the run took.
        seconds: f64,
    },
}

/// A package that is not instrumented.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    /// Its name.
    pub(crate) package: String,
    /// Its version.
    pub(crate) version: String,
    /// Why.
    pub(crate) reason: String,
}

impl LeftOut {
    /// Name and version.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.package, self.version)
    }
}

/// How a test went at a bound.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TestFinished {
    /// The test.
    pub(crate) test: String,
    /// First bound that was searched.
    pub(crate) bound: u32,
    /// Last bound that was searched.
    pub(crate) max_bound: Bound,
    /// Figures, if the test has a model.
    pub(crate) figures: Option<BoundReport>,
    /// How long the process ran.
    pub(crate) seconds: f64,
    /// What it means.
    pub(crate) verdict: Verdict,
    /// A failure, explained: with its trace.
    pub(crate) finding: Option<Finding>,
    /// Whether the test's package knows nothing of icb.
    #[serde(default)]
    pub(crate) unchanged: bool,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    icb: u32,
    #[serde(flatten)]
    line: Line,
}

/// A line of text, without its end.
pub(crate) fn encode(line: &Line) -> String {
    let envelope = Envelope { icb: FORMAT, line: line.clone() };
    // Nothing in a line is beyond JSON; should it be, the reader is told.
    serde_json::to_string(&envelope)
        .unwrap_or_else(|error| format!("{{\"icb\":{FORMAT},\"error\":\"{error}\"}}"))
}

/// Reads a line; the error says what is wrong with it.
pub(crate) fn decode(text: &str) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct Version {
        icb: u32,
    }
    let version: Version = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if version.icb != FORMAT {
        return Err(format!("it has format {}, this cargo-icb reads format {FORMAT}", version.icb));
    }
    serde_json::from_str::<Envelope>(text).map(|envelope| envelope.line).map_err(|error| error.to_string())
}

/// An event as a line; `names` are those of the tests, by number.
pub(crate) fn line_of(event: &Event, names: &[String]) -> Line {
    let name = |task: &Task| names[task.test].clone();
    match event {
        Event::Started { task } => Line::TestStarted { test: name(task), bound: task.min_bound },
        Event::Progress { task, bound, done } => {
            Line::Progress { test: name(task), figures: bound.clone(), done: *done }
        }
        Event::Replaying { task } => Line::Replaying { test: name(task) },
        Event::Finished(finished) => Line::TestFinished(Box::new(TestFinished {
            test: name(&finished.task),
            bound: finished.task.min_bound,
            max_bound: finished.task.max_bound,
            figures: finished.figures.clone(),
            seconds: finished.seconds,
            verdict: finished.verdict.clone(),
            finding: finished.finding.clone(),
            unchanged: finished.unchanged,
        })),
    }
}

/// The event that a line tells; the first and the last line of a run tell none.
pub(crate) fn event_of(line: &Line, names: &[String]) -> Option<Event> {
    let number = |test: &str| names.iter().position(|name| name == test);
    let task = |test: &str, min_bound, max_bound| Some(Task { min_bound, test: number(test)?, max_bound });
    match line {
        Line::RunStarted { .. } | Line::RunFinished { .. } => None,
        Line::TestStarted { test, bound } => {
            Some(Event::Started { task: task(test, *bound, Bound::Limited(*bound))? })
        }
        Line::Progress { test, figures, done } => Some(Event::Progress {
            task: task(test, figures.bound, Bound::Limited(figures.bound))?,
            bound: figures.clone(),
            done: *done,
        }),
        Line::Replaying { test } => Some(Event::Replaying { task: task(test, 0, Bound::Limited(0))? }),
        Line::TestFinished(finished) => Some(Event::Finished(Box::new(Finished {
            task: task(&finished.test, finished.bound, finished.max_bound)?,
            figures: finished.figures.clone(),
            seconds: finished.seconds,
            verdict: finished.verdict.clone(),
            finding: finished.finding.clone(),
            unchanged: finished.unchanged,
        }))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::{Failure, FailureKind};

    #[test]
    fn lines_and_events_round_trip() {
        let names = vec!["a::t::x".to_owned(), "a::t::y".to_owned()];
        let mut failure = Failure::new(FailureKind::Panic, "two\nlines");
        failure.schedule = "icb1:0*3!1".parse().unwrap();
        let task = Task { min_bound: 1, test: 1, max_bound: Bound::Limited(1) };
        let finding =
            Finding { failure: failure.clone(), notes: vec!["n".to_owned()], command: Some("c".to_owned()) };
        let finished = |verdict, finding| {
            Event::Finished(Box::new(Finished {
                task,
                figures: Some(BoundReport::new(1)),
                seconds: 0.5,
                verdict,
                finding,
                unchanged: true,
            }))
        };
        let failed = Verdict::Failed { model: 0, failure: Box::new(failure) };
        for event in [
            Event::Started { task },
            Event::Progress { task, bound: BoundReport::new(1), done: Some(0.25) },
            finished(failed, Some(finding)),
            finished(Verdict::RunOnce, None),
            finished(Verdict::Broken("x".to_owned()), None),
            finished(Verdict::Holds { last: true, exhausted: false, expects_failure: true }, None),
        ] {
            let line = line_of(&event, &names);
            let text = encode(&line);
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(decode(&text).as_ref(), Ok(&line), "{text}");
            assert_eq!(event_of(&line, &names), Some(event));
        }
        let last = Line::RunFinished { exit: 1, seconds: 2.0 };
        assert_eq!(decode(&encode(&last)), Ok(last));
        let left_out =
            LeftOut { package: "p".to_owned(), version: "1.0.0".to_owned(), reason: "asm".to_owned() };
        for not_instrumented in [vec![left_out], vec![]] {
            let (version, root) = ("0.1.0".to_owned(), "/r".to_owned());
            let max_bound = Bound::Unlimited;
            let first = Line::RunStarted { version, root, tests: names.clone(), max_bound, not_instrumented };
            assert_eq!(decode(&encode(&first)), Ok(first));
        }
    }

    #[test]
    fn other_formats_are_refused() {
        assert!(decode(r#"{"icb":9,"event":"run_finished"}"#).unwrap_err().contains("format 9"));
        assert!(decode("hello").is_err());
    }
}
