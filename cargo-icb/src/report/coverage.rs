//! What `cargo icb coverage` shows: coverage against executions for each strategy, and for searches by bounds the figures of
//! each bound beside Theorem 1's and what was estimated.

use super::plain::count_of;
use icb_core::trace::Report;
use icb_core::trace::coverage::{Curve, error_words, estimate_next, estimates, power_words, theorem_1_log10};

/// A strategy and what it has done.
pub(crate) struct Measured {
    /// As on the command line.
    pub(crate) name: String,
    /// Its report.
    pub(crate) report: Report,
}

/// One line for a strategy that is done.
pub(crate) fn strategy_line(name: &str, report: &Report) -> String {
    let states = report.growth.last().map_or(0, |point| point.states);
    let executions = report.growth.last().map_or(0, |point| point.executions);
    let given_up: u64 = report.bounds.iter().map(|bound| bound.given_up).sum();
    let all = if report.exhausted() { ", and that is all there is" } else { "" };
    let failed = match &report.failure {
        Some(failure) => format!("; first failure after {}: {failure}", failure.execution),
        None => String::new(),
    };
    let given_up = if given_up > 0 { format!(", {given_up} given up") } else { String::new() };
    let first_line = failed.lines().next().unwrap_or_default();
    let (states, executions) = (count_of(states, "state"), count_of(executions, "execution"));
    format!("{name:>12} {states} in {executions}{given_up}{all}{first_line}")
}

/// The tables.
pub(crate) fn tables(measured: &[Measured]) -> Vec<String> {
    let mut lines = growth_table(measured);
    for Measured { name, report } in measured.iter().filter(|m| m.report.bounds.len() > 1) {
        lines.push(String::new());
        lines.push(format!("{name}, by bound"));
        lines.extend(bound_table(report));
    }
    lines
}

/// Distinct terminal states after 1, 2, 5, 10, … executions.
fn growth_table(measured: &[Measured]) -> Vec<String> {
    let curves: Vec<Curve> = measured.iter().map(|m| Curve::growth(&m.name, &m.report.growth)).collect();
    let most = curves.iter().filter_map(|curve| curve.points.last()).map(|point| point.0).fold(0.0, f64::max);
    let mut lines = vec![
        curves.iter().fold(format!("{:>12}", "executions"), |line, c| line + &format!(" {:>10}", c.name)),
    ];
    let mut ticks: Vec<f64> =
        (0..8).flat_map(|power| [1.0, 2.0, 5.0].map(|n| n * 10f64.powi(power))).collect();
    ticks.retain(|&tick| tick < most);
    ticks.push(most);
    for tick in ticks {
        let states = |curve: &Curve| {
            let done = curve.points.last().is_some_and(|last| last.0 < tick);
            format!(" {:>10}", format!("{}{}", curve.at(tick), if done { "*" } else { "" }))
        };
        lines.push(curves.iter().fold(format!("{tick:>12}"), |line, curve| line + &states(curve)));
    }
    lines.push("(distinct terminal states; * the search was over before)".to_owned());
    lines
}

/// Bound by bound.
fn bound_table(report: &Report) -> Vec<String> {
    let mut lines = vec![format!(
        "{:>5} {:>12} {:>10} {:>12} {:>12} {:>12}",
        "bound", "executions", "states", "estimated", "off by", "Theorem 1"
    )];
    let (steps, blocking) = shape(report);
    for (bound, estimate) in report.bounds.iter().zip(estimates(&report.bounds)) {
        let off = match estimate {
            Some(estimate) if bound.complete => error_words(estimate, bound.executions),
            _ => "-".to_owned(),
        };
        let estimate = estimate.map_or_else(|| "-".to_owned(), |estimate| format!("{estimate:.0}"));
        let theorem = power_words(theorem_1_log10(steps, blocking, bound.bound));
        let cut = if bound.complete { "" } else { " (cut short)" };
        lines.push(format!(
            "{:>5} {:>12} {:>10} {estimate:>12} {off:>12} {:>12}{cut}",
            bound.bound,
            bound.executions,
            bound.states,
            format!("<= {theorem}")
        ));
    }
    let complete: Vec<_> = report.bounds.iter().take_while(|bound| bound.complete).cloned().collect();
    if let (Some(next), Some(last)) = (estimate_next(&complete), complete.last())
        && !last.exhausted
    {
        lines.push(format!("bound {} is expected to take about {next:.0} executions", last.bound + 1));
    }
    lines.push(format!("(Theorem 1 with nk = {steps} steps and nb = {blocking} blocking ones, as measured)"));
    lines
}

/// The longest execution, and the most steps that may block.
fn shape(report: &Report) -> (u64, u64) {
    let steps = report.bounds.iter().map(|bound| bound.max_steps).max().unwrap_or(0);
    let blocking = report.bounds.iter().map(|bound| bound.max_blocking).max().unwrap_or(0);
    (steps, blocking)
}

/// The figures of all bounds as CSV.
pub(crate) fn bounds_csv(measured: &[Measured]) -> String {
    let mut text =
        "strategy,bound,executions,given_up,states,estimated,theorem_1_log10,complete,exhausted\n".to_owned();
    for Measured { name, report } in measured {
        let (steps, blocking) = shape(report);
        for (bound, estimate) in report.bounds.iter().zip(estimates(&report.bounds)) {
            let estimate = estimate.map_or_else(String::new, |estimate| format!("{estimate:.1}"));
            text += &format!(
                "{name},{},{},{},{},{estimate},{:.2},{},{}\n",
                bound.bound,
                bound.executions,
                bound.given_up,
                bound.states,
                theorem_1_log10(steps, blocking, bound.bound),
                bound.complete,
                bound.exhausted
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::{BoundReport, Growth};

    fn measured(name: &str) -> Measured {
        let mut report = Report::default();
        for (bound, executions, next) in [(0, 1, 10), (1, 12, 40), (2, 60, 0)] {
            let mut figures = BoundReport::new(bound);
            (figures.executions, figures.states, figures.next_items) = (executions, executions / 2 + 1, next);
            (figures.complete, figures.max_steps, figures.max_blocking) = (true, 20, 3);
            figures.exhausted = bound == 2;
            report.bounds.push(figures);
        }
        report.complete = true;
        report.growth =
            [1, 8, 73].map(|executions| Growth { executions, states: executions / 2 + 1 }).to_vec();
        Measured { name: name.to_owned(), report }
    }

    #[test]
    fn tables_show_growth_bounds_estimates_and_the_theorem() {
        let lines = tables(&[measured("icb"), measured("dfs")]).join("\n");
        let lines = lines.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(lines.starts_with("executions icb dfs 1 1 1 2 1 1 5 1 1 10 5 5 "), "{lines}");
        assert!(lines.contains(" 2 60 31 48 -20 % <= 22800 "), "{lines}");
        assert!(lines.contains("nk = 20 steps and nb = 3") && lines.contains("<= 6"), "{lines}");
        assert!(
            strategy_line("icb", &measured("icb").report)
                .contains("37 states in 73 executions, and that is all")
        );
        let csv = bounds_csv(&[measured("icb")]);
        assert_eq!(csv.lines().count(), 4);
        assert!(csv.contains("icb,1,12,0,7,10.0,"), "{csv}");
    }
}
