//! `cargo icb show`: tells a stored run again, in whatever form it is asked for. Builds and runs nothing.

use crate::cargo::metadata::Workspace;
use crate::cli::ShowArgs;
use crate::event::Tally;
use crate::exit_code::{Error, Exit};
use crate::report::json::{Line, event_of};
use crate::report::output::Output;
use crate::runs;
use std::path::PathBuf;

/// Runs the command. The exit code is that of the run.
pub(crate) fn run(arguments: &ShowArgs) -> Result<Exit, Error> {
    let workspace = Workspace::load(&arguments.build)?;
    let lines = runs::read(&workspace.directory, &arguments.run)?;
    let Some(Line::RunStarted { tests, root, max_bound, not_instrumented, .. }) = lines.first() else {
        return Err(Error::NotStored(format!("the run `{}` does not begin at its beginning", arguments.run)));
    };
    let root = PathBuf::from(root);
    let mut output = Output::new(&arguments.output, tests.clone(), &root, arguments.full, None);
    output.start(*max_bound, not_instrumented.clone());
    let mut tally = Tally::new(tests.len());
    let mut time = 0.0;
    for line in &lines {
        if let Some(event) = event_of(line, tests) {
            tally.note(&event);
            output.event(&event);
        }
        if let Line::RunFinished { seconds, .. } = line {
            time = *seconds;
        }
    }
    output.conclude(&tally, time)
}
