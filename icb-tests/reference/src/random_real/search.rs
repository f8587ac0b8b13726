//! What a search of a random program finds: the outcomes and terminal states at each bound.

use super::language::Program;
use super::walk::{Record, Shared, run};
use crate::watched::{self, Slot};
use icb_core::program::{
    BranchPoint, Chooser, End, Granularity, Outcome as Ended, SchedulingPoint, Strategy,
};
use icb_core::runtime::Settings;
use icb_core::search::ContextBounded;
use icb_core::trace::{Failure, FailureKind, ThreadId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an execution came to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outcome {
    /// All threads ended.
    Passed(Record),
    /// Some never can; what they want to do.
    Deadlock(Vec<String>, Record),
    /// It was cut short by a failure of this kind.
    Failed(String),
}

/// How executions are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Where threads are switched.
    pub granularity: Granularity,
    /// Whether there are spurious wake-ups.
    pub spurious: bool,
    /// Whether time passes only when nobody can go on.
    pub auto_advance: bool,
    /// Whether loads of atomic variables may read stale values.
    pub weak_memory: bool,
    /// Whether accesses to cells become scheduling points where they race.
    pub promote: bool,
    /// Whether it is as under Rust's own harness: threads that wait for ever are no failure once the main thread has ended, and so are panics
    /// that nobody takes; an execution that is given up runs to its end.
    pub detached: bool,
    /// Whether threads that provably do the same again and again wait until something changes.
    pub idle_turns: bool,
    /// Whether an object that is freed while others may come to it is a failure.
    pub check_frees: bool,
    /// Whether blocks lie where others have lain.
    pub reuse_addresses: bool,
}

impl Manner {
    /// The settings of executions that are run so.
    #[must_use]
    pub fn settings(self) -> Settings {
        Settings {
            granularity: self.granularity,
            spurious: self.spurious,
            auto_advance: self.auto_advance,
            weak_memory: self.weak_memory,
            promote: self.promote,
            detached: self.detached,
            idle_turns: self.idle_turns,
            check_frees: self.check_frees.then_some(true),
            reuse_addresses: self.reuse_addresses,
            allow_unjoined_panics: self.detached,
            run_out: self.detached,
            unwind_failed: true,
            max_steps: MAX_STEPS,
            ..Settings::default()
        }
    }
}

/// The body of the program, and where each execution leaves what its threads share.
pub fn body(program: &Program) -> (impl Fn() + Send + Sync + 'static, Slot<Arc<Shared>>) {
    let kept: Slot<Arc<Shared>> = Slot::default();
    let (program, keep) = (Arc::new(program.clone()), kept.clone());
    let body = move || {
        run(&program, |shared| {
            keep.put(shared);
        });
    };
    (body, kept)
}

/// What was found up to a bound.
pub type Level = watched::Level<Outcome>;

impl Level {
    /// Whether an execution was cut short.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed(_)))
    }

    /// Whether an execution failed.
    #[must_use]
    pub fn fails(&self) -> bool {
        self.outcomes.iter().any(|outcome| !matches!(outcome, Outcome::Passed(_)))
    }

    /// The kinds of the failures that cut executions short.
    #[must_use]
    pub fn cuts(&self) -> BTreeSet<&Outcome> {
        self.outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_))).collect()
    }
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    /// By bound, cumulative; only bounds that were searched completely.
    pub levels: Vec<Level>,
    /// Whether the limit on executions cut the search short.
    pub stopped: bool,
    /// Whether these are all executions, whatever the bound.
    pub complete: bool,
}

/// Longest execution.
const MAX_STEPS: u64 = 600;

/// Runs a search of the program.
pub fn search(program: &Program, manner: Manner, strategy: &mut dyn Strategy, max_executions: u64) -> Found {
    let (body, kept) = body(program);
    let found = watched::search(body, manner.settings(), strategy, Some(max_executions), |_, result| {
        let record = kept.take().map(|shared| shared.take_record()).unwrap_or_default();
        match &result.end {
            End::Passed => Some(Outcome::Passed(record)),
            End::Failed(failure) if failure.kind == FailureKind::Deadlock => {
                Some(Outcome::Deadlock(deadlock(failure), record))
            }
            End::Failed(failure) => Some(Outcome::Failed(failure.kind.to_string())),
            End::GivenUp => None,
        }
    });
    let stopped = found.report.stopped.is_some();
    Found { levels: found.up_to_each_bound(), stopped, complete: !stopped && strategy.is_exhausted() }
}

/// A plain search of one bound after the other, to the end or up to a bound, and to the last one that can be expected to take no more than so
/// many executions: a bound takes about so many times as many as the one before as that took of the one before it.
#[derive(Debug)]
pub struct WhileSmall {
    search: ContextBounded,
    max_executions: u64,
    /// Up to each bound that is over.
    executions: Vec<u64>,
    /// Up to now.
    count: u64,
}

impl WhileSmall {
    /// The search.
    #[must_use]
    pub fn new(max_bound: Option<u32>, max_executions: u64) -> Self {
        let search = ContextBounded::new(max_bound);
        WhileSmall { search, max_executions, executions: Vec::new(), count: 0 }
    }

    fn next_is_small(&self) -> bool {
        let before = self.executions.iter().rev().nth(1).map_or(1, |&count| count.max(1));
        self.count * self.count / before <= self.max_executions
    }
}

impl Strategy for WhileSmall {
    fn begin(&mut self) -> bool {
        self.search.begin()
    }

    fn end(&mut self, outcome: &Ended) {
        self.count += 1;
        self.search.end(outcome);
    }

    fn bound(&self) -> u32 {
        self.search.bound()
    }

    fn advance(&mut self) -> bool {
        self.executions.push(self.count);
        (self.executions.len() == 1 || self.next_is_small()) && self.search.advance()
    }

    fn max_bound(&self) -> Option<u32> {
        self.search.max_bound()
    }

    fn is_exhausted(&self) -> bool {
        self.search.is_exhausted()
    }

    fn progress(&self) -> (u64, Option<f64>) {
        self.search.progress()
    }

    fn restart(&mut self) {
        self.executions.clear();
        self.count = 0;
        self.search.restart();
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self.search.chooser()
    }
}

impl Chooser for WhileSmall {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.search.choose_thread(point)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        self.search.choose_branch(point)
    }

    fn divergence(&self) -> Option<String> {
        self.search.divergence()
    }
}

fn deadlock(failure: &Failure) -> Vec<String> {
    let mut blocked: Vec<String> =
        failure.waiting.iter().map(|entry| format!("{:?}", entry.operation.action)).collect();
    blocked.sort_unstable();
    blocked
}
