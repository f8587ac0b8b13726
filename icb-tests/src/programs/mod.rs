//! The published programs, written against `icb_std` as a user would write them.

pub mod bluetooth;
