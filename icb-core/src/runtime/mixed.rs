//! Atomic variables that are accessed as plain memory too (`as_ptr`, `get_mut`, initialisation): where plain accesses are checked, these are
//! checked against the atomic ones. A plain access knows them from the shadow, which tells of those that meet a variable. Atomic ones
//! of a variable some of whose plain accesses not all threads have seen take a longer way, on which they are compared with those; all others take the
//! usual one. Which of the uses of a variable were writes is written down only from when it was found to matter: an execution in which a plain read is not
//! ordered with a use is run once more. Nothing of this where what races becomes a scheduling point (`on_race(Promote)`).
//!
//! The same for the handles of locks, condition variables, barriers and `Once`s: an object that is made anew where another one lies (`*place = Mutex::new(0)`), or
//! moved there, is written as plain memory, and nobody may use the one or the other meanwhile. (Plain reads of a handle, which move an object away, are not compared.)

use super::accesses::{GRANULE, Hooked};
use super::address_map::{ASIDE, ByAddress, Kind, alive, key};
use super::allocator::aside;
use super::atomics::AtomicRef;
use super::execution::Execution;
use super::memory_troubles::{Owner, verb};
use super::object::Handle;
use super::threads::Life;
use crate::memory::race::Earlier;
use crate::memory::shadow::{EarlierAccess, MemoryAccess};
use crate::program::Place;
use crate::trace::{ObjectId, RaceAccess, ThreadId};

/// What is known of the atomic variables of the running execution as memory.
#[derive(Debug, Default)]
pub(super) struct Mixed {
    /// Accesses to plain memory are checked against atomic ones.
    pub(super) is_on: bool,
    /// When each thread has written a variable last is kept, in the clock of its object. Kept from one execution to the next.
    pub(super) keeps_writes: bool,
    /// The running thread is taking a step the long way.
    takes_long_way: bool,
    /// By object.
    variables: Vec<Option<Variable>>,
    /// Handles in memory that others reach: the objects that they stand for, by address.
    handles: ByAddress<ObjectId>,
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    address: usize,
    size: usize,
    /// Its operations take the long way.
    is_mixed: bool,
}

impl Mixed {
    /// An execution begins.
    pub(super) fn begin(&mut self, is_on: bool) {
        self.is_on = is_on;
        if is_on {
            self.variables.clear();
            self.handles.clear();
            self.takes_long_way = false;
        }
    }

    /// Other things come to lie here.
    pub(super) fn forget_handles(&mut self, start: usize, size: usize) {
        self.handles.retain(|&address, _| !(start..start + size).contains(&address));
    }

    fn get(&self, object: ObjectId) -> Option<Variable> {
        self.variables.get(object.index()).copied().flatten()
    }

    fn is_mixed(&self, object: ObjectId) -> bool {
        self.get(object).is_some_and(|variable| variable.is_mixed)
    }
}

impl Execution {
    /// The running thread is about to use the variable, and not the short way: from now on its memory is known as that, unless nobody else reaches it.
    pub(super) fn look_at_variable(&mut self, target: AtomicRef, object: ObjectId) {
        let (address, size) = (target.address.addr(), target.of.size);
        if self.mixed.get(object).is_some() || self.end.is_some() || self.is_on_private_stack(address) {
            return;
        }
        self.note_reached(address, size);
        aside(|| {
            self.shadow.enter_atomic(address, size);
            let variables = &mut self.mixed.variables;
            if variables.len() <= object.index() {
                variables.resize(object.index() + 1, None);
            }
            variables[object.index()] = Some(Variable { address, size, is_mixed: true });
        });
        self.objects[object.index()].clock.clear();
    }

    /// The running thread takes the step that it has announced: if the variable is such a one, it is not to be completed the short way.
    pub(super) fn begin_long_way(&mut self, object: ObjectId) {
        if self.mixed.is_mixed(object) {
            self.mixed.takes_long_way = true;
            self.attention = true;
            self.closely = true;
        }
    }

    /// Completes an atomic step where values may be stale or accesses to plain memory are checked.
    pub(super) fn finish_apart(&mut self, id: ObjectId, read: Option<u64>, written: Option<u64>) {
        if std::mem::take(&mut self.mixed.takes_long_way) {
            self.closely = self.wants_more;
            self.attention = self.every_point || self.wants_more;
        }
        if self.settings.weak_memory {
            self.finish_weakly(id, read, written);
        } else {
            self.finish_atomic(id, read, written);
        }
        if self.mixed.is_mixed(id) && self.end.is_none() {
            self.check_with_plain(id, written.is_some());
        }
    }

    /// The running thread has just used the variable. What it has acquired by that counts.
    fn check_with_plain(&mut self, id: ObjectId, write: bool) {
        let Some(Variable { address, size, .. }) = self.mixed.get(id) else { return };
        let me = self.current;
        if write && self.mixed.keeps_writes {
            let object = &mut self.objects[id.index()];
            object.clock.set_as_in(me, &object.uses);
        }
        let clock = &self.threads[me].clock.clock;
        let access = MemoryAccess { address, size, write, thread: me, clock, place: 0 };
        match self.shadow.unordered_with_atomic(&access) {
            Some(earlier) => self.races_with_plain(earlier, write),
            None if !self.mixed.keeps_writes && self.is_seen_by_all(address, size) => {
                self.set_mixed(id, false);
            }
            None => {}
        }
    }

    /// Whether all threads have seen all plain accesses of this memory: so will all later ones.
    fn is_seen_by_all(&self, address: usize, size: usize) -> bool {
        let threads = self.threads.iter().take(self.thread_count);
        let mut alive = threads.filter(|thread| thread.life != Life::Ended);
        alive.all(|thread| self.shadow.is_seen_by(address, size, &thread.clock.clock))
    }

    fn set_mixed(&mut self, id: ObjectId, is_mixed: bool) {
        let Some(Some(variable)) = self.mixed.variables.get_mut(id.index()) else { return };
        variable.is_mixed = is_mixed;
        let at = key(variable.address, Kind::Atomic);
        let value = id.index() as u32 | if is_mixed { ASIDE } else { 0 };
        aside(|| self.map.insert(at, value));
    }

    /// A plain access of the running thread may have met atomic variables.
    pub(super) fn check_with_atomics(&mut self, hooked: Hooked) {
        let granules = std::mem::take(&mut self.shadow.met_atomics);
        for &granule in &granules {
            let start = granule * GRANULE;
            // The largest ones are two granules long.
            for address in start.saturating_sub(GRANULE)..start + GRANULE {
                let Some(object) = self.map.get(key(address, Kind::Atomic)).and_then(alive) else { continue };
                if self.end.is_none() {
                    self.check_with_atomic(object, hooked);
                }
            }
            if hooked.write
                && let Some(&object) = self.mixed.handles.get(&start)
            {
                self.handle_is_written(object, hooked);
            }
        }
        self.shadow.met_atomics = granules;
        self.shadow.met_atomics.clear();
    }

    fn check_with_atomic(&mut self, id: ObjectId, hooked: Hooked) {
        let Some(Variable { address, size, is_mixed }) = self.mixed.get(id) else { return };
        if address >= hooked.address + hooked.size || hooked.address >= address + size {
            return;
        }
        let me = self.current;
        if !is_mixed {
            self.set_mixed(id, true);
            let waits =
                |thread: usize| self.threads[thread].life == Life::Live && self.pending[thread].object == id;
            // Those that have come the short way already are to be looked at as well.
            if (0..self.thread_count).any(|thread| thread != me && waits(thread)) {
                self.attend();
            }
        }
        let (object, seen) = (&self.objects[id.index()], &self.threads[me].clock.clock);
        let unordered = object.uses.first_beyond(seen);
        if hooked.write {
            if let Some(thread) = unordered {
                self.races_with_atomic(id, Earlier { thread, write: false }, hooked);
            }
        } else if self.mixed.keeps_writes {
            if let Some(thread) = object.clock.first_beyond(seen) {
                self.races_with_atomic(id, Earlier { thread, write: true }, hooked);
            }
        } else if unordered.is_some() {
            self.mixed.keeps_writes = true;
            self.memory_notes.news = true;
        }
    }

    /// The running thread has just used an object by the handle that lies here. What it has acquired by that counts.
    #[cold]
    pub(super) fn look_at_handle(&mut self, id: ObjectId, address: usize) {
        if self.end.is_some() || self.giving_up {
            return;
        }
        if !self.objects[id.index()].is_of_program() {
            self.objects[id.index()].home = address;
            return;
        }
        if self.is_on_private_stack(address) {
            return;
        }
        let size = size_of::<Handle>();
        if self.mixed.handles.get(&address) != Some(&id) {
            aside(|| {
                self.shadow.enter_atomic(address, size);
                self.mixed.handles.insert(address, id);
            });
        }
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let access = MemoryAccess { address, size, write: false, thread: me, clock, place: 0 };
        match self.shadow.unordered_with_atomic(&access) {
            Some(earlier) => self.between_steps(|e| e.used_while_written(id, earlier)),
            None => {
                let settled = self.is_seen_by_all(address, size);
                self.objects[id.index()].home = if settled { address } else { 0 };
            }
        }
    }

    /// The running thread writes, as plain memory, over the handle of this object.
    #[cold]
    fn handle_is_written(&mut self, id: ObjectId, hooked: Hooked) {
        let object = &mut self.objects[id.index()];
        object.home = 0;
        let unordered = object.uses.first_beyond(&self.threads[self.current].clock.clock);
        let Some(thread) = unordered.filter(|_| self.end.is_none()) else { return };
        if self.owner(hooked.place) == Owner::Own || self.own_code_runs() {
            return;
        }
        let first = self.earlier_use(id, Earlier { thread, write: false });
        let second = self.memory_access(hooked.address, self.current, true, hooked.place);
        let words = format!("use of {}", self.objects[id.index()].in_words());
        self.fail_by_unordered([first, second], [&words, "write"], Some(hooked.address));
    }

    /// An object has been used by a handle that was written as plain memory, and nothing orders that.
    #[cold]
    fn used_while_written(&mut self, id: ObjectId, earlier: EarlierAccess) {
        if !self.is_of_program(earlier.place) {
            return;
        }
        let first = self.memory_access(earlier.address, earlier.thread, true, earlier.place);
        let second = self.this_step(false);
        let words = format!("use of {}", self.objects[id.index()].in_words());
        self.fail_by_unordered([first, second], ["write", &words], Some(earlier.address));
    }

    /// What the running thread has just done, in a step.
    fn this_step(&mut self, write: bool) -> RaceAccess {
        let mut access = RaceAccess::new(ThreadId::new(self.current), write);
        if self.observer.is_some() {
            access.backtrace = self.backtrace();
            access.location = self.threads[self.current].location.and_then(Place::location);
            access.after_steps = Some(self.step_count - 1);
        }
        access
    }

    /// An atomic access of the running thread is not ordered with an earlier plain one.
    #[cold]
    fn races_with_plain(&mut self, earlier: EarlierAccess, write: bool) {
        if !self.is_of_program(earlier.place) {
            return;
        }
        let first = self.memory_access(earlier.address, earlier.thread, earlier.write, earlier.place);
        let second = self.this_step(write);
        let (plain, atomic) = (format!("plain {}", verb(&first)), format!("atomic {}", verb(&second)));
        self.fail_by_unordered([first, second], [&plain, &atomic], Some(earlier.address));
    }

    /// A plain access of the running thread is not ordered with an earlier atomic one.
    #[cold]
    fn races_with_atomic(&mut self, id: ObjectId, earlier: Earlier, hooked: Hooked) {
        if self.owner(hooked.place) == Owner::Own || self.own_code_runs() {
            return;
        }
        let first = match earlier.write {
            true => self.use_of(id, earlier.thread, true),
            false => self.earlier_use(id, earlier),
        };
        let second = self.memory_access(hooked.address, self.current, hooked.write, hooked.place);
        let (atomic, plain) = (format!("atomic {}", verb(&first)), format!("plain {}", verb(&second)));
        self.fail_by_unordered([first, second], [&atomic, &plain], Some(hooked.address));
    }
}
