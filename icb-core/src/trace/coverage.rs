//! Coverage in numbers: Theorem 1's upper bound, an estimate of what the next bound takes, and tables as CSV. Pure functions of
//! what searches report.

use super::{BoundReport, Growth};

/// Theorem 1 of Musuvathi and Qadeer, PLDI 2007: a program with at most `steps` steps over all threads (the paper's nk), of
/// which `blocking` may block (nb, the end of each thread among them), has at most C(nk, c) · (nb + c)! executions with `c`
/// preemptions. The decimal logarithm, since the number itself is soon too large.
#[must_use]
pub fn theorem_1_log10(steps: u64, blocking: u64, c: u32) -> f64 {
    let c = u64::from(c);
    if c > steps {
        return f64::NEG_INFINITY;
    }
    let logarithms =
        |numbers: std::ops::RangeInclusive<u64>| numbers.map(|n| (n as f64).log10()).sum::<f64>();
    logarithms(steps - c + 1..=steps) - logarithms(1..=c) + logarithms(1..=blocking + c)
}

/// How many executions the bound after the last of these will take. `None`: there is nothing to go by.
///
/// A search that keeps work items knows how many items wait; each is taken to lead to as many executions as those of the bound
/// before did. Without items the growth from bound to bound is taken on, slowed down as binomials are: C(k, c+1)/C(k, c) is
/// about k/(c+1).
#[must_use]
pub fn estimate_next(bounds: &[BoundReport]) -> Option<f64> {
    let last = bounds.last()?;
    if last.exhausted {
        return Some(0.0);
    }
    let executions = last.executions as f64;
    let before = bounds.len().checked_sub(2).map(|index| &bounds[index]);
    if last.next_items > 0 {
        let each = match before.filter(|before| before.next_items > 0) {
            Some(before) => executions / before.next_items as f64,
            // After one preemption the free choices that follow are fewer than those of a whole execution.
            None => executions.sqrt(),
        };
        return Some(last.next_items as f64 * each.max(1.0));
    }
    let before = before.filter(|before| before.executions > 0)?;
    let c = f64::from(last.bound);
    Some(executions * (executions / before.executions as f64) * c / (c + 1.0))
}

/// For each bound: what was estimated for it when the one before was over.
#[must_use]
pub fn estimates(bounds: &[BoundReport]) -> Vec<Option<f64>> {
    (0..bounds.len()).map(|index| estimate_next(&bounds[..index])).collect()
}

/// How far an estimate was off: `+50 %` if half as much again was expected as was needed.
#[must_use]
pub fn error_words(estimate: f64, measured: u64) -> String {
    if measured == 0 {
        return if estimate == 0.0 { "0 %".to_owned() } else { "none needed".to_owned() };
    }
    format!("{:+.0} %", (estimate / measured as f64 - 1.0) * 100.0)
}

/// A number whose decimal logarithm this is, for people.
#[must_use]
pub fn power_words(log10: f64) -> String {
    if log10 < 6.0 { format!("{:.0}", 10f64.powf(log10)) } else { format!("10^{log10:.1}") }
}

/// A line of a coverage plot.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Curve {
    /// What it is called.
    pub name: String,
    /// Points, by ascending x.
    pub points: Vec<(f64, f64)>,
}

impl Curve {
    /// Distinct states against executions.
    #[must_use]
    pub fn growth(name: &str, growth: &[Growth]) -> Curve {
        let points = growth.iter().map(|point| (point.executions as f64, point.states as f64)).collect();
        Curve { name: name.to_owned(), points }
    }

    /// The height of the curve at `x`: that of the last point up to there.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.points.iter().take_while(|point| point.0 <= x).last().map_or(0.0, |point| point.1)
    }
}

/// Curves as CSV: one line for each point.
#[must_use]
pub fn to_csv(x: &str, y: &str, curves: &[Curve]) -> String {
    let mut text = format!("curve,{x},{y}\n");
    for curve in curves {
        for (x, y) in &curve.points {
            text += &format!("{},{x},{y}\n", curve.name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(bound: u32, executions: u64, next_items: u64) -> BoundReport {
        BoundReport { bound, executions, next_items, ..BoundReport::default() }
    }

    #[test]
    fn the_theorem_bounds_what_can_be_counted() {
        // Two threads of ten steps each that never block: 2·2! orders, exactly c preemptions.
        for (c, executions) in [(0, 2.0f64), (1, 18.0), (2, 162.0), (3, 648.0), (4, 2592.0)] {
            assert!(theorem_1_log10(20, 2, c) >= executions.log10(), "{c}");
        }
        assert!((theorem_1_log10(10, 1, 2) - (45.0f64 * 6.0).log10()).abs() < 1e-9);
        assert_eq!(theorem_1_log10(3, 1, 4), f64::NEG_INFINITY);
        assert_eq!((power_words(2.0), power_words(12.34)), ("100".to_owned(), "10^12.3".to_owned()));
    }

    #[test]
    fn estimates_use_work_items_or_growth() {
        let with_items = [bound(0, 1, 40), bound(1, 60, 500)];
        assert_eq!(estimates(&with_items), [None, Some(40.0)]);
        assert_eq!(estimate_next(&with_items), Some(750.0));
        let without = [bound(0, 2, 0), bound(1, 20, 0)];
        assert_eq!(estimates(&without), [None, None]);
        assert_eq!(estimate_next(&without), Some(100.0));
        assert_eq!((error_words(150.0, 100), error_words(50.0, 100)), ("+50 %".into(), "-50 %".into()));
    }

    #[test]
    fn curves_become_csv() {
        let growth = [Growth { executions: 1, states: 1 }, Growth { executions: 9, states: 4 }];
        let curve = Curve::growth("icb", &growth);
        assert_eq!((curve.at(0.0), curve.at(8.0), curve.at(100.0)), (0.0, 1.0, 4.0));
        assert_eq!(to_csv("executions", "states", &[curve]), "curve,executions,states\nicb,1,1\nicb,9,4\n");
    }
}
