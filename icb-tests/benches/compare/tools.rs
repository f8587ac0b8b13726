//! The three tools: each runs a program under a bound, so many rounds, and says how many executions that took.

use crate::naive::AtMostPreemptions;
use icb_core::explore::{Explorer, Options};
use icb_core::reduction::PartialOrder;
use icb_core::runtime::CoroutineProgram;
use icb_core::search::ContextBounded;
use icb_tests::searches::{reduced, run_count, without_spurious};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// loom, its depth-first search with partial-order reduction and, unless it is `None`, its `preemption_bound`. Executions of
/// one round.
pub(crate) fn loom(program: fn(), bound: Option<u32>, rounds: u64) -> u64 {
    let count = Arc::new(AtomicU64::new(0));
    for _ in 0..rounds {
        let count = count.clone();
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 100_000;
        builder.preemption_bound = bound.map(|bound| bound as usize);
        builder.check(move || {
            count.store(count.load(Relaxed) + 1, Relaxed);
            program();
        });
    }
    count.load(Relaxed) / rounds
}

fn shuttle_config() -> shuttle::Config {
    let mut config = shuttle::Config::new();
    config.silence_warnings = true;
    config
}

/// shuttle, with the bounded search plugged in. Executions of one round.
pub(crate) fn shuttle(program: fn(), bound: u32, rounds: u64) -> u64 {
    let runner = shuttle::Runner::new(AtMostPreemptions::new(bound, rounds), shuttle_config());
    runner.run(program) as u64 / rounds
}

/// What icb has run.
#[derive(Clone, Debug, Default)]
pub(crate) struct IcbCounts {
    /// Executions with at most so many preemptions, by bound.
    pub(crate) executions: Vec<u64>,
    /// Steps by icb's own count, over all bounds.
    pub(crate) steps: u64,
    /// Distinct terminal states: how many executions are really different.
    pub(crate) states: u64,
}

/// icb, race detection on, terminal states counted: the defaults, but for spurious wake-ups, which the others do not
/// have, and the second run of the first execution, which serves to tell a nondeterministic test. With its reduction, the
/// default, or without.
pub(crate) struct Icb {
    program: CoroutineProgram,
}

impl Icb {
    /// Ready to run; what is pooled is kept between rounds, as it is between executions.
    pub(crate) fn new(program: fn()) -> Self {
        Icb { program: without_spurious(program) }
    }

    /// Counts of one round.
    pub(crate) fn run(&mut self, bound: u32, rounds: u64) -> IcbCounts {
        let mut counts = IcbCounts::default();
        for _ in 0..rounds {
            let mut explorer = Explorer::new(Options { check_determinism: false, ..Options::default() });
            let report = explorer.run(&mut ContextBounded::new(Some(bound)), &mut self.program);
            assert!(report.complete, "{report:?}");
            counts.states = report.bounds.last().map_or(0, |bound| bound.states);
            let mut sum = 0;
            let cumulative = report.bounds.iter().map(|bound| {
                sum += bound.executions;
                sum
            });
            counts.executions = cumulative.collect();
            counts.steps = report.bounds.iter().map(|bound| bound.steps).sum();
        }
        counts
    }

    /// The same with partial-order reduction, all bounds one after the other or, if it is `None`, up to a search without one; executions
    /// and terminal states.
    pub(crate) fn run_reduced(&mut self, bound: Option<u32>, rounds: u64) -> (u64, u64) {
        self.run_with(|| PartialOrder::new(bound), rounds)
    }

    /// The same with the last bound at once, as loom does, or if it is `None` without a bound at once.
    pub(crate) fn run_at_once(&mut self, bound: Option<u32>, rounds: u64) -> (u64, u64) {
        self.run_with(|| reduced(bound), rounds)
    }

    fn run_with(&mut self, search: impl Fn() -> PartialOrder, rounds: u64) -> (u64, u64) {
        let mut counts = (0, 0);
        for _ in 0..rounds {
            let mut explorer = Explorer::new(Options { check_determinism: false, ..Options::default() });
            let report = explorer.run(&mut search(), &mut self.program);
            assert!(report.complete, "{report:?}");
            counts = (run_count(&report), report.bounds.last().map_or(0, |bound| bound.states));
        }
        counts
    }
}
