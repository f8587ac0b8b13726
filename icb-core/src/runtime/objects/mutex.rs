//! `Mutex`: lock, try_lock, unlock. A failed `try_lock` reads the mutex; everything else writes it.

use super::{Effect, State};
use crate::runtime::execution::Execution;
use crate::runtime::threads::ReadEntry;
use crate::trace::{Access, Mode, ObjectId, Operation};

impl Execution {
    pub(super) fn mutex_owner(&self, mutex: ObjectId) -> Option<u32> {
        match self.object_ref(mutex).state {
            State::Mutex { owner } => owner,
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
        let State::Mutex { owner } = &mut object.state else { return false };
        if !is_usual || !thread.clock.clock.join_few(&object.clock) {
            return false;
        }
        *owner = Some(me);
        object.note_holder(me, false);
        let (version, place) = (object.version, thread.location);
        thread.note_read(ReadEntry { object: mutex.index() as u32, version, place });
        thread.hash.step(&mut object.hash, Mode::Write);
        if self.attention {
            self.tell_single(self.pending[self.current], Mode::Write);
        }
        self.count_step();
        self.reconsider(mutex);
        true
    }

    /// [`unlock`](Self::unlock), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn unlock_shortly(&mut self, mutex: ObjectId, changed: bool) -> bool {
        let thread = self.threads.mine();
        let object = &mut self.objects[mutex.index()];
        let is_usual = !self.wants_more && thread.is_unwatched();
        object.note_use(self.current, &thread.clock);
        let State::Mutex { owner } = &mut object.state else { return false };
        if !is_usual || !thread.clock.clock.publish_few(self.current, &mut object.clock) {
            return false;
        }
        *owner = None;
        if changed {
            object.note_change(false);
            thread.note_change();
            self.idle_wakes = 0;
        }
        thread.hash.step(&mut object.hash, Mode::Write);
        if self.attention {
            self.tell_single(self.pending[self.current], Mode::Write);
        }
        self.count_step();
        self.reconsider(mutex);
        true
    }

    /// The running thread takes the mutex, which is free.
    pub(super) fn take_mutex(&mut self, mutex: ObjectId) {
        let me = self.current;
        let object = &mut self.objects[mutex.index()];
        if let State::Mutex { owner } = &mut object.state {
            *owner = Some(me as u32);
        }
        self.threads[me].clock.acquire(&object.clock);
        self.note_lock(mutex);
    }

    /// The running thread lets the mutex go.
    pub(super) fn release_mutex(&mut self, mutex: ObjectId, changed: bool) {
        let me = self.current;
        let object = &mut self.objects[mutex.index()];
        if let State::Mutex { owner } = &mut object.state {
            *owner = None;
        }
        self.threads[me].clock.release_into(me, &mut object.clock);
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
        self.note_read(operation.object);
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, Some("would block"));
        Effect::Refused
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
