//! What threads share beside memory: directories, what files contain, the environment. What a thread does there is a step of its own only
//! where some execution has shown that nothing orders it (two accesses, one a change), as data is under `on_race(Promote)`: what is
//! promoted is the kind, and the search begins anew. Knows nothing of how programs get at files; the mirror tells.
//!
//! What the system is asked for in one call is one step on one object: else others could come in between, and the order of steps would not be that in which
//! things happen. So where several kinds are steps all of them are one object, and where files alone are, each is one until some call has to do with two.

use super::address_map::Places;
use super::execution::Execution;
use super::running::running;
use crate::memory::race::DataClock;
use crate::program::Granularity;
use crate::trace::{SURROUNDINGS, ThreadId};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// What threads share that is not memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Surroundings {
    /// Which files there are, and where.
    Directories,
    /// What a file contains, its size and its position.
    Contents,
    /// Variables of the environment, and the current directory.
    Environment,
    /// All of it.
    All,
    /// Which numbers have been given to threads. A step where somebody has looked at one.
    ThreadNumbers,
}

impl Surroundings {
    /// What reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        SURROUNDINGS[self as usize]
    }

    /// Stands among the promoted places where what threads do there are steps.
    fn place(self) -> usize {
        static PLACES: [u8; SURROUNDINGS.len()] = [0; SURROUNDINGS.len()];
        (&raw const PLACES[self as usize]).addr()
    }
}

/// Which one of a kind: a file's device and number, say.
pub type Which = [u64; 2];

/// What a thread is about to look at, or to change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SurroundingsUse {
    /// What.
    pub what: Surroundings,
    /// Which one.
    pub which: Which,
    /// Whether it changes it.
    pub write: bool,
}

/// What the threads of an execution have done to their surroundings.
pub(super) type Uses = HashMap<(Surroundings, Which), DataClock>;

/// The calling thread is about to ask the system for something that has to do with all this. The step that it is, which the caller takes then, if it is one.
/// Where it is none yet and turns out to race, the execution is given up and the search begins anew. `None` outside an execution.
#[must_use]
pub fn surroundings_used(uses: &[SurroundingsUse]) -> Option<SurroundingsUse> {
    running()?.with(|e| e.surroundings_used(uses))
}

/// Somebody has looked at the number of a thread.
static NUMBERS_ARE_SEEN: AtomicBool = AtomicBool::new(false);

/// The calling thread is about to give a number to a thread that it is going to spawn. The step that this is, if it is one: threads are spawned in some order, and where nobody
/// looks at their numbers, which order that is makes no difference.
#[must_use]
#[inline]
pub fn about_to_number() -> Option<SurroundingsUse> {
    if !NUMBERS_ARE_SEEN.load(Ordering::Relaxed) {
        return None;
    }
    let what = Surroundings::ThreadNumbers;
    let is_step = running()?.with(|e| !e.giving_up && e.promoted.contains(&what.place()));
    is_step.then_some(SurroundingsUse { what, which: [0, 0], write: true })
}

/// The calling thread gives this number to the thread that it spawns next.
pub fn number_next_thread(number: u64) {
    if let Some(running) = running() {
        running.with(|e| e.threads.mine().next_number = number);
    }
}

/// The number of a thread of the execution with this epoch. Where this is the first look at one, and it could be another one, the search begins anew.
#[must_use]
pub fn look_at_thread_number(thread: ThreadId, epoch: u32) -> u64 {
    let in_order = thread.index() as u64 + 1;
    let Some(running) = running() else { return in_order };
    running.with(|e| if e.epoch == epoch { e.look_at_thread_number(thread.index()) } else { in_order })
}

/// These have been promoted.
pub(super) fn note_promoted(places: &Places) {
    if places.contains(&Surroundings::ThreadNumbers.place()) {
        NUMBERS_ARE_SEEN.store(true, Ordering::Relaxed);
    }
}

/// Stands among the promoted places where all files that threads wait for are one object.
fn place_of_one_object() -> usize {
    static PLACE: u8 = 0;
    (&raw const PLACE).addr()
}

/// Whether all files that threads of the execution wait for are one object, as an earlier one has shown that they must be.
#[must_use]
pub fn files_are_one() -> bool {
    running().is_some_and(|running| running.with(|e| e.promoted.contains(&place_of_one_object())))
}

/// All files that threads wait for are one object from now on. The execution, in which they were not, is given up, and the search begins anew.
pub fn make_files_one() {
    if let Some(running) = running() {
        running.with(|e| {
            let is_news = !e.giving_up && e.promoted.insert(place_of_one_object());
            e.begins_anew(is_news);
        });
    }
}

static FILES_ARE_MADE: AtomicBool = AtomicBool::new(false);

/// The program makes files, or locks them: several processes that run it at a time would get in each other's way.
pub fn makes_files() {
    FILES_ARE_MADE.store(true, Ordering::Relaxed);
}

/// Whether it has done so in some execution.
pub(crate) fn files_are_made() -> bool {
    FILES_ARE_MADE.load(Ordering::Relaxed)
}

/// Says, when no thread can go on, what somebody waits for that the model does not see, if that is so.
pub type Unseen = fn() -> Option<&'static str>;

static UNSEEN: OnceLock<Unseen> = OnceLock::new();

/// Whom to ask before a deadlock is told.
pub fn on_deadlock(ask: Unseen) {
    super::allocator::noted_once(&UNSEEN, || ask);
}

/// Whether the test leaves the model, where no thread can go on: by what.
pub(super) fn comes_unseen() -> Option<&'static str> {
    UNSEEN.get().and_then(|ask| ask())
}

/// Whether the calling thread is the only one of its execution, and joined all others.
#[must_use]
pub fn is_alone() -> bool {
    running().is_none_or(|running| running.with(|e| e.is_alone()))
}

impl Execution {
    fn look_at_thread_number(&mut self, thread: usize) -> u64 {
        // The first thread begins the second, in every execution.
        if self.thread_count > 2 && !self.giving_up {
            let is_news = self.promoted.insert(Surroundings::ThreadNumbers.place());
            note_promoted(&self.promoted);
            self.begins_anew(is_news);
        }
        match self.threads[thread].number {
            0 => thread as u64 + 1,
            number => number,
        }
    }

    fn surroundings_used(&mut self, uses: &[SurroundingsUse]) -> Option<SurroundingsUse> {
        if self.giving_up || self.is_alone() {
            return None;
        }
        let me = self.current;
        let mut news = false;
        for one in uses {
            let clock = &self.threads[me].clock.clock;
            let known = self.uses_of_surroundings.entry((one.what, one.which)).or_default();
            let race = if one.write { known.write(me, clock) } else { known.read(me, clock) };
            news |= race.is_some() && self.promoted.insert(one.what.place());
        }
        let every = self.settings.granularity == Granularity::EveryAccess;
        let is_step = |e: &Self, what: Surroundings| every || e.promoted.contains(&what.place());
        let mut steps = uses.iter().filter(|one| is_step(self, one.what));
        let first = *steps.next()?;
        let write = first.write || steps.any(|one| one.write);
        let kinds = [Surroundings::Directories, Surroundings::Contents, Surroundings::Environment];
        let all = SurroundingsUse { what: Surroundings::All, which: [0, 0], write };
        let is_one = |one: &&SurroundingsUse| one.what != first.what || one.which == first.which;
        if is_step(self, Surroundings::All) || kinds.iter().filter(|&&kind| is_step(self, kind)).count() > 1 {
            return (!self.begins_anew(news)).then_some(all);
        }
        if !uses.iter().all(|one| is_one(&one)) {
            news |= self.promoted.insert(Surroundings::All.place());
        }
        (!self.begins_anew(news)).then_some(SurroundingsUse { write, ..first })
    }

    /// Whether all other threads have ended, and what they have done happens before what the running thread does: then nobody else can come before it
    /// does something, or could have come after. A test that makes its files while it is alone may find some from the execution before.
    fn is_alone(&self) -> bool {
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let is_over = |t: usize| self.threads[t].clock.clock.epoch(t).happens_before(clock);
        self.thread_count - self.ended_count == 1 && (0..self.thread_count).all(|t| t == me || is_over(t))
    }
}
