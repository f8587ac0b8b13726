//! One test process: settings in, messages out. The only place that reads the environment, and the public entry
//! points behind `icb_std::model`.

mod builder;
mod channel;
mod explained;
mod journal;
mod modelled;
mod parts;
mod process;
mod replayed;
mod settings;
mod strategies;
#[cfg(unix)]
mod team;
#[cfg(unix)]
mod tokens;
mod watchdog;

pub use crate::trace::StrategyKind;
pub use builder::{Builder, OnRace, ReductionKind, model};
