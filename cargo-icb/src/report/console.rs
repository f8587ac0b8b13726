//! Progress: on a terminal one live line for each running test, otherwise only what `plain` writes.

use super::plain;
use crate::event::Event;
use crate::exit_code::{Error, Exit};
use crate::worker::plan::Task;
use console::{Term, style, truncate_str};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, Instant};

/// How often the live lines are drawn anew.
pub(crate) const REDRAW: Duration = Duration::from_millis(150);

/// A test at work.
struct Running {
    task: Task,
    since: Instant,
    executions: u64,
    seconds: f64,
    done: Option<f64>,
    replaying: bool,
}

/// The output of a run.
pub(crate) struct Console {
    term: Term,
    live: bool,
    names: Vec<String>,
    running: BTreeMap<usize, Running>,
    drawn_lines: usize,
    drawn_at: Option<Instant>,
    /// Why a line was lost, other than that nobody reads any more.
    lost: Option<io::Error>,
}

impl Console {
    /// Writes to standard output; `names` are those of the tests, by number.
    pub(crate) fn new(names: Vec<String>) -> Console {
        let term = Term::buffered_stdout();
        let live = term.is_term() && can_redraw(std::env::var_os("TERM").as_deref());
        Console { term, live, names, running: BTreeMap::new(), drawn_lines: 0, drawn_at: None, lost: None }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, event: &Event) {
        match event {
            Event::Started { task } => {
                let running = Running {
                    task: *task,
                    since: Instant::now(),
                    executions: 0,
                    seconds: 0.0,
                    done: None,
                    replaying: false,
                };
                self.running.insert(task.test, running);
            }
            Event::Progress { task, bound, done } => {
                if let Some(running) = self.running.get_mut(&task.test) {
                    running.executions = bound.executions;
                    running.seconds = bound.seconds;
                    running.done = *done;
                }
            }
            Event::Replaying { task } => {
                if let Some(running) = self.running.get_mut(&task.test) {
                    running.replaying = true;
                }
            }
            Event::Finished(finished) => {
                self.running.remove(&finished.task.test);
                let line = plain::finished(&self.names[finished.task.test], finished);
                self.line(&line);
            }
        }
    }

    /// Writes a line above the live ones.
    pub(crate) fn line(&mut self, line: &str) {
        self.erase();
        // A closed pipe is no reason to stop testing: the exit code still tells.
        let written = self.term.write_line(line).and_then(|()| self.term.flush());
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.get_or_insert(error);
        }
    }

    /// Ends what has been told of a command that comes to this.
    ///
    /// # Errors
    /// If something of it was lost: whoever reads it would take a part for all.
    pub(crate) fn finish(mut self, exit: Exit) -> Result<Exit, Error> {
        match self.take_lost() {
            Some(error) => Err(lost(&error, "")),
            None => Ok(exit),
        }
    }

    /// Why a line could not be written, if one could not.
    pub(crate) fn take_lost(&mut self) -> Option<io::Error> {
        self.lost.take()
    }

    /// Draws the live lines if it is time to.
    pub(crate) fn tick(&mut self) {
        if !self.live || self.drawn_at.is_some_and(|at| at.elapsed() < REDRAW) {
            return;
        }
        self.erase();
        let (rows, columns) = self.term.size();
        let room = usize::from(rows).saturating_sub(2);
        let lines: Vec<String> = self
            .running
            .iter()
            .take(room)
            .map(|(test, running)| live_line(&self.names[*test], running))
            .collect();
        for line in &lines {
            let _ = self.term.write_line(&truncate_str(line, usize::from(columns).saturating_sub(1), "…"));
        }
        self.drawn_lines = lines.len();
        self.drawn_at = Some(Instant::now());
        let _ = self.term.flush();
    }

    /// Removes the live lines.
    pub(crate) fn erase(&mut self) {
        let _ = self.term.clear_last_lines(std::mem::take(&mut self.drawn_lines));
        self.drawn_at = None;
    }
}

/// What is to be said where a line was lost; `again`: where it can be seen.
pub(super) fn lost(error: &io::Error, again: &str) -> Error {
    Error::Usage(format!("cannot write to the standard output: {error}{again}"))
}

/// Whether a terminal of this name lets lines be taken back.
fn can_redraw(name: Option<&OsStr>) -> bool {
    name.is_none_or(|name| name != "dumb")
}

fn live_line(name: &str, running: &Running) -> String {
    let word = style(format!("{:>12}", if running.replaying { "replaying" } else { "searching" })).cyan();
    let mut line = format!("{word} {} {name}", plain::bound(running.task));
    if running.executions > 0 {
        line += &format!("  {}", plain::count_of(running.executions, "execution"));
    }
    if running.executions > 0 && running.seconds > 0.1 {
        let rate = running.executions as f64 / running.seconds;
        line += &format!(", {}/s", plain::number(rate as u64));
    } else if running.since.elapsed() > Duration::from_secs(2) {
        line += &format!("  {}", plain::seconds(running.since.elapsed().as_secs_f64()));
    }
    if let Some(done) = running.done.filter(|done| *done > 0.001 && *done <= 1.0) {
        let left = running.seconds * (1.0 - done) / done;
        line += &format!(", {:.0} %, about {} left", done * 100.0, plain::seconds(left));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_cannot_move_its_cursor_has_no_live_lines() {
        assert!(
            can_redraw(None)
                && can_redraw(Some(OsStr::new("xterm")))
                && !can_redraw(Some(OsStr::new("dumb")))
        );
    }

    #[test]
    fn a_live_line_tells_rate_and_remaining_time() {
        console::set_colors_enabled(false);
        let running = Running {
            task: Task { min_bound: 2, test: 0, max_bound: crate::settings::Bound::Limited(2) },
            since: Instant::now(),
            executions: 50_000,
            seconds: 2.0,
            done: Some(0.25),
            replaying: false,
        };
        assert_eq!(
            live_line("a::t::x", &running),
            "   searching bound 2  a::t::x  50,000 executions, 25,000/s, 25 %, about 6.00 s left"
        );
    }
}
