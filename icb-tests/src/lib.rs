//! What the tests of the workspace share: programs, reference semantics and expected numbers.
//!
//! Nothing here is part of the product. [`abstract_program`] is an independent statement of what the
//! tester must find, so that tests can compare the two.

pub mod abstract_program;

pub mod instructions;

pub mod models;

pub mod programs;

pub mod random_real;

pub mod searches;

pub mod seeds;

pub mod statics;

pub mod tool;

pub mod usage;

pub mod watched;

pub mod weak;

pub mod work_stealing_table;
