//! Threads as objects: begin, end, join, park and unpark; and the pauses, which touch nothing.

use super::Effect;
use crate::dependence::ThreadHash;
use crate::program::Place;
use crate::runtime::ThreadMain;
use crate::runtime::execution::Execution;
use crate::runtime::registers::Registers;
use crate::runtime::threads::{Life, MAX_LATE_ENDS, ReadEntry, Readiness, Thread};
use crate::thread_set::ThreadSet;
use crate::trace::{Access, Action, LATE_END, Mode, ObjectClass, ObjectId, Operation, ThreadId, ThreadInfo};
use std::sync::Arc;

/// Where threads that are left waiting are no failure, one that has paused so often in a row, and done nothing else, waits for what never comes.
const MAX_EMPTY_TURNS: u32 = 64;

/// What is noted of a thread that has not ended.
const RUNNING: &str = "still running";

impl Execution {
    /// Creates a thread whose begin is pending. Its parent is the running thread, if there is one.
    #[inline(never)]
    pub(in crate::runtime) fn create_thread(
        &mut self,
        name: Option<Arc<str>>,
        stack_size: Option<usize>,
        location: Option<Place>,
        job: ThreadMain,
    ) -> ThreadId {
        let index = self.thread_count;
        let parent = (index > 0).then_some(self.current);
        let object = self.register_thread(index, location);
        if self.threads.len() == index {
            self.threads.grow();
        }
        self.thread_count += 1;
        let thread = match self.threads.pair(index, self.current) {
            Some((thread, spawner)) => {
                let spawn_index = spawner.spawn_count;
                spawner.spawn_count += 1;
                thread.clock.begin(index, Some(&spawner.clock.clock));
                thread.hash = ThreadHash::begin(Some(spawner.hash), spawn_index);
                thread.reset(object, parent, spawn_index, name);
                thread.number = std::mem::take(&mut spawner.next_number);
                thread
            }
            None => {
                let thread = self.threads.mine();
                thread.clock.begin(index, None);
                thread.hash = ThreadHash::begin(None, 0);
                thread.reset(object, None, 0, name);
                thread
            }
        };
        thread.location = location;
        match &thread.coroutine {
            // The one that stands in the slot.
            Some(coroutine) if stack_size.is_none() => coroutine.assign(job),
            _ => self.provide_other_stack(index, stack_size, job),
        }
        self.pending.push(Operation::new(Action::Begin, object));
        self.enabled.insert(index);
        if index >= ThreadSet::WORD {
            self.attend();
        }
        if let Some(observer) = self.observer {
            super::super::allocator::aside(|| {
                let info = ThreadInfo {
                    id: ThreadId::new(index),
                    path: self.path(index),
                    name: self.threads[index].name.as_deref().map(str::to_owned),
                    spawned_at: location.filter(|_| parent.is_some()).and_then(Place::location),
                };
                // SAFETY: see `Execution::observe_step`.
                unsafe { (*observer).thread(info) };
            });
        }
        ThreadId::new(index)
    }

    /// What the other one had done when it let go of what a thread and its handle share happens before what the running thread does from now on.
    pub(in crate::runtime) fn take_over(&mut self, thread: usize) {
        // What has been freed so far was freed without that.
        self.note_freed();
        let me = self.current;
        if let Some((mine, theirs)) = self.threads.pair(me, thread) {
            mine.clock.acquire(theirs.shared_clock());
            if !theirs.has_left {
                theirs.clock.clock.tick(thread);
            }
        } else {
            let Thread { clock, given_up_after, .. } = self.threads.mine();
            clock.acquire(given_up_after);
        }
    }

    /// The running thread gives up its handle of the other one, which has not been joined.
    pub(in crate::runtime) fn give_up_handle(&mut self, thread: usize) {
        let me = self.current;
        if let Some((mine, theirs)) = self.threads.pair(me, thread) {
            theirs.given_up_after.clone_from(&mine.clock.clock);
            mine.clock.clock.tick(me);
        }
        self.tell_looked_at(self.threads[thread].object);
    }

    /// A spawn's effect: [`create_thread`](Self::create_thread) and [`finish_spawn`](Self::finish_spawn), if everything is there
    /// from earlier executions and nothing is to be looked at more closely; else the job is given back.
    #[inline(always)]
    pub(in crate::runtime) fn spawn_shortly(
        &mut self,
        place: Place,
        job: ThreadMain,
    ) -> Result<ThreadId, ThreadMain> {
        let (index, object, me) = (self.thread_count, self.object_count, self.current);
        let is_usual = !self.wants_more && index < self.pending.capacity();
        if !is_usual || index >= self.threads.len() || self.ledger.keeps_histories {
            return Err(job);
        }
        let Some((thread, spawner)) = self.threads.pair(index, me) else { return Err(job) };
        let Some(slot) = self.objects.get_mut(object) else { return Err(job) };
        let is_usual = spawner.is_unwatched() && spawner.next_number == 0;
        let is_warm = thread.is_warm() && is_usual && slot.reset_thread(index);
        if !is_warm || !thread.clock.begin_shortly(index, me, &mut spawner.clock) {
            return Err(job);
        }
        let id = ObjectId::new(object);
        let spawn_index = spawner.spawn_count;
        spawner.spawn_count += 1;
        spawner.note_change();
        thread.hash = ThreadHash::begin(Some(spawner.hash), spawn_index);
        spawner.hash.step(&mut slot.hash, Mode::Write);
        thread.reset_warm(id, Some(me), spawn_index);
        thread.location = Some(place);
        if let Some(coroutine) = &thread.coroutine {
            coroutine.assign(job);
        }
        self.thread_count += 1;
        self.object_count += 1;
        self.enabled.insert(index);
        self.pending.push(Operation::new(Action::Begin, id));
        if self.attention {
            self.tell_single(Operation::new(Action::Spawn, id), Mode::Write);
        }
        self.count_step();
        Ok(ThreadId::new(index))
    }

    /// [`join`](Self::join), if nothing is to be looked at more closely; else nothing is done.
    #[inline(always)]
    pub(in crate::runtime) fn join_shortly(&mut self, target: usize, id: ObjectId) -> bool {
        let is_usual = !self.wants_more;
        let Some((mine, theirs)) = self.threads.pair(self.current, target) else { return false };
        let Some(object) = self.objects.get_mut(id.index()) else { return false };
        let is_usual = is_usual && mine.is_unwatched() && mine.has_room_for_reads() && !mine.joins_left;
        if !is_usual || !mine.clock.clock.join_few(&theirs.clock.clock) {
            return false;
        }
        theirs.panic_handled = true;
        let (version, place) = (object.version, mine.location);
        mine.note_read(ReadEntry { object: id.index() as u32, version, place });
        mine.hash.step(&mut object.hash, Mode::Read);
        if self.attention {
            self.tell_single(Operation::new(Action::Join, id), Mode::Read);
        }
        self.count_step();
        true
    }

    /// [`register`](Self::register) for a thread.
    #[inline]
    fn register_thread(&mut self, thread: usize, location: Option<Place>) -> ObjectId {
        let is_usual = self.objects.len() > self.object_count
            && self.observer.is_none()
            && !self.ledger.keeps_histories
            && self.objects[self.object_count].reset_thread(thread);
        if is_usual {
            self.object_count += 1;
            return ObjectId::new(self.object_count - 1);
        }
        let object = self.register(ObjectClass::Thread, "Thread", std::ptr::null(), location);
        self.objects[object.index()].set_thread(thread);
        object
    }

    #[cold]
    fn provide_other_stack(&mut self, index: usize, stack_size: Option<usize>, job: ThreadMain) {
        let thread = &mut self.threads[index];
        if self.settings.sequential {
            thread.job = Some(job);
            return;
        }
        if let Some(coroutine) = thread.coroutine.take() {
            self.pool.put(coroutine);
        }
        self.has_large_stacks |= stack_size.is_some();
        let coroutine = self.pool.take(job, stack_size);
        thread.suspension = coroutine.suspension();
        thread.coroutine = Some(coroutine);
    }

    /// The thread's name in every execution.
    fn path(&self, thread: usize) -> String {
        match self.threads[thread].parent {
            Some(parent) => format!("{}.{}", self.path(parent), self.threads[thread].spawn_index),
            None => "main".to_owned(),
        }
    }

    /// The thread that this object is.
    #[inline]
    pub(in crate::runtime) fn thread_of(&self, object: ObjectId) -> Option<usize> {
        self.objects[object.index()].thread()
    }

    #[inline(always)]
    pub(super) fn has_ended(&self, object: ObjectId) -> bool {
        self.thread_of(object).is_some_and(|t| self.threads[t].life == Life::Ended)
    }

    /// Whether nothing is left of the thread but what its thread-locals do.
    pub(super) fn has_left(&self, object: ObjectId) -> bool {
        self.thread_of(object)
            .is_some_and(|t| self.threads[t].has_left || self.threads[t].life == Life::Ended)
    }

    /// The running thread has let go of what it shares with whoever joins it, and goes on: part of its last step.
    pub(in crate::runtime) fn leave_thread(&mut self) {
        let me = self.current;
        let thread = self.threads.mine();
        let object = thread.object;
        thread.has_left = true;
        thread.left.clone_from(&thread.clock.clock);
        thread.clock.clock.tick(me);
        let slot = &mut self.objects[object.index()];
        thread.hash.step(&mut slot.hash, Mode::Write);
        slot.note_change(thread.turns.tired);
        self.tell_freed(object);
        self.note_progress();
        self.reconsider(object);
    }

    /// Completes a spawn: what the parent has done so far happens before the child.
    pub(in crate::runtime) fn finish_spawn(&mut self, child: ThreadId) {
        let me = self.current;
        self.threads[me].clock.clock.tick(me);
        self.threads[me].note_change();
        let object = self.threads[child.index()].object;
        let operation = Operation::new(Action::Spawn, object);
        self.finish_single(operation, Access { object, mode: Mode::Write }, None, None, None);
    }

    /// The running thread's first step.
    #[inline]
    pub(in crate::runtime) fn begin_thread(&mut self) {
        let thread = self.threads.mine();
        thread.life = Life::Live;
        let object = thread.object;
        let access = Access { object, mode: Mode::Read };
        self.finish_single(Operation::new(Action::Begin, object), access, None, None, None);
    }

    /// The running thread ends: part of its last step.
    #[inline]
    pub(in crate::runtime) fn end_thread(&mut self) {
        // What the thread has freed is its own doing, and before its end.
        self.note_freed();
        if self.accesses_hooked {
            self.stack_goes();
        }
        let me = self.current;
        if self.threads.mine().spins.has_secrets() {
            self.tell_secrets();
        }
        let thread = self.threads.mine();
        let object = thread.object;
        thread.life = Life::Ended;
        self.ended_count += 1;
        self.enabled.remove(me);
        self.early.remove(me);
        self.waiting.remove(me);
        let slot = &mut self.objects[object.index()];
        // Who looks at a thread that has left sees the same before its end and after, and who joins it comes after that.
        if !thread.has_left {
            thread.hash.step(&mut slot.hash, Mode::Write);
        }
        slot.note_change(thread.turns.tired);
        self.note_end(object);
        self.note_progress();
        self.reconsider(object);
    }

    #[inline(never)]
    pub(in crate::runtime) fn join(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let mut has_ended = true;
        if let Some(target) = self.thread_of(operation.object).filter(|&t| t != me) {
            let Some((mine, theirs)) = self.threads.pair(me, target) else {
                unreachable!("two different threads")
            };
            mine.clock.acquire(if mine.joins_left { theirs.shared_clock() } else { &theirs.clock.clock });
            theirs.panic_handled = true;
            has_ended = theirs.life == Life::Ended;
        }
        self.note_read(operation.object);
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, None);
        if !has_ended {
            // Its end is still to come, and touches it too.
            self.tell_looked_at(operation.object);
        }
        Effect::Done
    }

    /// Whether a thread has ended but for its thread-locals: a read of it. As with std's handle, which looks at a count by a relaxed load,
    /// who finds that it has does not come after what it did; and who does not know that it has may find that it has not.
    pub(in crate::runtime) fn finish_is_finished(&mut self, operation: Operation) -> bool {
        let left = self.thread_of(operation.object).filter(|_| self.has_left(operation.object));
        let Some(thread) = left.filter(|&thread| !self.knows_end(thread)) else {
            return self.finish_look_at_end(operation);
        };
        let mine = self.threads.mine();
        // Whoever has been kept from ending still is, for nothing.
        let is_new = !mine.kept_from_ending.contains(&thread);
        if mine.late_ends < MAX_LATE_ENDS && self.branch(operation, 2, is_new) == 1 {
            self.note_read(operation.object);
            let mine = self.threads.mine();
            mine.late_ends += 1;
            mine.kept_from_ending.push(thread);
            mine.note_spurious_failure();
            self.set_accesses(&[(operation.object, Mode::Read)]);
            self.finish_many(operation, 11, Some(if is_new { LATE_END } else { RUNNING }));
            return false;
        }
        let me = self.current;
        let now = self.threads.mine().clock.clock.get(me);
        self.threads[thread].seen_ended_by.push((me, now));
        self.finish_look_at_end(operation)
    }

    /// Whether what the running thread knows of comes after the end of a thread, or after somebody has found that it has ended.
    fn knows_end(&self, thread: usize) -> bool {
        let (clock, theirs) = (&self.threads[self.current].clock.clock, &self.threads[thread]);
        clock.get(thread) >= theirs.shared_clock().get(thread)
            || theirs.seen_ended_by.iter().any(|&(who, when)| clock.get(who) >= when)
    }

    /// A read of a thread, which depends on whether it has ended but for its thread-locals: that is returned.
    pub(in crate::runtime) fn finish_look_at_end(&mut self, operation: Operation) -> bool {
        let ended = self.has_left(operation.object);
        self.note_read(operation.object);
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, Some(if ended { "ended" } else { RUNNING }));
        ended
    }

    /// The object of a thread's park token.
    pub(in crate::runtime) fn token(&mut self, thread: usize) -> ObjectId {
        if !self.threads[thread].token_object.is_some() {
            let location = self.threads[self.current].location;
            let object = self.register(ObjectClass::Thread, "park token", std::ptr::null(), location);
            self.threads[thread].token_object = object;
        }
        self.threads[thread].token_object
    }

    pub(super) fn park(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let expired = self.threads[me].expired.take();
        let had_token = std::mem::take(&mut self.threads[me].token);
        if had_token && self.is_token_gone(operation) {
            return Effect::Refused;
        }
        let object = &self.objects[operation.object.index()];
        let mut note = None;
        let wakes_itself = had_token && self.threads[me].own_token;
        if had_token {
            self.threads[me].end_wait();
            self.threads[me].clock.acquire(&object.clock);
        } else if expired == Some(Readiness::Timeout) {
            self.expire();
            note = Some("timed out");
        } else {
            note = Some(match self.threads[me].parked_within.take() {
                Some(_) => "finds a token that a channel or a scope has left",
                None => "wakes up for no reason",
            });
        }
        self.threads[me].note_change();
        let access = Access { object: operation.object, mode: Mode::Write };
        self.finish_single(operation, access, None, None, note);
        if self.threads[me].note_park(wakes_itself) {
            self.attend();
        }
        if had_token { Effect::Done } else { Effect::TimedOut }
    }

    /// The running thread comes out of an operation in which `std` may have parked it: the token that it then took may have been one that
    /// the program gave it.
    pub(in crate::runtime) fn note_parked_within(&mut self) {
        let me = self.current;
        self.threads[me].parked_within = Some(self.threads[me].clock.clock.get(me));
    }

    /// Whether `std` has taken the token that the running thread is about to take, in an operation in which it parks: where a channel or the
    /// end of a scope makes a thread wait, it takes any token that it finds and looks again. If nothing says that the token was given after
    /// that, it is gone in some execution; either is explored. Nobody has to have seen in which order they came, so this is asked of the
    /// clocks, and neither the operation nor the unpark depends on the other.
    fn is_token_gone(&mut self, operation: Operation) -> bool {
        let me = self.current;
        let Some(parked_within) = self.threads[me].parked_within.take() else { return false };
        let is_newer = self.objects[operation.object.index()].clock.get(me) >= parked_within;
        if is_newer || self.branch(operation, 2, false) == 0 {
            return false;
        }
        self.threads[me].note_change();
        self.set_accesses(&[(operation.object, Mode::Write)]);
        self.finish_many(operation, 10, Some("its token was taken while it waited in a channel or a scope"));
        true
    }

    pub(super) fn unpark(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let object = &mut self.objects[operation.object.index()];
        self.threads[me].clock.release_join(me, &mut object.clock);
        let target = (0..self.thread_count).find(|&t| self.threads[t].token_object == operation.object);
        if let Some(target) = target {
            let thread = &mut self.threads[target];
            thread.own_token = target == me && (thread.own_token || !thread.token);
            thread.token = true;
        }
        self.note_change(operation.object);
        let access = Access { object: operation.object, mode: Mode::Write };
        self.finish_single(operation, access, None, None, None);
        Effect::Done
    }

    /// Whether the running thread, about to pause, waits for a change of what it reads.
    pub(in crate::runtime) fn recognise_awaiting(&mut self, registers: Option<&Registers>) {
        let me = self.current;
        if self.freed == Some(me) {
            self.freed = None;
        }
        let thread = &mut self.threads[me];
        thread.awaits_news = thread.dirty && thread.turns.gives_way();
        let only_pauses = self.settings.detached && thread.empty_turns >= MAX_EMPTY_TURNS;
        thread.awaiting = thread.awaits_news || thread.awaits() || only_pauses;
        // What is replayed was found by a search that had more to choose from, or as much.
        if self.settings.idle_turns && self.observer.is_none() {
            let (registers, owns_statics) = (registers.copied(), self.settings.owns_statics);
            self.with_memory(true, |thread, step, memory| {
                thread.recognise_idle_turn(registers, step, owns_statics, memory);
            });
            if self.threads[me].idle.is_idle {
                self.calm_down();
            }
        }
        self.note_awaited(me);
    }

    pub(super) fn pause(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        if operation.action == Action::Sleep {
            self.expire();
        }
        let mut note = None;
        if operation.action == Action::SleepUntil {
            self.threads[me].expired = None;
        } else if operation.action != Action::Sleep && self.threads[me].waits_for_time() {
            let in_vain = self.threads[me].waits_in_vain;
            self.threads[me].waits_in_vain += 1;
            self.let_time_pass(in_vain);
        }
        // A thread that waits, or could, depends on what it reads.
        self.accesses.clear();
        let thread = &mut self.threads[me];
        thread.reads_clock = false;
        self.accesses
            .extend(thread.could_await_change_of().map(|object| Access { object, mode: Mode::Read }));
        if std::mem::take(&mut thread.comes_round) {
            note = Some("repeats itself: as if it paused");
        } else {
            thread.rounds.stop();
        }
        let is_turn = !thread.reads.is_empty() || thread.dirty;
        thread.empty_turns = if is_turn { 0 } else { thread.empty_turns + 1 };
        let (has_read, goes_on) = (!thread.reads.is_empty(), !thread.gives_way);
        if std::mem::take(&mut thread.gives_way) {
            thread.awaiting = false;
            thread.turns.rest();
            note = Some("stands back for others");
        } else {
            thread.note_yield();
            thread.turns.end_turn();
            if operation.action == Action::SleepUntil {
                thread.turns.begin_anew();
            }
        }
        let may_repeat = goes_on && (has_read || thread.turns.tired);
        let ends_turn = is_turn.then_some(may_repeat);
        self.finish_many(operation, 9, note);
        if self.with_memory(true, |thread, step, memory| thread.begin_turn(ends_turn, step, memory)) {
            self.compares_stacks = true;
            self.notes_registers = true;
        }
        self.set_yielded();
        Effect::Done
    }
}
