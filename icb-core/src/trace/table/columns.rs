//! The interleaving: one column a thread, time downwards, every preemption marked in the gutter.

use super::frames::{is_machinery_file, is_of_others, is_of_program};
use super::selection::{Repetition, Why, preempts, repetition, selection};
use super::variables::is_end_of_scope;
use super::words::{Detail, Names};
use super::{Line, MAX_PRINTED, Options, Style, cut, visible, width_of};
use crate::trace::{DeadlockEntry, Failure, ObjectId, SourceLocation, Step, Switch, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Room for the mark of a preemption, the number of the step and the first rule.
const GUTTER: usize = 13;
/// A column narrower than this is of no use; the threads then share one.
const MIN_COLUMN: usize = 14;
/// Room for the name of a thread where threads share a column.
const LABEL: usize = 4;
/// The widest a source location may get.
const MAX_LOCATION: usize = 26;
/// Lines kept of a very long trace, at its start and at its end.
const KEPT: (usize, usize) = (150, 250);
/// How a line begins that was printed.
const PRINTS: &str = "» ";
/// The most lines that one takes.
const MAX_PIECES: usize = 3;
/// Lines of the heading.
const HEADING: usize = 2;
/// Lines that a table of the steps that matter may have before it goes without those that say how many are folded.
const MAX_LINES: usize = 20;
/// A run of uninteresting steps shorter than this is not folded.
const MIN_FOLD: usize = 3;

/// One line of the table, before it is laid out.
enum Row<'a> {
    Step(&'a Step),
    /// A preemption, with its number, above the step that it leads to.
    Preempted {
        mark: String,
        preempted: Option<ThreadId>,
        by: ThreadId,
    },
    /// The place in the workspace from which a thread does the steps below, in packages of others.
    From(ThreadId, String),
    /// What a thread printed after the step above.
    Printed(ThreadId, String),
    /// So many steps of each of these threads.
    Folded(Vec<(ThreadId, usize)>),
    /// So many lines of a very long trace.
    Gap(usize),
    /// The steps above, so many of them, come again and again, so often.
    Again(usize, usize),
    /// A thread that cannot go on.
    Waits(&'a DeadlockEntry),
    /// What went wrong, in the column of the thread that failed.
    End {
        thread: ThreadId,
        failure: &'a Failure,
    },
}

/// Lays out the interleaving of a failure, and whether everything that was printed stands in it whole.
pub(super) fn interleaving(failure: &Failure, names: &Names<'_>, options: &Options) -> (Vec<Line>, bool) {
    let trace = &failure.trace;
    let selected = selection(failure).filter(|_| !options.full);
    let again = repetition(failure).filter(|_| !options.full && selected.is_none());
    let mut rows = shorten(rows(failure, names, options.full, selected.as_ref(), again), options.full);
    rows.extend(failure.waiting.iter().map(Row::Waits));
    if !options.full
        && let [.., Row::End { .. }, Row::Folded(_)] = &rows[..]
    {
        // What threads do that unwind.
        rows.pop();
    }
    if selected.is_some() && rows.len() + HEADING > MAX_LINES {
        // The numbers of the steps tell where some are missing.
        rows.retain(|row| !matches!(row, Row::Folded(_)));
    }
    let rows = with_callers(rows, trace);
    let layout = Layout::new(trace, &rows, names, options.width);
    let mut lines = layout.heading(names);
    let mut whole = 0;
    for row in &rows {
        match row {
            Row::Printed(thread, text) => {
                let (printed, is_whole) = layout.printed(*thread, text);
                lines.extend(printed);
                whole += usize::from(is_whole);
            }
            _ => lines.push(layout.row(row, names)),
        }
    }
    (lines, whole == printed_lines(&trace.printed).count())
}

/// The rows, and where in the workspace what is done in packages of others is asked for.
fn with_callers<'a>(rows: Vec<Row<'a>>, trace: &'a Trace) -> Vec<Row<'a>> {
    let mut known: HashMap<ThreadId, (&str, u32)> = HashMap::new();
    let mut all = Vec::with_capacity(rows.len());
    for row in rows {
        if let Row::Step(step) = &row {
            match caller(step, trace) {
                Some(place) => {
                    let here = (place.file.as_str(), place.line);
                    if known.insert(step.thread, here) != Some(here) {
                        all.push(Row::From(step.thread, from(place)));
                    }
                }
                None => drop(known.remove(&step.thread)),
            }
        }
        all.push(row);
    }
    all
}

/// `from src/queue.rs:12`.
fn from(place: &SourceLocation) -> String {
    let components: Vec<&str> = place.file.split(['/', '\\']).collect();
    format!("from {}:{}", components[components.len().saturating_sub(2)..].join("/"), place.line)
}

/// The innermost place in the workspace of a step that is taken in a package of others.
fn caller<'a>(step: &'a Step, trace: &'a Trace) -> Option<&'a SourceLocation> {
    step.location.as_ref().filter(|location| is_of_others(&location.file))?;
    let mut own = trace
        .backtrace(step)
        .filter(|frame| is_of_program(frame))
        .filter_map(|frame| frame.location.as_ref());
    own.find(|location| !is_of_others(&location.file))
}

/// Where in the program a step is taken. What C functions do (files) knows no place but those in its backtrace; what a scope's end does
/// (unlocks, drops) has none.
#[must_use]
pub fn place<'a>(step: &'a Step, trace: &'a Trace) -> Option<&'a SourceLocation> {
    let location = step.location.as_ref()?;
    if !is_machinery_file(&location.file) {
        return Some(location);
    }
    if is_end_of_scope(step.operation.action) {
        return None;
    }
    trace.backtrace(step).find(|frame| is_of_program(frame)).and_then(|frame| frame.location.as_ref())
}

/// What is shown of what was printed.
fn printed_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// What a thread printed, a row for each line.
fn printed<'a>(thread: ThreadId, text: &str) -> impl Iterator<Item = Row<'a>> {
    printed_lines(text).map(move |line| Row::Printed(thread, visible(line)))
}

fn rows<'a>(
    failure: &'a Failure,
    names: &Names<'_>,
    full: bool,
    selected: Option<&BTreeMap<usize, Why>>,
    again: Option<Repetition>,
) -> Vec<Row<'a>> {
    let trace = &failure.trace;
    let shared = shared_objects(trace, names);
    let failing = failure.thread.or_else(|| trace.steps.last().map(|step| step.thread));
    let mut failing = failing.filter(|_| failure.waiting.is_empty());
    let mut rows = Vec::new();
    let mut dull: Vec<&Step> = Vec::new();
    let mut before = None;
    let prints = full || trace.printed.lines().count() <= MAX_PRINTED;
    if prints {
        rows.extend(printed(ThreadId::MAIN, trace.printed_before()));
    }
    let is_of_round = |index: usize| again.is_some_and(|again| index >= again.start);
    let end = again.map_or(trace.steps.len(), |again| again.start + again.length);
    for (index, step) in trace.steps.iter().enumerate().take(end) {
        // A choice bears the number of the step that would have followed.
        let taken = step.index as u64 + u64::from(!step.is_choice());
        if failure.after_steps.is_some_and(|count| taken > count)
            && let Some(thread) = failing.take()
        {
            fold(&mut rows, &mut dull, selected.is_some());
            rows.push(Row::End { thread, failure });
        }
        let text = if prints { trace.printed_after(index) } else { "" };
        let last_of_run = trace.steps.get(index + 1).is_none_or(|next| next.thread != step.thread);
        let first_of_run = before != Some(step.thread);
        let dependent = || {
            first_of_run
                || last_of_run
                || step.switch != Switch::Stay
                || names.cost_range(step).is_some()
                || !step.branches.is_empty()
                || shared.contains(&step.operation.object)
                || shared.contains(&step.operation.other)
        };
        let keep = full
            || is_of_round(index)
            || !text.trim().is_empty()
            || selected.map_or_else(dependent, |selected| selected.contains_key(&index));
        if keep || preempts(step) {
            fold(&mut rows, &mut dull, selected.is_some());
            if preempts(step) {
                let mark = names.cost_range(step).map_or_else(|| "▶".to_owned(), |range| mark('▶', range));
                let preempted = step.preempted_thread.or(before);
                rows.push(Row::Preempted { mark, preempted, by: step.thread });
            }
        }
        if keep {
            rows.push(Row::Step(step));
            rows.extend(printed(step.thread, text));
        } else {
            dull.push(step);
        }
        before = Some(step.thread);
    }
    if selected.is_some() {
        fold(&mut rows, &mut dull, true);
    }
    rows.extend(again.map(|again| Row::Again(again.length, again.times)));
    rows.extend(failing.map(|thread| Row::End { thread, failure }));
    rows
}

/// Puts steps that are not worth a line in one row. Where it is known which matter, all others are folded.
fn fold<'a>(rows: &mut Vec<Row<'a>>, dull: &mut Vec<&'a Step>, known: bool) {
    if dull.len() < if known { 1 } else { MIN_FOLD } {
        rows.extend(dull.drain(..).map(Row::Step));
        return;
    }
    let mut counts: BTreeMap<ThreadId, usize> = BTreeMap::new();
    for step in dull.drain(..) {
        *counts.entry(step.thread).or_default() += 1;
    }
    rows.push(Row::Folded(counts.into_iter().collect()));
}

/// Cuts the middle out of a very long table; preemptions, what they lead to, and the failure always stay.
fn shorten(rows: Vec<Row<'_>>, full: bool) -> Vec<Row<'_>> {
    if full || rows.len() <= KEPT.0 + KEPT.1 + 1 {
        return rows;
    }
    let last = rows.len() - KEPT.1;
    let mut kept = Vec::new();
    let mut missing = 0;
    let mut after_preemption = false;
    for (index, row) in rows.into_iter().enumerate() {
        let preemption = matches!(row, Row::Preempted { .. } | Row::End { .. });
        if index < KEPT.0 || index >= last || preemption || after_preemption {
            if missing > 0 {
                kept.push(Row::Gap(missing));
                missing = 0;
            }
            kept.push(row);
        } else {
            missing += 1;
        }
        after_preemption = preemption;
    }
    kept
}

/// Objects that more than one thread touches. Threads as objects do not count: who spawns and joins whom is
/// part of every trace.
fn shared_objects(trace: &Trace, names: &Names<'_>) -> BTreeSet<ObjectId> {
    let mut users: HashMap<ObjectId, ThreadId> = HashMap::new();
    let mut shared = BTreeSet::new();
    for step in &trace.steps {
        for object in [step.operation.object, step.operation.other] {
            let first = *users.entry(object).or_insert(step.thread);
            if object.is_some() && first != step.thread && !names.is_thread(object) {
                shared.insert(object);
            }
        }
    }
    shared
}

fn mark(sign: char, (first, last): (u32, u32)) -> String {
    if first == last { format!("{sign}{first}") } else { format!("{sign}{first}-{last}") }
}

/// Where everything goes.
struct Layout<'a> {
    trace: &'a Trace,
    detail: Detail,
    /// Threads with a column, and its width. Empty: all threads share one column.
    columns: Vec<(ThreadId, usize)>,
    shared_width: usize,
    location_width: usize,
    /// How a file is called in the last column.
    files: HashMap<String, String>,
}

impl<'a> Layout<'a> {
    fn new(trace: &'a Trace, rows: &[Row<'_>], names: &Names<'_>, width: usize) -> Self {
        let files = short_files(trace);
        let threads: BTreeSet<ThreadId> = trace.steps.iter().map(|step| step.thread).collect();
        let mut layout = Layout {
            trace,
            detail: Detail::Full,
            columns: Vec::new(),
            shared_width: 0,
            location_width: 0,
            files,
        };
        let locations = rows.iter().map(|row| width_of(&layout.location(row))).max().unwrap_or(0);
        layout.location_width = locations.min(MAX_LOCATION);
        // Each column takes a rule and two blanks beside its text; the location takes as much.
        let room = width.saturating_sub(GUTTER + layout.location_width + 1);
        let natural = |detail| -> Vec<(ThreadId, usize)> {
            threads.iter().map(|&thread| (thread, natural_width(thread, rows, names, detail))).collect()
        };
        for detail in Detail::ALL {
            layout.detail = detail;
            let room = room.saturating_sub(3 * threads.len());
            layout.columns = share_out(natural(detail), room);
            if layout.columns == natural(detail) {
                layout.columns = widened(&layout.columns, rows, room);
                return layout;
            }
        }
        if layout.columns.iter().any(|(_, width)| *width < MIN_COLUMN) && threads.len() > 1 {
            layout.columns.clear();
            layout.shared_width = room.saturating_sub(3).max(MIN_COLUMN);
            let fits = |&detail: &Detail| {
                natural(detail).iter().all(|(_, width)| width + LABEL <= layout.shared_width)
            };
            layout.detail = Detail::ALL.into_iter().find(fits).unwrap_or(Detail::Numbers);
        }
        layout
    }

    fn heading(&self, names: &Names<'_>) -> Vec<Line> {
        let mut line = Line::of(format!("{:>GUTTER$}", "step  │ "), Style::Dim);
        for &(thread, width) in &self.columns {
            let name = cut(&names.thread(thread), width);
            line.push(format!("{name:<width$}"), Style::Thread(thread.index()));
            line.push(" │ ", Style::Dim);
        }
        let mut rule = "─".repeat(GUTTER - 2) + "┼─";
        for (index, (_, width)) in self.columns.iter().enumerate() {
            rule += &"─".repeat(*width);
            rule += if index + 1 < self.columns.len() || self.location_width > 0 {
                "─┼─"
            } else {
                "─┤"
            };
        }
        rule += &"─".repeat(self.shared_width + self.location_width);
        vec![line, Line::of(rule, Style::Dim)]
    }

    fn row(&self, row: &Row<'_>, names: &Names<'_>) -> Line {
        match row {
            Row::Step(step) => {
                // A preemption has a line of its own; what else costs a unit is marked on the step.
                let cost = names.cost_range(step).filter(|_| step.switch != Switch::Preemption);
                let cost = cost.map(|range| mark(if step.early { '~' } else { '?' }, range));
                let mut line = gutter(cost.as_deref(), names.has_number(step).then_some(step.index));
                self.cell(
                    &mut line,
                    step.thread,
                    &names.step(step, self.detail),
                    Style::Thread(step.thread.index()),
                );
                line.push(self.location(row), Style::Dim);
                line
            }
            Row::Preempted { mark, preempted, by } => {
                let mut line = gutter(Some(mark), None);
                let thread = preempted.unwrap_or(*by);
                self.cell(&mut line, thread, &format!("preempted by {by}"), Style::Preemption);
                line
            }
            Row::From(thread, text) => {
                let mut line = gutter(None, None);
                self.cell(&mut line, *thread, text, Style::Source);
                line
            }
            Row::Printed(thread, text) => self.printed(*thread, text).0.swap_remove(0),
            Row::Folded(counts) => {
                let mut line = gutter(None, None);
                let texts: Vec<(ThreadId, String)> =
                    counts.iter().map(|(thread, count)| (*thread, more_steps(*count))).collect();
                self.cells(&mut line, &texts, Style::Dim);
                line
            }
            Row::Waits(entry) => {
                let mut line = gutter(Some("✗"), None);
                self.cell(&mut line, entry.thread, &waits(entry, names, self.detail), Style::Error);
                line
            }
            Row::End { thread, failure } => {
                let mut line = gutter(Some("✗"), None);
                let message = failure.message.lines().next().unwrap_or_default();
                let text = if self.columns.is_empty() {
                    format!("{}: {message}", failure.kind.words())
                } else {
                    failure.kind.words().to_owned()
                };
                self.cell(&mut line, *thread, &text, Style::Error);
                line
            }
            Row::Again(steps, times) => {
                let steps = if *steps == 1 { "this step".to_owned() } else { format!("these {steps} steps") };
                Line::of(format!("{:>GUTTER$}", "⋮     │ "), Style::Dim)
                    .and(format!("{steps} again and again, {times} times more"), Style::Bold)
            }
            Row::Gap(count) => Line::of(format!("{:>GUTTER$}", "⋮     │ "), Style::Dim)
                .and(format!("{count} lines not shown"), Style::Dim),
        }
    }

    /// A printed line, in a few lines if its column is narrow, and whether that is all of it.
    fn printed(&self, thread: ThreadId, text: &str) -> (Vec<Line>, bool) {
        let column = self.columns.iter().find(|(owner, _)| *owner == thread);
        let room = column.map_or(self.shared_width.saturating_sub(LABEL), |&(_, width)| width);
        let mut pieces = Line::of(format!("{PRINTS}{}", text.trim_end()), Style::Source).broken(room);
        let is_whole =
            pieces.len() <= MAX_PIECES && pieces.iter().all(|piece| width_of(&piece.to_string()) <= room);
        pieces.truncate(MAX_PIECES);
        let lines = pieces.iter().map(|piece| {
            let mut line = gutter(None, None);
            self.cell(&mut line, thread, &piece.to_string(), Style::Source);
            line
        });
        (lines.collect(), is_whole)
    }

    /// Text in one thread's column, the others empty.
    fn cell(&self, line: &mut Line, thread: ThreadId, text: &str, style: Style) {
        self.cells(line, &[(thread, text.to_owned())], style);
    }

    /// Text in the columns of some threads, the others empty.
    fn cells(&self, line: &mut Line, texts: &[(ThreadId, String)], style: Style) {
        if self.columns.is_empty() {
            let (label, text) = match texts {
                [(thread, text)] => (*thread, text.clone()),
                several => {
                    let parts: Vec<String> =
                        several.iter().map(|(thread, text)| format!("{thread} {text}")).collect();
                    (several[0].0, parts.join(", "))
                }
            };
            let one = if texts.len() == 1 { label.to_string() } else { String::new() };
            line.push(format!("{one:<LABEL$}"), Style::Thread(label.index()));
            let width = self.shared_width.saturating_sub(LABEL);
            line.push(format!("{:<width$}", cut(&text, width)), style);
            line.push(" │ ", Style::Dim);
            return;
        }
        for &(owner, width) in &self.columns {
            let text = texts.iter().find(|(thread, _)| *thread == owner);
            let text = text.map_or(String::new(), |(_, text)| cut(text, width));
            line.push(format!("{text:<width$}"), style);
            line.push(" │ ", Style::Dim);
        }
    }

    /// `queue.rs:12`.
    fn location(&self, row: &Row<'_>) -> String {
        let Row::Step(step) = row else { return String::new() };
        let Some(location) = place(step, self.trace) else { return String::new() };
        let file = self.files.get(&location.file).map_or(location.file.as_str(), String::as_str);
        let text = format!("{file}:{}", location.line);
        let count = width_of(&text);
        if count <= MAX_LOCATION {
            return text;
        }
        let kept: String = text.chars().skip(count - MAX_LOCATION + 1).collect();
        format!("…{kept}")
    }
}

fn more_steps(count: usize) -> String {
    format!("… {count} more step{}", if count == 1 { "" } else { "s" })
}

fn waits(entry: &DeadlockEntry, names: &Names<'_>, detail: Detail) -> String {
    format!("waits: {}", names.operation(entry.operation, detail))
}

fn gutter(mark: Option<&str>, step: Option<usize>) -> Line {
    let mut line = Line::of(format!("{:<5}", mark.unwrap_or_default()), Style::Preemption);
    line.push(format!("{:>5}", step.map(|step| step.to_string()).unwrap_or_default()), Style::Dim);
    line.push(" │ ", Style::Dim);
    line
}

fn natural_width(thread: ThreadId, rows: &[Row<'_>], names: &Names<'_>, detail: Detail) -> usize {
    let texts = rows.iter().map(|row| match row {
        Row::Step(step) if step.thread == thread => width_of(&names.step(step, detail)),
        Row::Preempted { preempted: Some(preempted), .. } if *preempted == thread => 15,
        Row::Waits(entry) if entry.thread == thread => width_of(&waits(entry, names, detail)),
        Row::End { thread: failed, failure } if *failed == thread => width_of(failure.kind.words()),
        Row::Folded(counts) if counts.iter().any(|(folded, _)| *folded == thread) => 17,
        _ => 0,
    });
    let heading = if detail == Detail::Numbers { 8 } else { width_of(&names.thread(thread)) };
    texts.max().unwrap_or(0).max(heading)
}

/// The columns, where there is more room than they need as wide as what their threads printed, and as where they were.
fn widened(columns: &[(ThreadId, usize)], rows: &[Row<'_>], room: usize) -> Vec<(ThreadId, usize)> {
    let mut left = room.saturating_sub(columns.iter().map(|(_, width)| width).sum());
    let widen = |&(thread, width): &(ThreadId, usize)| {
        let printed = rows.iter().filter_map(|row| match row {
            Row::Printed(printing, text) if *printing == thread => Some(width_of(PRINTS) + width_of(text)),
            Row::From(asking, text) if *asking == thread => Some(width_of(text)),
            _ => None,
        });
        let more = printed.max().unwrap_or(0).saturating_sub(width).min(left);
        left -= more;
        (thread, width + more)
    };
    columns.iter().map(widen).collect()
}

/// Gives each column its natural width, or, where there is too little room, an equal part of it; what narrow
/// columns leave goes to the wide ones.
fn share_out(natural: Vec<(ThreadId, usize)>, room: usize) -> Vec<(ThreadId, usize)> {
    let mut order: Vec<usize> = (0..natural.len()).collect();
    order.sort_by_key(|&index| natural[index].1);
    let mut columns = natural;
    let mut left = room;
    let count = order.len();
    for (position, index) in order.into_iter().enumerate() {
        let part = left / (count - position);
        columns[index].1 = columns[index].1.min(part);
        left -= columns[index].1;
    }
    columns
}

/// Names each file by as few of its last components as tell it from the others. Backtraces have whole paths, where places may have the end of them only.
fn short_files(trace: &Trace) -> HashMap<String, String> {
    let files: BTreeSet<&str> = trace
        .steps
        .iter()
        .filter_map(|step| place(step, trace))
        .map(|location| location.file.as_str())
        .collect();
    let is_end =
        |end: &str, file: &str| file.strip_suffix(end).is_some_and(|rest| rest.ends_with(['/', '\\']));
    let known_as = |file: &'_ str| {
        files.iter().find(|end| is_end(end, file)).map_or(file.to_owned(), |end| (*end).to_owned())
    };
    let known: BTreeSet<String> = files.iter().map(|file| known_as(file)).collect();
    let tail = |file: &str, count: usize| {
        let components: Vec<&str> = file.split(['/', '\\']).collect();
        components[components.len().saturating_sub(count)..].join("/")
    };
    let shortest = |file: &str| {
        let depth = file.split(['/', '\\']).count();
        let unique = |count: &usize| {
            let name = tail(file, *count);
            known.iter().filter(|other| tail(other, *count) == name).count() == 1
        };
        tail(file, (1..=depth).find(unique).unwrap_or(depth))
    };
    files.iter().map(|&file| (file.to_owned(), shortest(&known_as(file)))).collect()
}
