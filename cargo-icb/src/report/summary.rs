//! The end of a run: figures for each test and bound, and what has been proved.

use super::plain::{bound, coloured, count_of, number, seconds, things};
use crate::event::{Conclusion, Record, Tally};
use crate::worker::verdict::Verdict;
use console::style;

/// Names of tests that need no line of their own, listed at most.
const MAX_LISTED: usize = 20;

/// The table of all tests.
pub(crate) fn table(names: &[String], tally: &Tally) -> Vec<String> {
    let mut lines = vec![style("Summary").bold().to_string()];
    let (mut once, mut alone) = (Vec::new(), Vec::new());
    for (name, record) in names.iter().zip(&tally.records) {
        match record.conclusion() {
            Conclusion::RunOnce => once.push(name.as_str()),
            // Nothing is to be said of each test that has one thread and one execution.
            Conclusion::Proved(_) if record.is_one_execution() => alone.push(name.as_str()),
            conclusion => lines.extend(test(name, record, &conclusion)),
        }
    }
    for (word, names) in [("one thread", alone), ("run once", once)] {
        if !names.is_empty() {
            let listed = names[..names.len().min(MAX_LISTED)].join(", ");
            let rest = names.len().saturating_sub(MAX_LISTED);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            lines.push(format!("{} {listed}{more}", coloured(word, Some(true))));
        }
    }
    lines.extend(stale_values(names, tally));
    lines
}

/// Says that weaker orderings were taken for stronger ones, where that can make a difference; and which failures that are expected it has made.
fn stale_values(names: &[String], tally: &Tally) -> Vec<String> {
    let concerned = |is: fn(&Record) -> bool| {
        let mut concerned = names.iter().zip(&tally.records).filter(|(_, record)| is(record));
        let (name, _) = concerned.next()?;
        Some(match concerned.count() {
            0 => name.clone(),
            count => format!("{name} and {}", count_of(count as u64, "other test")),
        })
    };
    let left_out = concerned(Record::leaves_stale_values_out).map(|tests| {
        format!(
            "orderings weaker than SeqCst were treated as SeqCst in {tests}; --weak-memory tries stale values"
        )
    });
    let expected = concerned(Record::fails_by_a_stale_value).map(|tests| {
        format!("a stale value (weak memory) made the failure that is expected of {tests}; without stale values there may be none")
    });
    left_out.into_iter().chain(expected).map(|text| format!("{} {text}", coloured("note", None))).collect()
}

fn test(name: &str, record: &Record, conclusion: &Conclusion) -> Vec<String> {
    let (word, good, text) = match conclusion {
        Conclusion::Proved(text) => ("proved", Some(true), text.clone()),
        Conclusion::RunOnce => ("run once", Some(true), String::new()),
        Conclusion::Unmodelled(text) => ("run once", Some(true), text.clone()),
        Conclusion::FailsAsExpected(text) => ("ok", Some(true), format!("fails as expected: {text}")),
        Conclusion::Failed(text) => ("FAILED", Some(false), text.clone()),
        Conclusion::Incomplete(text) => ("incomplete", None, text.clone()),
        Conclusion::Refused(text) => ("refused", Some(false), text.clone()),
        Conclusion::Broken(text) => ("error", Some(false), text.clone()),
    };
    let mut lines = vec![format!("{} {}: {text}", coloured(word, good), style(name).bold())];
    for round in &record.rounds {
        let verdict = match &round.verdict {
            Verdict::Holds { exhausted: true, .. } => "exhaustive",
            Verdict::Holds { .. } => "ok",
            Verdict::BoundByBound { .. } => "at once",
            Verdict::Incomplete { .. } => "incomplete",
            Verdict::FailsAsExpected { .. } | Verdict::Failed { .. } => "failed",
            _ => continue,
        };
        let Some(figures) = &round.figures else {
            lines.push(format!("{:>12} {} {verdict}", "", bound(round.task)));
            continue;
        };
        lines.push(format!(
            "{:>12} {} {:>13} {:<10} {:>11} {:<6} {:>12}  {verdict}",
            "",
            bound(round.task),
            number(figures.executions),
            things(figures.executions, "execution"),
            number(figures.states),
            things(figures.states, "state"),
            seconds(figures.seconds),
        ));
    }
    lines
}

/// `4 passed, 1 failed, 1 incomplete in 3.2 s`.
pub(crate) fn last_line(tally: &Tally, time: f64) -> String {
    let mut counts = [0usize; 4];
    for record in &tally.records {
        counts[match record.conclusion() {
            Conclusion::Proved(_) | Conclusion::RunOnce => 0,
            Conclusion::Unmodelled(_) | Conclusion::FailsAsExpected(_) => 0,
            Conclusion::Failed(_) => 1,
            Conclusion::Incomplete(_) => 2,
            Conclusion::Refused(_) | Conclusion::Broken(_) => 3,
        }] += 1;
    }
    let executions: u64 = tally.records.iter().map(Record::execution_count).sum();
    let mut line = format!("{} passed, {} failed", counts[0], counts[1]);
    for (count, word) in [(counts[2], "incomplete"), (counts[3], "not run")] {
        if count > 0 {
            line += &format!(", {count} {word}");
        }
    }
    line += &format!("; {} in {}", count_of(executions, "execution"), seconds(time));
    let bad = counts[1] + counts[3] > 0;
    let line = style(line).bold();
    if bad {
        line.red()
    } else if counts[2] > 0 {
        line.yellow()
    } else {
        line.green()
    }
    .to_string()
}
