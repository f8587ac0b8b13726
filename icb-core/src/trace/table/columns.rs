//! The interleaving: one column a thread, time downwards, every preemption marked in the gutter.

use super::frames::is_machinery_file;
use super::selection::{Why, preempts, selection};
use super::words::{Detail, Names};
use super::{Line, Options, Style, cut, width_of};
use crate::trace::{DeadlockEntry, Failure, ObjectId, Step, Switch, ThreadId, Trace};
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
    /// So many steps of each of these threads.
    Folded(Vec<(ThreadId, usize)>),
    /// So many lines of a very long trace.
    Gap(usize),
    /// A thread that cannot go on.
    Waits(&'a DeadlockEntry),
    /// What went wrong, in the column of the thread that failed.
    End {
        thread: ThreadId,
        failure: &'a Failure,
    },
}

/// Lays out the interleaving of a failure.
pub(super) fn interleaving(failure: &Failure, names: &Names<'_>, options: &Options) -> Vec<Line> {
    let trace = &failure.trace;
    let selected = selection(failure).filter(|_| !options.full);
    let mut rows = shorten(rows(trace, names, options.full, selected.as_ref()), options.full);
    rows.extend(failure.waiting.iter().map(Row::Waits));
    if failure.waiting.is_empty() {
        let thread = failure.thread.or_else(|| trace.steps.last().map(|step| step.thread));
        rows.extend(thread.map(|thread| Row::End { thread, failure }));
    }
    if selected.is_some() && rows.len() + HEADING > MAX_LINES {
        // The numbers of the steps tell where some are missing.
        rows.retain(|row| !matches!(row, Row::Folded(_)));
    }
    let layout = Layout::new(trace, &rows, names, options.width);
    let mut lines = layout.heading(names);
    lines.extend(rows.iter().map(|row| layout.row(row, names)));
    lines
}

fn rows<'a>(
    trace: &'a Trace,
    names: &Names<'_>,
    full: bool,
    selected: Option<&BTreeMap<usize, Why>>,
) -> Vec<Row<'a>> {
    let shared = shared_objects(trace, names);
    let mut rows = Vec::new();
    let mut dull: Vec<&Step> = Vec::new();
    let mut before = None;
    for (index, step) in trace.steps.iter().enumerate() {
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
        let keep = full || selected.map_or_else(dependent, |selected| selected.contains_key(&index));
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
        } else {
            dull.push(step);
        }
        before = Some(step.thread);
    }
    if selected.is_some() {
        fold(&mut rows, &mut dull, true);
    }
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

/// Cuts the middle out of a very long table; preemptions and what they lead to always stay.
fn shorten(rows: Vec<Row<'_>>, full: bool) -> Vec<Row<'_>> {
    if full || rows.len() <= KEPT.0 + KEPT.1 + 1 {
        return rows;
    }
    let last = rows.len() - KEPT.1;
    let mut kept = Vec::new();
    let mut missing = 0;
    let mut after_preemption = false;
    for (index, row) in rows.into_iter().enumerate() {
        let preemption = matches!(row, Row::Preempted { .. });
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
struct Layout {
    detail: Detail,
    /// Threads with a column, and its width. Empty: all threads share one column.
    columns: Vec<(ThreadId, usize)>,
    shared_width: usize,
    location_width: usize,
    /// How a file is called in the last column.
    files: HashMap<String, String>,
}

impl Layout {
    fn new(trace: &Trace, rows: &[Row<'_>], names: &Names<'_>, width: usize) -> Layout {
        let files = short_files(trace);
        let threads: BTreeSet<ThreadId> = trace.steps.iter().map(|step| step.thread).collect();
        let mut layout =
            Layout { detail: Detail::Full, columns: Vec::new(), shared_width: 0, location_width: 0, files };
        let locations = rows.iter().map(|row| width_of(&layout.location(row))).max().unwrap_or(0);
        layout.location_width = locations.min(MAX_LOCATION);
        // Each column takes a rule and two blanks beside its text; the location takes as much.
        let room = width.saturating_sub(GUTTER + layout.location_width + 1);
        let natural = |detail| -> Vec<(ThreadId, usize)> {
            threads.iter().map(|&thread| (thread, natural_width(thread, rows, names, detail))).collect()
        };
        for detail in Detail::ALL {
            layout.detail = detail;
            layout.columns = share_out(natural(detail), room.saturating_sub(3 * threads.len()));
            if layout.columns == natural(detail) {
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
            Row::Gap(count) => Line::of(format!("{:>GUTTER$}", "⋮     │ "), Style::Dim)
                .and(format!("{count} lines not shown"), Style::Dim),
        }
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
        let Row::Step(Step { location: Some(location), .. }) = row else { return String::new() };
        if is_machinery_file(&location.file) {
            return String::new();
        }
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

/// Names each file by as few of its last components as tell it from the others.
fn short_files(trace: &Trace) -> HashMap<String, String> {
    let files: BTreeSet<&str> = trace
        .steps
        .iter()
        .filter_map(|step| step.location.as_ref())
        .map(|location| location.file.as_str())
        .collect();
    let tail = |file: &str, count: usize| {
        let components: Vec<&str> = file.split(['/', '\\']).collect();
        components[components.len().saturating_sub(count)..].join("/")
    };
    let shortest = |file: &str| {
        let depth = file.split(['/', '\\']).count();
        let unique = |count: &usize| {
            let name = tail(file, *count);
            files.iter().filter(|other| tail(other, *count) == name).count() == 1
        };
        tail(file, (1..=depth).find(unique).unwrap_or(depth))
    };
    files.iter().map(|file| ((*file).to_owned(), shortest(file))).collect()
}
