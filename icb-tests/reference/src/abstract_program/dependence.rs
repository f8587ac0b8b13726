//! The dependence order of an execution, in a form that can be compared: two executions have equal histories
//! exactly if they are linearizations of one partial order (same object, not both reads).
//!
//! MSR-TR-2007-12, section 3.3, with exact tuples instead of their hashes: for each access of a thread's n-th
//! step, the object, whether it is a write, and the version of the object that it reads or creates.

use super::state::{Object, Step};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Entry {
    /// The next entries belong to a further step.
    Step,
    Access {
        object: Object,
        write: bool,
        version: u32,
    },
}

/// A happens-before state: the steps of each thread with the versions that they saw.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct HappensBeforeState(Vec<Vec<Entry>>);

/// Records the dependence order of an execution.
#[derive(Clone, Debug)]
pub struct History {
    state: HappensBeforeState,
    versions: BTreeMap<Object, u32>,
}

impl History {
    /// Of an execution that has not begun.
    #[must_use]
    pub fn new(thread_count: usize) -> Self {
        History { state: HappensBeforeState(vec![Vec::new(); thread_count]), versions: BTreeMap::new() }
    }

    /// Adds a step of a thread.
    pub fn record(&mut self, thread: usize, step: &Step) {
        let entries = &mut self.state.0[thread];
        entries.push(Entry::Step);
        for access in &step.accesses {
            let version = self.versions.entry(access.object).or_insert(0);
            *version += u32::from(access.write);
            entries.push(Entry::Access { object: access.object, write: access.write, version: *version });
        }
    }

    /// The happens-before state reached.
    #[must_use]
    pub fn state(&self) -> &HappensBeforeState {
        &self.state
    }
}
