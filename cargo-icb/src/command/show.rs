//! `cargo icb show`: tells a stored run again, in whatever form it is asked for. Builds and runs nothing.

use crate::cargo::metadata::Workspace;
use crate::cli::ShowArgs;
use crate::event::{Event, Finished, Record, Tally};
use crate::exit_code::{Error, Exit};
use crate::report::json::{Line, event_of};
use crate::report::output::Output;
use crate::runs;
use crate::settings::Bound;
use crate::worker::plan::Task;
use crate::worker::verdict::Verdict;
use std::path::{Path, PathBuf};

/// Runs the command. The exit code is that of the run.
pub(crate) fn run(arguments: &ShowArgs) -> Result<Exit, Error> {
    arguments.output.check()?;
    let lines = lines(arguments)?;
    let Some(Line::RunStarted { tests, root, max_bound, not_instrumented, .. }) = lines.first() else {
        return Err(Error::Internal(format!("the run `{}` was read without its beginning", arguments.run)));
    };
    let root = PathBuf::from(root);
    let mut output = Output::new(&arguments.output, tests.clone(), &root, arguments.full, None);
    output.start(*max_bound, not_instrumented.clone());
    let mut tally = Tally::new(tests.len());
    let (mut time, mut interrupted) = (None, false);
    for line in &lines {
        if let Some(event) = event_of(line, tests) {
            tally.note(&event);
            output.event(&event);
        }
        if let Line::RunFinished { seconds, exit } = line {
            (time, interrupted) = (Some(*seconds), *exit == Exit::Interrupted as u8);
        }
    }
    if time.is_none() {
        for event in missing(&tally, *max_bound) {
            tally.note(&event);
            output.event(&event);
        }
    }
    output.conclude(&tally, time.unwrap_or_default(), interrupted)
}

/// The lines of the run that is meant. A file needs no package around it.
fn lines(arguments: &ShowArgs) -> Result<Vec<Line>, Error> {
    let run = &arguments.run;
    let file = Path::new(run);
    if run != "last" && run.parse::<u64>().is_err() && file.is_file() {
        return runs::read_file(file);
    }
    runs::read(&Workspace::load(&arguments.build)?.directory, run)
}

/// What a run that was killed, or is still going on, has not come to.
fn missing(tally: &Tally, max_bound: Bound) -> Vec<Event> {
    let unfinished = |(test, record): (usize, &Record)| {
        let last = record.rounds.last();
        let min_bound = last.map_or(Some(0), |last| last.task.next_bound(&last.verdict, max_bound))?;
        Some(Event::Finished(Box::new(Finished {
            task: Task { min_bound, test, max_bound: Bound::Limited(min_bound) },
            figures: None,
            seconds: 0.0,
            verdict: Verdict::Incomplete { reason: "the run has not come to its end".to_owned() },
            finding: None,
            unchanged: last.is_some_and(|last| last.unchanged),
        })))
    };
    tally.records.iter().enumerate().filter_map(unfinished).collect()
}
