//! What the tests of the workspace share: programs, reference semantics and expected numbers.
//!
//! Nothing here is part of the product. What is compared with, and what that takes, is in the package `icb-reference`; without the feature `reference` there
//! are the programs alone.

#[cfg(feature = "reference")]
pub use icb_reference::{
    abstract_program, models, numbered_tests, random_real, searches, seeds, watched, weak,
};

#[cfg(feature = "reference")]
pub mod instructions;

pub mod programs;

#[cfg(feature = "reference")]
pub mod statics;

#[cfg(feature = "reference")]
pub mod told;

pub mod tool;

pub mod usage;

#[cfg(feature = "reference")]
pub mod work_stealing_table;
