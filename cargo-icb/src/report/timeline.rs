//! A failing execution as one page: lanes for threads, blocks for steps, arrows for happens-before. The page holds all
//! that it needs; what it looks like is in `timeline.html`, here is what it shows.

use super::failure::roots;
use icb_core::trace::table::{self, costs, selection, step_words};
use icb_core::trace::{Action, Failure, Frame, Ordering, SourceLocation, Step, Switch, Trace};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("timeline.html");
/// Steps beyond which arrows are left out: nobody follows them there, and finding them takes time.
const MAX_ARROWED: usize = 3000;
/// Frames of a backtrace.
const MAX_FRAMES: usize = 10;

/// The page.
pub(crate) fn page(test: &str, failure: &Failure, root: &Path) -> String {
    let data = data(test, failure, root).to_string();
    // The text stands in a script: nothing in it may end that.
    let data = data.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    PAGE.replace("/*DATA*/null", &data).replace("<!--TITLE-->", &html(test))
}

fn data(test: &str, failure: &Failure, root: &Path) -> Value {
    let trace = &failure.trace;
    let roots = roots(root);
    let words = step_words(failure, &roots);
    let selected = selection(failure);
    let mut sources = Sources { roots, files: HashMap::new() };
    let mut preemptions = 0;
    let steps: Vec<Value> = trace
        .steps
        .iter()
        .enumerate()
        .map(|(position, step)| {
            let preempts = step.switch == Switch::Preemption;
            preemptions += u32::from(preempts);
            let at = table::place(step, trace);
            let why = selected.as_ref().and_then(|selected| selected.get(&position)).map(|why| why.words());
            json!({
                "index": step.index,
                "thread": step.thread.index(),
                "words": words[position],
                "place": at.map(place),
                "source": at.map(|at| sources.around(at)),
                "frames": frames(trace.backtrace(step)),
                "preemption": preempts.then_some(preemptions),
                "preempted": step.preempted_thread.filter(|_| preempts).map(|thread| thread.index()),
                "stopped": step.preempted.as_deref().map(|all| frames(all.iter())),
                "why": why,
                "data": !step.is_own(),
                "printed": trace.printed_after(position),
            })
        })
        .collect();
    let threads: Vec<Value> = trace
        .threads
        .iter()
        .map(|thread| json!({ "name": format!("{} {}", thread.id, thread.path), "given": thread.name }))
        .collect();
    let waiting: Vec<Value> = failure
        .waiting
        .iter()
        .map(|entry| json!({ "thread": entry.thread.index(), "words": entry.words, "frames": frames(entry.backtrace.iter()) }))
        .collect();
    json!({
        "test": test,
        "kind": failure.kind.words(),
        "message": failure.message,
        "costs": costs(&failure.schedule, trace),
        "execution": failure.execution,
        "printed": trace.printed_before(),
        "failed": failure.thread.map(|thread| thread.index()),
        "frames": frames(trace.failure_backtrace.iter()),
        "schedule": failure.schedule.to_string(),
        "threads": threads,
        "steps": steps,
        "waiting": waiting,
        "arrows": arrows(trace),
        "selected": selected.is_some(),
    })
}

fn frames<'a>(frames: impl Iterator<Item = &'a Frame>) -> Vec<Value> {
    frames
        .filter(|frame| icb_core::trace::table::is_of_program(frame))
        .take(MAX_FRAMES)
        .map(|frame| json!([frame.function, frame.location.as_ref().map(place)]))
        .collect()
}

fn place(location: &SourceLocation) -> String {
    let file =
        location.file.split_once("/registry/src/").map_or(location.file.as_str(), |(_, package)| package);
    format!("{file}:{}", location.line)
}

/// From each step to the next one of another thread that touches the same object, and whether it carries what came
/// before; those that the failure takes are marked.
fn arrows(trace: &Trace) -> Vec<Value> {
    if trace.steps.len() > MAX_ARROWED {
        return Vec::new();
    }
    let needed: Vec<(usize, usize)> = trace
        .explanation
        .iter()
        .flat_map(|explanation| &explanation.orders)
        .map(|order| (order.before, order.after))
        .collect();
    let mut arrows = Vec::new();
    for (after, step) in trace.steps.iter().enumerate() {
        let mut between: Vec<&Step> = Vec::new();
        for before in (0..after).rev() {
            let earlier = &trace.steps[before];
            if !earlier.conflicts_with(step) {
                continue;
            }
            let direct = !between.iter().any(|middle| middle.conflicts_with(earlier));
            if direct && earlier.thread != step.thread {
                let kind = if needed.contains(&(before, after)) {
                    "needed"
                } else if synchronizes(earlier, step) {
                    "sync"
                } else {
                    "order"
                };
                arrows.push(json!([before, after, kind]));
            }
            between.push(earlier);
            if between.len() > 16 {
                break;
            }
        }
    }
    arrows
}

/// Whether the later step sees all that came before the earlier one: not where an atomic access is too weak for it.
fn synchronizes(earlier: &Step, later: &Step) -> bool {
    let weak = |order: Ordering, strong: fn(Ordering) -> bool| !strong(order);
    let released = match earlier.operation.action {
        Action::Store(order) | Action::ReadModifyWrite(order) => !weak(order, Ordering::releases),
        Action::CompareExchange { success, .. } => {
            earlier.written.is_some() && !weak(success, Ordering::releases)
        }
        Action::Load(_) => false,
        _ => true,
    };
    let acquired = match later.operation.action {
        Action::Load(order) | Action::ReadModifyWrite(order) => !weak(order, Ordering::acquires),
        Action::CompareExchange { success, failure, .. } => {
            let order = if later.written.is_some() { success } else { failure };
            !weak(order, Ordering::acquires)
        }
        Action::Store(_) => false,
        _ => true,
    };
    released && acquired
}

struct Sources {
    roots: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// The lines around a place, with their numbers.
    fn around(&mut self, location: &SourceLocation) -> Vec<Value> {
        let roots = &self.roots;
        let lines = self.files.entry(location.file.clone()).or_insert_with(|| {
            let text =
                roots.iter().find_map(|root| std::fs::read_to_string(root.join(&location.file)).ok())?;
            Some(text.lines().map(str::to_owned).collect())
        });
        let middle = location.line as usize;
        let shown = (middle.saturating_sub(2).max(1)..=middle + 2).filter_map(|number| {
            let text = lines.as_ref()?.get(number - 1)?;
            Some(json!([number, text, number == middle]))
        });
        shown.collect()
    }
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::FailureKind;

    #[test]
    fn nothing_in_the_data_ends_the_script() {
        let failure = Failure::new(FailureKind::Panic, "</script><b>\u{2028}");
        let page = page("a::<T>", &failure, Path::new("/"));
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(page.contains("a::&lt;T&gt;") && !page.contains('\u{2028}'));
        assert!(!page.contains("http://") || page.contains("http://www.w3.org/2000/svg"));
        assert!(!page.contains("https://"), "the page must not need a network");
    }
}
