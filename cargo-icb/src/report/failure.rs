//! Shows a failure: the lines of `icb_core::trace::table` in colour, and the command that replays it.

use crate::event::{Finding, Record};
use crate::worker::verdict::Verdict;
use console::{Style, Term, style};
use icb_core::trace::table::{self, Line, Options};
use icb_core::trace::{Explanation, Failure, FailureKind, Schedule, ScheduleEntry};
use std::path::{Path, PathBuf};

/// Width where the output is no terminal.
const PIPED_WIDTH: usize = 100;
/// Switches shown of a schedule that has no trace, at most.
const MAX_SWITCHES: usize = 40;

/// The report of a failure, with its heading and the command that replays it.
pub(crate) fn report(name: &str, finding: &Finding, root: &Path, full: bool) -> Vec<String> {
    let mut lines = vec![heading(name), String::new()];
    lines.extend(explanation(&finding.failure, root, full));
    lines.push(String::new());
    lines.extend(finding.notes.iter().map(|note| style(note).dim().to_string()));
    if let Some(command) = &finding.command {
        lines.push(format!("Replay it with:  {}", style(command).bold()));
    }
    lines
}

/// The report of a test that failed outside any model: what it printed.
pub(crate) fn ordinary(name: &str, output: &str) -> Vec<String> {
    let mut lines = vec![heading(name), String::new()];
    lines.extend(without_harness(output).into_iter().map(str::to_owned));
    lines
}

/// The report of a test that failed, without colours: for files.
pub(crate) fn plain_report(name: &str, record: &Record, root: &Path) -> String {
    let Some(last) = record.rounds.last() else { return String::new() };
    match (&last.verdict, &last.finding) {
        (_, Some(finding)) => {
            let options = Options { width: PIPED_WIDTH, full: false, source: true };
            let mut text =
                table::render_with_roots(&finding.failure, &options, &roots(root)).to_plain_string();
            for line in finding.notes.iter().chain(&finding.command) {
                text += line;
                text.push('\n');
            }
            text
        }
        (Verdict::Ordinary { output }, None) => {
            without_harness(output).iter().map(|line| format!("{line}\n")).collect()
        }
        _ => format!("{name}\n"),
    }
}

/// What a test printed, without the lines that libtest puts around it, and what has been added to that.
fn without_harness(output: &str) -> Vec<&str> {
    let mut lines: Vec<&str> =
        output.lines().skip_while(|line| line.is_empty() || line.starts_with("running ")).collect();
    if let Some(end) = lines.iter().rposition(|line| line.starts_with("test result: ")) {
        let list = lines[..end].iter().rposition(|line| *line == "failures:").unwrap_or(end);
        let added: Vec<&str> = lines[end + 1..].iter().copied().filter(|line| !line.is_empty()).collect();
        lines.truncate(list);
        // A test that has printed has the word FAILED on a line of its own, and an empty list of outputs.
        while lines.last().is_some_and(|line| line.is_empty() || matches!(*line, "FAILED" | "failures:")) {
            lines.pop();
        }
        lines.extend(added);
    }
    lines
}

/// The failure itself.
pub(crate) fn explanation(failure: &Failure, root: &Path, full: bool) -> Vec<String> {
    let options = Options { width: width(), full, source: true };
    let rendered = table::render_with_roots(failure, &options, &roots(root));
    let mut lines: Vec<String> = rendered.lines.iter().map(coloured).collect();
    if failure.trace.steps.is_empty() && !failure.schedule.entries().is_empty() {
        lines.push(String::new());
        lines.extend(switches(&failure.schedule).into_iter().map(|line| style(line).dim().to_string()));
    }
    lines.extend(hints(failure).into_iter().map(|line| style(line).dim().to_string()));
    lines
}

/// What to do where a limit may have decided: why it is not said which orders the failure takes, and whether a loop that looks endless may be a
/// long one.
fn hints(failure: &Failure) -> Vec<String> {
    let mut lines = Vec::new();
    let count = failure.trace.steps.len();
    let has_one_thread = failure.schedule.has_one_thread();
    if count > Explanation::MAX_STEPS && failure.trace.explanation.is_none() && !has_one_thread {
        lines.push(format!(
            "Which orders it takes was not looked for: the execution has {count} steps, those after the failure included, and \
             {} at most are explained.",
            Explanation::MAX_STEPS
        ));
    }
    if failure.kind == FailureKind::Livelock && has_one_thread {
        lines.push(
            "The test has one thread so far, which only reads: if its loop comes to an end by itself, the limit on steps is too small \
             for it (--max-steps)."
                .to_owned(),
        );
    }
    lines
}

fn heading(name: &str) -> String {
    let line = format!("──── {name} ");
    let rest = "─".repeat(width().saturating_sub(console::measure_text_width(&line)));
    format!("{}{rest}", style(line).bold())
}

/// Where relative source paths may start: the workspace, then the current directory and those above it.
pub(crate) fn roots(root: &Path) -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    std::iter::once(root).chain(here.ancestors()).map(Path::to_path_buf).collect()
}

/// Columns of text that may be used.
pub(crate) fn width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = Term::stdout();
    let actual =
        terminal.size_checked().filter(|_| terminal.is_term()).map(|(_, columns)| usize::from(columns));
    actual.or(asked).unwrap_or(PIPED_WIDTH).max(40)
}

fn coloured(line: &Line) -> String {
    let plain = line.to_string();
    if !console::colors_enabled() {
        return plain;
    }
    line.spans.iter().map(|span| style_of(span.style).apply_to(&span.text).to_string()).collect()
}

fn style_of(role: table::Style) -> Style {
    match role {
        table::Style::Bold => Style::new().bold(),
        table::Style::Dim => Style::new().dim(),
        table::Style::Error => Style::new().red().bold(),
        table::Style::Preemption => Style::new().magenta().bold(),
        table::Style::Source => Style::new().italic(),
        table::Style::Thread(thread) => match thread % 5 {
            0 => Style::new().cyan(),
            1 => Style::new().green(),
            2 => Style::new().yellow(),
            3 => Style::new().blue(),
            _ => Style::new().magenta(),
        },
        table::Style::Plain => Style::new(),
    }
}

/// A schedule in words, for failures that leave no trace (the process died).
fn switches(schedule: &Schedule) -> Vec<String> {
    let mut runs: Vec<(String, usize)> = Vec::new();
    let mut last = None;
    for entry in schedule.entries() {
        let ScheduleEntry::Run { thread, preemption, early } = *entry else { continue };
        if last == Some(thread) && !preemption && !early {
            if let Some((_, count)) = runs.last_mut() {
                *count += 1;
            }
            continue;
        }
        let how = match (preemption, early) {
            (true, _) => " (a preemption)",
            (_, true) => " (early)",
            _ => "",
        };
        runs.push((format!("{thread}{how}"), 1));
        last = Some(thread);
    }
    let hidden = runs.len().saturating_sub(MAX_SWITCHES);
    let mut lines = vec!["There is no trace of this execution. Its threads ran in this order:".to_owned()];
    if hidden > 0 {
        lines.push(format!("    … {hidden} switches"));
    }
    lines.extend(
        runs[hidden..]
            .iter()
            .map(|(who, count)| format!("    {who}: {count} step{}", if *count == 1 { "" } else { "s" })),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_is_taken_off_what_a_test_printed() {
        let output = "\nrunning 1 test\nsaid x\n\npanicked\nFAILED\n\nfailures:\n\nfailures:\n    x\n\n\
                      test result: FAILED. 0 passed; 1 failed\n\n";
        assert_eq!(without_harness(output), ["said x", "", "panicked"]);
        assert_eq!(without_harness(&format!("{output}(why)\n")), ["said x", "", "panicked", "(why)"]);
        assert_eq!(without_harness("died"), ["died"]);
    }

    #[test]
    fn a_schedule_without_a_trace_is_told_in_words() {
        let lines = switches(&"icb1:0*3!1*2,0".parse().unwrap());
        assert_eq!(lines[1..], ["    T0: 3 steps", "    T1 (a preemption): 2 steps", "    T0: 1 step"]);
    }

    #[test]
    fn where_a_limit_may_have_decided_that_is_said() {
        let mut failure = Failure::new(FailureKind::Livelock, String::new());
        failure.schedule = "icb1:0*3".parse().unwrap();
        assert!(hints(&failure)[0].contains("--max-steps"));
        failure.schedule = "icb1:0*3,1".parse().unwrap();
        assert_eq!(hints(&failure), [""; 0]);
        failure.schedule = "icb1:0*3".parse().unwrap();
        failure.kind = FailureKind::Panic;
        assert_eq!(hints(&failure), [""; 0]);
    }
}
