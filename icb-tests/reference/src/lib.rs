//! What the tests compute with: random programs, what they come to by brute force, searches whose results are compared with that, and models.
//!
//! [`abstract_program`] is an independent statement of what the tester must find. A package of its own, because it is worth optimising: `icb-tests`, of
//! which it is a part, compiles many times as much, and what that does takes no time.

pub mod abstract_program;
pub mod models;
pub mod random_real;
pub mod searches;
pub mod seeds;
pub mod watched;
pub mod weak;
