//! `Condvar`: a wait is two steps, release-and-enqueue and reacquire. The condvar itself orders nothing; its mutex
//! does. Which waiter `notify_one` wakes is a free branch. A wait that wakes for no reason, or whose time expires
//! although something else could run, costs 1; a timed wait that costs this ends in either way. The time of a wait may also be over while its
//! mutex is not free: a notification then does not reach it, which costs 1 where the notification comes, and one that is for a single
//! waiter is lost if the time of all of them is over. (That it goes to one whose time is not over is the choice of that one.)

use super::{Effect, Object, State};
use crate::runtime::execution::Execution;
use crate::runtime::threads::{ReadEntry, Readiness};
use crate::trace::{Access, Action, LATE, Mode, ObjectId, Operation};

/// What the fingerprint knows of a notification that finds nobody.
const NOTIFY: u64 = 5;

impl Execution {
    pub(super) fn reacquire_readiness(&self, thread: usize, mutex: ObjectId, timed: bool) -> Readiness {
        match (self.mutex_is_free(mutex), self.threads[thread].notified, timed) {
            (false, _, _) => Readiness::Blocked,
            (true, true, _) => Readiness::Ready,
            (true, false, true) => Readiness::Timeout,
            (true, false, false) => Readiness::Spurious,
        }
    }

    fn waiters(&mut self, condvar: ObjectId) -> &mut Vec<u32> {
        match self.object_mut(condvar) {
            Object { state: State::Condvar, waiters, .. } => waiters,
            other => unreachable!("a condvar's slot holds {other:?}"),
        }
    }

    /// [`wait`](Self::wait), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn wait_shortly(&mut self, condvar: ObjectId, mutex: ObjectId) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let objects = self.objects.get_disjoint_mut([condvar.index(), mutex.index()]);
        let Ok([queue, lock]) = objects else { return false };
        let is_usual = !self.wants_more && thread.is_unwatched();
        let State::Mutex { owner, lockers } = &mut lock.state else { return false };
        let lockers = *lockers;
        queue.note_use(me, &thread.clock);
        lock.uses.set_as_in(me, &thread.clock.clock);
        if !is_usual || !thread.clock.clock.publish_few(me, &mut lock.clock) {
            return false;
        }
        *owner = None;
        queue.waiters.push(me as u32);
        thread.notified = false;
        thread.late = false;
        thread.note_change();
        lock.note_release();
        thread.hash.begin_step(1);
        thread.hash.meet(&mut lock.hash, Mode::Write);
        thread.hash.meet(&mut queue.hash, Mode::Write);
        thread.hash.tell(&mut lock.hash);
        thread.hash.tell(&mut queue.hash);
        if self.attention {
            self.tell_pair((mutex, Mode::Write), (condvar, Mode::Write));
        }
        self.count_step();
        // Of the condvar nothing has changed that others wait for.
        self.reconsider_lockers(mutex, lockers, true);
        true
    }

    pub(super) fn wait(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        self.release_mutex(operation.other, false);
        self.waiters(operation.object).push(me as u32);
        self.threads[me].notified = false;
        self.threads[me].late = false;
        self.threads[me].note_change();
        self.set_accesses(&[(operation.other, Mode::Write), (operation.object, Mode::Write)]);
        self.finish_many(operation, 1, None);
        Effect::Done
    }

    /// [`reacquire`](Self::reacquire) by a thread that has been notified, if nothing is to be looked at more closely; else nothing is
    /// done.
    #[inline(always)]
    pub(in crate::runtime) fn reacquire_shortly(&mut self, condvar: ObjectId, mutex: ObjectId) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let itself = thread.object;
        let objects = self.objects.get_disjoint_mut([condvar.index(), mutex.index(), itself.index()]);
        let Ok([queue, lock, slot]) = objects else { return false };
        let is_usual = !self.wants_more && thread.is_unwatched() && thread.has_room_for_reads();
        let State::Mutex { owner, lockers } = &mut lock.state else { return false };
        let lockers = *lockers;
        queue.note_use(me, &thread.clock);
        lock.uses.set_as_in(me, &thread.clock.clock);
        let is_notified = thread.notified && !thread.late;
        if !(is_usual && is_notified && thread.clock.clock.join_few(&lock.clock)) {
            return false;
        }
        *owner = Some(me as u32);
        thread.dirty |= lock.note_holder(me as u32, false);
        let (version, place) = (lock.version, thread.location);
        thread.note_read(ReadEntry { object: mutex.index() as u32, version, place });
        thread.expired = None;
        thread.end_wait();
        thread.hash.begin_step(2);
        thread.hash.meet(&mut lock.hash, Mode::Write);
        thread.hash.meet(&mut slot.hash, Mode::Read);
        thread.hash.tell(&mut lock.hash);
        thread.hash.tell(&mut slot.hash);
        if self.attention {
            self.tell_pair((mutex, Mode::Write), (itself, Mode::Read));
        }
        self.count_step();
        self.reconsider_lockers(mutex, lockers, false);
        true
    }

    pub(super) fn reacquire(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let mut expired = self.threads[me].expired.take();
        let notified = self.threads[me].notified;
        if expired == Some(Readiness::Timeout) && !notified && self.wakes_before_its_time(operation) {
            expired = Some(Readiness::Spurious);
        }
        if !notified {
            self.waiters(operation.object).retain(|&t| t != me as u32);
        }
        self.take_mutex(operation.other);
        let thread_object = self.threads[me].object;
        if notified {
            let late = self.threads[me].late;
            if !late {
                self.threads[me].end_wait();
            }
            self.set_accesses(&[(operation.other, Mode::Write), (thread_object, Mode::Read)]);
            self.finish_many(operation, 2, late.then_some("timed out"));
            return if late { Effect::TimedOut } else { Effect::Done };
        }
        // It leaves the queue of waiters: a write of the condvar.
        self.set_accesses(&[(operation.other, Mode::Write), (operation.object, Mode::Write)]);
        if expired == Some(Readiness::Timeout) {
            self.expire();
            self.finish_many(operation, 3, Some("timed out"));
            Effect::TimedOut
        } else {
            self.finish_many(operation, 4, Some("woke spuriously"));
            Effect::Done
        }
    }

    /// Whether a timed wait that nobody has ended ends for no reason, and not because its time is over. That costs 1: the step has been paid
    /// for already if it is taken early, and whether it is depends on steps that it commutes with.
    fn wakes_before_its_time(&mut self, operation: Operation) -> bool {
        let me = self.current;
        let (early, max_early) = (self.step_early, self.settings.max_early);
        if !self.settings.spurious || !(early || self.threads[me].may_go_on_early(max_early)) {
            return false;
        }
        let wakes = self.branch(operation, 2, !early) == 1;
        if wakes && !early {
            self.note_early(me);
            self.threads[me].expired = None;
        }
        wakes
    }

    fn wake(&mut self, thread: u32) {
        self.threads[thread as usize].notified = true;
        if !self.promote_locker(thread as usize) {
            self.reconsider_thread(thread as usize);
        }
    }

    /// Whether the thread's wait may be over by its time, although it has not got its mutex again: no notification reaches it then. That
    /// costs 1, as it does when it goes on at once.
    fn may_be_late(&self, thread: u32) -> bool {
        let thread = thread as usize;
        let may_be_over = !self.settings.auto_advance || self.is_time_over(thread);
        may_be_over
            && is_timed(self.pending[thread])
            && self.threads[thread].may_go_on_early(self.settings.max_early)
    }

    /// The thread's wait is over by its time: it wants its mutex again.
    fn wake_late(&mut self, thread: u32) {
        let index = thread as usize;
        self.threads[index].note_early();
        self.threads[index].expired = None;
        self.threads[index].late = true;
        self.expire_of(index);
        self.wake(thread);
        let object = self.threads[index].object;
        self.accesses.push(Access { object, mode: Mode::Write });
    }

    /// [`notify_one`](Self::notify_one) or [`notify_all`](Self::notify_all), if nothing is to be looked at more closely and it takes no more
    /// than one thread; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn notify_shortly(&mut self, condvar: ObjectId, all: bool) -> bool {
        let me = self.current;
        let thread = self.threads.mine();
        let queue = &mut self.objects[condvar.index()];
        queue.note_use(me, &thread.clock);
        let (count, first) = (queue.waiters.len(), queue.waiters.first().copied());
        if self.wants_more || !thread.is_unwatched() || (all && count > 1) {
            return false;
        }
        // With a time to the wait there may be more to choose.
        if first.is_some_and(|first| is_timed(self.pending[first as usize])) {
            return false;
        }
        let (woken, index) = match count {
            0 => (None, 0),
            1 => (queue.waiters.pop(), 0),
            _ => {
                let index = self.branch(self.pending[me], count as u32, false);
                (Some(self.objects[condvar.index()].waiters.remove(index as usize)), index)
            }
        };
        let woken = woken.map(|woken| {
            self.wake(woken);
            self.threads[woken as usize].object
        });
        let thread = self.threads.mine();
        let queue = &mut self.objects[condvar.index()];
        queue.note_change(false);
        thread.note_change();
        self.idle_wakes = 0;
        match woken {
            None => {
                thread.hash.begin_step(NOTIFY);
                thread.hash.meet(&mut queue.hash, Mode::Write);
                thread.hash.tell(&mut queue.hash);
                if self.attention {
                    self.tell_single(self.pending[me], Mode::Write);
                }
            }
            Some(other) => {
                thread.hash.begin_step(if all { 2 * NOTIFY } else { NOTIFY + 1 + u64::from(index) });
                thread.hash.meet(&mut queue.hash, Mode::Write);
                let slot = &mut self.objects[other.index()];
                thread.hash.meet(&mut slot.hash, Mode::Write);
                thread.hash.tell(&mut slot.hash);
                thread.hash.tell(&mut self.objects[condvar.index()].hash);
                if self.attention {
                    self.tell_pair((condvar, Mode::Write), (other, Mode::Write));
                }
            }
        }
        self.count_step();
        // Who waits on it waits for something else: to be notified, or for the mutex.
        if self.waited == u64::MAX {
            self.reconsider_waiting(condvar);
        }
        true
    }

    /// Tells the chooser of the step, which has touched these two objects.
    fn tell_pair(&mut self, one: (ObjectId, Mode), other: (ObjectId, Mode)) {
        let accesses = [one, other].map(|(object, mode)| Access { object, mode });
        self.tell(self.pending[self.current], &accesses);
    }

    pub(super) fn notify_one(&mut self, operation: Operation) -> Effect {
        let condvar = operation.object;
        let count = self.waiters(condvar).len();
        self.set_accesses(&[(condvar, Mode::Write)]);
        let mut tag = NOTIFY;
        let waiters = std::mem::take(self.waiters(condvar));
        let all_late = count > 0 && waiters.iter().all(|&thread| self.may_be_late(thread));
        *self.waiters(condvar) = waiters;
        if all_late && self.branch(operation, 2, true) == 1 {
            // The time of all of them is over, and they only want their mutex again.
            for thread in std::mem::take(self.waiters(condvar)) {
                self.wake_late(thread);
            }
            self.note_change(condvar);
            self.finish_many(operation, 4, Some(LATE));
            return Effect::Done;
        }
        if count > 0 {
            let index = if count > 1 { self.branch(operation, count as u32, false) } else { 0 };
            let woken = self.waiters(condvar).remove(index as usize);
            self.wake(woken);
            let object = self.threads[woken as usize].object;
            self.accesses.push(Access { object, mode: Mode::Write });
            tag += 1 + u64::from(index);
        }
        self.note_change(condvar);
        self.finish_many(operation, tag, if count == 0 { Some("nobody waits") } else { None });
        Effect::Done
    }

    pub(super) fn notify_all(&mut self, operation: Operation) -> Effect {
        let condvar = operation.object;
        self.set_accesses(&[(condvar, Mode::Write)]);
        let woken = std::mem::take(self.waiters(condvar));
        let mut tag = NOTIFY;
        for &thread in &woken {
            let late = self.may_be_late(thread) && self.branch(operation, 2, true) == 1;
            tag = 2 * tag + u64::from(late);
            if late {
                self.wake_late(thread);
                continue;
            }
            self.wake(thread);
            let object = self.threads[thread as usize].object;
            self.accesses.push(Access { object, mode: Mode::Write });
        }
        let nobody = woken.is_empty();
        // Give the queue its memory back.
        let mut woken = woken;
        woken.clear();
        *self.waiters(condvar) = woken;
        self.note_change(condvar);
        self.finish_many(operation, tag, if nobody { Some("nobody waits") } else { None });
        Effect::Done
    }
}

/// Whether it is a wait for a time.
const fn is_timed(operation: Operation) -> bool {
    matches!(operation.action, Action::Reacquire { timed: true })
}
