//! The text of a report: a failure as thread columns, with every preemption marked and explained.
//!
//! [`render`] makes styled lines; what a style looks like on a terminal is decided elsewhere. The words of
//! operations are in `words`, the interleaving in `columns`, backtraces and source excerpts in `frames`. Nothing
//! here prints, and files are read only for [`Options::source`].

mod causes;
mod columns;
mod comparison;
mod frames;
mod missing;
mod parameters;
mod selection;
mod spelling;
mod variables;
mod words;

use super::{
    Failure, Frame, ObjectId, Schedule, ScheduleEntry, SourceLocation, Step, Switch, ThreadId, Trace,
};
pub use columns::place;
pub use comparison::{Words, action_name, object_names, repeated, words_calling};
use frames::Sources;
pub use frames::{is_machinery_file, is_of_program, without_registries};
pub use selection::{Why, selection};
use std::fmt;
use std::path::{Path, PathBuf};
use words::Names;
#[cfg(feature = "runtime")]
pub(crate) use words::short_type;

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
    /// Which character of the last piece has to be seen, should there be no room for the whole line.
    focus: usize,
}

impl Line {
    fn of(text: impl Into<String>, style: Style) -> Line {
        Line::default().and(text, style)
    }

    fn and(mut self, text: impl Into<String>, style: Style) -> Line {
        self.push(text, style);
        self
    }

    fn cut(mut self, width: usize) -> Line {
        if let Some((last, before)) = self.spans.split_last_mut() {
            let before: usize = before.iter().map(|span| width_of(&span.text)).sum();
            last.text = begun_before(&last.text, self.focus, width.saturating_sub(before));
        }
        let mut left = width;
        for span in &mut self.spans {
            span.text = if left == 0 { String::new() } else { cut(&span.text, left) };
            left -= width_of(&span.text).min(left);
        }
        self.spans.retain(|span| !span.text.is_empty());
        self
    }

    /// Broken between words; what follows the first line stands a little further in.
    fn broken(self, width: usize) -> Vec<Line> {
        let text = self.to_string();
        let indent = " ".repeat((text.len() - text.trim_start().len() + 4).min(width / 2));
        let mut lines = vec![Line::default()];
        let mut used = 0;
        for span in self.spans {
            for word in span.text.split_inclusive(' ') {
                let length = width_of(word.trim_end());
                if used + length > width && used > indent.len() {
                    lines.push(Line::of(indent.clone(), Style::Plain));
                    used = indent.len();
                }
                used += width_of(word);
                if let Some(line) = lines.last_mut() {
                    line.push(word, span.style);
                }
            }
        }
        lines
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

    /// Makes everything fit: what stands in columns is cut, sentences are broken between words. A place is left as it
    /// is, to be copied.
    fn fit(&mut self, width: usize) {
        let mut lines = Vec::new();
        for line in std::mem::take(&mut self.lines) {
            let text: String = line.spans.iter().map(|span| span.text.as_str()).collect();
            if text.starts_with(frames::AT) || width_of(text.trim_end()) <= width {
                lines.push(line);
            } else if text.contains('│') {
                lines.push(line.cut(width));
            } else {
                lines.extend(line.broken(width));
            }
        }
        self.lines = lines;
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

/// The innermost place of a backtrace that belongs to the program under test.
#[must_use]
pub fn place_in_program(frames: &[Frame]) -> Option<&SourceLocation> {
    let places = || {
        frames.iter().filter(|frame| frames::is_of_program(frame)).filter_map(|frame| frame.location.as_ref())
    };
    // Of what the compiler has put in by itself it tells the file only.
    places().find(|place| place.line > 0).or_else(|| places().next())
}

/// The function that the innermost place of the program under test has called, if the backtrace goes on from there.
#[cfg(feature = "runtime")]
#[must_use]
pub(crate) fn called_by_program(frames: &[Frame]) -> Option<&str> {
    let caller = frames.iter().position(|frame| frames::is_of_program(frame) && frame.location.is_some())?;
    frames[..caller].last().map(|frame| frame.function.as_str())
}

/// A place where something was done, unless it is one of the machinery (a `drop` of std's tells no other): then the innermost one of the
/// program that has led there.
#[cfg(feature = "runtime")]
#[must_use]
pub(crate) fn in_program(place: SourceLocation, frames: &[Frame]) -> SourceLocation {
    let theirs = is_machinery_file(&place.file).then(|| place_in_program(frames)).flatten().cloned();
    theirs.unwrap_or(place)
}

/// Renders a failure; relative source paths are looked for in each of `roots`.
#[must_use]
pub fn render_with_roots(failure: &Failure, options: &Options, roots: &[PathBuf]) -> Rendered {
    let trace = &failure.trace;
    let sources = Sources::new(if options.source { roots } else { &[] });
    let names = Names::new(failure, &sources);
    let mut out = Rendered::default();
    headline(&mut out, failure, &names, &sources);
    let mut shows_printed = false;
    if !trace.steps.is_empty() {
        out.blank();
        let (lines, shows_all) = columns::interleaving(failure, &names, options);
        out.lines.extend(lines);
        shows_printed = shows_all;
    }
    causes::orders(&mut out, failure, &names, options.full);
    causes::sleep(&mut out, failure, &names, &sources);
    causes::timeout(&mut out, failure);
    preemptions(&mut out, trace, &names, &sources);
    causes::race(&mut out, failure, &names, &sources);
    causes::memory(&mut out, failure, &names, &sources);
    causes::waiting(&mut out, failure, &names, &sources);
    causes::failing_thread(&mut out, failure, &names, &sources);
    if !shows_printed {
        printed(&mut out, &trace.printed, options.full);
    }
    objects(&mut out, failure, &names, &sources, options.full);
    causes::debug_information(&mut out, trace);
    out.fit(options.width);
    out
}

/// What each step of a failure does, in words, by position in its trace; relative source paths are looked for in each
/// of `roots`.
#[must_use]
pub fn step_words(failure: &Failure, roots: &[PathBuf]) -> Vec<String> {
    let sources = Sources::new(roots);
    let names = Names::new(failure, &sources);
    failure.trace.steps.iter().map(|step| names.step(step, words::Detail::Full)).collect()
}

/// The same for two executions of a test, and mostly for two versions of it: the thread's path, and what is done to
/// which object, without values and numbers; by position in the trace.
#[must_use]
pub fn step_keys(failure: &Failure, roots: &[PathBuf]) -> Vec<(String, String)> {
    let sources = Sources::new(roots);
    let names = Names::new(failure, &sources);
    failure.trace.steps.iter().map(|step| (names.path(step.thread), names.key(step))).collect()
}

/// What went wrong, without the report's knowledge of the source; where threads wait, with what it is that a condition variable stands for.
#[must_use]
pub fn message(failure: &Failure) -> String {
    match failure.waiting.is_empty() {
        true => failure.message.clone(),
        false => Names::of_types(failure).renamed(&failure.message),
    }
}

fn headline(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>) {
    let waits = |entry: &super::DeadlockEntry| format!("{} {}", entry.thread, names.waits(entry));
    let message = if failure.waiting.is_empty() || failure.trace.steps.is_empty() {
        failure.message.clone()
    } else {
        failure.waiting.iter().map(waits).collect::<Vec<_>>().join("; ")
    };
    let message = sources.shorten(&message);
    let mut message = message.lines();
    let first = message.next().unwrap_or_default();
    out.lines.push(Line::of(failure.kind.words(), Style::Error).and(format!(": {first}"), Style::Bold));
    for line in message {
        out.line(format!("    {line}"), Style::Plain);
    }
    let mut facts = costs(&failure.schedule, &failure.trace);
    if failure.execution > 0 {
        facts += &format!(", found in execution {}", failure.execution);
    }
    if let Some(location) = &failure.location {
        facts += &format!(", at {}", frames::short_place(location, sources));
    }
    out.line(facts, Style::Dim);
    if let Some(thread) = failure.thread.filter(|_| failure.unjoined) {
        out.line(
            format!(
                "Nobody joins {thread}: under `cargo test` this panic is printed, and the test passes (so it does here with \
                 --allow-unjoined-panics)"
            ),
            Style::Dim,
        );
    }
    for text in &failure.before {
        other_panic(out, "Before that", text, sources);
    }
    if let Some(text) = &failure.afterwards {
        other_panic(out, "Afterwards", text, sources);
    }
}

/// A panic that is not what the failure is, and when it came.
fn other_panic(out: &mut Rendered, when: &str, text: &str, sources: &Sources<'_>) {
    let text = sources.shorten(text);
    let mut lines = text.lines();
    out.line(format!("{when} {}", lines.next().unwrap_or_default()), Style::Bold);
    for line in lines {
        out.line(format!("    {line}"), Style::Plain);
    }
}

/// A printed line as it is shown.
fn visible(line: &str) -> String {
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Lines shown of what an execution has printed, at most, unless all are asked for.
const MAX_PRINTED: usize = 40;

/// What the execution has printed.
fn printed(out: &mut Rendered, text: &str, full: bool) {
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return;
    }
    let first = if full { 0 } else { lines.len().saturating_sub(MAX_PRINTED) };
    out.blank();
    let mut heading = Line::of("Printed by this execution:", Style::Bold);
    if first > 0 {
        let left_out = count_of(first as u64, "line");
        heading.push(format!("  (the end; --full shows {left_out} more)"), Style::Dim);
    }
    out.lines.push(heading);
    for line in &lines[first..] {
        out.line(format!("    {}", visible(line)), Style::Plain);
    }
}

/// What the objects are that the table calls by the names of the source.
fn objects(out: &mut Rendered, failure: &Failure, names: &Names<'_>, sources: &Sources<'_>, full: bool) {
    let trace = &failure.trace;
    let selected = selection(failure).filter(|_| !full);
    let mut shown: Vec<ObjectId> = Vec::new();
    let mut note = |object: ObjectId| {
        if object.is_some() && !shown.contains(&object) {
            shown.push(object);
        }
    };
    for (position, step) in trace.steps.iter().enumerate() {
        if selected.as_ref().is_none_or(|selected| selected.contains_key(&position)) {
            note(step.operation.object);
            note(step.operation.other);
        }
    }
    failure.waiting.iter().for_each(|entry| note(entry.operation.object));
    let described: Vec<_> =
        shown.into_iter().filter_map(|object| Some((object, names.described(object)?))).take(20).collect();
    let Some(width) = described.iter().map(|(_, (label, ..))| width_of(label)).max() else { return };
    out.blank();
    out.line("Objects:", Style::Bold);
    for (object, (label, type_name)) in described {
        let mut line = Line::of(format!("  {label:<width$}"), Style::Plain);
        let number = if label.ends_with(&object.to_string()) { String::new() } else { format!(" {object}") };
        line.push(format!("  {type_name}{number}"), Style::Plain);
        let place = names.first_used(object, &failure.waiting);
        if let Some(place) = place.filter(|place| !frames::is_machinery_file(&place.file)) {
            line.push(format!(", first used at {}", frames::short_place(place, sources)), Style::Dim);
        }
        out.lines.push(line);
    }
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

/// A backtrace where there is one, else the location alone.
fn site(out: &mut Rendered, location: Option<&SourceLocation>, frames: &[Frame], sources: &Sources<'_>) {
    if frames.is_empty() {
        out.lines.extend(location.map(|location| frames::place(location, sources)).unwrap_or_default());
    } else {
        out.lines.extend(frames::backtrace(frames, sources));
    }
}

fn thread_name(line: &mut Line, thread: ThreadId, names: &Names<'_>) {
    line.push(names.thread(thread), Style::Thread(thread.index()));
}

/// What an execution costs, by what it is for: `1 preemption and 2 stale values`. Where there is no trace of it, only preemptions are known by name.
#[must_use]
pub fn costs(schedule: &Schedule, trace: &Trace) -> String {
    let steps = |counted: fn(&Step) -> bool| trace.steps.iter().filter(|step| counted(step)).count() as u64;
    let late: usize = trace.steps.iter().map(Step::late_count).sum();
    let others = [
        (steps(Step::is_stale), "stale value"),
        (steps(Step::fails_spuriously), "spurious failure"),
        (steps(Step::sees_late_end), "late end"),
        (steps(Step::expires_early) + late as u64, "early timeout"),
        (steps(Step::wakes_spuriously), "spurious wake-up"),
        (steps(Step::spins_on), "extra spin"),
    ];
    let preempts = |entry: &&ScheduleEntry| matches!(entry, ScheduleEntry::Run { preemption: true, .. });
    let preemptions = schedule.entries().iter().filter(preempts).count() as u64;
    let known = preemptions + others.iter().map(|(count, _)| count).sum::<u64>();
    let unknown = u64::from(schedule.preemption_count()).saturating_sub(known);
    let kinds = [(preemptions, "preemption")].into_iter().chain(others).chain([(unknown, "other cost")]);
    let costs: Vec<String> =
        kinds.filter(|(count, _)| *count > 0).map(|(count, thing)| count_of(count, thing)).collect();
    match &costs[..] {
        [] => count_of(0, "preemption"),
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        [first, ..] => first.clone(),
    }
}

fn count_of(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

fn width_of(text: &str) -> usize {
    text.chars().count()
}

/// The text, without so much of its beginning that a character, and something of what comes after it, has room.
fn begun_before(text: &str, focus: usize, width: usize) -> String {
    let focus = focus.min(width_of(text));
    let after = (width_of(text) - focus).min(width / 2);
    if focus + after <= width {
        return text.to_owned();
    }
    let left_out = (focus + after - width + 1).min(focus);
    let rest: String = text.chars().skip(left_out).collect();
    format!("…{rest}")
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
