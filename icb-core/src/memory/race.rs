//! The race check on data: FastTrack (Flanagan and Freund, PLDI 2009, §3) with an epoch for the last write and an
//! epoch, or a clock once reads are concurrent, for the reads since.

use crate::clock::{Epoch, VectorClock};

/// What is known of the accesses to one datum.
#[derive(Debug)]
pub struct DataClock {
    write: Epoch,
    read: Epoch,
    /// Used when `many`: the latest read of each thread.
    reads: VectorClock,
    many: bool,
}

impl Default for DataClock {
    fn default() -> Self {
        DataClock { write: Epoch::NONE, read: Epoch::NONE, reads: VectorClock::new(), many: false }
    }
}

/// The earlier access of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Earlier {
    /// Who.
    pub thread: usize,
    /// Whether it wrote.
    pub write: bool,
}

impl DataClock {
    /// A datum that nobody has touched.
    pub fn clear(&mut self) {
        self.write = Epoch::NONE;
        self.read = Epoch::NONE;
        self.many = false;
    }

    /// A read by a thread with this clock: the racing write, if there is one.
    #[inline]
    pub fn read(&mut self, thread: usize, clock: &VectorClock) -> Option<Earlier> {
        let race = self.unordered_write(clock);
        let epoch = clock.epoch(thread);
        if self.many {
            self.reads.set(thread, epoch.time);
        } else if self.read.thread == epoch.thread || self.read.happens_before(clock) {
            self.read = epoch;
        } else {
            self.many = true;
            self.reads.clear();
            self.reads.set(self.read.thread as usize, self.read.time);
            self.reads.set(thread, epoch.time);
        }
        race
    }

    /// An access that does not happen before a thread with this clock, if there is one.
    #[must_use]
    #[inline]
    pub fn unordered(&self, clock: &VectorClock) -> Option<Earlier> {
        self.unordered_write(clock).or_else(|| self.unordered_read(clock))
    }

    /// A write by a thread with this clock: the racing access, if there is one.
    #[inline]
    pub fn write(&mut self, thread: usize, clock: &VectorClock) -> Option<Earlier> {
        let race = self.unordered(clock);
        self.write = clock.epoch(thread);
        self.read = Epoch::NONE;
        self.many = false;
        race
    }

    /// Whether one of the accesses that are remembered was at this point.
    #[must_use]
    pub fn is_from(&self, epoch: Epoch) -> bool {
        let read = if self.many { self.reads.epoch(epoch.thread as usize) } else { self.read };
        self.write == epoch || read == epoch
    }

    #[inline]
    fn unordered_write(&self, clock: &VectorClock) -> Option<Earlier> {
        let ordered = self.write.happens_before(clock);
        (!ordered).then_some(Earlier { thread: self.write.thread as usize, write: true })
    }

    #[inline]
    fn unordered_read(&self, clock: &VectorClock) -> Option<Earlier> {
        let thread = if self.many {
            self.reads.first_beyond(clock)?
        } else if self.read.happens_before(clock) {
            return None;
        } else {
            self.read.thread as usize
        };
        Some(Earlier { thread, write: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[u32]) -> VectorClock {
        let mut clock = VectorClock::new();
        for (thread, &time) in entries.iter().enumerate() {
            clock.set(thread, time);
        }
        clock
    }

    #[test]
    fn unordered_accesses_race_unless_both_read() {
        let (a, b) = (clock(&[1, 0]), clock(&[0, 1]));
        let mut data = DataClock::default();
        assert_eq!(data.read(0, &a), None);
        assert_eq!(data.read(1, &b), None);
        assert_eq!(data.write(1, &b), Some(Earlier { thread: 0, write: false }));

        let mut data = DataClock::default();
        assert_eq!(data.write(0, &a), None);
        assert_eq!(data.read(1, &b), Some(Earlier { thread: 0, write: true }));
    }

    #[test]
    fn ordered_accesses_do_not() {
        let mut data = DataClock::default();
        assert_eq!(data.write(0, &clock(&[1, 0, 0])), None);
        assert_eq!(data.read(1, &clock(&[1, 1, 0])), None);
        assert_eq!(data.read(2, &clock(&[1, 0, 1])), None);
        assert_eq!(data.write(0, &clock(&[2, 1, 0])), Some(Earlier { thread: 2, write: false }));
        assert_eq!(data.write(0, &clock(&[2, 1, 1])), None);
        assert_eq!(data.write(0, &clock(&[3, 1, 1])), None);
    }

    #[test]
    fn what_is_remembered_is_known() {
        let (a, b) = (clock(&[1, 0]), clock(&[0, 1]));
        let mut data = DataClock::default();
        assert!(!data.is_from(a.epoch(0)));
        data.read(0, &a);
        assert!(data.is_from(a.epoch(0)) && !data.is_from(b.epoch(1)));
        data.read(1, &b);
        assert!(data.is_from(a.epoch(0)) && data.is_from(b.epoch(1)));
        data.write(0, &clock(&[2, 1]));
        assert!(!data.is_from(a.epoch(0)) && data.is_from(Epoch { thread: 0, time: 2 }));
    }
}
