//! The states that have been seen, and the paper's table of work items: which threads have been run from each.

use super::fingerprint::{Itself, fingerprint};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

/// No further state has this fingerprint.
const LAST: u32 = u32::MAX;

/// Numbers the states in the order in which they are seen.
#[derive(Debug)]
pub(super) struct Table<S> {
    /// First state with each fingerprint.
    first: HashMap<u64, u32, BuildHasherDefault<Itself>>,
    /// The states themselves; stays empty where fingerprints stand for them.
    states: Vec<S>,
    /// The next state with the same fingerprint; as long as `states`.
    next: Vec<u32>,
    /// Threads that have been run from each state, or are about to be.
    run: Vec<u64>,
    /// Threads that wait to be run from each state, at this bound or the next.
    waiting: Vec<u64>,
    keeps_states: bool,
    /// Bytes of the kept states on the heap.
    heap_bytes: usize,
}

impl<S: Eq + Hash> Table<S> {
    pub(super) fn new(keeps_states: bool) -> Self {
        Table {
            first: HashMap::default(),
            states: Vec::new(),
            next: Vec::new(),
            run: Vec::new(),
            waiting: Vec::new(),
            keeps_states,
            heap_bytes: 0,
        }
    }

    /// The number of a state, and whether it is new. `heap_bytes` is what it keeps on the heap.
    pub(super) fn number(&mut self, state: S, heap_bytes: impl FnOnce(&S) -> usize) -> (u32, bool) {
        let key = fingerprint(&state);
        let mut found = self.first.get(&key).copied();
        if !self.keeps_states {
            let number = found.unwrap_or_else(|| self.add(key));
            return (number, found.is_none());
        }
        let mut before = LAST;
        while let Some(number) = found.filter(|&number| number != LAST) {
            if self.states[number as usize] == state {
                return (number, false);
            }
            before = number;
            found = Some(self.next[number as usize]);
        }
        self.heap_bytes += heap_bytes(&state);
        self.states.push(state);
        self.next.push(LAST);
        if before == LAST {
            return (self.add(key), true);
        }
        let number = self.grow();
        self.next[before as usize] = number;
        (number, true)
    }

    fn add(&mut self, key: u64) -> u32 {
        let number = self.grow();
        self.first.insert(key, number);
        number
    }

    fn grow(&mut self) -> u32 {
        assert!(self.run.len() < LAST as usize, "a search keeps at most {LAST} states");
        self.run.push(0);
        self.waiting.push(0);
        (self.run.len() - 1) as u32
    }

    /// Enters the work item (state, thread). `false`: it has been there.
    pub(super) fn enter(&mut self, state: u32, thread: usize) -> bool {
        let run = &mut self.run[state as usize];
        let new = *run & (1 << thread) == 0;
        *run |= 1 << thread;
        new
    }

    /// Notes that the work item (state, thread) waits for a later bound. `false`: it waits already, or has been entered.
    pub(super) fn wait(&mut self, state: u32, thread: usize) -> bool {
        let waiting = &mut self.waiting[state as usize];
        let new = (*waiting | self.run[state as usize]) & (1 << thread) == 0;
        *waiting |= 1 << thread;
        new
    }

    /// A state that is kept.
    pub(super) fn state(&self, number: u32) -> &S {
        &self.states[number as usize]
    }

    /// Number of states.
    pub(super) fn len(&self) -> usize {
        self.run.len()
    }

    /// Bytes of the states, and of everything else here. A hash map takes a control byte for each slot.
    pub(super) fn bytes(&self) -> (usize, usize) {
        let states = self.states.capacity() * size_of::<S>() + self.heap_bytes;
        let slots = (self.first.capacity() * 8 / 7).next_power_of_two();
        let index = if self.first.is_empty() { 0 } else { slots * (size_of::<(u64, u32)>() + 1) };
        (states, index + self.next.capacity() * 4 + (self.run.capacity() + self.waiting.capacity()) * 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::Hasher;

    /// All states have the same fingerprint.
    #[derive(Clone, PartialEq, Eq, Debug)]
    struct Colliding(u32);

    impl Hash for Colliding {
        fn hash<H: Hasher>(&self, hasher: &mut H) {
            hasher.write_u32(7);
        }
    }

    #[test]
    fn states_with_one_fingerprint_are_told_apart_if_they_are_kept() {
        let mut table = Table::new(true);
        for round in 0..3 {
            for state in 0..5 {
                assert_eq!(table.number(Colliding(state), |_| 0), (state, round == 0));
            }
        }
        assert_eq!(table.state(3), &Colliding(3));
        let mut table = Table::new(false);
        assert_eq!(table.number(Colliding(0), |_| 0), (0, true));
        assert_eq!(table.number(Colliding(1), |_| 0), (0, false), "the state is missed");
        assert!(table.wait(0, 5) && !table.wait(0, 5) && table.enter(0, 5) && !table.enter(0, 5));
        assert!(!table.wait(0, 5) && table.wait(0, 4));
    }
}
