//! The table of the technical report on partial-order reduction under a bound (Musuvathi and Qadeer, MSR-TR-2007-12,
//! Table 1): terminal executions of a work-stealing queue, with and without reduction; and ours. The report's program, some
//! 1,000 lines of C++, is not published: ours is the same protocol with fewer steps, so what compares is how the columns
//! grow, and how far apart they are.

use crate::programs::baselines::wsq;
use crate::searches::{reduced, run_count, without_spurious};
use icb_core::explore::{Explorer, Options};
use icb_core::program::Strategy;
use icb_core::search::ContextBounded;
use std::fmt;

/// Sizes of the queue.
pub const SIZES: [usize; 3] = [3, 4, 5];
/// The largest bound of the table.
pub const MAX_BOUND: u32 = 4;

/// Published, by size and bound: terminal executions without reduction (`cb-dfs`), and with it (`cb-por`), which are the
/// distinct ones.
pub const PUBLISHED: [[(u64, u64); MAX_BOUND as usize + 1]; SIZES.len()] = [
    [(2, 2), (46, 46), (756, 713), (8_918, 7_838), (66_374, 48_828)],
    [(2, 2), (54, 54), (898, 853), (12_711, 8_458), (95_935, 52_572)],
    [(2, 2), (67, 67), (1_197, 1_136), (19_460, 14_563), (161_637, 95_068)],
];

/// One size and bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Size of the queue.
    pub size: usize,
    /// Executions have at most so many preemptions.
    pub bound: u32,
    /// Every execution.
    pub plain: u64,
    /// Executions run with partial-order reduction, those given up half-way too.
    pub reduced: u64,
    /// Distinct ones among them: what a perfect reduction runs.
    pub distinct: u64,
    /// The report's two columns, where there are any.
    pub published: Option<(u64, u64)>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { size, bound, plain, reduced, distinct, published } = self;
        let share = 100.0 * *distinct as f64 / *plain as f64;
        write!(f, "| {size} | {bound} | {plain} | {reduced} | {distinct} | {share:.0} % |")?;
        match published {
            Some((plain, reduced)) => {
                write!(f, " {plain} | {reduced} | {:.0} % |", 100.0 * *reduced as f64 / *plain as f64)
            }
            None => write!(f, " | | |"),
        }
    }
}

/// The head of the table, in Markdown.
pub const HEAD: &str = "| size | bound | every execution | reduced | distinct | share | cb-dfs | cb-por | share |\n\
                        |---:|---:|---:|---:|---:|---:|---:|---:|---:|";

/// The rows of one size, up to a bound.
#[must_use]
pub fn rows(size: usize, max_bound: u32) -> Vec<Row> {
    let published = SIZES.iter().position(|&known| known == size).map(|at| PUBLISHED[at]);
    let row = |bound: u32| {
        let (plain, all) = count(size, &mut ContextBounded::new(Some(bound)));
        let (reduced, distinct) = count(size, &mut reduced(Some(bound)));
        assert_eq!(all, distinct, "the reduction loses nothing");
        let published = published.and_then(|published| published.get(bound as usize).copied());
        Row { size, bound, plain, reduced, distinct, published }
    };
    (0..=max_bound).map(row).collect()
}

/// Executions of all bounds searched, and terminal states.
fn count(size: usize, strategy: &mut dyn Strategy) -> (u64, u64) {
    let mut program = without_spurious(move || wsq(size));
    let options = Options { check_determinism: false, ..Options::default() };
    let report = Explorer::new(options).run(strategy, &mut program);
    assert!(report.complete, "{report:?}");
    (run_count(&report), report.bounds.last().map_or(0, |bound| bound.states))
}
