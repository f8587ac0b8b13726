//! The public interface of the explorer: [`model`], [`Builder`], [`choose`] and the values they return.
//!
//! With `cfg(icb)` a closure is explored; without it, it is run once on real threads.

pub use icb_core::model::{Memory, Model, StateReport, StateSearch, Storage};
pub use icb_core::program::Granularity;
pub use icb_core::trace::{
    Access, Action, BoundReport, DeadlockEntry, Failure, FailureKind, Frame, Growth, MemoryEvent,
    MemoryEventKind, Mode, ObjectClass, ObjectId, ObjectInfo, Operation, Ordering as MemoryOrdering,
    ParseScheduleError, RaceAccess, Report, Schedule, ScheduleEntry, SourceLocation, Step, Stopped, Switch,
    ThreadId, ThreadInfo, Trace,
};
pub use icb_core::worker::{OnRace, ReductionKind as Reduction, StrategyKind as Strategy};

/// Whether this build explores.
const EXPLORE: bool = cfg!(icb);

/// Explores a closure; see [`icb_core::worker::Builder`].
pub type Builder = icb_core::worker::Builder<EXPLORE>;

/// Explores `f` with the defaults, overridden by `ICB_*` variables: every execution with 0, then 1, then 2
/// preemptions. Without `cfg(icb)`, runs it once.
///
/// # Panics
/// With the rendered report if a failure is found.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Send + Sync + 'static,
{
    Builder::new().check(f);
}

/// For the test harness: what the first thread of executions is called.
#[cfg(icb)]
#[doc(hidden)]
pub fn name_first_thread(name: &str) {
    crate::thread::name_first(name);
}

/// A number below `n`: in a model every one is tried, at no cost against the bound. Outside a model, and without
/// `cfg(icb)`, it is 0; for `n` = 0 as well.
#[track_caller]
#[must_use]
pub fn choose(n: usize) -> usize {
    icb_core::runtime::choose(n)
}
