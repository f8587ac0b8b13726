//! The text of a report: a failure as thread columns, with every preemption marked and explained.
//!
//! [`render`] makes styled lines; what a style looks like on a terminal is decided elsewhere. The words of
//! operations are in `words`, the interleaving in `columns`, backtraces and source excerpts in `frames`. Nothing
//! here prints, and files are read only for [`Options::source`].

mod columns;
mod frames;
mod words;

use super::{DeadlockEntry, Failure, RaceAccess, SourceLocation, Switch, ThreadId, Trace};
pub use frames::is_of_program;
use frames::Sources;
use std::fmt;
use std::path::{Path, PathBuf};
use words::Names;

/// How much is shown, and in which space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Columns of text that may be used.
    pub width: usize,
    /// Show every step; otherwise long runs of steps that no other thread can notice are folded.
    pub full: bool,
    /// Quote source lines, where the files can be read.
    pub source: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { width: 100, full: false, source: true }
    }
}

/// The role of a piece of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Ordinary text.
    Plain,
    /// Headings.
    Bold,
    /// Frames, positions, what is folded.
    Dim,
    /// What went wrong.
    Error,
    /// The mark of a preemption.
    Preemption,
    /// Something that belongs to the thread with this number.
    Thread(usize),
    /// A quoted source line.
    Source,
}

/// A piece of text in one style.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// The text; it holds no line end.
    pub text: String,
    /// Its role.
    pub style: Style,
}

/// One line of a report.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// Its pieces, from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    fn of(text: impl Into<String>, style: Style) -> Line {
        Line::default().and(text, style)
    }

    fn and(mut self, text: impl Into<String>, style: Style) -> Line {
        self.push(text, style);
        self
    }

    fn push(&mut self, text: impl Into<String>, style: Style) {
        let text = text.into();
        if !text.is_empty() {
            self.spans.push(Span { text, style });
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: String = self.spans.iter().map(|span| span.text.as_str()).collect();
        f.write_str(text.trim_end())
    }
}

/// A rendered report.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rendered {
    /// Its lines, from top to bottom.
    pub lines: Vec<Line>,
}

impl Rendered {
    /// The report without styles.
    #[must_use]
    pub fn to_plain_string(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn blank(&mut self) {
        self.lines.push(Line::default());
    }

    fn line(&mut self, text: impl Into<String>, style: Style) {
        self.lines.push(Line::of(text, style));
    }
}

/// Renders a failure with what is known of its trace. The schedule itself and the command that replays it are
/// the caller's to add. Source files are looked for from the current directory and its ancestors.
#[must_use]
pub fn render(failure: &Failure, options: &Options) -> Rendered {
    let here = std::env::current_dir().unwrap_or_default();
    let roots: Vec<PathBuf> = here.ancestors().map(Path::to_path_buf).collect();
    render_with_roots(failure, options, &roots)
}

/// Renders a failure; relative source paths are looked for in each of `roots`.
#[must_use]
pub fn render_with_roots(failure: &Failure, options: &Options, roots: &[PathBuf]) -> Rendered {
    let trace = &failure.trace;
    let sources = Sources::new(if options.source { roots } else { &[] });
    let names = Names::new(trace);
    let mut out = Rendered::default();
    headline(&mut out, failure);
    if !trace.steps.is_empty() {
        out.blank();
        out.lines.extend(columns::interleaving(failure, &names, options));
    }
    preemptions(&mut out, trace, &names, &sources);
    if let Some(race) = &failure.race {
        race_accesses(&mut out, race, &names, &sources);
    }
    if !failure.waiting.is_empty() {
        waiting(&mut out, &failure.waiting, &names, &sources);
    }
    failing_thread(&mut out, failure, &names, &sources);
    out
}

fn headline(out: &mut Rendered, failure: &Failure) {
    let mut message = failure.message.lines();
    let first = message.next().unwrap_or_default();
    out.lines.push(Line::of(failure.kind.words(), Style::Error).and(format!(": {first}"), Style::Bold));
    for line in message {
        out.line(format!("    {line}"), Style::Plain);
    }
    let count = failure.schedule.preemption_count();
    let mut facts = count_of(u64::from(count), "preemption");
    if failure.execution > 0 {
        facts += &format!(", found in execution {}", failure.execution);
    }
    if let Some(location) = &failure.location {
        facts += &format!(", at {location}");
    }
    out.line(facts, Style::Dim);
}

fn preemptions(out: &mut Rendered, trace: &Trace, names: &Names<'_>, sources: &Sources<'_>) {
    let mut before = None;
    for step in &trace.steps {
        let preempted = step.preempted_thread.or(before);
        before = Some(step.thread);
        let Some((number, _)) = names.cost_range(step).filter(|_| step.switch == Switch::Preemption) else {
            continue;
        };
        out.blank();
        let mut line = Line::of(format!("Preemption {number}"), Style::Preemption).and(": ", Style::Plain);
        if let Some(thread) = preempted {
            thread_name(&mut line, thread, names);
            line.push(" is stopped here; ", Style::Plain);
        }
        thread_name(&mut line, step.thread, names);
        line.push(format!(" goes on with step {}", step.index), Style::Plain);
        out.lines.push(line);
        match &step.preempted {
            Some(frames) => out.lines.extend(frames::backtrace(frames, sources)),
            None => out.line("    (a replay shows the backtrace)", Style::Dim),
        }
    }
}

fn race_accesses(out: &mut Rendered, race: &[RaceAccess; 2], names: &Names<'_>, sources: &Sources<'_>) {
    out.blank();
    out.line("The two accesses, which nothing orders:", Style::Bold);
    for access in race {
        let mut line = Line::of("  ", Style::Plain);
        thread_name(&mut line, access.thread, names);
        line.push(if access.write { " writes" } else { " reads" }, Style::Plain);
        out.lines.push(line);
        site(out, access.location.as_ref(), &access.backtrace, sources);
    }
}

fn waiting(out: &mut Rendered, entries: &[DeadlockEntry], names: &Names<'_>, sources: &Sources<'_>) {
    out.blank();
    out.line("Who waits for what:", Style::Bold);
    for entry in entries {
        let mut line = Line::of("  ", Style::Plain);
        thread_name(&mut line, entry.thread, names);
        line.push(format!(" {}", names.waits(entry)), Style::Plain);
        out.lines.push(line);
        site(out, entry.location.as_ref(), &[], sources);
    }
}

fn failing_thread(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>) {
    if failure.trace.failure_backtrace.is_empty() || failure.race.is_some() {
        return;
    }
    out.blank();
    let mut line = Line::of("The failure", Style::Error);
    if let Some(thread) = failure.thread {
        line.push(", in ", Style::Plain);
        thread_name(&mut line, thread, names);
    }
    line.push(":", Style::Plain);
    out.lines.push(line);
    out.lines.extend(frames::backtrace(&failure.trace.failure_backtrace, sources));
}

/// A backtrace where there is one, else the location alone.
fn site(
    out: &mut Rendered,
    location: Option<&SourceLocation>,
    frames: &[super::Frame],
    sources: &Sources<'_>,
) {
    if frames.is_empty() {
        out.lines.extend(location.map(|location| frames::place(location, sources)).unwrap_or_default());
    } else {
        out.lines.extend(frames::backtrace(frames, sources));
    }
}

fn thread_name(line: &mut Line, thread: ThreadId, names: &Names<'_>) {
    line.push(names.thread(thread), Style::Thread(thread.index()));
}

fn count_of(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// The text, cut to a width with an ellipsis at its end.
fn cut(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests;
