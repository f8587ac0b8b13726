//! Two executions side by side, aligned by thread and operation: not by numbers, which shift with the first difference.

use super::failure::{roots, width};
use console::{measure_text_width, pad_str, style, truncate_str};
use icb_core::trace::table::{step_keys, step_words};
use icb_core::trace::{Failure, Step, Switch};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::path::Path;

/// Steps that are shown of those that are alike, before and after a difference.
const AROUND: usize = 2;
/// Changed values that are listed, at most.
const MAX_CHANGES: usize = 8;

/// One of the executions.
pub(crate) struct Side<'a> {
    /// How it is headed.
    pub(crate) title: String,
    /// Its trace, and how it ends if it fails.
    pub(crate) failure: &'a Failure,
    /// Whether it fails.
    pub(crate) fails: bool,
}

/// What is needed of an execution to compare it.
struct Text<'a> {
    steps: &'a [Step],
    words: Vec<String>,
    keys: Vec<(String, String)>,
    /// Each key with how often it has come before: the same step in the other execution has the same.
    places: HashMap<((String, String), usize), usize>,
    counted: Vec<((String, String), usize)>,
}

impl<'a> Text<'a> {
    fn new(failure: &'a Failure, root: &Path) -> Text<'a> {
        let roots = roots(root);
        let keys = step_keys(failure, &roots);
        let mut seen: HashMap<(String, String), usize> = HashMap::new();
        let counted: Vec<((String, String), usize)> = keys
            .iter()
            .map(|key| {
                let count = seen.entry(key.clone()).or_default();
                *count += 1;
                (key.clone(), *count)
            })
            .collect();
        let places = counted.iter().cloned().enumerate().map(|(position, key)| (key, position)).collect();
        Text { steps: &failure.trace.steps, words: step_words(failure, &roots), keys, places, counted }
    }

    fn cell(&self, position: usize) -> String {
        let step = &self.steps[position];
        format!("{:>4} {} {}", step.index, step.thread, self.words[position])
    }

    /// Of the widest cell, in characters.
    fn width(&self) -> usize {
        (0..self.steps.len()).map(|at| self.cell(at).chars().count()).max().unwrap_or(0)
    }

    fn is_preemption(&self, position: usize) -> bool {
        self.steps[position].switch == Switch::Preemption
    }

    fn sign(&self, position: usize) -> &'static str {
        if self.is_preemption(position) { "▶" } else { "" }
    }

    fn named(&self, position: usize) -> String {
        let step = &self.steps[position];
        let name = |file: &str| Path::new(file).file_name().map(|name| name.to_string_lossy().into_owned());
        let place = step.location.as_ref().and_then(|at| Some(format!(", {}:{}", name(&at.file)?, at.line)));
        let place = place.unwrap_or_default();
        format!("`{}` (step {}{place})", self.words[position], step.index)
    }
}

/// One line of the comparison.
enum Row {
    /// The same step in both; whether its values differ.
    Both(usize, usize, bool),
    /// Only on the left; where the right has it, if it comes elsewhere.
    Left(usize, Option<usize>),
    /// Only on the right.
    Right(usize, Option<usize>),
}

/// The comparison.
pub(crate) fn lines(left: &Side<'_>, right: &Side<'_>, root: &Path, full: bool) -> Vec<String> {
    let (a, b) = (Text::new(left.failure, root), Text::new(right.failure, root));
    let rows = rows(&a, &b);
    let mut lines = parting(left, right, &a, &b, &rows);
    lines.push(String::new());
    lines.extend(table(left, right, &a, &b, &rows, full));
    let changes = changes(&a, &b);
    if !changes.is_empty() {
        lines.push(String::new());
        lines.push(style("What that changes:").bold().to_string());
        lines.extend(changes);
    }
    lines
}

fn rows(a: &Text<'_>, b: &Text<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let left = |position: usize| Row::Left(position, b.places.get(&a.counted[position]).copied());
    let right = |position: usize| Row::Right(position, a.places.get(&b.counted[position]).copied());
    for operation in capture_diff_slices(Algorithm::Myers, &a.keys, &b.keys) {
        match operation {
            DiffOp::Equal { old_index, new_index, len } => rows.extend((0..len).map(|offset| {
                let (old, new) = (old_index + offset, new_index + offset);
                Row::Both(old, new, differ(&a.steps[old], &b.steps[new]))
            })),
            DiffOp::Delete { old_index, old_len, .. } => {
                rows.extend((old_index..old_index + old_len).map(left))
            }
            DiffOp::Insert { new_index, new_len, .. } => {
                rows.extend((new_index..new_index + new_len).map(right))
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                rows.extend((old_index..old_index + old_len).map(left));
                rows.extend((new_index..new_index + new_len).map(right));
            }
        }
    }
    rows
}

fn differ(a: &Step, b: &Step) -> bool {
    (&a.read, &a.written, &a.note) != (&b.read, &b.written, &b.note)
}

/// In sentences: where the two part, and at which preemption.
fn parting(left: &Side<'_>, right: &Side<'_>, a: &Text<'_>, b: &Text<'_>, rows: &[Row]) -> Vec<String> {
    let alike = rows.iter().take_while(|row| matches!(row, Row::Both(_, _, false))).count();
    if alike == rows.len() {
        return vec!["The two executions are alike.".to_owned()];
    }
    let last = alike.checked_sub(1).and_then(|last| match rows[last] {
        Row::Both(old, _, _) => Some(old),
        _ => None,
    });
    let mut lines = vec![match last {
        Some(last) => format!("They are alike up to {}.", a.named(last)),
        None => "They differ from their first step on.".to_owned(),
    }];
    let (next_left, next_right) = (last.map_or(0, |last| last + 1), alike);
    let sides = [(left, a, next_left), (right, b, next_right)];
    for (side, text, next) in sides {
        let Some(step) = text.steps.get(next) else { continue };
        let head =
            format!("{}: ", if side.fails { "There the failing one" } else { "There the passing one" });
        let before = next.checked_sub(1).map(|before| text.steps[before].thread);
        lines.push(match (step.switch, before) {
            (Switch::Preemption, Some(before)) => {
                let pending = (next..text.steps.len()).find(|&later| text.steps[later].thread == before);
                let pending = pending.map_or(String::new(), |later| format!(" and {}", text.named(later)));
                format!(
                    "{head}{before} is preempted between {}{pending}; {} goes on.",
                    text.named(next - 1),
                    step.thread
                )
            }
            (_, Some(before)) if before == step.thread => {
                format!("{head}{before} goes on with {}.", text.named(next))
            }
            _ => format!("{head}{} goes on with {}.", step.thread, text.named(next)),
        });
    }
    lines
}

fn table(
    left: &Side<'_>,
    right: &Side<'_>,
    a: &Text<'_>,
    b: &Text<'_>,
    rows: &[Row],
    full: bool,
) -> Vec<String> {
    let columns = Columns::new([(left, a), (right, b)]);
    let mut lines = columns.head([left, right]);
    let near = |position: usize| {
        let from = position.saturating_sub(AROUND);
        rows[from..(position + AROUND + 1).min(rows.len())].iter().any(|row| is_interesting(row, a, b))
    };
    let mut hidden = 0;
    for (position, row) in rows.iter().enumerate() {
        if !full && !near(position) {
            hidden += 1;
            continue;
        }
        lines.extend(columns.hidden(std::mem::take(&mut hidden)));
        lines.push(columns.row(row, a, b));
    }
    lines.extend(columns.hidden(hidden));
    lines.push(columns.line("", &ending(left), &ending(right)));
    debug_assert!(lines.iter().all(|line| measure_text_width(line) <= width().max(60)));
    lines
}

/// Whether the row is shown where not all are.
fn is_interesting(row: &Row, a: &Text<'_>, b: &Text<'_>) -> bool {
    match row {
        Row::Both(old, new, differs) => *differs || a.is_preemption(*old) || b.is_preemption(*new),
        _ => true,
    }
}

/// How an execution ends, in a cell.
fn ending(side: &Side<'_>) -> String {
    if side.fails { format!("     ✗ {}", side.failure.kind.words()) } else { "     ✓ passes".to_owned() }
}

/// The two columns, by their widths.
struct Columns {
    first: usize,
    second: usize,
}

impl Columns {
    fn new(sides: [(&Side<'_>, &Text<'_>); 2]) -> Columns {
        let room = (width().saturating_sub(9) / 2).max(16);
        let [first, second] = sides.map(|(side, text)| text.width().max(side.title.len()).min(room));
        Columns { first, second }
    }

    fn line(&self, sign: &str, one: &str, two: &str) -> String {
        let pad =
            |text: &str, width: usize| pad_str(text, width, console::Alignment::Left, None).into_owned();
        let cut = |text: &str, width: usize| pad(&truncate_str(text, width, "…"), width);
        let line = format!("{} {} │ {}", pad(sign, 4), cut(one, self.first), cut(two, self.second));
        line.trim_end().to_owned()
    }

    fn head(&self, sides: [&Side<'_>; 2]) -> Vec<String> {
        let [one, two] = sides.map(|side| style(&side.title).bold().to_string());
        vec![
            self.line("", &one, &two),
            format!("{}┼{}", "─".repeat(self.first + 6), "─".repeat(self.second + 1)),
        ]
    }

    /// In the place of so many rows, if any.
    fn hidden(&self, count: usize) -> Option<String> {
        (count > 0).then(|| self.line("", &format!("     … {count} steps alike"), ""))
    }

    fn row(&self, row: &Row, a: &Text<'_>, b: &Text<'_>) -> String {
        let elsewhere = |text: &Text<'_>, at: Option<usize>| {
            at.map_or(String::new(), |at| {
                style(format!("     (as step {})", text.steps[at].index)).dim().to_string()
            })
        };
        match *row {
            Row::Both(old, new, differs) => {
                let sign = format!("{}{}", a.sign(old), if differs { "≠" } else { "" });
                self.line(&style(sign).yellow().to_string(), &a.cell(old), &b.cell(new))
            }
            Row::Left(old, other) => {
                let [sign, cell] =
                    [format!("{}<", a.sign(old)), a.cell(old)].map(|text| style(text).red().to_string());
                self.line(&sign, &cell, &elsewhere(b, other))
            }
            Row::Right(new, other) => {
                let [sign, cell] =
                    [format!("{}>", b.sign(new)), b.cell(new)].map(|text| style(text).green().to_string());
                self.line(&sign, &elsewhere(a, other), &cell)
            }
        }
    }
}

/// Steps that both have, with other values.
fn changes(a: &Text<'_>, b: &Text<'_>) -> Vec<String> {
    let changed: Vec<String> = a
        .counted
        .iter()
        .enumerate()
        .filter_map(|(old, key)| {
            let new = *b.places.get(key)?;
            differ(&a.steps[old], &b.steps[new]).then(|| {
                let (one, two) = (&a.steps[old], &b.steps[new]);
                format!(
                    "  {} {} (step {}), there {} (step {})",
                    one.thread, a.words[old], one.index, b.words[new], two.index
                )
            })
        })
        .collect();
    let more = changed.len().saturating_sub(MAX_CHANGES);
    let mut lines: Vec<String> = changed.into_iter().take(MAX_CHANGES).collect();
    if more > 0 {
        lines.push(format!("  … and {more} more"));
    }
    lines
}
