//! `loom::model`: exploring a closure. How it is explored is `icb`'s affair.

use std::path::PathBuf;
use std::time::Duration;

/// What loom allows an execution if nothing else is said.
const DEFAULT_MAX_BRANCHES: usize = 1_000;
/// What icb does.
const DEFAULT_MAX_STEPS: usize = 20_000;

/// Explores `f`; see [`icb_std::model()`].
///
/// # Panics
/// With the rendered report if a failure is found.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}

/// Mirrors `loom::model::Builder`. `ICB_*` variables, which `cargo icb` sets, come before what is set here.
#[derive(Debug)]
#[non_exhaustive]
pub struct Builder {
    /// Not used: there may be any number.
    pub max_threads: usize,
    /// The steps that an execution may have, if it is more than icb's default.
    pub max_branches: usize,
    /// Executions to stop after.
    pub max_permutations: Option<usize>,
    /// Time to stop after.
    pub max_duration: Option<Duration>,
    /// The highest bound.
    pub preemption_bound: Option<usize>,
    /// Not used: `cargo icb test --resume` goes on with what was stopped.
    pub checkpoint_file: Option<PathBuf>,
    /// Not used.
    pub checkpoint_interval: usize,
    /// Not used: everything is explored.
    pub expect_explicit_explore: bool,
    /// Not used: a failure has its locations.
    pub location: bool,
    /// Not used: a failure has its trace.
    pub log: bool,
}

impl Builder {
    /// loom's defaults.
    #[must_use]
    pub fn new() -> Builder {
        Builder {
            max_threads: super::MAX_THREADS,
            max_branches: DEFAULT_MAX_BRANCHES,
            max_permutations: None,
            max_duration: None,
            preemption_bound: None,
            checkpoint_file: None,
            checkpoint_interval: 20_000,
            expect_explicit_explore: false,
            location: false,
            log: false,
        }
    }

    /// Mirrors `loom::model::Builder::checkpoint_file`. Nothing is written there.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Explores `f`.
    ///
    /// # Panics
    /// With the rendered report if a failure is found.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        let mut builder = icb_std::model::Builder::new();
        if let Some(bound) = self.preemption_bound {
            builder = builder.max_bound(u32::try_from(bound).unwrap_or(u32::MAX));
        }
        if let Some(count) = self.max_permutations {
            builder = builder.max_executions(count as u64);
        }
        if let Some(duration) = self.max_duration {
            builder = builder.max_duration(duration);
        }
        if self.max_branches > DEFAULT_MAX_STEPS {
            builder = builder.max_steps(self.max_branches as u64);
        }
        builder.check(f);
    }
}

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}
