//! The language: threads of atomic operations on a few variables that begin with 0. What an execution comes to is what each thread
//! has read, and what the variables hold at the end.

use std::fmt;
use std::sync::atomic::Ordering;

/// One operation. Variables are numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instruction {
    /// Reads the variable.
    Load(usize, Ordering),
    /// Writes the value.
    Store(usize, u8, Ordering),
    /// Adds the value; reads what was there.
    Add(usize, u8, Ordering),
    /// Writes the second value where the first is; reads what was there. Orderings of success and failure.
    Exchange(usize, u8, u8, Ordering, Ordering),
    /// A fence.
    Fence(Ordering),
}

/// A program.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// Its threads.
    pub threads: Vec<Vec<Instruction>>,
}

/// Variables of every program.
pub const VARIABLES: usize = 3;

/// What an execution comes to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Outcome {
    /// By thread what it has read.
    pub reads: Vec<Vec<u8>>,
    /// What the variables hold at the end.
    pub last: [u8; VARIABLES],
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for thread in &self.threads {
            writeln!(f, "    {thread:?}")?;
        }
        Ok(())
    }
}
