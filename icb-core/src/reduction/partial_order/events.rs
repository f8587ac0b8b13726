//! The events of the current execution: who did what, with vector clocks of the dependence order.

use crate::clock::VectorClock;
use crate::dependence;
use crate::program::Taken;
use crate::trace::{Access, Action, Mode, ObjectId};

/// What a step, or a stretch of steps, touches.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprint {
    accesses: Vec<Access>,
}

impl Footprint {
    pub(super) fn clear(&mut self) {
        self.accesses.clear();
    }

    pub(super) fn add(&mut self, access: Access) {
        match self.accesses.iter_mut().find(|known| known.object == access.object) {
            Some(known) if access.mode != known.mode => known.mode = Mode::Write,
            Some(_) => {}
            None => self.accesses.push(access),
        }
    }

    pub(super) fn extend(&mut self, accesses: impl IntoIterator<Item = Access>) {
        accesses.into_iter().for_each(|access| self.add(access));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Access> + Clone + '_ {
        self.accesses.iter().copied()
    }

    pub(super) fn copy_from(&mut self, other: &Footprint) {
        self.accesses.clone_from(&other.accesses);
    }

    /// Whether one of the other's accesses does not commute with one of these.
    pub(super) fn conflicts(&self, other: &Footprint) -> bool {
        self.iter().any(|a| other.iter().any(|b| dependence::accesses_conflict(a, b)))
    }

    /// The objects are numbered below this.
    pub(super) fn object_count(&self) -> usize {
        self.iter().map(|access| access.object.index() + 1).max().unwrap_or(0)
    }

    /// How it touches objects with this number or a higher one, if it does; `Write` if in several ways.
    pub(super) fn mode_of_new(&self, object_count: usize) -> Option<Mode> {
        let mut modes = self.iter().filter(|a| a.object.index() >= object_count).map(|a| a.mode);
        let first = modes.next()?;
        Some(if modes.all(|mode| mode == first) { first } else { Mode::Write })
    }

    pub(super) fn writes(&self, object: ObjectId) -> bool {
        self.iter().any(|access| access.object == object && access.mode != Mode::Read)
    }
}

/// One step of the current execution.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) thread: usize,
    pub(super) action: Action,
    pub(super) footprint: Footprint,
    /// Its causal past, itself included.
    pub(super) clock: VectorClock,
    /// Its number within its thread, counted from 1.
    pub(super) number: u32,
    /// The first event of its context block.
    pub(super) block: usize,
    /// The first of the free steps that lead to it (see [`Event::is_free`]); itself if there are none.
    pub(super) first: usize,
    pub(super) yielded: bool,
    /// A count goes down in it. It commutes with others that do, but may make one of them the last, which does not.
    pub(super) counts_down: bool,
    /// Threads known before it.
    thread_count: usize,
}

impl Default for Event {
    fn default() -> Self {
        Event {
            thread: 0,
            action: Action::Nop,
            footprint: Footprint::default(),
            clock: VectorClock::new(),
            number: 0,
            block: 0,
            first: 0,
            yielded: false,
            counts_down: false,
            thread_count: 0,
        }
    }
}

impl Event {
    /// It commutes with whatever comes after it but its thread's own steps, so that it might as well be taken right before
    /// the next of these: a thread begins, or learns that another one has ended.
    pub(super) fn is_free(&self) -> bool {
        is_free(self.action) && self.footprint.iter().all(|access| access.mode == Mode::Read)
    }
}

/// See [`Event::is_free`].
pub(super) const fn is_free(action: Action) -> bool {
    matches!(action, Action::Begin | Action::Join)
}

/// What is known of an object: the clocks of the accesses so far.
#[derive(Debug, Default)]
struct ObjectClocks {
    writes: VectorClock,
    reads: VectorClock,
    updates: VectorClock,
}

impl ObjectClocks {
    /// Joins what an access of this mode depends on.
    fn join_into(&self, mode: Mode, clock: &mut VectorClock) {
        clock.join(&self.writes);
        if mode != Mode::Read {
            clock.join(&self.reads);
        }
        if mode != Mode::Update {
            clock.join(&self.updates);
        }
    }

    /// An access of this mode by an event with this clock.
    fn note(&mut self, mode: Mode, clock: &VectorClock) {
        match mode {
            Mode::Read => self.reads.join(clock),
            Mode::Update => self.updates.join(clock),
            Mode::Write => self.writes.join(clock),
        }
    }
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct ThreadEvents {
    /// Clock of its last event; of its spawn if it has none.
    clock: VectorClock,
    /// Clock of its spawn.
    birth: VectorClock,
    /// Its events.
    events: Vec<u32>,
    /// The thread as an object, known from its begin on.
    object: Option<ObjectId>,
}

/// The events of the current execution. Memory is kept from one execution to the next.
#[derive(Debug, Default)]
pub(super) struct Events {
    all: Vec<Event>,
    count: usize,
    threads: Vec<ThreadEvents>,
    thread_count: usize,
    objects: Vec<ObjectClocks>,
}

impl Events {
    /// Keeps the first `count` events, which the next execution repeats, and forgets the others.
    pub(super) fn truncate(&mut self, count: usize) {
        let count = count.min(self.count);
        if count < self.count {
            self.thread_count = self.all[count].thread_count;
        }
        self.count = count;
        for thread in &mut self.threads[..self.thread_count] {
            let kept = thread.events.partition_point(|&event| (event as usize) < count);
            thread.events.truncate(kept);
            match thread.events.last() {
                Some(&last) => thread.clock.clone_from(&self.all[last as usize].clock),
                None => {
                    thread.clock.clone_from(&thread.birth);
                    thread.object = None;
                }
            }
        }
        for object in &mut self.objects {
            object.writes.clear();
            object.reads.clear();
            object.updates.clear();
        }
        for event in &self.all[..count] {
            for access in event.footprint.iter() {
                self.objects[access.object.index()].note(access.mode, &event.clock);
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, index: usize) -> &Event {
        &self.all[index]
    }

    pub(super) fn last(&self) -> Option<&Event> {
        self.count.checked_sub(1).map(|last| &self.all[last])
    }

    /// Threads known so far.
    pub(super) fn thread_count(&self) -> usize {
        self.thread_count
    }

    /// Events of a thread, oldest first.
    pub(super) fn of(&self, thread: usize) -> &[u32] {
        if thread < self.thread_count { &self.threads[thread].events } else { &[] }
    }

    /// Whether the thread has taken a step after the event that is more than free.
    pub(super) fn acts_after(&self, thread: usize, index: usize) -> bool {
        let later = self.of(thread).iter().rev().take_while(|&&event| event as usize > index);
        later.into_iter().any(|&event| !self.all[event as usize].is_free())
    }

    /// Clock of the thread's last event.
    pub(super) fn known(&self, thread: usize) -> &VectorClock {
        &self.threads[thread].clock
    }

    /// The thread as an object, if it has begun.
    pub(super) fn thread_object(&self, thread: usize) -> Option<ObjectId> {
        self.threads[thread].object
    }

    /// Threads are known as soon as they are pending: a new one begins with the clock of the newest event, its spawn.
    pub(super) fn introduce(&mut self, thread_count: usize) {
        while self.thread_count < thread_count {
            if self.threads.len() == self.thread_count {
                self.threads.push(ThreadEvents::default());
            }
            let thread = &mut self.threads[self.thread_count];
            thread.events.clear();
            thread.object = None;
            thread.clock.clear();
            if let Some(last) = self.count.checked_sub(1) {
                thread.clock.clone_from(&self.all[last].clock);
            }
            thread.birth.clone_from(&thread.clock);
            self.thread_count += 1;
        }
    }

    fn object(&mut self, object: ObjectId) -> &mut ObjectClocks {
        let index = object.index();
        if self.objects.len() <= index {
            self.objects.resize_with(index + 1, ObjectClocks::default);
        }
        &mut self.objects[index]
    }

    /// The causal past that an operation with these accesses would have if the thread took it now.
    pub(super) fn pending_clock(&self, thread: usize, footprint: &Footprint, clock: &mut VectorClock) {
        clock.clone_from(self.known(thread));
        for access in footprint.iter() {
            if let Some(object) = self.objects.get(access.object.index()) {
                object.join_into(access.mode, clock);
            }
        }
    }

    /// Joins what an access made now would depend on.
    pub(super) fn join_access(&self, access: Access, clock: &mut VectorClock) {
        if let Some(object) = self.objects.get(access.object.index()) {
            object.join_into(access.mode, clock);
        }
    }

    /// What the thread of the event knew before it.
    pub(super) fn known_before(&self, index: usize) -> &VectorClock {
        let event = &self.all[index];
        let thread = &self.threads[event.thread];
        match event.number.checked_sub(2) {
            Some(before) => &self.all[thread.events[before as usize] as usize].clock,
            None => &thread.birth,
        }
    }

    /// A step has been taken; `early`: at a cost, by a thread that could not go on, so that leaving it was free.
    pub(super) fn push(&mut self, step: &Taken<'_>, early: bool, fuses: bool) {
        let Taken { operation, accesses, yielded, .. } = *step;
        let thread = step.thread.index();
        let index = self.count;
        let (block, first) = match self.last() {
            Some(last) if last.thread == thread && !last.yielded && !early => {
                (last.block, if fuses && last.is_free() { last.first } else { index })
            }
            _ => (index, index),
        };
        if self.all.len() == index {
            self.all.push(Event::default());
        }
        self.count += 1;
        if operation.action == Action::Begin {
            self.threads[thread].object = Some(operation.object);
        }
        self.threads[thread].events.push(index as u32);
        let number = self.threads[thread].events.len() as u32;
        let event = &mut self.all[index];
        event.thread = thread;
        event.action = operation.action;
        event.footprint.clear();
        event.clock.clone_from(&self.threads[thread].clock);
        event.clock.set(thread, number);
        event.number = number;
        event.block = block;
        event.first = first;
        event.yielded = yielded;
        event.counts_down = false;
        event.thread_count = self.thread_count;
        self.touch(accesses);
    }

    /// A count goes down in the newest event.
    pub(super) fn note_count_down(&mut self) {
        if let Some(index) = self.count.checked_sub(1) {
            self.all[index].counts_down = true;
        }
    }

    /// The newest event touches these objects too.
    pub(super) fn touch(&mut self, accesses: &[Access]) {
        let Some(index) = self.count.checked_sub(1) else { return };
        let mut clock = std::mem::take(&mut self.all[index].clock);
        for &access in accesses {
            let object = self.object(access.object);
            object.join_into(access.mode, &mut clock);
        }
        let event = &mut self.all[index];
        event.footprint.extend(accesses.iter().copied());
        let thread = event.thread;
        for position in 0..self.all[index].footprint.accesses.len() {
            let access = self.all[index].footprint.accesses[position];
            self.object(access.object).note(access.mode, &clock);
        }
        self.threads[thread].clock.clone_from(&clock);
        self.all[index].clock = clock;
    }
}
