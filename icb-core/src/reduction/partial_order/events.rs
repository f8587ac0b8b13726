//! The events of the current execution: who did what, with vector clocks of the dependence order.

use super::footprint::Footprint;
use crate::clock::VectorClock;
use crate::program::Taken;
use crate::trace::{Access, Action, Mode, ObjectId};

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
        is_free(self.action) && self.footprint.only_reads()
    }
}

/// See [`Event::is_free`].
pub(super) const fn is_free(action: Action) -> bool {
    matches!(action, Action::Begin | Action::Join)
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct ThreadEvents {
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
    /// By object the events that touch it, oldest first, and how.
    objects: Vec<Vec<(u32, Mode)>>,
}

impl Events {
    /// Keeps the first `count` events, which the next execution repeats, and forgets the others.
    pub(super) fn truncate(&mut self, count: usize) {
        while self.count > count {
            self.count -= 1;
            let event = &self.all[self.count];
            self.thread_count = event.thread_count;
            let thread = &mut self.threads[event.thread];
            thread.events.pop();
            if thread.events.is_empty() {
                thread.object = None;
            }
            for access in event.footprint.iter() {
                self.objects[access.object.index()].pop();
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
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
    #[inline]
    pub(super) fn of(&self, thread: usize) -> &[u32] {
        if thread < self.thread_count { &self.threads[thread].events } else { &[] }
    }

    /// Events that touch an object, oldest first, and how.
    #[inline]
    pub(super) fn on(&self, object: ObjectId) -> &[(u32, Mode)] {
        self.objects.get(object.index()).map_or(&[], Vec::as_slice)
    }

    /// Whether the thread has taken a step after the event that is more than free.
    pub(super) fn acts_after(&self, thread: usize, index: usize) -> bool {
        let later = self.of(thread).iter().rev().take_while(|&&event| event as usize > index);
        later.into_iter().any(|&event| !self.all[event as usize].is_free())
    }

    /// Clock of the thread's last event; of its spawn if it has none.
    #[inline]
    pub(super) fn known(&self, thread: usize) -> &VectorClock {
        let thread = &self.threads[thread];
        match thread.events.last() {
            Some(&last) => &self.all[last as usize].clock,
            None => &thread.birth,
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

    /// The thread as an object, if it has begun.
    pub(super) fn thread_object(&self, thread: usize) -> Option<ObjectId> {
        self.threads[thread].object
    }

    /// Threads are known as soon as they are pending: a new one begins with the clock of the newest event, its spawn.
    #[inline]
    pub(super) fn introduce(&mut self, thread_count: usize) {
        if self.thread_count < thread_count {
            self.introduce_new(thread_count);
        }
    }

    fn introduce_new(&mut self, thread_count: usize) {
        while self.thread_count < thread_count {
            if self.threads.len() == self.thread_count {
                self.threads.push(ThreadEvents::default());
            }
            let thread = &mut self.threads[self.thread_count];
            thread.events.clear();
            thread.object = None;
            match self.count.checked_sub(1) {
                Some(last) => thread.birth.clone_from(&self.all[last].clock),
                None => thread.birth.clear(),
            }
            self.thread_count += 1;
        }
    }

    /// Joins what an access made now would depend on.
    #[inline]
    pub(super) fn join_access(&self, access: Access, clock: &mut VectorClock) {
        for &(index, mode) in self.on(access.object).iter().rev() {
            if mode == Mode::Write || mode != access.mode {
                clock.join(&self.all[index as usize].clock);
            }
            if mode == Mode::Write {
                // It has seen everything before.
                return;
            }
        }
    }

    /// The causal past that an operation with these accesses would have if the thread took it now.
    pub(super) fn pending_clock(&self, thread: usize, footprint: &Footprint, clock: &mut VectorClock) {
        clock.clone_from(self.known(thread));
        match footprint.only() {
            Some(access) => self.join_access(access, clock),
            None => footprint.iter().for_each(|access| self.join_access(access, clock)),
        }
    }

    /// A step has been taken; `early`: at a cost, by a thread that could not go on, so that leaving it was free; `fuses`:
    /// free steps belong to what they lead to.
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
        let mut clock = std::mem::take(&mut self.all[index].clock);
        clock.clone_from(self.known(thread));
        let events = &mut self.threads[thread].events;
        events.push(index as u32);
        let number = events.len() as u32;
        clock.set(thread, number);
        if matches!(operation.action, Action::Begin) {
            self.threads[thread].object = Some(operation.object);
        }
        self.count += 1;
        let event = &mut self.all[index];
        event.thread = thread;
        event.action = operation.action;
        event.footprint.clear();
        event.clock = clock;
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
            self.join_access(access, &mut clock);
        }
        let event = &mut self.all[index];
        event.clock = clock;
        for &access in accesses {
            event.footprint.add(access);
            let object = access.object.index();
            if self.objects.len() <= object {
                self.objects.resize_with(object + 1, Vec::new);
            }
            match self.objects[object].last_mut() {
                Some((last, mode)) if *last as usize == index => {
                    if *mode != access.mode {
                        *mode = Mode::Write;
                    }
                }
                _ => self.objects[object].push((index as u32, access.mode)),
            }
        }
    }
}
