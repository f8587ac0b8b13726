//! What the tests of the workspace share: programs, reference semantics and expected numbers.
//!
//! Nothing here is part of the product. [`abstract_program`] is an independent statement of what the
//! tester must find, so that tests can compare the two. Without the feature `reference` there are the programs alone.

#[cfg(feature = "reference")]
pub mod abstract_program;

#[cfg(feature = "reference")]
pub mod instructions;

#[cfg(feature = "reference")]
pub mod models;

pub mod programs;

#[cfg(feature = "reference")]
pub mod random_real;

#[cfg(feature = "reference")]
pub mod searches;

#[cfg(feature = "reference")]
pub mod seeds;

#[cfg(feature = "reference")]
pub mod statics;

#[cfg(feature = "reference")]
pub mod told;

pub mod tool;

pub mod usage;

#[cfg(feature = "reference")]
pub mod watched;

#[cfg(feature = "reference")]
pub mod weak;

#[cfg(feature = "reference")]
pub mod work_stealing_table;
