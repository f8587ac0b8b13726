//! The two executions as columns.

use super::{Comparison, Row, Side, Text};
use crate::report::failure::width;
use crate::report::plain::{count_of, number, things};
use console::{measure_text_width, pad_str, style, truncate_str};

/// Steps that are shown of those that are alike, before and after a difference.
const AROUND: usize = 2;
/// Rows of which the middle is left out, if there are more.
const MAX_ROWS: usize = 100;
/// Rows that are kept then, at the beginning and at the end.
const KEPT: usize = 25;
/// What it takes to say how many are left out.
const HIDDEN: usize = 24;
/// The mark of a preemption.
const PREEMPTION: &str = "▶";

/// The table.
pub(super) fn table(comparison: &Comparison<'_>, a: &Text<'_>, b: &Text<'_>, rows: &[Row]) -> Vec<String> {
    let (left, right) = (&comparison.left, &comparison.right);
    let columns = Columns::new([(left, a), (right, b)]);
    let mut lines = columns.head([left, right]);
    let shown = shown(rows, a, b, comparison.full);
    let mut hidden = Hidden::default();
    for (row, is_shown) in rows.iter().zip(shown) {
        if is_shown {
            lines.extend(columns.hidden(std::mem::take(&mut hidden)));
            lines.push(columns.row(row, a, b));
        } else {
            hidden.add(is_interesting(row, a, b));
        }
    }
    lines.extend(columns.hidden(hidden));
    let [one, two] = [a, b].map(again);
    if !one.is_empty() || !two.is_empty() {
        lines.push(columns.line(["", ""], &one, &two));
    }
    lines.push(columns.line(["", ""], &ending(left), &ending(right)));
    debug_assert!(lines.iter().all(|line| measure_text_width(line) <= width().max(60)));
    lines
}

/// Which rows are shown: differences and what is around them; of very many the first and the last ones, and all preemptions.
fn shown(rows: &[Row], a: &Text<'_>, b: &Text<'_>, full: bool) -> Vec<bool> {
    if full {
        return vec![true; rows.len()];
    }
    let near = |position: usize, around: usize, wanted: &dyn Fn(&Row) -> bool| {
        let from = position.saturating_sub(around);
        rows[from..(position + around + 1).min(rows.len())].iter().any(wanted)
    };
    let mut shown: Vec<bool> =
        (0..rows.len()).map(|position| near(position, AROUND, &|row| is_interesting(row, a, b))).collect();
    let all = shown.iter().filter(|shown| **shown).count();
    if all > MAX_ROWS {
        let positions: Vec<usize> = (0..rows.len()).filter(|&position| shown[position]).collect();
        for &position in &positions[KEPT..all - KEPT] {
            shown[position] = near(position, 1, &|row| preempts(row, a, b));
        }
    }
    shown
}

/// Whether the row is shown where not all are.
fn is_interesting(row: &Row, a: &Text<'_>, b: &Text<'_>) -> bool {
    !matches!(row, Row::Both(_, _, false)) || preempts(row, a, b)
}

/// Whether somebody is preempted before it, on either side.
fn preempts(row: &Row, a: &Text<'_>, b: &Text<'_>) -> bool {
    match *row {
        Row::Both(old, new, _) => a.is_preemption(old) || b.is_preemption(new),
        Row::Left(old, _) => a.is_preemption(old),
        Row::Right(new, _) => b.is_preemption(new),
    }
}

/// In the place of what an execution repeats, if it does.
fn again(text: &Text<'_>) -> String {
    let Some((length, times)) = text.again else { return String::new() };
    let steps = if length == 1 { "this one".to_owned() } else { format!("these {length}") };
    format!("     ⋮ {steps} again, {} times", number(times as u64))
}

/// How an execution ends, in a cell.
fn ending(side: &Side<'_>) -> String {
    if side.fails { format!("     ✗ {}", side.failure.kind.words()) } else { "     ✓ passes".to_owned() }
}

/// Rows that are left out.
#[derive(Default)]
struct Hidden {
    count: u64,
    /// Some of them are differences.
    differ: bool,
}

impl Hidden {
    fn add(&mut self, differs: bool) {
        self.count += 1;
        self.differ |= differs;
    }
}

/// The two columns, by their widths.
struct Columns {
    first: usize,
    second: usize,
}

impl Columns {
    fn new(sides: [(&Side<'_>, &Text<'_>); 2]) -> Columns {
        let room = (width().saturating_sub(9) / 2).max(16);
        let [first, second] = sides.map(|(side, text)| {
            let others = [&side.title, &again(text), &ending(side)].map(|text| measure_text_width(text));
            others.into_iter().fold(text.width().max(HIDDEN), usize::max).min(room)
        });
        Columns { first, second }
    }

    /// A line with a sign before each of the two cells.
    fn line(&self, signs: [&str; 2], one: &str, two: &str) -> String {
        let pad =
            |text: &str, width: usize| pad_str(text, width, console::Alignment::Left, None).into_owned();
        let cut = |text: &str, width: usize| pad(&truncate_str(text, width, "…"), width);
        let [before_one, before_two] = [pad(signs[0], 4), pad(signs[1], 1)];
        let line = format!("{before_one} {} │{before_two}{}", cut(one, self.first), cut(two, self.second));
        line.trim_end().to_owned()
    }

    fn head(&self, sides: [&Side<'_>; 2]) -> Vec<String> {
        let [one, two] = sides.map(|side| style(&side.title).bold().to_string());
        vec![
            self.line(["", ""], &one, &two),
            format!("{}┼{}", "─".repeat(self.first + 6), "─".repeat(self.second + 1)),
        ]
    }

    /// In the place of so many rows, if any.
    fn hidden(&self, hidden: Hidden) -> Option<String> {
        let what = if hidden.differ {
            format!("{} more {}", number(hidden.count), things(hidden.count, "step"))
        } else {
            format!("{} alike", count_of(hidden.count, "step"))
        };
        (hidden.count > 0).then(|| self.line(["", ""], &format!("     … {what}"), ""))
    }

    fn row(&self, row: &Row, a: &Text<'_>, b: &Text<'_>) -> String {
        let elsewhere = |text: &Text<'_>, at: Option<usize>| {
            at.map_or(String::new(), |at| {
                style(format!("     (as step {})", text.steps[at].index)).dim().to_string()
            })
        };
        let mark = |text: &Text<'_>, position: usize| {
            if text.is_preemption(position) { PREEMPTION } else { "" }
        };
        match *row {
            Row::Both(old, new, differs) => {
                let sign = format!("{}{}", mark(a, old), if differs { "≠" } else { "" });
                let [sign, other] =
                    [sign.as_str(), mark(b, new)].map(|text| style(text).yellow().to_string());
                self.line([&sign, &other], &a.cell(old), &b.cell(new))
            }
            Row::Left(old, other) => {
                let [sign, cell] =
                    [format!("{}<", mark(a, old)), a.cell(old)].map(|text| style(text).red().to_string());
                self.line([&sign, ""], &cell, &elsewhere(b, other))
            }
            Row::Right(new, other) => {
                let [sign, mark, cell] =
                    [">", mark(b, new), &b.cell(new)].map(|text| style(text).green().to_string());
                self.line([&sign, &mark], &elsewhere(a, other), &cell)
            }
        }
    }
}
