//! One line for each thing worth a line; used alone when the output is no terminal.

use crate::event::Finished;
use crate::settings::Bound;
use crate::worker::plan::Task;
use crate::worker::verdict::Verdict;
use console::{StyledObject, style};

/// Width of the word that a line begins with.
const WORD: usize = 12;

/// `ok          bound 1  app::lib::queue  1,234 executions, 56 states, 0.7 s`.
pub(crate) fn finished(name: &str, finished: &Finished) -> String {
    let mut line = format!("{} {} {name}", word(&finished.verdict), bound(finished.task));
    if let Verdict::RunOnce | Verdict::Unmodelled { .. } | Verdict::Ordinary { .. } = finished.verdict {
        line = format!("{} {:<8} {name}", word(&finished.verdict), "");
    }
    if let Some(figures) = &finished.figures {
        // Where they are what takes the time.
        let given_up = match figures.given_up {
            count if count > figures.executions => format!(" ({} given up)", number(count)),
            _ => String::new(),
        };
        line += &format!(
            "  {}{given_up}, {}, {}",
            count_of(figures.executions, "execution"),
            count_of(figures.states, "state"),
            seconds(figures.seconds)
        );
    }
    let detail = match &finished.verdict {
        Verdict::Failed { failure, .. } => Some(failure.to_string()),
        Verdict::BoundByBound { reason }
        | Verdict::Incomplete { reason }
        | Verdict::Unmodelled { reason } => Some(reason.clone()),
        Verdict::FailsAsExpected { message, .. } => Some(format!("fails as expected: {message}")),
        Verdict::Refused(message) | Verdict::Broken(message) => Some(message.clone()),
        Verdict::Holds { exhausted: true, .. } => Some("exhaustive".to_owned()),
        Verdict::Holds { .. } | Verdict::RunOnce | Verdict::Ordinary { .. } => None,
    };
    if let Some(detail) = detail {
        line += &format!("  {}", detail.lines().next().unwrap_or_default());
    }
    line
}

/// Which executions a task is about, in eight characters.
pub(crate) fn bound(task: Task) -> String {
    match task.max_bound {
        Bound::Unlimited => "no bound".to_owned(),
        Bound::Limited(bound) if bound == task.min_bound => format!("bound {bound:<2}"),
        Bound::Limited(bound) => format!("up to {bound:<2}"),
    }
}

fn word(verdict: &Verdict) -> StyledObject<String> {
    let (word, good) = match verdict {
        Verdict::Holds { .. } => ("ok", Some(true)),
        Verdict::RunOnce | Verdict::Unmodelled { .. } => ("run once", Some(true)),
        Verdict::FailsAsExpected { .. } => ("ok", Some(true)),
        Verdict::BoundByBound { .. } => ("narrowing", None),
        Verdict::Incomplete { .. } => ("incomplete", None),
        Verdict::Failed { .. } | Verdict::Ordinary { .. } => ("FAILED", Some(false)),
        Verdict::Refused(_) => ("refused", Some(false)),
        Verdict::Broken(_) => ("error", Some(false)),
    };
    coloured(word, good)
}

/// A word of fixed width: green, red, or yellow for in between.
pub(crate) fn coloured(word: &str, good: Option<bool>) -> StyledObject<String> {
    let word = style(format!("{word:>WORD$}")).bold();
    match good {
        Some(true) => word.green(),
        Some(false) => word.red(),
        None => word.yellow(),
    }
}

/// `1 execution`, `1,234 executions`.
pub(crate) fn count_of(count: u64, thing: &str) -> String {
    format!("{} {}", number(count), things(count, thing))
}

/// `execution`, or `executions`.
pub(crate) fn things(count: u64, thing: &str) -> String {
    format!("{thing}{}", if count == 1 { "" } else { "s" })
}

/// `1,234,567`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `0.01 s`, `12.3 s`, `2 min 5 s`, `3 h 20 min`.
pub(crate) fn seconds(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.2} s"),
        10..100 => format!("{seconds:.1} s"),
        100..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::BoundReport;

    #[test]
    fn numbers_are_readable() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(number(value), text);
        }
        for (value, text) in
            [(0.014, "0.01 s"), (12.34, "12.3 s"), (125.0, "2 min 5 s"), (12_000.0, "3 h 20 min")]
        {
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn a_task_is_one_line() {
        console::set_colors_enabled(false);
        let mut figures = BoundReport::new(1);
        (figures.executions, figures.states, figures.seconds) = (1234, 5, 0.5);
        let task = Task { min_bound: 1, test: 0, max_bound: Bound::Limited(1) };
        let mut over = Finished {
            task,
            figures: Some(figures),
            seconds: 1.0,
            verdict: Verdict::Holds { last: false, exhausted: false, expects_failure: false },
            finding: None,
            unchanged: false,
        };
        assert_eq!(
            finished("a::t::x", &over),
            "          ok bound 1  a::t::x  1,234 executions, 5 states, 0.50 s"
        );
        over.figures.as_mut().unwrap().given_up = 4321;
        assert!(finished("a::t::x", &over).contains("1,234 executions (4,321 given up), 5 states"));
        over.verdict = Verdict::RunOnce;
        over.figures = None;
        assert_eq!(finished("a::t::x", &over), "    run once          a::t::x");
    }
}
