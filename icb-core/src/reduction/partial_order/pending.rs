//! What the threads want to do at the newest node: the footprint of each pending operation, and in short what the analysis
//! asks of nearly all of them.

use super::analysis::needed;
use super::footprint::Footprint;
use crate::dependence;
use crate::program::SchedulingPoint;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};
use std::borrow::Cow;

/// The object of a [`Want`] that touches nothing, or several objects.
const NONE: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// What one pending operation touches, in short.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// The number of the only object; or `NONE`; or `SEVERAL`.
    object: u32,
    mode: Mode,
    /// Nothing can keep it from taking effect: whatever it races with could have come after it.
    pub(super) unhindered: bool,
}

impl Want {
    const NOTHING: Want = Want { object: NONE, mode: Mode::Read, unhindered: false };

    pub(super) fn is_nothing(self) -> bool {
        self.object == NONE
    }

    /// What it touches, if that is just one object.
    #[inline]
    pub(super) fn only(self) -> Option<Access> {
        let Want { object, mode, .. } = self;
        (object < SEVERAL).then(|| Access { object: ObjectId::new(object as usize), mode })
    }
}

/// The pending operations.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// By thread; there may be more slots than threads.
    wants: Vec<Want>,
    /// Of those that touch several objects.
    footprints: Vec<Footprint>,
    /// By object the threads among the first 64 that want to touch just this one, by mode. Threads that are not there yet may
    /// be among them.
    on: Vec<[u64; 3]>,
    /// The threads among the first 64 that want to touch several.
    on_several: u64,
    /// What they were read from.
    operations: Vec<Operation>,
    /// So many are up to date; 0: none, at the first node that the execution is the first to reach.
    count: usize,
    /// The objects of those read last are numbered below this.
    pub(super) object_count: usize,
    /// Some of them waited for changes of objects when they were read.
    awaits: bool,
}

impl Pending {
    /// Another execution begins.
    pub(super) fn forget(&mut self) {
        self.count = 0;
    }

    /// Threads that there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn want(&self, thread: usize) -> Want {
        self.wants[thread]
    }

    /// What the thread wants to touch.
    pub(super) fn footprint(&self, thread: usize) -> Cow<'_, Footprint> {
        match self.wants[thread].only() {
            Some(access) => {
                let mut footprint = Footprint::default();
                footprint.set(access);
                Cow::Owned(footprint)
            }
            None => Cow::Borrowed(&self.footprints[thread]),
        }
    }

    /// Calls `see` with everything that the thread wants to touch.
    #[inline]
    pub(super) fn accesses(&self, thread: usize, mut see: impl FnMut(Access)) {
        match self.wants[thread].only() {
            Some(access) => see(access),
            None => self.footprints[thread].iter().for_each(see),
        }
    }

    /// The threads from `base` on, up to 64 of them, whose operations conflict with a step that touches this.
    #[inline]
    pub(super) fn conflicting(&self, base: usize, footprint: &Footprint, only: Option<Access>) -> u64 {
        if base > 0 {
            return self.conflicting_each(base, footprint);
        }
        let word = match only {
            Some(access) => self.conflicting_on(access),
            None => footprint.iter().fold(0, |word, access| word | self.conflicting_on(access)),
        };
        let word = if self.on_several == 0 { word } else { word | self.conflicting_several(footprint) };
        word & below(self.count)
    }

    /// Of the first threads those that want to touch just this object, in a way that does not commute with this.
    #[inline]
    fn conflicting_on(&self, access: Access) -> u64 {
        let Some([reads, updates, writes]) = self.on.get(access.object.index()) else { return 0 };
        let reads = if access.mode == Mode::Read { 0 } else { *reads };
        let updates = if access.mode == Mode::Update { 0 } else { *updates };
        reads | updates | writes
    }

    #[cold]
    fn conflicting_several(&self, footprint: &Footprint) -> u64 {
        let several = self.on_several & below(self.count);
        let conflicts =
            |thread: &usize| several >> thread & 1 != 0 && self.footprints[*thread].conflicts(footprint);
        (0..self.count.min(64)).filter(conflicts).fold(0, |word, thread| word | 1 << thread)
    }

    #[cold]
    fn conflicting_each(&self, base: usize, footprint: &Footprint) -> u64 {
        let threads = base..self.count.min(base + 64);
        let conflicting = threads.filter(|&thread| self.footprint(thread).conflicts(footprint));
        conflicting.fold(0, |word, thread| word | 1 << (thread - base))
    }

    /// Reads the pending operation of the thread that took the last step; all others are what they were.
    #[inline(always)]
    pub(super) fn read_own(&mut self, thread: usize, point: &SchedulingPoint<'_>) {
        self.object_count = 0;
        let operation = &point.pending[thread];
        let mode = match operation.action {
            Action::Load(_) => Mode::Read,
            Action::Store(_) | Action::ReadModifyWrite(_) => Mode::Write,
            _ => return self.read_operation(thread, point),
        };
        if !point.awaited.is_empty() || !operation.object.is_some() || operation.other.is_some() {
            return self.read_operation(thread, point);
        }
        self.operations[thread] = *operation;
        let object = operation.object.index() as u32;
        self.object_count = object as usize + 1;
        self.note(thread, Want { object, mode, unhindered: true });
    }

    /// Reads the pending operations.
    #[inline]
    pub(super) fn read(&mut self, point: &SchedulingPoint<'_>) {
        let count = point.pending.len();
        self.object_count = 0;
        match point.previous {
            Some(previous) if self.count > 0 && point.others_unchanged => {
                self.read_operation(previous.index(), point);
                if self.count < count {
                    self.read_from(self.count, point);
                }
            }
            _ => self.read_changed(point),
        }
    }

    #[cold]
    fn read_from(&mut self, first: usize, point: &SchedulingPoint<'_>) {
        let count = point.pending.len();
        if self.wants.len() < count {
            self.footprints.resize_with(count, Footprint::default);
            self.wants.resize(count, Want::NOTHING);
            self.operations.resize(count, Operation::new(Action::Nop, ObjectId::NONE));
        }
        (first..count).for_each(|thread| self.read_operation(thread, point));
        self.count = count;
    }

    /// Those that are not what they were.
    #[inline(never)]
    fn read_changed(&mut self, point: &SchedulingPoint<'_>) {
        let awaits = std::mem::replace(&mut self.awaits, !point.awaited.is_empty());
        let known = if awaits || self.awaits { 0 } else { self.count };
        for thread in 0..known {
            if self.operations[thread] != point.pending[thread] {
                self.read_operation(thread, point);
            }
        }
        if known < point.pending.len() {
            self.read_from(known, point);
        }
    }

    #[inline]
    fn read_operation(&mut self, thread: usize, point: &SchedulingPoint<'_>) {
        let operation = point.pending[thread];
        self.operations[thread] = operation;
        let mode = dependence::mode(operation.action);
        let awaited = point.awaited.get(thread).filter(|objects| !objects.is_empty());
        if let Some(mode) = mode
            && operation.object.is_some()
            && !operation.other.is_some()
            && awaited.is_none()
        {
            let object = operation.object.index() as u32;
            let unhindered = needed(operation).is_none();
            self.object_count = self.object_count.max(object as usize + 1);
            self.note(thread, Want { object, mode, unhindered });
            return;
        }
        self.read_several(thread, operation, awaited);
    }

    #[inline]
    fn note(&mut self, thread: usize, want: Want) {
        let before = std::mem::replace(&mut self.wants[thread], want);
        if thread < 64 && (before.object != want.object || before.mode != want.mode) {
            let bit = 1 << thread;
            match self.on.get_mut(before.object as usize) {
                Some(on) => on[before.mode as usize] &= !bit,
                None => self.on_several &= !bit,
            }
            match self.on.get_mut(want.object as usize) {
                Some(on) => on[want.mode as usize] |= bit,
                None => self.note_first(want, bit),
            }
        }
    }

    #[cold]
    fn note_first(&mut self, want: Want, bit: u64) {
        match want.object {
            NONE => {}
            SEVERAL => self.on_several |= bit,
            object => {
                self.on.resize(object as usize + 1, [0; 3]);
                self.on[object as usize][want.mode as usize] |= bit;
            }
        }
    }

    #[inline(never)]
    fn read_several(&mut self, thread: usize, operation: Operation, awaited: Option<&Vec<ObjectId>>) {
        let footprint = &mut self.footprints[thread];
        footprint.clear();
        dependence::accesses(operation).for_each(|access| footprint.add(access));
        if let Some(awaited) = awaited {
            awaited.iter().for_each(|&object| footprint.add(Access { object, mode: Mode::Read }));
        }
        self.object_count = self.object_count.max(footprint.object_count());
        let want = match footprint.only() {
            Some(Access { object, mode }) => Want { object: object.index() as u32, mode, ..Want::NOTHING },
            None if footprint.is_empty() => Want::NOTHING,
            None => Want { object: SEVERAL, ..Want::NOTHING },
        };
        self.note(thread, want);
    }
}

/// A bit for each of the first threads.
#[inline]
fn below(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
