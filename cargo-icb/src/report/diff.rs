//! Two executions side by side, aligned by what each thread does to which object: not by numbers, which shift with the first difference,
//! nor by names, which depend on what else an execution does.

mod columns;
mod objects;

use super::failure::roots;
use console::style;
use icb_core::trace::table::{self, Words, action_name, object_names, words_calling};
use icb_core::trace::{Failure, ObjectId, SourceLocation, Step, Switch, ThreadId};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Changed values that are listed, at most.
const MAX_CHANGES: usize = 8;

/// One of the executions.
pub(crate) struct Side<'a> {
    /// How it is headed.
    pub(crate) title: String,
    /// What it is called in a sentence: `the failing one`.
    pub(crate) called: &'static str,
    /// Its trace, and how it ends if it fails.
    pub(crate) failure: &'a Failure,
    /// Whether it fails.
    pub(crate) fails: bool,
}

/// What is compared, and how it is shown.
pub(crate) struct Comparison<'a> {
    /// On the left.
    pub(crate) left: Side<'a>,
    /// On the right.
    pub(crate) right: Side<'a>,
    /// Whether both are executions of one program: then the same step has the same place in its source.
    pub(crate) same_program: bool,
    /// Where the sources are.
    pub(crate) root: &'a Path,
    /// Whether the steps that are alike are shown as well.
    pub(crate) full: bool,
}

/// A key, and the how manieth step it is that has it.
type Counted = (String, usize);

/// What is needed of an execution to compare it.
struct Text<'a> {
    failure: &'a Failure,
    /// Its steps, without what it repeats.
    steps: &'a [Step],
    words: Words,
    /// How many steps at the end it repeats, and how often they come again.
    again: Option<(usize, usize)>,
    /// What tells steps from others: the same step in the other execution has the same.
    keys: Vec<String>,
    counted: Vec<Counted>,
    places: HashMap<Counted, usize>,
}

impl<'a> Text<'a> {
    /// `keys`: for each step of the trace.
    fn new(failure: &'a Failure, words: Words, mut keys: Vec<String>, full: bool) -> Text<'a> {
        let again = table::repeated(failure).filter(|_| !full);
        let all = failure.trace.steps.as_slice();
        let steps = again.as_ref().map_or(all, |(round, _)| &all[..round.end]);
        keys.truncate(steps.len());
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut counted: Vec<Counted> = Vec::new();
        for key in &keys {
            let count = seen.entry(key).or_default();
            *count += 1;
            counted.push((key.clone(), *count));
        }
        let places = counted.iter().cloned().enumerate().map(|(position, key)| (key, position)).collect();
        let again = again.map(|(round, times)| (round.len(), times));
        Text { failure, steps, words, again, keys, counted, places }
    }

    fn cell(&self, position: usize) -> String {
        let step = &self.steps[position];
        format!("{:>4} {} {}", step.index, step.thread, self.words.steps[position])
    }

    /// Of the widest cell, in characters.
    fn width(&self) -> usize {
        (0..self.steps.len()).map(|at| self.cell(at).chars().count()).max().unwrap_or(0)
    }

    fn is_preemption(&self, position: usize) -> bool {
        self.steps[position].switch == Switch::Preemption
    }

    /// `` `load flag = true` (step 3, app.rs:12)``.
    fn named(&self, position: usize) -> String {
        let step = &self.steps[position];
        let place = table::place(step, &self.failure.trace).and_then(short);
        let place = place.map_or(String::new(), |place| format!(", {place}"));
        format!("`{}` (step {}{place})", self.words.steps[position], step.index)
    }

    /// Between what and what a thread is preempted whose last step is the one before this position.
    fn preempted(&self, thread: ThreadId, position: usize) -> String {
        let before = self.named(position - 1);
        let later = (position..self.steps.len()).find(|&later| self.steps[later].thread == thread);
        if let Some(later) = later {
            return format!("between {before} and {}", self.named(later));
        }
        let mut waiting = self.failure.waiting.iter().zip(&self.words.waiting);
        match waiting.find(|(entry, _)| entry.thread == thread) {
            Some((entry, words)) => {
                let place = entry.location.as_ref().and_then(short);
                let place = place.map_or(String::new(), |place| format!(" ({place})"));
                format!("between {before} and `{words}`{place}, which it then waits to do")
            }
            None => format!("after {before}, its last step"),
        }
    }
}

/// `app.rs:12`.
fn short(place: &SourceLocation) -> Option<String> {
    Some(format!("{}:{}", Path::new(&place.file).file_name()?.to_string_lossy(), place.line))
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
pub(crate) fn lines(comparison: &Comparison<'_>) -> Vec<String> {
    let [a, b] = texts(comparison);
    let rows = rows(&a, &b);
    let mut lines = parting(comparison, &a, &b, &rows);
    lines.push(String::new());
    lines.extend(columns::table(comparison, &a, &b, &rows));
    let changes = changes(&a, &b);
    if !changes.is_empty() {
        lines.push(String::new());
        lines.push(style("What that changes:").bold().to_string());
        lines.extend(changes);
    }
    lines
}

/// Both executions, with the same keys for the same steps and the same name for the same object.
fn texts<'a>(comparison: &Comparison<'a>) -> [Text<'a>; 2] {
    let (left, right) = (&comparison.left, &comparison.right);
    let (first, second) = (left.failure, right.failure);
    let roots = roots(comparison.root);
    let of_second = objects::pairs(first, second, &roots);
    let key_of_second = |object: ObjectId| match of_second.get(&object) {
        Some(first) => first.to_string(),
        None if !object.is_some() => object.to_string(),
        None => format!("{object} of the second"),
    };
    let keys = [
        keys(first, |object| object.to_string(), comparison.same_program),
        keys(second, key_of_second, comparison.same_program),
    ];
    let mut names = [first, second].map(|failure| object_names(failure, &roots));
    // The names that a report of the failure has.
    if right.fails && !left.fails {
        let of_first = of_second.iter().map(|(second, first)| (*first, *second)).collect();
        names[0] = one_name_each(&names[1], &names[0], &of_first);
    } else {
        names[1] = one_name_each(&names[0], &names[1], &of_second);
    }
    let [keys_of_first, keys_of_second] = keys;
    [
        Text::new(first, words_calling(first, &roots, &names[0]), keys_of_first, comparison.full),
        Text::new(second, words_calling(second, &roots, &names[1]), keys_of_second, comparison.full),
    ]
}

/// Who does what to which object and, if that says something, where.
fn keys(failure: &Failure, object: impl Fn(ObjectId) -> String, with_places: bool) -> Vec<String> {
    let key = |step: &Step| {
        let place = step.location.as_ref().filter(|_| with_places);
        let place = place.map_or(String::new(), ToString::to_string);
        let action = action_name(step.operation.action);
        format!("{} {action} {} {place}", objects::path(failure, step.thread), object(step.operation.object))
    };
    failure.trace.steps.iter().map(key).collect()
}

/// What objects are called: as in the other execution, or, if that has no such object, as no object is called there.
fn one_name_each(
    others: &HashMap<ObjectId, String>,
    own: &HashMap<ObjectId, String>,
    pairs: &HashMap<ObjectId, ObjectId>,
) -> HashMap<ObjectId, String> {
    let known: HashSet<&String> = others.values().collect();
    let name = |object: &ObjectId, own: &String| match pairs.get(object).and_then(|other| others.get(other)) {
        Some(name) => name.clone(),
        None if known.contains(own) => format!("{own} (another)"),
        None => own.clone(),
    };
    own.iter().map(|(object, own)| (*object, name(object, own))).collect()
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
fn parting(comparison: &Comparison<'_>, a: &Text<'_>, b: &Text<'_>, rows: &[Row]) -> Vec<String> {
    let alike = rows.iter().take_while(|row| matches!(row, Row::Both(_, _, false))).count();
    if alike == rows.len() {
        return vec!["The two executions are alike.".to_owned()];
    }
    let mut lines = vec![match alike.checked_sub(1) {
        Some(last) => format!("They are alike up to {}.", a.named(last)),
        None => "They differ from their first step on.".to_owned(),
    }];
    let sides = [(&comparison.left, a), (&comparison.right, b)];
    let nexts = sides
        .iter()
        .filter_map(|(side, text)| Some(format!("There {}: {}", side.called, next(text, alike)?)));
    lines.extend(nexts);
    lines
}

/// How an execution goes on with the step at this position, if it does.
fn next(text: &Text<'_>, position: usize) -> Option<String> {
    let step = text.steps.get(position)?;
    let before = position.checked_sub(1).map(|before| text.steps[before].thread);
    Some(match (step.switch, before) {
        (Switch::Preemption, Some(before)) => {
            format!("{before} is preempted {}; {} goes on.", text.preempted(before, position), step.thread)
        }
        _ => format!("{} goes on with {}.", step.thread, text.named(position)),
    })
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
                    one.thread, a.words.steps[old], one.index, b.words.steps[new], two.index
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

#[cfg(test)]
mod tests;
