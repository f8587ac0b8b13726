//! `Mutex`: lock, try_lock, unlock. A failed `try_lock` reads the mutex; everything else writes it.

use super::{Effect, State};
use crate::runtime::execution::Execution;
use crate::runtime::threads::{ReadEntry, Readiness};
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

/// Threads that wait for a mutex, a bit for each. (Of more than a word of them nobody asks: then no short way is taken.)
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lockers {
    /// They can go on when it is free, and only then.
    ready: u64,
    /// They wait on a condvar without a time, and may wake for no reason when it is free.
    dreamers: u64,
    /// They wait on a condvar for a time.
    timed: u64,
}

impl Lockers {
    #[inline(always)]
    fn forget(&mut self, thread: usize) {
        let others = !locker_bit(thread);
        self.ready &= others;
        self.dreamers &= others;
        self.timed &= others;
    }
}

#[inline(always)]
fn locker_bit(thread: usize) -> u64 {
    1_u64.wrapping_shl(thread as u32)
}

impl Execution {
    pub(super) fn mutex_owner(&self, mutex: ObjectId) -> Option<u32> {
        match self.object_ref(mutex).state {
            State::Mutex { owner, .. } => owner,
            _ => None,
        }
    }

    pub(super) fn mutex_is_free(&self, mutex: ObjectId) -> bool {
        self.mutex_owner(mutex).is_none()
    }

    /// [`lock`](Self::lock), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn lock_shortly(&mut self, mutex: ObjectId) -> bool {
        let me = self.current as u32;
        let thread = self.threads.mine();
        let object = &mut self.objects[mutex.index()];
        let is_usual = !self.wants_more && thread.is_unwatched() && thread.has_room_for_reads();
        object.note_use(self.current, &thread.clock);
        let State::Mutex { owner, lockers } = &mut object.state else { return false };
        let lockers = *lockers;
        if !is_usual || !thread.clock.clock.join_few(&object.clock) {
            return false;
        }
        *owner = Some(me);
        thread.dirty |= object.note_holder(me, false);
        let (version, place) = (object.version, thread.location);
        thread.note_read(ReadEntry { object: mutex.index() as u32, version, place });
        thread.hash.step(&mut object.hash, Mode::Write);
        if self.attention {
            self.tell_single(self.pending[self.current], Mode::Write);
        }
        self.count_step();
        self.reconsider_lockers(mutex, lockers, false);
        true
    }

    /// [`unlock`](Self::unlock), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn unlock_shortly(&mut self, mutex: ObjectId, changed: bool) -> bool {
        let thread = self.threads.mine();
        let object = &mut self.objects[mutex.index()];
        let is_usual = !self.wants_more && thread.is_unwatched();
        object.note_use(self.current, &thread.clock);
        let State::Mutex { owner, lockers } = &mut object.state else { return false };
        let lockers = *lockers;
        if !is_usual || !thread.clock.clock.publish_few(self.current, &mut object.clock) {
            return false;
        }
        *owner = None;
        if changed {
            object.note_change(false);
            thread.note_change();
            self.idle_wakes = 0;
        }
        object.note_release();
        thread.hash.step(&mut object.hash, Mode::Write);
        if self.attention {
            self.tell_single(self.pending[self.current], Mode::Write);
        }
        self.count_step();
        self.reconsider_lockers(mutex, lockers, true);
        true
    }

    /// The thread begins to wait with this operation, its pending one.
    #[inline(always)]
    pub(in crate::runtime) fn note_locker(&mut self, thread: usize, operation: Operation) {
        let mutex = match operation.action {
            Action::Lock => operation.object,
            Action::Reacquire { .. } => operation.other,
            _ => return,
        };
        let State::Mutex { lockers, .. } = &mut self.objects[mutex.index()].state else { return };
        let this = &self.threads[thread];
        match operation.action {
            Action::Reacquire { timed: true } if !this.notified => lockers.timed |= locker_bit(thread),
            Action::Reacquire { timed: false } if !this.notified => {
                if self.settings.spurious && this.may_go_on_early(self.settings.max_early) {
                    lockers.dreamers |= locker_bit(thread);
                }
            }
            _ => lockers.ready |= locker_bit(thread),
        }
    }

    /// The thread does not wait any more with its pending operation.
    #[inline(always)]
    pub(in crate::runtime) fn forget_locker(&mut self, thread: usize) {
        let Operation { action, object, other } = self.pending[thread];
        let mutex = match action {
            Action::Lock => object,
            Action::Reacquire { .. } => other,
            _ => return,
        };
        if let State::Mutex { lockers, .. } = &mut self.objects[mutex.index()].state {
            lockers.forget(thread);
        }
    }

    /// The thread, which waits on a condvar, has been notified: from now on it waits for the mutex alone. `false`: it is about to do something
    /// else before.
    pub(super) fn promote_locker(&mut self, thread: usize) -> bool {
        let Operation { action, other, .. } = self.pending[thread];
        let this = &mut self.threads[thread];
        let waits = matches!(action, Action::Reacquire { .. }) && self.waiting.contains(thread);
        if !waits || this.awaiting {
            return false;
        }
        let State::Mutex { owner, lockers } = &mut self.objects[other.index()].state else { return false };
        lockers.forget(thread);
        lockers.ready |= locker_bit(thread);
        let readiness = if owner.is_none() { Readiness::Ready } else { Readiness::Blocked };
        self.settle(thread, readiness);
        true
    }

    /// [`reconsider`](Self::reconsider) for a mutex that has just been let go of, or taken, in a short way. These wait for it.
    #[inline(always)]
    pub(super) fn reconsider_lockers(&mut self, mutex: ObjectId, lockers: Lockers, is_free: bool) {
        // Without attention, or with that of the chooser alone, no thread is beyond the first word.
        if self.waited == u64::MAX || lockers.timed != 0 {
            return self.reconsider_waiting(mutex);
        }
        // Whether they are ready or blocked is asked of nobody but the sets.
        if is_free {
            self.enabled.insert_all(lockers.ready);
            self.early.insert_all(lockers.dreamers);
        } else {
            self.enabled.remove_all(lockers.ready);
            self.early.remove_all(lockers.dreamers);
        }
    }

    /// The running thread takes the mutex, which is free.
    pub(super) fn take_mutex(&mut self, mutex: ObjectId) {
        let me = self.current;
        let object = &mut self.objects[mutex.index()];
        if let State::Mutex { owner, .. } = &mut object.state {
            *owner = Some(me as u32);
        }
        self.threads[me].clock.acquire(&object.clock);
        self.note_lock(mutex);
    }

    /// The running thread lets the mutex go.
    pub(super) fn release_mutex(&mut self, mutex: ObjectId, changed: bool) {
        let me = self.current;
        let object = &mut self.objects[mutex.index()];
        if let State::Mutex { owner, .. } = &mut object.state {
            *owner = None;
        }
        self.threads[me].clock.release_into(me, &mut object.clock);
        object.note_release();
        if changed {
            self.note_change(mutex);
        }
    }

    pub(super) fn lock(&mut self, operation: Operation) -> Effect {
        self.take_mutex(operation.object);
        self.finish_single(operation, write(operation.object), None, None, None);
        Effect::Done
    }

    pub(super) fn try_lock(&mut self, operation: Operation) -> Effect {
        if self.mutex_is_free(operation.object) {
            return self.lock(operation);
        }
        self.refuse(operation)
    }

    /// The flag itself is in the mirrored type, of a mutex or an `RwLock`; a guard sets it in its unlock step.
    pub(super) fn is_poisoned(&mut self, operation: Operation) -> Effect {
        self.note_read(operation.object);
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, None);
        Effect::Done
    }

    pub(super) fn unlock(&mut self, operation: Operation, changed: bool) -> Effect {
        self.release_mutex(operation.object, changed);
        self.finish_single(operation, write(operation.object), None, None, None);
        Effect::Done
    }
}

const fn write(object: ObjectId) -> Access {
    Access { object, mode: Mode::Write }
}
