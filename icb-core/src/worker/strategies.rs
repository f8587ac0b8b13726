//! From settings to a search: which strategy the words stand for, which bounds it leaves out at first, and when one that never ends is stopped.

use super::builder::ReductionKind;
use super::settings::Settings;
use crate::explore::Limits;
use crate::program::Strategy;
use crate::reduction::{BOUNDS_BEFORE_UNBOUNDED, PartialOrder, SplitSearch, Visited};
use crate::search::{
    ContextBounded, DelayBounded, DepthBounded, DepthFirst, Priority, RandomWalk, StackDiscipline,
};
use crate::trace::{Report, StrategyKind};

/// Executions after which a search without an end of its own is stopped, if no limit is set.
const MAX_ENDLESS_EXECUTIONS: u64 = 10_000;

/// The search that the settings ask for. It begins at bound 0, or with a reduction at the first bound that is asked for.
pub(super) fn strategy(settings: &Settings) -> Box<dyn Strategy> {
    match settings.strategy {
        StrategyKind::ContextBounded if settings.reduction == ReductionKind::PartialOrder => {
            Box::new(SplitSearch::new(partial_order(settings)))
        }
        StrategyKind::ContextBounded if settings.reduction == ReductionKind::Visited => {
            Box::new(Visited::new(settings.max_bound).from_bound(settings.min_bound))
        }
        StrategyKind::ContextBounded => Box::new(ContextBounded::new(settings.max_bound)),
        StrategyKind::DepthFirst => Box::new(DepthFirst::new()),
        StrategyKind::DepthBounded { depth } => Box::new(DepthBounded::new(u64::from(depth))),
        StrategyKind::IterativeDepth => Box::new(DepthBounded::iterative()),
        StrategyKind::Random { seed } => Box::new(RandomWalk::new(seed)),
        StrategyKind::Priority { depth, seed } => Box::new(Priority::new(depth, seed)),
        StrategyKind::DelayBounded => Box::new(DelayBounded::new(settings.max_bound)),
        StrategyKind::StackDiscipline if settings.sequential => {
            Box::new(StackDiscipline::new(settings.max_pending).nested())
        }
        StrategyKind::StackDiscipline => Box::new(StackDiscipline::new(settings.max_pending)),
    }
}

/// The default search. It begins at the first bound that is asked for; where that is the last and there is none, without a bound.
pub(super) fn partial_order(settings: &Settings) -> PartialOrder {
    let search = PartialOrder::new(settings.max_bound);
    if settings.at_once && settings.max_bound.is_none() {
        return search.unbounded_at_once();
    }
    search.from_bound(settings.min_bound)
}

/// Sets a search up that begins with a bound other than the first, or without one, if that is what is asked for: the least bound that it
/// may leave out.
pub(super) fn leave_bounds_out(settings: &mut Settings) -> Option<u32> {
    match settings.max_bound {
        _ if settings.strategy != StrategyKind::ContextBounded => None,
        Some(bound) if settings.at_once => {
            settings.min_bound = bound;
            Some(0)
        }
        None if settings.at_once => Some(0),
        None if settings.reduction == ReductionKind::PartialOrder => Some(BOUNDS_BEFORE_UNBOUNDED),
        _ => None,
    }
}

/// Sets the search of those bounds up where it may find a failure with fewer preemptions than the first one has. Whether it may.
pub(super) fn search_those_left_out(settings: &mut Settings, least: u32, first: &Report) -> bool {
    let found = first.failure.as_ref().map_or(0, |failure| failure.bound);
    let may = found > least && !settings.keep_going;
    if may {
        (settings.min_bound, settings.max_bound, settings.at_once) = (least, Some(found), false);
    }
    may
}

/// The report of that search, with what the first one has searched before.
pub(super) fn with_bounds_before(mut report: Report, mut first: Report, least: u32) -> Report {
    if let Some(failure) = &mut report.failure {
        failure.execution += first.bounds.iter().map(|bound| bound.executions).sum::<u64>();
    }
    first.bounds.retain(|bound| bound.bound < least);
    report.bounds.splice(..0, first.bounds);
    report
}

/// The limits that the settings ask for.
pub(super) fn limits(settings: &Settings) -> Limits {
    let unlimited = settings.max_executions.is_none() && settings.max_duration.is_none();
    let endless = settings.strategy.is_endless() && unlimited;
    let max_executions = if endless { Some(MAX_ENDLESS_EXECUTIONS) } else { settings.max_executions };
    Limits { max_executions, max_duration: settings.max_duration }
}
