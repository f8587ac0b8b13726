//! `shuttle::Config` and what its fields hold. Of all this only a limit of steps or of time means something here.

use std::path::PathBuf;
use std::time::Duration;

/// What shuttle allows an execution if nothing else is said.
const DEFAULT_MAX_STEPS: usize = 1_000_000;

/// More is not kept of one execution, whatever a test asks for; `--max-steps` does.
const MOST_STEPS: usize = 100_000;

/// Mirrors `shuttle::Config`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The stack of each thread, if it is more than icb's default.
    pub stack_size: usize,
    /// Not used: `cargo icb` stores failures.
    pub failure_persistence: FailurePersistence,
    /// The steps that an execution may have, if it is more than icb's default and not shuttle's; at most 100,000.
    pub max_steps: MaxSteps,
    /// Time to stop after.
    pub max_time: Option<Duration>,
    /// Not used: there are no warnings.
    pub silence_warnings: bool,
    /// Not used: a failure has its steps.
    pub record_steps_in_span: bool,
    /// Not used.
    pub ungraceful_shutdown_config: UngracefulShutdownConfig,
}

impl Config {
    /// shuttle's defaults.
    #[must_use]
    pub fn new() -> Config {
        Config {
            stack_size: 0xf000,
            failure_persistence: FailurePersistence::Print,
            max_steps: MaxSteps::FailAfter(DEFAULT_MAX_STEPS),
            max_time: None,
            silence_warnings: false,
            record_steps_in_span: false,
            ungraceful_shutdown_config: UngracefulShutdownConfig::new(),
        }
    }

    /// The steps that an execution may have, if the test has said.
    pub(crate) fn steps_asked_for(&self) -> Option<u64> {
        match self.max_steps {
            MaxSteps::None => Some(MOST_STEPS as u64),
            MaxSteps::FailAfter(DEFAULT_MAX_STEPS) => None,
            MaxSteps::FailAfter(count) | MaxSteps::ContinueAfter(count) => Some(count.min(MOST_STEPS) as u64),
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// Mirrors `shuttle::FailurePersistence`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailurePersistence {
    /// Nowhere.
    None,
    /// On the terminal.
    Print,
    /// In a directory.
    File(Option<PathBuf>),
}

/// Mirrors `shuttle::MaxSteps`. Whatever is said, an execution that has too many steps is a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaxSteps {
    /// Any number.
    None,
    /// So many.
    FailAfter(usize),
    /// So many.
    ContinueAfter(usize),
}

/// Mirrors `shuttle::UngracefulShutdownConfig`.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub struct UngracefulShutdownConfig {
    /// Not used.
    pub immediately_return_on_panic: bool,
    /// Not used.
    pub continuation_function_behavior: ContinuationFunctionBehavior,
}

impl UngracefulShutdownConfig {
    /// shuttle's defaults.
    #[must_use]
    pub const fn new() -> UngracefulShutdownConfig {
        UngracefulShutdownConfig {
            immediately_return_on_panic: false,
            continuation_function_behavior: ContinuationFunctionBehavior::Leak,
        }
    }
}

/// Mirrors `shuttle::ContinuationFunctionBehavior`.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub enum ContinuationFunctionBehavior {
    /// Drop what is left.
    Drop,
    /// Leak what is left.
    #[default]
    Leak,
}

impl ContinuationFunctionBehavior {
    /// shuttle's default.
    #[must_use]
    pub const fn new() -> ContinuationFunctionBehavior {
        ContinuationFunctionBehavior::Leak
    }
}
