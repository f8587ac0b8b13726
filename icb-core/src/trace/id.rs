//! Names of threads and objects inside one execution.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A thread of the program under test, numbered in the order in which threads are spawned in one execution.
///
/// The number is a function of the schedule; the *name* that does not depend on it is the path
/// (parent, index of spawn), see [`ThreadInfo::path`](super::ThreadInfo::path). Thread 0 runs the test closure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(u32);

impl ThreadId {
    /// The thread that runs the test closure.
    pub const MAIN: ThreadId = ThreadId(0);

    /// The thread with the given number.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        ThreadId(index as u32)
    }

    /// The thread's number, usable as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// A shared object of the program under test, numbered in the order in which one execution first uses objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(u32);

impl ObjectId {
    /// Stands for "no object" in operations that touch none (a fence, a yield).
    pub const NONE: ObjectId = ObjectId(u32::MAX);

    /// The object with the given number.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        ObjectId(index as u32)
    }

    /// The object's number, usable as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this names an object at all.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.0 != u32::MAX
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_some() { write!(f, "#{}", self.0) } else { f.write_str("-") }
    }
}
