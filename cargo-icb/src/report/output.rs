//! Where a run is told: on the terminal or as lines of JSON, and in files for other tools. A run that is shown again
//! goes the same way as one that is live.

use super::console::{Console, lost};
use super::json::{self, LeftOut, Line};
use super::{failure, junit, sarif, summary};
use crate::cli::{MessageFormat, OutputArgs};
use crate::event::{Event, Tally};
use crate::exit_code::{Error, Exit};
use crate::runs::Recorder;
use crate::settings::Bound;
use crate::worker::verdict::Verdict;
use std::path::{Path, PathBuf};

/// What a run tells to whom.
pub(crate) struct Output<'a> {
    console: Console,
    arguments: &'a OutputArgs,
    names: Vec<String>,
    root: PathBuf,
    recorder: Option<Recorder>,
    /// Show every step of a failure.
    full: bool,
    /// Packages that are not instrumented: what is proved is said without them.
    left_out: Vec<LeftOut>,
}

impl<'a> Output<'a> {
    /// Begins to tell a run of these tests. `recorder` stores it; a run that is shown again is not stored again.
    pub(crate) fn new(
        arguments: &'a OutputArgs,
        names: Vec<String>,
        root: &Path,
        full: bool,
        recorder: Option<Recorder>,
    ) -> Output<'a> {
        let console = Console::new(names.clone());
        Output { console, arguments, names, root: root.to_path_buf(), recorder, full, left_out: Vec::new() }
    }

    fn is_json(&self) -> bool {
        self.arguments.message_format == MessageFormat::Json
    }

    /// The beginning of a run. What is proved is said without the packages that are `left_out`.
    pub(crate) fn start(&mut self, max_bound: Bound, left_out: Vec<LeftOut>) {
        self.tell(&Line::RunStarted {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            root: self.root.display().to_string(),
            tests: self.names.clone(),
            max_bound,
            not_instrumented: left_out.clone(),
        });
        for package in &left_out {
            self.line(&format!("not instrumented {}: {}", package.name(), package.reason));
        }
        self.left_out = left_out;
    }

    fn tell(&mut self, line: &Line) {
        if let Some(recorder) = &mut self.recorder {
            recorder.add(line);
        }
        if self.is_json() {
            self.console.line(&json::encode(line));
        }
    }

    /// A line for people.
    pub(crate) fn line(&mut self, line: &str) {
        if !self.is_json() {
            self.console.line(line);
        }
    }

    /// Something has happened.
    pub(crate) fn event(&mut self, event: &Event) {
        let line = json::line_of(event, &self.names);
        self.tell(&line);
        if !self.is_json() {
            self.console.event(event);
        }
    }

    /// Draws the live lines if it is time to.
    pub(crate) fn tick(&mut self) {
        if !self.is_json() {
            self.console.tick();
        }
    }

    /// Everything has been run: the table of all tests, the failures, and the files that were asked for.
    /// `interrupted`: somebody has asked to stop.
    pub(crate) fn conclude(&mut self, tally: &Tally, seconds: f64, interrupted: bool) -> Result<Exit, Error> {
        self.console.erase();
        self.line("");
        for line in summary::table(&self.names, tally) {
            self.line(&line);
        }
        if !self.left_out.is_empty() {
            let packages = self.left_out.iter().map(LeftOut::name).collect::<Vec<_>>().join(", ");
            self.line(&format!(
                "Not instrumented: {packages}. What it does between two steps of the others is one piece, in which nothing was tried."
            ));
        }
        for (name, record) in self.names.clone().iter().zip(&tally.records) {
            let Some(last) = record.rounds.last() else { continue };
            let lines = match (&last.verdict, &last.finding) {
                (_, Some(finding)) => failure::report(name, finding, &self.root, self.full),
                (Verdict::Ordinary { output }, None) => failure::ordinary(name, output),
                _ => continue,
            };
            self.line("");
            for line in lines {
                self.line(&line);
            }
        }
        self.line("");
        self.line(&summary::last_line(tally, seconds));
        let exit = match tally.exit() {
            Exit::Incomplete if interrupted => Exit::Interrupted,
            exit => exit,
        };
        self.tell(&Line::RunFinished { exit: exit as u8, seconds });
        let stored = self.recorder.as_ref().map(Recorder::number);
        match stored {
            Some(Some(number)) => {
                self.line(&format!("Stored as run {number}: `cargo icb show {number}` shows it again."));
            }
            Some(None) => self.line("This run could not be stored: `cargo icb show` does not know it."),
            None => {}
        }
        let again = stored
            .flatten()
            .map_or(String::new(), |number| format!("; what was found is stored: `cargo icb show {number}`"));
        self.write_files(tally, seconds, &again)?;
        if let Some(error) = self.console.take_lost() {
            return Err(lost(&error, &again));
        }
        Ok(exit)
    }

    fn write_files(&self, tally: &Tally, seconds: f64, again: &str) -> Result<(), Error> {
        let write = |path: &Path, text: String| {
            let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| std::fs::write(path, text))
                .map_err(|error| Error::Usage(format!("cannot write {}: {error}{again}", path.display())))
        };
        if let Some(path) = &self.arguments.junit {
            write(path, junit::document(&self.names, tally, seconds, &self.root, &self.left_out))?;
        }
        if let Some(path) = &self.arguments.sarif {
            write(path, sarif::document(&self.names, tally, &self.root, &self.left_out))?;
        }
        Ok(())
    }
}
