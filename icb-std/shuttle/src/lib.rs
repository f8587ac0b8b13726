//! What the crate `shuttle` offers (0.7 to 0.9), under the explorer of icb. `cargo icb test --shuttle` compiles this file in
//! the place of shuttle's, so that tests that were written for shuttle run as they are; a manifest can also name it:
//!
//! ```text
//! [target.'cfg(shuttle)'.dependencies]
//! shuttle = { package = "icb-shuttle", git = "…" }
//! ```
//!
//! | shuttle | here |
//! |---|---|
//! | [`check_random`], [`check_pct`], [`check_dfs`], [`Runner`], … | [`icb_std::model()`]: bound by bound, the failure with the fewest preemptions; how many iterations were asked for, and of which scheduler, does not matter |
//! | [`replay`], [`replay_from_file`] | the same: schedules of shuttle are not read; `cargo icb replay` replays |
//! | `sync`, [`thread`], [`hint`], `thread_local!`, [`lazy_static!`] | the mirrored `std`; `Arc` and `Weak` are `std`'s own, as in shuttle |
//! | [`future`] | a task is a thread that polls when it is woken; one whose handle is dropped may wait for ever |
//! | [`rand`] | each thread draws the same numbers in every execution, of one of sixteen streams: see there |
//! | [`current`] | task ids and labels; no clocks, no tags |
//! | [`Config`], [`scheduler`] | there to be named; of them a limit of steps or of time and a seed have a meaning |
//!
//! Where shuttle lets no time pass, time passes as in any model of icb: a timeout may expire, at a cost of 1 if somebody could
//! go on. A condition variable may wake for no reason, and `compare_exchange_weak` fail, as `std` says (`ICB_SPURIOUS=0`
//! turns that off).
//!
//! Every execution is run, in the order of preemptions. A reduction (`--reduction partial-order`) runs far fewer, and is right
//! for tests in which threads share nothing but these types: a reduction sees nothing of `std`'s own atomics, locks and
//! `Arc`, which tests for shuttle keep their results in.
//!
//! It must not know how anything is modelled: everything is made of what `icb_std` offers to everybody.

pub mod annotations;
mod check;
mod config;
pub mod current;
#[doc(hidden)]
pub mod engine;
pub mod future;
pub mod hint;
pub mod lazy_static;
pub mod rand;
pub mod scheduler;
pub mod sync;
pub mod thread;
mod world;

pub use check::{
    PortfolioRunner, Runner, annotate_replay, check, check_dfs, check_pct, check_random,
    check_random_with_seed, check_uncontrolled_nondeterminism, check_urw, replay, replay_from_file,
};
pub use config::{
    Config, ContinuationFunctionBehavior, FailurePersistence, MaxSteps, UngracefulShutdownConfig,
};
pub use icb_std::thread_local;

/// Mirrors `shuttle::ANNOTATION_FILE`. Not used.
pub const ANNOTATION_FILE: &str = "SHUTTLE_ANNOTATION_FILE";
/// Mirrors `shuttle::CAPTURE_BACKTRACE`. Not used: a failure has its backtraces.
pub const CAPTURE_BACKTRACE: &str = "SHUTTLE_CAPTURE_BACKTRACE";
/// Mirrors `shuttle::SILENCE_WARNINGS`. Not used: there are none.
pub const SILENCE_WARNINGS: &str = "SHUTTLE_SILENCE_WARNINGS";
