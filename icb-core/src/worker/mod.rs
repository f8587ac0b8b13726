//! One test process: settings in, messages out. The only place that reads the environment, and the public entry
//! points behind `icb_std::model`.

mod beside;
#[cfg(unix)]
mod board;
mod builder;
mod channel;
mod deaths;
mod environment;
mod explained;
#[cfg_attr(not(unix), path = "no_fork.rs")]
mod fork;
#[cfg(unix)]
mod forking;
mod isolated;
mod journal;
#[cfg(unix)]
mod line;
mod modelled;
mod parts;
mod printed;
mod process;
mod records;
mod replayed;
mod settings;
#[cfg(unix)]
mod size;
mod strategies;
#[cfg(unix)]
mod team;
#[cfg(unix)]
mod tokens;
mod watchdog;

pub use crate::trace::StrategyKind;
pub use builder::{Builder, OnRace, ReductionKind, model};
