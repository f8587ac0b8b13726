//! Happens-before as in C11 (with C++20's release sequences), by vector clocks, and the data races it leaves.
//!
//! Every effect is an event with its own number in its thread, so an event is ordered before everything that
//! has a clock with at least that number. Atomics order by their memory ordering, mutexes from release to
//! acquire, threads by spawn and join; condition variables order only by their mutex. Fences are not modelled.

use super::language::ObjectCounts;
use super::state::MemoryEffect;
use std::sync::atomic::Ordering;

type Clock = Vec<u32>;

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

/// For each thread, the number of its last read and last write of a cell; 0 if there is none.
#[derive(Clone, Debug)]
struct CellAccesses {
    reads: Clock,
    writes: Clock,
}

/// Two accesses to the same cell, at least one a write, not ordered by happens-before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Race {
    /// The cell.
    pub cell: usize,
    /// The thread of the earlier access.
    pub first: usize,
    /// The thread of the later access.
    pub second: usize,
}

/// Vector clocks of an execution.
#[derive(Clone, Debug)]
pub struct RaceDetector {
    threads: Vec<Clock>,
    /// What a read of the variable's current value acquires.
    variables: Vec<Clock>,
    mutexes: Vec<Clock>,
    cells: Vec<CellAccesses>,
}

impl RaceDetector {
    /// Before the first step.
    #[must_use]
    pub fn new(thread_count: usize, counts: ObjectCounts) -> Self {
        let zero = vec![0; thread_count];
        RaceDetector {
            threads: vec![zero.clone(); thread_count],
            variables: vec![zero.clone(); counts.variables],
            mutexes: vec![zero.clone(); counts.mutexes],
            cells: vec![CellAccesses { reads: zero.clone(), writes: zero }; counts.cells],
        }
    }

    /// Takes an effect of a thread into account; tells if it races with an earlier one.
    pub fn apply(&mut self, thread: usize, effect: MemoryEffect) -> Option<Race> {
        self.threads[thread][thread] += 1;
        let clock = &mut self.threads[thread];
        match effect {
            MemoryEffect::AtomicLoad(variable, ordering) => {
                if acquires(ordering) {
                    join(clock, &self.variables[variable]);
                }
            }
            MemoryEffect::AtomicStore(variable, ordering) => {
                let zero = vec![0; clock.len()];
                self.variables[variable] = if releases(ordering) { clock.clone() } else { zero };
            }
            MemoryEffect::AtomicUpdate(variable, ordering) => {
                // An update goes on with the release sequence of what it reads, whatever its own ordering.
                let before = self.variables[variable].clone();
                if releases(ordering) {
                    join(&mut self.variables[variable], clock);
                }
                if acquires(ordering) {
                    join(clock, &before);
                }
            }
            MemoryEffect::Acquire(mutex) => join(clock, &self.mutexes[mutex]),
            MemoryEffect::Release(mutex) => self.mutexes[mutex].clone_from(clock),
            MemoryEffect::Spawn(child) => self.threads[child] = self.threads[thread].clone(),
            MemoryEffect::Join(child) => {
                let ended = self.threads[child].clone();
                join(&mut self.threads[thread], &ended);
            }
            MemoryEffect::CellRead(cell) => {
                let race = unordered(&self.cells[cell].writes, clock);
                self.cells[cell].reads[thread] = clock[thread];
                return race.map(|first| Race { cell, first, second: thread });
            }
            MemoryEffect::CellWrite(cell) => {
                let accesses = &mut self.cells[cell];
                let race = unordered(&accesses.writes, clock).or_else(|| unordered(&accesses.reads, clock));
                accesses.writes[thread] = clock[thread];
                return race.map(|first| Race { cell, first, second: thread });
            }
        }
        None
    }
}

/// A thread with an event that is not ordered before `clock`.
fn unordered(events: &Clock, clock: &Clock) -> Option<usize> {
    (0..events.len()).find(|&thread| events[thread] > clock[thread])
}

fn acquires(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(ordering: Ordering) -> bool {
    matches!(ordering, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use MemoryEffect::{AtomicLoad, AtomicStore, AtomicUpdate, CellRead, CellWrite, Join, Spawn};
    use Ordering::{Acquire, Relaxed, Release};

    fn first_race(effects: &[(usize, MemoryEffect)]) -> Option<Race> {
        let counts = ObjectCounts { variables: 1, cells: 1, mutexes: 1, condvars: 0, channels: 0 };
        let mut detector = RaceDetector::new(3, counts);
        effects.iter().find_map(|&(thread, effect)| detector.apply(thread, effect))
    }

    fn message_passing(store: MemoryEffect, between: Option<MemoryEffect>, load: MemoryEffect) -> bool {
        let mut effects = vec![(0, CellWrite(0)), (0, store)];
        effects.extend(between.map(|effect| (1, effect)));
        effects.extend([(2, load), (2, CellRead(0))]);
        first_race(&effects).is_some()
    }

    #[test]
    fn release_and_acquire_order_relaxed_does_not() {
        assert!(!message_passing(AtomicStore(0, Release), None, AtomicLoad(0, Acquire)));
        assert!(message_passing(AtomicStore(0, Relaxed), None, AtomicLoad(0, Acquire)));
        assert!(message_passing(AtomicStore(0, Release), None, AtomicLoad(0, Relaxed)));
    }

    #[test]
    fn updates_continue_a_release_sequence_and_stores_end_it() {
        let (store, load) = (AtomicStore(0, Release), AtomicLoad(0, Acquire));
        assert!(!message_passing(store, Some(AtomicUpdate(0, Relaxed)), load));
        assert!(!message_passing(store, Some(AtomicUpdate(0, Release)), load));
        assert!(message_passing(store, Some(AtomicStore(0, Relaxed)), load));
        assert!(message_passing(store, Some(AtomicStore(0, Release)), load));
    }

    #[test]
    fn accesses_after_a_release_are_not_released() {
        let late = [(0, AtomicStore(0, Release)), (0, CellWrite(0)), (1, AtomicLoad(0, Acquire))];
        assert!(first_race(&[&late[..], &[(1, CellWrite(0))]].concat()).is_some());
        assert!(first_race(&[(0, Spawn(1)), (0, CellWrite(0)), (1, CellRead(0))]).is_some());
    }

    #[test]
    fn spawn_and_join_order() {
        let ordered = [(0, CellWrite(0)), (0, Spawn(1)), (1, CellWrite(0)), (0, Join(1)), (0, CellWrite(0))];
        assert_eq!(first_race(&ordered), None);
        let reads = [(0, Spawn(1)), (0, CellRead(0)), (1, CellRead(0))];
        assert_eq!(first_race(&reads), None);
        let raced = [&reads[..], &[(1, CellWrite(0))]].concat();
        assert_eq!(first_race(&raced), Some(Race { cell: 0, first: 0, second: 1 }));
    }
}
