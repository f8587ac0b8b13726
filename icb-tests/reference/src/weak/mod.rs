//! Small programs of atomic operations: run by the engine with stale values, and judged by an independent checker of C++20's axioms.

pub mod axioms;
pub mod language;
pub mod random;
pub mod real;
