//! `RwLock`. Who comes is admitted whenever the lock's state allows it, with one exception: a writer that finds readers takes a
//! step in which it says that it waits, and from then on whoever comes to read waits for it, as with the implementations that
//! `std` has today (a thread that reads twice may so wait for itself). Its documentation leaves open whether they wait; that they pass
//! is what is seen where they come before that step. That they wait until no reader is left, and no longer, would be more exact: all that
//! is lost is that a reader passes a writer because of which a `try_read` has failed before. But then readers that go would not commute.

use super::{Effect, State};
use crate::runtime::execution::Execution;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

impl Execution {
    /// Whether it can be read, or written, at once.
    pub(super) fn rwlock_is_free(&self, lock: ObjectId, for_writing: bool) -> bool {
        match &self.object_ref(lock).state {
            State::RwLock { writer, readers, waiting, .. } => {
                writer.is_none() && if for_writing { readers.is_empty() } else { waiting.is_empty() }
            }
            _ => true,
        }
    }

    /// Whether the thread can get the lock for writing, or say that it waits for it.
    pub(super) fn can_write_or_wait(&self, lock: ObjectId, thread: usize) -> bool {
        match &self.object_ref(lock).state {
            State::RwLock { writer, readers, waiting, .. } => {
                writer.is_none() && (readers.is_empty() || !waiting.contains(&(thread as u32)))
            }
            _ => true,
        }
    }

    /// A writer for whom those wait who come to read.
    pub(super) fn waiting_writer(&self, lock: ObjectId) -> Option<usize> {
        match &self.object_ref(lock).state {
            State::RwLock { writer: None, waiting, .. } => waiting.first().map(|&thread| thread as usize),
            _ => None,
        }
    }

    fn refuse(&mut self, operation: Operation) -> Effect {
        self.note_read(operation.object);
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, Some("would block"));
        Effect::Refused
    }

    pub(super) fn read_lock(&mut self, operation: Operation) -> Effect {
        let lock = operation.object;
        if operation.action == Action::TryReadLock && !self.rwlock_is_free(lock, false) {
            return self.refuse(operation);
        }
        let me = self.current;
        let object = &mut self.objects[lock.index()];
        if let State::RwLock { readers, .. } = &mut object.state {
            readers.push(me as u32);
        }
        self.threads[me].clock.acquire(&object.clock);
        self.note_read(lock);
        self.finish_single(operation, update(lock), None, None, None);
        Effect::Done
    }

    pub(super) fn read_unlock(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let object = &mut self.objects[operation.object.index()];
        if let State::RwLock { readers, read_clock, .. } = &mut object.state {
            if let Some(position) = readers.iter().rposition(|&r| r == me as u32) {
                readers.remove(position);
            } else {
                // The guard was sent to another thread: some reader goes.
                readers.pop();
            }
            self.threads[me].clock.release_join(me, read_clock);
        }
        self.finish_single(operation, update(operation.object), None, None, None);
        Effect::Done
    }

    pub(super) fn write_lock(&mut self, operation: Operation) -> Effect {
        let lock = operation.object;
        if operation.action == Action::TryWriteLock && !self.rwlock_is_free(lock, true) {
            return self.refuse(operation);
        }
        let me = self.current;
        let object = &mut self.objects[lock.index()];
        if let State::RwLock { writer, readers, waiting, read_clock } = &mut object.state {
            if !readers.is_empty() {
                waiting.push(me as u32);
                self.note_change(lock);
                self.finish_single(operation, write(lock), None, None, Some("waits"));
                return Effect::Refused;
            }
            waiting.retain(|&thread| thread != me as u32);
            *writer = Some(me as u32);
            self.threads[me].clock.acquire(read_clock);
        }
        self.threads[me].clock.acquire(&object.clock);
        self.note_lock(lock);
        self.finish_single(operation, write(lock), None, None, None);
        Effect::Done
    }

    fn leave_writing(&mut self, lock: ObjectId, changed: bool) {
        let me = self.current;
        let object = &mut self.objects[lock.index()];
        if let State::RwLock { writer, .. } = &mut object.state {
            *writer = None;
        }
        self.threads[me].clock.release_into(me, &mut object.clock);
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
        self.leave_writing(operation.object, changed);
        let me = self.current as u32;
        if let State::RwLock { readers, .. } = &mut self.object_mut(operation.object).state {
            readers.push(me);
        }
        self.finish_single(operation, write(operation.object), None, None, None);
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
