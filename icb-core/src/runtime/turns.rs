//! Turns: what a thread does from one pause to the next. A thread that goes round and round gives way, so that an
//! execution ends although a loop changes something each time that it goes round.
//!
//! After Musuvathi and Qadeer, *Fair Stateless Model Checking*, PLDI 2008 (the fair scheduler of CHESS): there a thread that
//! has paused gets a lower priority than those whom it has kept from running, and switches that this forces are no
//! preemptions. Deviations:
//! 1. Nothing is forbidden. A thread that gives way may go on all the same, at a cost of 1, and then has four times as many
//!    turns, but not more than about [`MAX_EARLY_OPERATIONS`], up to `max_early` times in a row, so that a search without a bound ends.
//! 2. Only after [`MAX_TURNS`] turns that changed something, and came to no new place: before that, whoever pauses may go
//!    on for nothing. (Turns that only read are recognised by what they read, see `threads`.) A turn that has to do with nothing but objects of which none was
//!    there in the turns before counts as a new place: such a loop goes through them.
//! 3. Priorities depend on who ran when, which reductions must not see. Here everything depends on what the thread itself
//!    has done, and on the order of dependent operations: a thread goes round if it was at no new place for so many turns; it
//!    waits until one of the objects of its last turn is changed by a thread that does not go round.
//! 4. A pause that lasts until nobody else can go on (`auto_advance`) keeps nobody from running: who sleeps does not go round.
//!
//! If nobody can go on, one of those who wait takes its turn, for nothing: it may hold what the others wait for. As soon as
//! somebody else can go on it stands back, in the middle of its turn if need be.

use super::decision::is_pause;
use super::execution::Execution;
use super::objects::Object;
use crate::program::Place;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

/// Turns without a new place after which a thread goes round.
const MAX_TURNS: u32 = 2;
/// How many times as many turns it has each time that it has gone on at a cost.
const MORE_TURNS: u32 = 4;
/// Operations after which it gives way again, however many turns are left: it would come to the limit on steps.
const MAX_EARLY_OPERATIONS: u32 = 1024;
/// A place is new if the thread was not there for so many turns: loops may differ from turn to turn.
const RECENT_TURNS: u32 = 4;
/// A turn with more operations than this is no turn of a loop that waits.
const MAX_OPERATIONS: u16 = 256;
/// Places remembered.
const MAX_PLACES: usize = 512;
/// Objects remembered.
const MAX_OBJECTS: usize = 512;

/// So often in a row a thread may read the clock, without a step, before it pauses.
const CLOCK_READINGS: u32 = 64;

/// What one thread's last turns were.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// Operations of this turn that are still looked at. None before the first pause.
    pub(crate) left: u16,
    /// No new place so far in this turn, and in so many before that the thread goes round: what it changes is no news.
    pub(crate) tired: bool,
    /// Turns since the last one that came to a new place.
    count: u32,
    /// After so many it gives way: more if it has gone on at a cost.
    limit: u32,
    patience: u32,
    /// Operations of the turns since it last went on at a cost, and pauses right after a pause.
    spent: u32,
    /// Number of this turn.
    number: u32,
    has_new_place: bool,
    goes_on_early: bool,
    /// Places, and the last turn that came there.
    places: Vec<(usize, u32)>,
    /// Where in `places` the next operation probably is.
    expected: usize,
    /// Objects of this turn that others can change with effect, and their news as this thread knows it.
    touched: Vec<(u32, u32)>,
    /// Those of the turns before.
    known: Vec<u32>,
    /// One of this turn is known, or more could not be.
    touches_known: bool,
    /// Turns that came to a new place.
    news: u32,
}

impl Turns {
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.left = 0;
        self.tired = false;
        self.forget_turns();
        self.spent = 0;
        self.number = 0;
        self.has_new_place = false;
        self.goes_on_early = false;
        self.places.clear();
        self.touched.clear();
        self.known.clear();
        self.touches_known = false;
        self.news = 0;
    }

    /// Its turns are counted anew.
    #[inline]
    fn forget_turns(&mut self) {
        self.count = 0;
        self.limit = MAX_TURNS;
        self.patience = MAX_TURNS;
    }

    /// At a pause: the thread goes round. Depends on nothing but what it has done itself.
    pub(crate) fn is_tired(&self) -> bool {
        self.tired && self.is_begun() && !self.is_on_new_objects()
    }

    /// It has done in this turn what it did before, and to objects to which it had done nothing: it goes through them.
    const fn is_on_new_objects(&self) -> bool {
        !self.touches_known && !self.touched.is_empty()
    }

    /// So often has the thread come to a new place.
    pub(super) const fn news(&self) -> u32 {
        self.news
    }

    /// At a pause: it has gone round more often than it may.
    pub(crate) fn gives_way(&self) -> bool {
        let has_spent = || {
            let spent = self.spent + u32::from(MAX_OPERATIONS - self.left);
            self.patience > MAX_TURNS && spent >= MAX_EARLY_OPERATIONS
        };
        self.is_tired() && (self.count + 1 >= self.limit || has_spent())
    }

    /// Something was done since the last pause: a pause right after a pause (a backoff) is no turn.
    const fn is_begun(&self) -> bool {
        self.left != MAX_OPERATIONS && self.number != 0
    }

    /// Operations of this turn, if they have been counted.
    pub(super) const fn operations(&self) -> Option<u16> {
        if self.left == 0 { None } else { Some(MAX_OPERATIONS - self.left) }
    }

    /// The number of this turn.
    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn objects(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.touched.iter().map(|&(object, _)| ObjectId::new(object as usize))
    }

    /// What the turn has read of this object was not the newest: what has been changed is still news.
    pub(crate) fn forget_news(&mut self, object: ObjectId) {
        let touched = self.touched.iter_mut().filter(|(known, _)| *known as usize == object.index());
        touched.for_each(|(_, news)| *news = news.wrapping_sub(1));
    }

    /// Nobody who does not go round has changed what the turn touched.
    pub(crate) fn nothing_new(&self, objects: &[Object]) -> bool {
        self.touched.iter().all(|&(object, news)| objects[object as usize].news() == news)
    }

    /// Was at this place not long ago.
    fn was_at(&self, place: usize) -> bool {
        self.left != 0 && self.places.iter().any(|&(known, turn)| known == place && self.is_recent(turn))
    }

    const fn is_recent(&self, turn: u32) -> bool {
        self.number - turn <= RECENT_TURNS
    }

    /// Whether it may go on although it should give way: not for ever.
    pub(crate) fn may_go_on_early(&self, most: u32) -> bool {
        self.patience < MORE_TURNS.saturating_pow(most).saturating_mul(MAX_TURNS)
    }

    /// It goes on although it should give way. What its pause depends on is still what made it tired.
    pub(crate) fn go_on_early(&mut self) {
        self.goes_on_early = true;
    }

    /// A pause has taken effect: if the thread went on early, it begins anew.
    pub(crate) fn rest(&mut self) {
        if std::mem::take(&mut self.goes_on_early) {
            self.patience = self.patience.saturating_mul(MORE_TURNS);
            self.limit = self.count.saturating_add(self.patience);
            self.spent = 0;
        }
    }

    /// A pause takes effect: the turn is over.
    pub(crate) fn end_turn(&mut self) {
        if self.number != 0 && !self.is_begun() {
            self.spent = self.spent.saturating_add(1);
            return;
        }
        let is_long = self.number != 0 && self.left == 0;
        if self.has_new_place || is_long || self.is_on_new_objects() {
            self.forget_turns();
            self.news = self.news.saturating_add(1);
        } else {
            self.count += 1;
            self.spent = self.spent.saturating_add(u32::from(MAX_OPERATIONS - self.left));
        }
        self.rest();
        self.number += 1;
        self.left = MAX_OPERATIONS;
        self.has_new_place = false;
        self.tired = self.count + 1 >= MAX_TURNS;
        self.expected = 0;
        for &(object, _) in &self.touched {
            if self.known.len() < MAX_OBJECTS && !self.known.contains(&object) {
                self.known.push(object);
            }
        }
        self.touches_known = self.known.len() == MAX_OBJECTS;
        self.touched.clear();
    }

    /// The pause has lasted until nobody else could go on: the thread has kept nobody from running, and goes round anew.
    pub(crate) fn begin_anew(&mut self) {
        self.forget_turns();
        self.spent = 0;
        self.tired = false;
    }

    fn note_place(&mut self, place: usize) {
        let number = self.number;
        if let Some((known, turn)) = self.places.get_mut(self.expected)
            && *known == place
            && number - *turn <= RECENT_TURNS
        {
            *turn = number;
            self.expected += 1;
            return;
        }
        match self.places.iter().position(|&(known, _)| known == place) {
            Some(at) => {
                let recent = self.is_recent(self.places[at].1);
                self.places[at].1 = number;
                self.expected = at + 1;
                if recent {
                    return;
                }
            }
            None => {
                if self.places.len() == MAX_PLACES {
                    self.places.retain(|&(_, turn)| number - turn <= RECENT_TURNS);
                    self.places.truncate(MAX_PLACES - 1);
                }
                self.places.push((place, number));
                self.expected = self.places.len();
            }
        }
        self.has_new_place = true;
        self.tired = false;
    }
}

impl Execution {
    /// The running thread, which has paused before or is watched, has taken a step.
    #[cold]
    pub(super) fn note_doing(
        &mut self,
        operation: Operation,
        accesses: &[Access],
        read: Option<u64>,
        written: Option<u64>,
    ) {
        if is_pause(operation.action) {
            return;
        }
        let thread = &mut self.threads[self.current];
        if thread.rounds.watched != 0 {
            let changes = accesses.iter().any(|access| access.mode != Mode::Read);
            if thread.rounds.note(operation, changes, thread.location, read, written) {
                thread.comes_round = true;
                self.attend();
            }
        }
        if self.threads[self.current].turns.left != 0 {
            self.note_turn(operation, accesses);
        }
    }

    fn note_turn(&mut self, operation: Operation, accesses: &[Access]) {
        let in_memory = !self.settings.weak_memory;
        let thread = &mut self.threads[self.current];
        thread.idle.note_operation(operation, accesses, in_memory);
        let turns = &mut thread.turns;
        turns.left -= 1;
        if turns.left == 0 {
            turns.tired = false;
            return;
        }
        turns.note_place(thread.location.map_or(0, Place::address));
        if matches!(operation.action, Action::Spawn) {
            turns.has_new_place = true;
            turns.tired = false;
        }
        for access in accesses {
            let index = access.object.index();
            if access.mode == Mode::Update {
                // It commutes with others of its kind: when it was done says nothing about what was known then.
                continue;
            }
            let news = self.objects[index].news();
            match turns.touched.iter_mut().find(|(known, _)| *known as usize == index) {
                Some((_, known)) => *known = news,
                None => {
                    turns.touches_known |= turns.known.contains(&(index as u32));
                    turns.touched.push((index as u32, news));
                }
            }
        }
    }

    /// The running thread, let on because nobody could go on, is about to go on with its loop although somebody else can
    /// now.
    pub(super) fn must_give_way(&mut self, operation: Operation, place: Place) -> bool {
        let me = self.current;
        if self.freed != Some(me) || is_pause(operation.action) || self.threads[me].unwinding {
            return false;
        }
        if !self.threads[me].turns.was_at(place.address()) {
            // It has left its loop.
            self.freed = None;
            return false;
        }
        self.enabled.iter().any(|thread| thread != me)
    }

    /// The running thread has come round in a loop that repeats itself: it is to pause now.
    pub(super) fn must_pause(&self, operation: Operation) -> bool {
        let thread = &self.threads[self.current];
        thread.comes_round && !is_pause(operation.action) && !thread.unwinding
    }

    /// The running thread reads the clock. Whether it has done nothing else so often that it is to pause now.
    pub(super) fn reads_clock_in_vain(&mut self) -> bool {
        let (now, ends) = (self.step_count, self.giving_up || self.end.is_some());
        let thread = self.threads.mine();
        thread.reads_clock = true;
        thread.idle.spoil();
        let (since, readings) = &mut thread.clock_readings;
        *readings = if *since == now { *readings + 1 } else { 1 };
        *since = now;
        let in_vain = *readings > CLOCK_READINGS && !thread.unwinding && !ends;
        if in_vain {
            thread.clock_readings = (0, 0);
            thread.comes_round = true;
        }
        in_vain
    }

    /// The running thread reads the processor's counter, where it cannot pause: time passes all the same.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) fn read_counter(&mut self) -> std::time::Duration {
        if self.reads_clock_in_vain() {
            let thread = self.threads.mine();
            thread.comes_round = false;
            let in_vain = thread.waits_in_vain;
            thread.waits_in_vain += 1;
            self.let_time_pass(in_vain);
        }
        self.now
    }

    /// The running thread is about to pause in the middle of its turn.
    pub(super) fn begin_giving_way(&mut self) {
        self.freed = None;
        let thread = &mut self.threads[self.current];
        thread.gives_way = true;
        thread.awaiting = true;
        thread.awaits_news = true;
        self.note_awaited(self.current);
    }
}
