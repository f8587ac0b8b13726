//! What a step, or a stretch of steps, touches: sets of objects by mode. It knows nothing of events.

use crate::dependence;
use crate::trace::{Access, Mode, ObjectId};

/// Objects numbered below this are bits of three words; the others, if there are any, stand in a list.
const BITS: usize = 64;

/// Objects, each touched in one mode; what is touched in several ways is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprint {
    reads: u64,
    updates: u64,
    writes: u64,
    high: Vec<Access>,
}

impl Footprint {
    pub(super) fn clear(&mut self) {
        self.reads = 0;
        self.updates = 0;
        self.writes = 0;
        self.high.clear();
    }

    #[inline]
    pub(super) fn add(&mut self, access: Access) {
        let index = access.object.index();
        if index >= BITS {
            return self.add_high(access);
        }
        let bit = 1 << index;
        if self.writes & bit != 0 {
            return;
        }
        let (same, other) = match access.mode {
            Mode::Read => (&mut self.reads, &mut self.updates),
            Mode::Update => (&mut self.updates, &mut self.reads),
            Mode::Write => {
                self.writes |= bit;
                self.reads &= !bit;
                self.updates &= !bit;
                return;
            }
        };
        if *other & bit == 0 {
            *same |= bit;
        } else {
            // What is touched in several ways is written.
            *other &= !bit;
            self.writes |= bit;
        }
    }

    #[cold]
    fn add_high(&mut self, access: Access) {
        match self.high.iter_mut().find(|known| known.object == access.object) {
            Some(known) if access.mode != known.mode => known.mode = Mode::Write,
            Some(_) => {}
            None => self.high.push(access),
        }
    }

    /// Touches just this.
    #[inline]
    pub(super) fn set(&mut self, access: Access) {
        self.high.clear();
        let index = access.object.index();
        if index >= BITS {
            (self.reads, self.updates, self.writes) = (0, 0, 0);
            return self.add_high(access);
        }
        let is = |mode: Mode| u64::from(access.mode == mode) << index;
        self.reads = is(Mode::Read);
        self.updates = is(Mode::Update);
        self.writes = is(Mode::Write);
    }

    #[inline]
    pub(super) fn copy_from(&mut self, other: &Footprint) {
        self.reads = other.reads;
        self.updates = other.updates;
        self.writes = other.writes;
        if !(self.high.is_empty() && other.high.is_empty()) {
            self.high.clone_from(&other.high);
        }
    }

    /// Touches what the other does too.
    #[inline]
    pub(super) fn add_all(&mut self, other: &Footprint) {
        let (reads, updates) = (self.reads | other.reads, self.updates | other.updates);
        self.writes |= other.writes | (reads & updates);
        self.reads = reads & !self.writes;
        self.updates = updates & !self.writes;
        if !other.high.is_empty() {
            other.high.iter().for_each(|&access| self.add_high(access));
        }
    }

    /// Becomes the other without one object.
    #[cold]
    pub(super) fn copy_without(&mut self, other: &Footprint, object: ObjectId) {
        self.copy_from(other);
        if object.index() < BITS {
            let mask = !(1 << object.index());
            self.reads &= mask;
            self.updates &= mask;
            self.writes &= mask;
        } else {
            self.high.retain(|access| access.object != object);
        }
    }

    /// The objects, as bits by number; `None`: some have none.
    #[inline]
    pub(super) fn word(&self) -> Option<u64> {
        self.high.is_empty().then(|| self.low())
    }

    #[inline]
    const fn low(&self) -> u64 {
        self.reads | self.updates | self.writes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Access> + '_ {
        let mut left = self.low();
        let low = std::iter::from_fn(move || {
            let index = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            let object = ObjectId::new(index);
            self.mode(object).map(|mode| Access { object, mode })
        });
        low.chain(self.high.iter().copied())
    }

    /// The only object, if there is just one.
    #[inline]
    pub(super) fn only(&self) -> Option<Access> {
        let low = self.low();
        if !self.high.is_empty() || !low.is_power_of_two() {
            return None;
        }
        let object = ObjectId::new(low.trailing_zeros() as usize);
        self.mode(object).map(|mode| Access { object, mode })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.low() == 0 && self.high.is_empty()
    }

    /// How it touches the object.
    #[inline]
    pub(super) fn mode(&self, object: ObjectId) -> Option<Mode> {
        let index = object.index();
        if index >= BITS {
            return self.high.iter().find(|access| access.object == object).map(|access| access.mode);
        }
        let bit = 1 << index;
        if self.writes & bit != 0 {
            Some(Mode::Write)
        } else if self.reads & bit != 0 {
            Some(Mode::Read)
        } else {
            (self.updates & bit != 0).then_some(Mode::Update)
        }
    }

    /// Whether the access does not commute with one of these.
    #[inline]
    pub(super) fn minds(&self, access: Access) -> bool {
        let index = access.object.index();
        if index >= BITS {
            let minds = |known: &Access| dependence::accesses_conflict(*known, access);
            return self.high.iter().any(minds);
        }
        let conflicting = match access.mode {
            Mode::Read => self.updates | self.writes,
            Mode::Update => self.reads | self.writes,
            Mode::Write => self.low(),
        };
        conflicting >> index & 1 != 0
    }

    /// Whether one of the other's accesses does not commute with one of these.
    #[inline]
    pub(super) fn conflicts(&self, other: &Footprint) -> bool {
        let low = (self.writes & other.low())
            | (other.writes & self.low())
            | (self.reads & other.updates)
            | (self.updates & other.reads);
        low != 0 || (!self.high.is_empty() && !other.high.is_empty() && self.conflicts_high(other))
    }

    #[cold]
    fn conflicts_high(&self, other: &Footprint) -> bool {
        self.high.iter().any(|&a| other.high.iter().any(|&b| dependence::accesses_conflict(a, b)))
    }

    /// Whether both touch some object.
    pub(super) fn meets(&self, other: &Footprint) -> bool {
        let both = |a: &Access| other.high.iter().any(|b| a.object == b.object);
        self.low() & other.low() != 0 || self.high.iter().any(both)
    }

    /// The objects are numbered below this.
    #[inline]
    pub(super) fn object_count(&self) -> usize {
        let low = BITS - self.low().leading_zeros() as usize;
        self.high.iter().map(|access| access.object.index() + 1).fold(low, usize::max)
    }

    /// The part of it that touches objects numbered below this.
    pub(super) fn below(&self, object_count: usize) -> Footprint {
        let known = if object_count >= BITS { u64::MAX } else { (1 << object_count) - 1 };
        let mut high = Vec::new();
        if !self.high.is_empty() {
            high.extend(self.high.iter().filter(|access| access.object.index() < object_count));
        }
        Footprint {
            reads: self.reads & known,
            updates: self.updates & known,
            writes: self.writes & known,
            high,
        }
    }

    /// How it touches objects with this number or a higher one, if it does; `Write` if in several ways.
    #[inline]
    pub(super) fn mode_of_new(&self, object_count: usize) -> Option<Mode> {
        if self.object_count() <= object_count {
            return None;
        }
        let mut modes = self.iter().filter(|a| a.object.index() >= object_count).map(|a| a.mode);
        let first = modes.next()?;
        Some(if modes.all(|mode| mode == first) { first } else { Mode::Write })
    }

    /// Whether it changes the object.
    pub(super) fn writes(&self, object: ObjectId) -> bool {
        self.mode(object).is_some_and(|mode| mode != Mode::Read)
    }

    /// Whether it only reads.
    pub(super) fn only_reads(&self) -> bool {
        self.updates | self.writes == 0 && self.high.iter().all(|access| access.mode == Mode::Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Mode; 3] = [Mode::Read, Mode::Update, Mode::Write];

    /// Two footprints of up to two accesses each say the same in bits and in the list.
    #[test]
    fn bits_and_list_agree() {
        let some = |object: usize| MODES.map(|mode| Access { object: ObjectId::new(object), mode });
        let shift = |access: Access, by: usize| Access {
            object: ObjectId::new(access.object.index() + by),
            mode: access.mode,
        };
        let accesses = [some(3), some(5)].concat();
        let make = |a: &Access, b: &Access, by: usize| {
            let mut footprint = Footprint::default();
            footprint.add(shift(*a, by));
            footprint.add(shift(*b, by));
            footprint
        };
        for a in &accesses {
            for b in &accesses {
                let [low, high] = [0, 100].map(|by| make(a, b, by));
                assert_eq!(low.object_count() + 100, high.object_count());
                assert_eq!(low.only_reads(), high.only_reads());
                for c in &accesses {
                    let [other, other_high] = [0, 100].map(|by| make(c, c, by));
                    assert_eq!(low.conflicts(&other), high.conflicts(&other_high), "{low:?} {other:?}");
                    assert_eq!(low.meets(&other), high.meets(&other_high));
                    let slow = |x: &Footprint, y: &Footprint| {
                        x.iter().any(|x| y.iter().any(|y| dependence::accesses_conflict(x, y)))
                    };
                    assert_eq!(low.conflicts(&other), slow(&low, &other));
                    assert_eq!(low.mode_of_new(4), high.mode_of_new(104));
                    assert_eq!(low.below(4).iter().count(), high.below(104).iter().count());
                }
            }
        }
    }
}
