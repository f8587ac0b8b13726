//! Objects of the running execution: their states, when an operation on them can take effect, and the dispatch to
//! the file of their kind, where the semantics of the operation stands once.

mod atomic;
mod barrier;
mod cell;
mod channel;
mod condvar;
mod count;
mod mutex;
mod once;
mod rwlock;
mod thread;

use super::execution::Execution;
use super::object::{Effect, InitialState};
use super::threads::Readiness;
use crate::clock::VectorClock;
use crate::dependence::ObjectHash;
use crate::memory::happens_before::AtomicClock;
use crate::memory::race::DataClock;
use crate::trace::{Access, Action, Mode, ObjectClass, ObjectId, Operation, ThreadId};

pub(super) use channel::Channel;
pub use count::Counts;

/// One object. Slots are used again by later executions.
#[derive(Debug, Default)]
pub(crate) struct Object {
    /// Counts changes that a spinning thread could wait for.
    pub(super) version: u32,
    /// Those among them that were made by threads that go round, and are no news.
    pub(super) stale: u32,
    /// Somebody has tried in vain to lock it since it was last let go: that it is let go is a change for him, whatever was done under the lock.
    is_tried: bool,
    /// Who locked it last; of a thread, its own number.
    last_holder: u32,
    pub(super) hash: ObjectHash,
    /// Atomics: what the current value was released with.
    pub(super) sync: AtomicClock,
    /// Locks, channels and the like: what was published through it.
    pub(super) clock: VectorClock,
    /// When each thread has used it last, by the thread's own clock before it let go of anything with that.
    pub(super) uses: VectorClock,
    /// Where the handle lies by which it was used last; zero if what is known of that as plain memory matters to those who use it (see `mixed`).
    pub(super) home: usize,
    pub(super) state: State,
    /// Of a condvar those who wait on it; of an `RwLock` writers that have come while there were readers. (Here, and not a part of the
    /// state, so that the memory stays with the slot, whatever it becomes.)
    waiters: Vec<u32>,
    /// Those who read an `RwLock`.
    readers: Vec<u32>,
}

/// Of so many objects that a spinning thread reads each is named.
const MAX_NAMED_READS: usize = 3;

/// The state by kind.
#[derive(Debug, Default)]
pub(crate) enum State {
    /// An atomic variable (its value is in the program's memory), a thread or a count.
    #[default]
    Plain,
    Cell(Box<cell::CellState>),
    Mutex {
        owner: Option<u32>,
        lockers: mutex::Lockers,
    },
    RwLock {
        writer: Option<u32>,
        read_clock: VectorClock,
        /// The writer may have waited for it.
        has_waited: bool,
    },
    Condvar,
    Barrier {
        count: usize,
        arrived: usize,
        generation: u64,
        /// Those of generations that are over who have not left yet.
        leaving: usize,
        leave_clock: VectorClock,
    },
    Once(once::OnceState),
    Channel(Box<Channel>),
    Count(count::CountState),
}

impl Object {
    /// Makes the slot a new object of this class.
    pub(super) fn reset(&mut self, class: ObjectClass) {
        self.version = 0;
        self.stale = 0;
        self.is_tried = false;
        self.last_holder = u32::MAX;
        self.hash = ObjectHash::default();
        self.sync.clear();
        self.uses.clear();
        self.home = 0;
        self.waiters.clear();
        self.readers.clear();
        match (&mut self.state, class) {
            (State::Plain, ObjectClass::Atomic) => return,
            (State::Plain, ObjectClass::Thread) => {}
            (State::Cell(state), ObjectClass::Cell) => state.clear(),
            (State::Mutex { owner, lockers }, ObjectClass::Mutex) => {
                *owner = None;
                *lockers = mutex::Lockers::default();
            }
            (State::RwLock { writer, read_clock, has_waited }, ObjectClass::RwLock) => {
                *has_waited = false;
                *writer = None;
                read_clock.clear();
            }
            (State::Condvar, ObjectClass::Condvar) => {}
            (State::Channel(channel), ObjectClass::Channel) => channel.clear(),
            (state, class) => *state = State::first(class),
        }
        self.clock.clear();
    }

    /// Makes the slot this thread; not if it was something with a state that is worth keeping.
    #[inline]
    fn reset_thread(&mut self, thread: usize) -> bool {
        if matches!(self.state, State::Mutex { .. } | State::Condvar) {
            self.waiters.clear();
            self.state = State::Plain;
        }
        let is_plain = matches!(self.state, State::Plain);
        if is_plain {
            self.version = 0;
            self.stale = 0;
            self.set_thread(thread);
            self.hash = ObjectHash::default();
            self.clock.clear();
        }
        is_plain
    }

    /// The object is this thread.
    #[inline]
    fn set_thread(&mut self, thread: usize) {
        self.last_holder = thread as u32;
    }

    /// The thread that the object is.
    #[inline]
    fn thread(&self) -> Option<usize> {
        (self.last_holder != u32::MAX).then_some(self.last_holder as usize)
    }

    /// The thread has locked it. Whether that is a change: somebody else had locked it before.
    #[inline(always)]
    fn note_holder(&mut self, thread: u32, stale: bool) -> bool {
        let changes = self.last_holder != thread;
        if changes {
            self.last_holder = thread;
            self.note_change(stale);
        }
        changes
    }

    /// It is let go; who has it changed nothing under it.
    #[inline(always)]
    fn note_release(&mut self) {
        if self.is_tried {
            self.is_tried = false;
            self.note_change(false);
        }
    }

    #[inline(always)]
    pub(super) fn note_change(&mut self, stale: bool) {
        self.version = self.version.wrapping_add(1);
        if stale {
            self.stale = self.stale.wrapping_add(1);
        }
    }

    /// Counts changes by threads that do not go round.
    pub(super) fn news(&self) -> u32 {
        self.version.wrapping_sub(self.stale)
    }

    /// Takes over the state in which the program made the object.
    pub(super) fn initialise(&mut self, initial: InitialState) {
        match (&mut self.state, initial) {
            (State::Barrier { count, .. }, InitialState::Barrier { count: initial }) => *count = initial,
            (State::Once(state), InitialState::Once { complete, poisoned }) => {
                *state = match (complete, poisoned) {
                    (true, _) => once::OnceState::Complete,
                    (false, true) => once::OnceState::Poisoned,
                    (false, false) => once::OnceState::Incomplete,
                };
            }
            (State::Channel(channel), InitialState::Channel { capacity, length, senders, receiver }) => {
                channel.initialise(capacity, length, senders, receiver);
            }
            _ => {}
        }
    }
}

impl State {
    fn first(class: ObjectClass) -> State {
        match class {
            ObjectClass::Cell => State::Cell(Box::default()),
            ObjectClass::Mutex => State::Mutex { owner: None, lockers: mutex::Lockers::default() },
            ObjectClass::RwLock => {
                State::RwLock { writer: None, read_clock: VectorClock::new(), has_waited: false }
            }
            ObjectClass::Condvar => State::Condvar,
            ObjectClass::Barrier => State::Barrier {
                count: 0,
                arrived: 0,
                generation: 0,
                leaving: 0,
                leave_clock: VectorClock::new(),
            },
            ObjectClass::Once => State::Once(once::OnceState::Incomplete),
            ObjectClass::Channel => State::Channel(Box::default()),
            ObjectClass::Count => State::Count(count::CountState::default()),
            ObjectClass::Thread | ObjectClass::Atomic => State::Plain,
        }
    }

    /// The race check's state of a cell.
    pub(super) fn data(&mut self) -> &mut DataClock {
        match self {
            State::Cell(state) => &mut state.clock,
            other => unreachable!("a cell's slot holds {other:?}"),
        }
    }
}

impl Execution {
    #[inline]
    pub(super) fn object_mut(&mut self, id: ObjectId) -> &mut Object {
        &mut self.objects[id.index()]
    }

    pub(super) fn object_ref(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    /// Whether the thread's pending operation can take effect now.
    pub(super) fn readiness(&self, thread: usize) -> Readiness {
        self.readiness_of(thread, self.pending[thread])
    }

    /// Whether this operation, the thread's pending one, can take effect now.
    #[inline(always)]
    pub(super) fn readiness_of(&self, thread: usize, operation: Operation) -> Readiness {
        let this = &self.threads[thread];
        if this.awaiting {
            let unchanged = match this.awaits_news {
                true => this.turns.nothing_new(&self.objects),
                false => this.reads.iter().all(|r| self.objects[r.object as usize].version == r.version),
            };
            if unchanged {
                return Readiness::Awaiting;
            }
        }
        let ready = |ready| if ready { Readiness::Ready } else { Readiness::Blocked };
        let timed_ready = |is_ready, timed| match (is_ready, timed) {
            (true, _) => Readiness::Ready,
            (false, true) => Readiness::Timeout,
            (false, false) => Readiness::Blocked,
        };
        match operation.action {
            Action::Lock => ready(self.mutex_is_free(operation.object)),
            Action::ReadLock => ready(self.rwlock_is_free(operation.object, false)),
            Action::WriteLock => ready(self.can_write_or_wait(operation.object, thread)),
            Action::Reacquire { timed } => self.reacquire_readiness(thread, operation.other, timed),
            Action::BarrierLeave => ready(self.barrier_is_open(operation.object, this.generation)),
            Action::OnceEnter => ready(self.once_can_enter(operation.object)),
            Action::OnceWait => ready(self.once_is_over(operation.object)),
            Action::OnceWaitForce => ready(self.once_is_complete(operation.object)),
            Action::Send => ready(self.channel(operation.object).can_send()),
            Action::SendFinish => ready(self.channel(operation.object).is_taken(this.ticket)),
            Action::Receive { timed } => timed_ready(self.channel(operation.object).can_receive(), timed),
            Action::Join if this.joins_left => ready(self.has_left(operation.object)),
            Action::Join => ready(self.has_ended(operation.object)),
            // It may wake for no reason, says `std`.
            Action::Park { timed: false } if !this.token => Readiness::Spurious,
            Action::Park { timed } => timed_ready(this.token, timed),
            Action::SleepUntil => Readiness::Timeout,
            _ => Readiness::Ready,
        }
    }

    /// Threads that hold what the thread waits for.
    pub(super) fn holders(&self, thread: usize) -> Vec<ThreadId> {
        let operation = self.pending[thread];
        let id = |t: &u32| ThreadId::new(*t as usize);
        match operation.action {
            Action::Lock => self.mutex_owner(operation.object).iter().map(id).collect(),
            Action::Reacquire { .. } => self.mutex_owner(operation.other).iter().map(id).collect(),
            Action::ReadLock | Action::WriteLock => match self.object_ref(operation.object) {
                Object { state: State::RwLock { writer, .. }, readers, .. } => {
                    writer.iter().chain(readers).map(id).collect()
                }
                _ => Vec::new(),
            },
            Action::OnceEnter | Action::OnceWait | Action::OnceWaitForce => {
                match &self.object_ref(operation.object).state {
                    State::Once(once::OnceState::Running(by)) => vec![id(by)],
                    _ => Vec::new(),
                }
            }
            Action::Join => self.thread_of(operation.object).map(ThreadId::new).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Who waits to write what the thread wants to read.
    pub(super) fn writer_before(&self, thread: usize) -> Option<ThreadId> {
        let operation = Some(self.pending[thread]).filter(|pending| pending.action == Action::ReadLock)?;
        self.waiting_writer(operation.object).filter(|&writer| writer != thread).map(ThreadId::new)
    }

    /// What the thread waits for, in words.
    pub(super) fn waiting_words(&self, thread: usize, held_by: &[ThreadId]) -> String {
        let who = ThreadId::new(thread);
        let operation = self.pending[thread];
        let object = operation.object;
        let held = match held_by {
            [] => String::new(),
            [one] => format!(", held by {one}"),
            many => {
                let names: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!(", held by {}", names.join(" and "))
            }
        };
        if self.threads[thread].awaiting && self.threads[thread].awaits_news {
            return format!("{who} repeats itself until another thread changes something that it touches");
        }
        if self.threads[thread].awaiting {
            return format!("{who} spins until {} changes", self.words_of_reads(thread));
        }
        match operation.action {
            Action::Lock => format!("{who} waits for Mutex {object}{held}"),
            Action::ReadLock => match self.writer_before(thread) {
                Some(writer) => format!(
                    "{who} waits to read RwLock {object}{held}, behind {writer}, who waits to write it"
                ),
                None => format!("{who} waits to read RwLock {object}{held}"),
            },
            Action::WriteLock => format!("{who} waits to write RwLock {object}{held}"),
            Action::Reacquire { .. } if !self.threads[thread].notified => {
                format!("{who} waits on Condvar {object} for a notification that never comes")
            }
            Action::Reacquire { .. } => {
                format!(
                    "{who} was notified on Condvar {object} and waits for Mutex {}{held}",
                    operation.other
                )
            }
            Action::BarrierLeave => format!("{who} waits at Barrier {object} for others to arrive"),
            Action::OnceEnter | Action::OnceWait | Action::OnceWaitForce => {
                format!("{who} waits for the initialiser of Once {object}{held}")
            }
            Action::Send => format!("{who} waits for room in channel {object}"),
            Action::SendFinish => format!("{who} waits until its message in channel {object} is taken"),
            Action::Receive { .. } => format!("{who} waits for a message in channel {object}"),
            Action::Join => match held_by {
                [target] => format!("{who} waits for {target} to end"),
                _ => format!("{who} waits for a thread to end"),
            },
            Action::Park { .. } => format!("{who} is parked and nobody unparks it"),
            other => format!("{who} is about to perform {other:?}"),
        }
    }

    /// What a spinning thread has read in its last turn, one of which is to change.
    fn words_of_reads(&self, thread: usize) -> String {
        let mut objects: Vec<usize> =
            self.threads[thread].reads.iter().map(|read| read.object as usize).collect();
        objects.sort_unstable();
        objects.dedup();
        if !(1..=MAX_NAMED_READS).contains(&objects.len()) {
            return "one of the values it reads".to_owned();
        }
        let name = |&object: &usize| {
            let class = if matches!(self.objects[object].state, State::Plain) { "atomic" } else { "object" };
            format!("{class} {}", ObjectId::new(object))
        };
        objects.iter().map(name).collect::<Vec<_>>().join(" or ")
    }

    /// Applies the operation that the running thread has announced.
    pub(super) fn apply(&mut self, operation: Operation, changed: bool) -> Effect {
        let object = operation.object;
        self.note_uses(operation);
        match operation.action {
            Action::Lock => self.lock(operation),
            Action::TryLock => self.try_lock(operation),
            Action::Unlock => self.unlock(operation, changed),
            Action::IsPoisoned => self.is_poisoned(operation),
            Action::ReadLock | Action::TryReadLock => self.read_lock(operation),
            Action::WriteLock | Action::TryWriteLock => self.write_lock(operation),
            Action::ReadUnlock => self.read_unlock(operation),
            Action::WriteUnlock => self.write_unlock(operation, changed),
            Action::Downgrade => self.downgrade(operation, changed),
            Action::Wait { .. } => self.wait(operation),
            Action::Reacquire { .. } => self.reacquire(operation),
            Action::NotifyOne => self.notify_one(operation),
            Action::NotifyAll => self.notify_all(operation),
            Action::BarrierArrive => self.barrier_arrive(operation),
            Action::BarrierLeave => self.barrier_leave(operation),
            Action::OnceEnter => self.once_enter(operation, changed),
            Action::OnceLeave => self.once_leave(operation, changed),
            Action::OnceCheck | Action::OnceWait | Action::OnceWaitForce => self.once_check(operation),
            Action::Send | Action::TrySend => self.send(operation),
            Action::SendFinish => self.send_finish(operation),
            Action::ReceiveBegin | Action::Receive { .. } | Action::TryReceive => self.receive(operation),
            Action::SenderClone | Action::SenderDrop | Action::ReceiverDrop => {
                self.channel_end(operation, changed)
            }
            Action::Park { .. } => self.park(operation),
            Action::Unpark => self.unpark(operation),
            Action::Join => self.join(operation),
            Action::Yield | Action::SpinLoop | Action::Sleep | Action::SleepUntil => self.pause(operation),
            Action::CountUp | Action::CountDown | Action::CountRead | Action::CountUpdate => {
                self.count(operation, changed)
            }
            _ => {
                self.accesses.clear();
                self.accesses.extend(crate::dependence::accesses(operation));
                if object.is_some() {
                    self.note_change(object);
                }
                self.finish_many(operation, 0, None);
                Effect::Done
            }
        }
    }

    /// The running thread has changed the object.
    pub(super) fn note_change(&mut self, object: ObjectId) {
        let me = self.current;
        let stale = self.threads[me].turns.tired;
        self.object_mut(object).note_change(stale);
        self.threads[me].note_change();
        self.note_progress();
    }

    /// The running thread has looked at the object and changed nothing.
    pub(super) fn note_read(&mut self, object: ObjectId) {
        self.note_read_of(object, self.object_ref(object).version);
    }

    /// [`note_read`](Self::note_read) of this version of the object.
    pub(super) fn note_read_of(&mut self, object: ObjectId, version: u32) {
        let thread = self.threads.mine();
        let place = thread.location;
        thread.note_read(super::threads::ReadEntry { object: object.index() as u32, version, place });
    }

    /// The running thread has locked the object: a change for everybody else, and for itself if somebody else had
    /// locked it in between. A loop that locks, looks and unlocks is thus seen as spinning, and several of them, which are changes for each other, as
    /// going round.
    fn note_lock(&mut self, object: ObjectId) {
        let me = self.current as u32;
        let is_other = self.object_ref(object).last_holder != me;
        if is_other && self.takes_in_secret(object) {
            self.object_mut(object).last_holder = me;
        } else if is_other {
            let stale = self.threads.mine().turns.tired;
            self.object_mut(object).note_holder(me, stale);
            self.threads.mine().dirty = true;
        }
        self.note_read(object);
    }

    /// A try to lock the object fails.
    fn refuse(&mut self, operation: Operation) -> Effect {
        self.note_read(operation.object);
        self.object_mut(operation.object).is_tried = true;
        let access = Access { object: operation.object, mode: Mode::Read };
        self.finish_single(operation, access, None, None, Some("would block"));
        Effect::Refused
    }

    pub(super) fn set_accesses(&mut self, accesses: &[(ObjectId, Mode)]) {
        self.accesses.clear();
        self.accesses.extend(accesses.iter().map(|&(object, mode)| crate::trace::Access { object, mode }));
    }
}
