//! The events of the current execution: who did what, with vector clocks of the dependence order.

use super::footprint::Footprint;
use super::touches::{Touch, Touches};
use crate::clock::VectorClock;
use crate::program::{FoundChannel, Taken};
use crate::trace::{Access, Action, Mode, ObjectId};

/// One step of the current execution.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) thread: usize,
    pub(super) action: Action,
    /// What the action is on.
    pub(super) object: ObjectId,
    pub(super) footprint: Footprint,
    /// What it touches, if that is known to be just one object.
    pub(super) only: Option<Access>,
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
    /// It has looked at something that is no part of its operation.
    looks: bool,
    /// What could have taken effect right before it on the channel that it is on, where that is known.
    pub(super) found: Option<FoundChannel>,
    /// Threads known before it.
    thread_count: usize,
}

impl Default for Event {
    fn default() -> Self {
        Event {
            thread: 0,
            action: Action::Nop,
            object: ObjectId::NONE,
            footprint: Footprint::default(),
            only: None,
            clock: VectorClock::new(),
            number: 0,
            block: 0,
            first: 0,
            yielded: false,
            counts_down: false,
            looks: false,
            found: None,
            thread_count: 0,
        }
    }
}

impl Event {
    /// It commutes with whatever comes after it but its thread's own steps, so that it might as well be taken right before
    /// the next of these: a thread begins, or learns that another one has ended, and does no more without a decision (by unwinding).
    pub(super) fn is_free(&self) -> bool {
        is_free(self.action) && !self.looks && self.only.is_some() && self.footprint.only_reads()
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
    touches: Touches,
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
        }
        self.touches.truncate(count);
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

    fn last_mut(&mut self) -> Option<&mut Event> {
        self.count.checked_sub(1).map(|last| &mut self.all[last])
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

    /// The newest touch of an object.
    #[inline]
    pub(super) fn newest_on(&self, object: ObjectId) -> Option<&Touch> {
        self.touches.newest_on(object)
    }

    /// This touch or, of those of the same object before it, the newest that is another thread's and not known to this one, as far
    /// as there can be one that an access does not commute with.
    #[inline]
    pub(super) fn unknown_from<'t>(
        &'t self,
        touch: Option<&'t Touch>,
        thread: usize,
        known: &VectorClock,
    ) -> Option<&'t Touch> {
        let mut touch = touch?;
        while touch.thread as usize == thread || touch.number <= known.get(touch.thread as usize) {
            if touch.mode == Mode::Write {
                // Whatever comes before it is known too.
                return None;
            }
            // So are the touches of its thread before it.
            touch = self.touches.elsewhere(touch)?;
        }
        Some(touch)
    }

    /// The touch of the same object before this one.
    #[inline]
    pub(super) fn before(&self, touch: &Touch) -> Option<&Touch> {
        self.touches.before(touch)
    }

    /// The newest touch of the same object by another thread before this one.
    #[inline]
    pub(super) fn elsewhere(&self, touch: &Touch) -> Option<&Touch> {
        self.touches.elsewhere(touch)
    }

    /// The newest touch of the same object before this one in another mode.
    #[inline]
    pub(super) fn otherwise(&self, touch: &Touch) -> Option<&Touch> {
        self.touches.otherwise(touch)
    }

    /// Whether the thread has taken a step after the event that is more than free, and has not paused since: leaving it costs something.
    pub(super) fn acts_after(&self, thread: usize, index: usize) -> bool {
        let later = self.of(thread).iter().rev().take_while(|&&event| event as usize > index);
        let mut block = later.map(|&event| &self.all[event as usize]).take_while(|event| !event.yielded);
        block.any(|event| !event.is_free())
    }

    /// Whether the thread has taken no step since this event, which is another one's.
    pub(super) fn rests_since(&self, thread: usize, index: usize) -> bool {
        self.of(thread).last().is_none_or(|&last| (last as usize) < index)
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
        let all = &self.all;
        self.touches.unseen(access, clock, |touch, clock| clock.join(&all[touch.event as usize].clock));
    }

    /// Whether an access that became part of the newest event would add nothing to what it depends on.
    pub(super) fn depends_already(&mut self, access: Access) -> bool {
        let Some(index) = self.count.checked_sub(1) else { return true };
        let mut seen = true;
        self.touches.unseen(access, &mut self.all[index].clock, |_, _| seen = false);
        seen
    }

    /// Whether the newest event is the end of a wait, and of what is done to its thread knows everything but who has notified it.
    pub(super) fn is_only_notified(&mut self, access: Access) -> bool {
        let Some(index) = self.count.checked_sub(1) else { return true };
        let (before, rest) = self.all.split_at_mut(index);
        let event = &mut rest[0];
        let mut is_only = matches!(event.action, Action::Reacquire { .. });
        self.touches.unseen(access, &mut event.clock, |touch, _| {
            let action = before[touch.event as usize].action;
            is_only &= matches!(action, Action::NotifyOne | Action::NotifyAll);
        });
        is_only
    }

    /// A step has been taken; `early`: at a cost, by a thread that could not go on, so that leaving it was free; `fuses`:
    /// free steps belong to what they lead to.
    pub(super) fn push(&mut self, step: &Taken<'_>, early: bool, fuses: bool) {
        if let &[only] = step.accesses {
            return self.push_single(step, only, early, fuses);
        }
        let (before, event, touches) = self.add(step, early, fuses);
        event.footprint.clear();
        step.accesses.iter().for_each(|&access| event.footprint.add(access));
        event.only = event.footprint.only();
        for &access in step.accesses {
            touches.unseen(access, &mut event.clock, |touch, clock| {
                clock.join(&before[touch.event as usize].clock);
            });
            touches.push(before.len() as u32, event.thread as u32, event.number, access);
        }
    }

    /// [`push`](Self::push) for a step that has touched just this.
    #[inline(always)]
    pub(super) fn push_single(&mut self, step: &Taken<'_>, only: Access, early: bool, fuses: bool) {
        let (before, event, touches) = self.add(step, early, fuses);
        event.footprint.set(only);
        event.only = Some(only);
        let (index, thread, number) = (before.len() as u32, step.thread.index() as u32, event.number);
        touches.meet(index, thread, number, only, &mut event.clock, |touch, clock| {
            clock.join(&before[touch.event as usize].clock);
        });
    }

    /// An event for the step, but for what it touches: the events before it, it, and what these have touched.
    #[inline(always)]
    fn add(&mut self, step: &Taken<'_>, early: bool, fuses: bool) -> (&[Event], &mut Event, &mut Touches) {
        let thread = step.thread.index();
        let index = self.count;
        if self.all.len() == index {
            self.grow();
        }
        self.count += 1;
        let (before, rest) = self.all.split_at_mut(index);
        let event = &mut rest[0];
        (event.block, event.first) = match before.last() {
            Some(last) if last.thread == thread && !last.yielded && !early => {
                (last.block, if fuses && last.is_free() { last.first } else { index })
            }
            _ => (index, index),
        };
        let known = &mut self.threads[thread];
        match known.events.last() {
            Some(&last) => event.clock.clone_from(&before[last as usize].clock),
            None => event.clock.clone_from(&known.birth),
        }
        known.events.push(index as u32);
        let number = known.events.len() as u32;
        let action = step.operation.action;
        if matches!(action, Action::Begin) {
            known.object = Some(step.operation.object);
        }
        event.clock.set(thread, number);
        event.thread = thread;
        event.action = action;
        event.object = step.operation.object;
        event.number = number;
        event.yielded = step.yielded;
        event.counts_down = matches!(action, Action::CountDown);
        event.looks = false;
        event.found = None;
        event.thread_count = self.thread_count;
        (before, event, &mut self.touches)
    }

    #[cold]
    fn grow(&mut self) {
        self.all.push(Event::default());
    }

    /// This could have taken effect right before the newest event, on its channel.
    #[cold]
    pub(super) fn note_found(&mut self, found: FoundChannel) {
        if let Some(event) = self.last_mut() {
            event.found = Some(found);
        }
    }

    /// A count goes down in the newest event.
    pub(super) fn note_count_down(&mut self) {
        if let Some(event) = self.last_mut() {
            event.counts_down = true;
        }
    }

    /// The thread has paused in the newest event, while it unwinds: who goes on after it costs nothing.
    pub(super) fn note_pause(&mut self) {
        if let Some(event) = self.last_mut() {
            event.yielded = true;
        }
    }

    /// The newest event has looked at something that is no part of its operation.
    pub(super) fn note_look(&mut self) {
        if let Some(event) = self.last_mut() {
            event.looks = true;
        }
    }

    /// The newest event touches this object too.
    pub(super) fn touch(&mut self, access: Access) {
        let Some(index) = self.count.checked_sub(1) else { return };
        let (before, rest) = self.all.split_at_mut(index);
        let event = &mut rest[0];
        event.footprint.add(access);
        event.only = None;
        self.touches.unseen(access, &mut event.clock, |touch, clock| {
            clock.join(&before[touch.event as usize].clock);
        });
        self.touches.push(index as u32, event.thread as u32, event.number, access);
    }
}
