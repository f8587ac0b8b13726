//! A small language of multithreaded programs, its semantics, and brute-force answers to every question that
//! the tester answers cleverly: how many executions, which outcomes, which happens-before states, which races.
//!
//! This is the independent side of every differential test. It shares no code with the tester; it prefers the
//! obvious to the fast. Three modules lead to the tester: `as_model` and `as_program` know seams of `icb-core`, through which the
//! interpreter itself can be explored; `real` knows `icb-std`: there the same programs run on real threads and
//! objects, under the tester.

pub mod as_model;
pub mod as_program;
pub mod brute_force;
pub mod dense;
pub mod dependence;
mod effects;
pub mod execution;
pub mod interpreter;
pub mod language;
pub mod oracle_programs;
pub mod oracles;
pub mod races;
pub mod random;
pub mod real;
pub mod shorthand;
pub mod state;
pub mod state_graph;
pub mod terminals;
