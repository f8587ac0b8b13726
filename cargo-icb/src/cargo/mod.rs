//! Everything that asks cargo or rustc: the workspace, its configuration, the build, the list of tests.

pub(crate) mod accesses;
mod assembly_names;
pub(crate) mod attempt;
pub(crate) mod build;
mod cache;
pub(crate) mod config;
pub(crate) mod facade;
mod manifest;
pub(crate) mod metadata;
mod packages;
mod probe;
mod selection;
pub(crate) mod stand_in;
pub(crate) mod swap;
pub(crate) mod tests;
mod words;
pub(crate) mod wrapper;
pub(crate) mod zero;
