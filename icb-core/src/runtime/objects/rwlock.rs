//! `RwLock`. Who comes is admitted whenever the lock's state allows it, with one exception: a writer that finds readers takes a
//! step in which it says that it waits, and from then on whoever comes to read waits for it, as with the implementations that
//! `std` has today (a thread that reads twice may so wait for itself). Its documentation leaves open whether they wait; that they pass
//! is what is seen where they come before that step. That they wait until no reader is left, and no longer, would be more exact: all that
//! is lost is that a reader passes a writer because of which a `try_read` has failed before. But then readers that go would not commute.

//!
//! A writer that has waited leaves the mark that writers wait, also where it was the only one. While it writes nobody asks. But if it then
//! goes on as a reader (`downgrade`), others who come to read wait until it is gone, and so they do where another writer has come before that. Whether
//! one comes while the lock is held matters only then: as soon as an execution shows a `downgrade`, the search begins anew, and from then on whoever comes to write
//! says so in a step, which is the one that takes the lock if it is free.

use super::{Effect, Object, State};
use crate::clock::INLINE;
use crate::runtime::execution::Execution;
use crate::runtime::threads::ReadEntry;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

/// Among the writers that wait: none does, but it looks so.
const NOBODY: u32 = u32::MAX;

/// A bit beside a writer that has come while another one had the lock: it keeps nobody from reading, unless that one goes on as a reader.
const BEHIND: u32 = 1 << 30;

fn is_behind(waiter: u32) -> bool {
    waiter != NOBODY && waiter & BEHIND != 0
}

/// Stands among the promoted places where whoever comes to write says so.
fn place_of_coming() -> usize {
    static PLACE: u8 = 0;
    (&raw const PLACE).addr()
}

impl Execution {
    /// Whether whoever comes to write says so, since somebody goes on as a reader.
    pub(in crate::runtime) fn writers_say_so(&self) -> bool {
        !self.promoted.is_empty() && self.promoted.contains(&place_of_coming())
    }

    /// Whether it can be read, or written, at once.
    pub(super) fn rwlock_is_free(&self, lock: ObjectId, for_writing: bool) -> bool {
        match self.object_ref(lock) {
            Object { state: State::RwLock { writer, .. }, readers, waiters, .. } => {
                writer.is_none()
                    && if for_writing { readers.is_empty() } else { waiters.iter().all(|&w| is_behind(w)) }
            }
            _ => true,
        }
    }

    /// Whether the thread can get the lock for writing, or say that it waits for it.
    pub(super) fn can_write_or_wait(&self, lock: ObjectId, thread: usize) -> bool {
        match self.object_ref(lock) {
            Object { state: State::RwLock { writer, .. }, readers, waiters, .. } => {
                writer.is_none() && (readers.is_empty() || !waiters.contains(&(thread as u32)))
            }
            _ => true,
        }
    }

    /// A writer for whom those wait who come to read.
    pub(super) fn waiting_writer(&self, lock: ObjectId) -> Option<usize> {
        match self.object_ref(lock) {
            Object { state: State::RwLock { writer: None, .. }, waiters, .. } => {
                let mut waiting = waiters.iter().filter(|&&thread| thread != NOBODY && !is_behind(thread));
                waiting.next().map(|&thread| thread as usize)
            }
            _ => None,
        }
    }

    /// [`read_lock`](Self::read_lock) of a lock that can be read, if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn read_lock_shortly(&mut self, lock: ObjectId) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let object = &mut self.objects[lock.index()];
        let is_usual = !self.wants_more && thread.is_unwatched() && thread.has_room_for_reads();
        object.note_use(me, &thread.clock);
        if !is_usual || !thread.clock.clock.join_few(&object.clock) {
            return false;
        }
        object.readers.push(me as u32);
        let (version, place) = (object.version, thread.location);
        thread.note_read(ReadEntry { object: lock.index() as u32, version, place });
        thread.hash.step(&mut object.hash, Mode::Update);
        self.finish_shortly(lock, Mode::Update);
        true
    }

    /// [`read_unlock`](Self::read_unlock), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn read_unlock_shortly(&mut self, lock: ObjectId) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let object = &mut self.objects[lock.index()];
        let is_usual = !self.wants_more && thread.is_unwatched() && me < INLINE;
        object.note_use(me, &thread.clock);
        let State::RwLock { read_clock, .. } = &mut object.state else { return false };
        let Some(position) = object.readers.iter().rposition(|&reader| reader == me as u32) else {
            return false;
        };
        let is_barred = object.readers.len() == 1 && object.waiters.contains(&NOBODY);
        if !is_usual || is_barred || !read_clock.join_few(&thread.clock.clock) {
            return false;
        }
        thread.clock.clock.tick_inline(me);
        object.readers.remove(position);
        object.note_release();
        thread.hash.step(&mut object.hash, Mode::Update);
        self.finish_shortly(lock, Mode::Update);
        true
    }

    /// [`write_lock`](Self::write_lock) of a lock that can be written, if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn write_lock_shortly(&mut self, lock: ObjectId) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let object = &mut self.objects[lock.index()];
        let is_usual = !self.wants_more && thread.is_unwatched() && thread.has_room_for_reads();
        object.note_use(me, &thread.clock);
        let State::RwLock { writer, read_clock, has_waited } = &mut object.state else { return false };
        let is_free = object.readers.is_empty() && object.waiters.is_empty();
        let known = &mut thread.clock.clock;
        if !(is_usual && is_free && known.join_few(read_clock)) {
            return false;
        }
        known.join(&object.clock);
        *writer = Some(me as u32);
        *has_waited = false;
        thread.dirty |= object.note_holder(me as u32, false);
        let (version, place) = (object.version, thread.location);
        thread.note_read(ReadEntry { object: lock.index() as u32, version, place });
        thread.hash.step(&mut object.hash, Mode::Write);
        self.finish_shortly(lock, Mode::Write);
        true
    }

    /// [`write_unlock`](Self::write_unlock), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn write_unlock_shortly(&mut self, lock: ObjectId, changed: bool) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let object = &mut self.objects[lock.index()];
        let is_usual = !self.wants_more && thread.is_unwatched();
        object.note_use(me, &thread.clock);
        let State::RwLock { writer, .. } = &mut object.state else { return false };
        if !is_usual || !thread.clock.clock.publish_few(me, &mut object.clock) {
            return false;
        }
        *writer = None;
        if changed {
            object.note_change(false);
            thread.note_change();
            self.idle_wakes = 0;
        }
        object.note_release();
        thread.hash.step(&mut object.hash, Mode::Write);
        self.finish_shortly(lock, Mode::Write);
        true
    }

    /// Completes the step of a short way, which has touched the lock.
    #[inline(always)]
    fn finish_shortly(&mut self, lock: ObjectId, mode: Mode) {
        if self.attention {
            self.tell_single(self.pending[self.current], mode);
        }
        self.count_step();
        self.reconsider(lock);
    }

    pub(super) fn read_lock(&mut self, operation: Operation) -> Effect {
        let lock = operation.object;
        if operation.action == Action::TryReadLock && !self.rwlock_is_free(lock, false) {
            return self.refuse(operation);
        }
        let me = self.current;
        let object = &mut self.objects[lock.index()];
        object.readers.push(me as u32);
        self.threads[me].clock.acquire(&object.clock);
        self.note_read(lock);
        self.finish_single(operation, update(lock), None, None, None);
        Effect::Done
    }

    pub(super) fn read_unlock(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let Object { state, readers, waiters, .. } = &mut self.objects[operation.object.index()];
        let mut access = update(operation.object);
        if let State::RwLock { read_clock, .. } = state {
            if let Some(position) = readers.iter().rposition(|&r| r == me as u32) {
                readers.remove(position);
            } else {
                // The guard was sent to another thread: some reader goes.
                readers.pop();
            }
            self.threads[me].clock.release_join(me, read_clock);
            if readers.is_empty() && waiters.contains(&NOBODY) {
                waiters.retain(|&thread| thread != NOBODY);
                access = write(operation.object);
            }
        }
        self.object_mut(operation.object).note_release();
        self.finish_single(operation, access, None, None, None);
        Effect::Done
    }

    pub(super) fn write_lock(&mut self, operation: Operation) -> Effect {
        let lock = operation.object;
        let me = self.current;
        let comes = std::mem::take(&mut self.threads[me].comes_to_write);
        if operation.action == Action::TryWriteLock && !self.rwlock_is_free(lock, true) {
            return if comes { self.wait_behind(operation) } else { self.refuse(operation) };
        }
        let Object { state, readers, waiters, clock, .. } = &mut self.objects[lock.index()];
        if let State::RwLock { writer, read_clock, has_waited } = state {
            if !readers.is_empty() {
                waiters.push(me as u32);
                self.note_change(lock);
                self.finish_single(operation, write(lock), None, None, Some("waits"));
                return Effect::Refused;
            }
            let came = waiters.len();
            waiters.retain(|&thread| thread != me as u32 && thread != me as u32 | BEHIND);
            *has_waited = waiters.len() < came;
            *writer = Some(me as u32);
            self.threads[me].clock.acquire(read_clock);
        }
        self.threads[me].clock.acquire(clock);
        self.note_lock(lock);
        self.finish_single(operation, write(lock), None, None, None);
        Effect::Done
    }

    /// The running thread has come to write, and is to wait.
    fn wait_behind(&mut self, operation: Operation) -> Effect {
        let (lock, me) = (operation.object, self.current as u32);
        let Object { state, waiters, .. } = &mut self.objects[lock.index()];
        let is_written = matches!(state, State::RwLock { writer: Some(_), .. });
        waiters.push(if is_written { me | BEHIND } else { me });
        if !is_written {
            self.note_change(lock);
        }
        self.finish_single(operation, write(lock), None, None, Some("waits"));
        Effect::Refused
    }

    fn leave_writing(&mut self, lock: ObjectId, changed: bool) {
        let me = self.current;
        let object = &mut self.objects[lock.index()];
        if let State::RwLock { writer, .. } = &mut object.state {
            *writer = None;
        }
        self.threads[me].clock.release_into(me, &mut object.clock);
        object.note_release();
        if changed {
            self.note_change(lock);
        }
    }

    pub(super) fn write_unlock(&mut self, operation: Operation, changed: bool) -> Effect {
        self.leave_writing(operation.object, changed);
        self.finish_single(operation, write(operation.object), None, None, None);
        Effect::Done
    }

    pub(super) fn downgrade(&mut self, operation: Operation, changed: bool) -> Effect {
        if self.thread_count > 1 && !self.giving_up {
            let is_news = self.promoted.insert(place_of_coming());
            self.begins_anew(is_news);
        }
        let bars = matches!(self.object_ref(operation.object).state, State::RwLock { has_waited: true, .. });
        self.leave_writing(operation.object, changed);
        let me = self.current as u32;
        let object = self.object_mut(operation.object);
        object.readers.push(me);
        for waiter in object.waiters.iter_mut().filter(|waiter| is_behind(**waiter)) {
            *waiter &= !BEHIND;
        }
        if bars {
            object.waiters.push(NOBODY);
        }
        self.set_accesses(&[(operation.object, Mode::Write)]);
        self.finish_many(operation, u64::from(bars), bars.then_some("readers wait until it is free"));
        Effect::Done
    }
}

const fn write(object: ObjectId) -> Access {
    Access { object, mode: Mode::Write }
}

/// Readers that come and go commute with each other.
const fn update(object: ObjectId) -> Access {
    Access { object, mode: Mode::Update }
}
