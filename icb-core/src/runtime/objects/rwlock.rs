//! `RwLock`. Who comes is admitted whenever the lock's state allows it, with one exception: a writer that finds readers takes a
//! step in which it says that it waits, and from then on whoever comes to read waits for it, as with the implementations that
//! `std` has today (a thread that reads twice may so wait for itself). Its documentation leaves open whether they wait; that they pass
//! is what is seen where they come before that step. That they wait until no reader is left, and no longer, would be more exact: all that
//! is lost is that a reader passes a writer because of which a `try_read` has failed before. But then readers that go would not commute.

//!
//! A writer that has waited leaves the mark that writers wait, also where it was the only one. While it writes nobody asks. But if it then
//! goes on as a reader (`downgrade`), others who come to read wait until it is gone. Whether it has waited is asked of the clocks: if nothing
//! says that the lock was free when it came, then in some execution it was not.

use super::{Effect, State};
use crate::runtime::execution::Execution;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

/// Among the writers that wait: none does, but it looks so.
const NOBODY: u32 = u32::MAX;

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
            State::RwLock { writer: None, waiting, .. } => {
                waiting.iter().find(|&&thread| thread != NOBODY).map(|&thread| thread as usize)
            }
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
        let mut access = update(operation.object);
        if let State::RwLock { readers, read_clock, waiting, .. } = &mut object.state {
            if let Some(position) = readers.iter().rposition(|&r| r == me as u32) {
                readers.remove(position);
            } else {
                // The guard was sent to another thread: some reader goes.
                readers.pop();
            }
            self.threads[me].clock.release_join(me, read_clock);
            if readers.is_empty() && waiting.contains(&NOBODY) {
                waiting.retain(|&thread| thread != NOBODY);
                access = write(operation.object);
            }
        }
        self.finish_single(operation, access, None, None, None);
        Effect::Done
    }

    pub(super) fn write_lock(&mut self, operation: Operation) -> Effect {
        let lock = operation.object;
        if operation.action == Action::TryWriteLock && !self.rwlock_is_free(lock, true) {
            return self.refuse(operation);
        }
        let me = self.current;
        let object = &mut self.objects[lock.index()];
        if let State::RwLock { writer, readers, waiting, read_clock, has_waited } = &mut object.state {
            if !readers.is_empty() {
                waiting.push(me as u32);
                self.note_change(lock);
                self.finish_single(operation, write(lock), None, None, Some("waits"));
                return Effect::Refused;
            }
            waiting.retain(|&thread| thread != me as u32);
            *writer = Some(me as u32);
            let known = &self.threads[me].clock.clock;
            *has_waited =
                operation.action == Action::WriteLock && !(object.clock.le(known) && read_clock.le(known));
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
        let has_waited =
            matches!(self.object_ref(operation.object).state, State::RwLock { has_waited: true, .. });
        let bars = has_waited && self.branch(operation, 2, false) == 1;
        self.leave_writing(operation.object, changed);
        let me = self.current as u32;
        if let State::RwLock { readers, waiting, .. } = &mut self.object_mut(operation.object).state {
            readers.push(me);
            if bars {
                waiting.push(NOBODY);
            }
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
