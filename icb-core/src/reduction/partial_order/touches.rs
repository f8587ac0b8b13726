//! What the events of an execution touch: of each object the events on it, as a chain from the newest back. It knows nothing of
//! what an event is.

use crate::clock::VectorClock;
use crate::trace::{Access, Mode, ObjectId};

/// An event touches an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub(super) event: u32,
    /// Its thread.
    pub(super) thread: u32,
    /// Its number within its thread.
    pub(super) number: u32,
    pub(super) mode: Mode,
    object: u32,
    /// The object's touch before this one, plus 1.
    before: u32,
    /// The object's newest touch by another thread before this one, plus 1.
    elsewhere: u32,
    /// The object's newest touch before this one in another mode, plus 1.
    otherwise: u32,
}

impl Touch {
    /// Whether it does not matter which of the two comes first.
    #[inline]
    pub(super) fn commutes(&self, mode: Mode) -> bool {
        self.mode == mode && mode != Mode::Write
    }
}

/// What the events touch.
#[derive(Debug, Default)]
pub(super) struct Touches {
    /// In the order in which they did.
    all: Vec<Touch>,
    /// By object the newest of its touches, plus 1; 0 if there is none.
    newest: Vec<u32>,
}

impl Touches {
    /// The newest touch of an object.
    #[inline]
    pub(super) fn newest_on(&self, object: ObjectId) -> Option<&Touch> {
        let newest = *self.newest.get(object.index())?;
        self.at(newest)
    }

    /// The touch of the same object before this one.
    #[inline]
    pub(super) fn before(&self, touch: &Touch) -> Option<&Touch> {
        self.at(touch.before)
    }

    /// The object's newest touch by another thread before this one.
    #[inline]
    pub(super) fn elsewhere(&self, touch: &Touch) -> Option<&Touch> {
        self.at(touch.elsewhere)
    }

    /// The newest touch of the same object before this one in another mode.
    #[inline]
    pub(super) fn otherwise(&self, touch: &Touch) -> Option<&Touch> {
        self.at(touch.otherwise)
    }

    #[inline]
    fn at(&self, position: u32) -> Option<&Touch> {
        self.all.get((position as usize).wrapping_sub(1))
    }

    /// Calls `see` with each touch that an access made now would depend on and that the clock has not seen, the newest first.
    /// What comes before a write need not be looked at.
    #[inline]
    pub(super) fn unseen(
        &self,
        access: Access,
        clock: &mut VectorClock,
        mut see: impl FnMut(&Touch, &mut VectorClock),
    ) {
        let mut next = self.newest_on(access.object);
        while let Some(touch) = next {
            if touch.commutes(access.mode) {
                next = self.otherwise(touch);
                continue;
            }
            if touch.number > clock.get(touch.thread as usize) {
                see(touch, clock);
            }
            if touch.mode == Mode::Write {
                return;
            }
            next = self.at(touch.before);
        }
    }

    /// A new event touches just this object: calls `see` as [`unseen`](Self::unseen) does, and adds the touch.
    #[inline(always)]
    pub(super) fn meet(
        &mut self,
        index: u32,
        thread: u32,
        number: u32,
        access: Access,
        clock: &mut VectorClock,
        mut see: impl FnMut(&Touch, &mut VectorClock),
    ) {
        let (mode, object) = (access.mode, access.object.index());
        if self.newest.len() <= object {
            self.make_room(object);
        }
        let Touches { all, newest } = self;
        let newest = &mut newest[object];
        let at = |position: u32| all.get((position as usize).wrapping_sub(1));
        let before = *newest;
        let (mut elsewhere, mut otherwise) = (before, before);
        let mut next = at(before);
        if let Some(touch) = next {
            if touch.thread == thread {
                elsewhere = touch.elsewhere;
            }
            if touch.mode == mode {
                otherwise = touch.otherwise;
            }
        }
        while let Some(touch) = next {
            if touch.commutes(mode) {
                next = at(touch.otherwise);
                continue;
            }
            if touch.number > clock.get(touch.thread as usize) {
                see(touch, clock);
            }
            if touch.mode == Mode::Write {
                break;
            }
            next = at(touch.before);
        }
        let object = object as u32;
        all.push(Touch { event: index, thread, number, mode, object, before, elsewhere, otherwise });
        *newest = all.len() as u32;
    }

    #[cold]
    fn make_room(&mut self, object: usize) {
        self.newest.resize(object + 1, 0);
    }

    /// What one event touches in several ways is written.
    pub(super) fn push(&mut self, index: u32, thread: u32, number: u32, access: Access) {
        let object = access.object.index();
        if self.newest.len() <= object {
            self.newest.resize(object + 1, 0);
        }
        let newest = &mut self.newest[object];
        let before = *newest;
        let (mut elsewhere, mut otherwise) = (before, before);
        if let Some(touch) = self.all.get_mut((before as usize).wrapping_sub(1)) {
            if touch.event == index {
                if touch.mode != access.mode {
                    touch.mode = Mode::Write;
                }
                return;
            }
            if touch.thread == thread {
                elsewhere = touch.elsewhere;
            }
            if touch.mode == access.mode {
                otherwise = touch.otherwise;
            }
        }
        let (mode, object) = (access.mode, object as u32);
        self.all.push(Touch { event: index, thread, number, mode, object, before, elsewhere, otherwise });
        *newest = self.all.len() as u32;
    }

    /// Forgets those of the events from `count` on.
    pub(super) fn truncate(&mut self, count: usize) {
        while let Some(touch) = self.all.pop_if(|touch| touch.event as usize >= count) {
            self.newest[touch.object as usize] = touch.before;
        }
    }
}
