//! What it takes to tell of two executions in the same words.

use super::frames::Sources;
use super::selection::repetition;
use super::words::{Detail, Names, action_words};
use crate::trace::{Action, Failure, ObjectId, Operation};
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

/// An execution in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// What each step does, by position in the trace.
    pub steps: Vec<String>,
    /// What each thread that cannot go on wants to do, by position in what the failure tells of them.
    pub waiting: Vec<String>,
}

/// An action as std names it, without memory orderings.
#[must_use]
pub fn action_name(action: Action) -> &'static str {
    action_words(action)
}

/// What the objects of a failure are called in [`step_words`](super::step_words). Threads are left out: they have their numbers.
#[must_use]
pub fn object_names(failure: &Failure, roots: &[PathBuf]) -> HashMap<ObjectId, String> {
    let sources = Sources::new(roots);
    let names = Names::new(failure, &sources);
    let steps = failure.trace.steps.iter().map(|step| step.operation);
    let operations = steps.chain(failure.waiting.iter().map(|entry| entry.operation));
    let objects = operations.flat_map(|operation| [operation.object, operation.other]);
    let named = objects.filter(|object| object.is_some() && !names.is_thread(*object));
    named.map(|object| (object, names.object(object, Detail::Full))).collect()
}

/// A failure in words, in which objects are called as it is said here instead of by their own names.
#[must_use]
pub fn words_calling(failure: &Failure, roots: &[PathBuf], called: &HashMap<ObjectId, String>) -> Words {
    let sources = Sources::new(roots);
    let names = Names::new(failure, &sources);
    let steps = failure.trace.steps.iter();
    let waiting = failure.waiting.iter().map(|entry| entry.operation);
    Words {
        steps: steps
            .map(|step| renamed(&names.step(step, Detail::Full), step.operation, &names, called))
            .collect(),
        waiting: waiting
            .map(|operation| renamed(&names.operation(operation, Detail::Full), operation, &names, called))
            .collect(),
    }
}

/// The words of an operation, with other names of its objects: `lock NAME …`, `… with NAME`.
fn renamed(
    words: &str,
    operation: Operation,
    names: &Names<'_>,
    called: &HashMap<ObjectId, String>,
) -> String {
    let bare = names.operation(operation, Detail::Full);
    let Some(rest) = words.strip_prefix(&bare) else { return words.to_owned() };
    let name = |object: ObjectId| Some((names.object(object, Detail::Full), called.get(&object)?));
    let head = name(operation.object)
        .and_then(|(own, new)| Some(format!("{}{new}", bare.strip_suffix(&own)?)))
        .unwrap_or(bare);
    match name(operation.other) {
        Some((own, new)) => head + &rest.replacen(&format!(" with {own}"), &format!(" with {new}"), 1),
        None => head + rest,
    }
}

/// The positions of the steps that an execution repeats until it is stopped, and how often they come again.
#[must_use]
pub fn repeated(failure: &Failure) -> Option<(Range<usize>, usize)> {
    let again = repetition(failure)?;
    Some((again.start..again.start + again.length, again.times))
}
