//! Threads of the running execution.

use super::ThreadMain;
use super::coroutine::{Coroutine, Suspension};
use super::idle::IdleTurns;
use super::rounds::Rounds;
use super::spinners::Spins;
use super::turns::Turns;
use crate::clock::VectorClock;
use crate::dependence::ThreadHash;
use crate::memory::happens_before::ThreadClock;
use crate::program::Place;
use crate::trace::{Frame, ObjectId, SourceLocation};
use std::sync::Arc;
use std::time::Duration;

/// How far a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// Spawned; its begin is pending.
    Unborn,
    /// Between its begin and its end.
    Live,
    /// Over.
    Ended,
}

/// Whether a pending operation can take effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readiness {
    Ready,
    Blocked,
    /// Only if its time expires.
    Timeout,
    /// Only if it wakes for no reason.
    Spurious,
    /// It spins on values that nobody has changed.
    Awaiting,
}

/// A value read, for the recognition of spinning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReadEntry {
    pub(crate) object: u32,
    pub(crate) version: u32,
    pub(crate) place: Option<Place>,
}

/// The latest values read, in memory of a fixed size.
#[derive(Debug)]
pub(crate) struct Reads {
    entries: Box<[ReadEntry; MAX_READS]>,
    length: usize,
}

impl Default for Reads {
    fn default() -> Self {
        let none = ReadEntry { object: 0, version: 0, place: None };
        Reads { entries: Box::new([none; MAX_READS]), length: 0 }
    }
}

impl std::ops::Deref for Reads {
    type Target = [ReadEntry];

    #[inline]
    fn deref(&self) -> &[ReadEntry] {
        &self.entries[..self.length]
    }
}

impl Reads {
    #[inline]
    fn clear(&mut self) {
        self.length = 0;
    }

    /// Forgets all but the latest.
    #[cold]
    fn keep(&mut self, latest: usize) {
        self.entries.copy_within(self.length - latest..self.length, 0);
        self.length = latest;
    }

    fn latest(&mut self) -> Option<&mut ReadEntry> {
        self.entries[..self.length].last_mut()
    }

    /// Notes one; not if it is full.
    #[inline]
    fn push(&mut self, entry: ReadEntry) -> bool {
        let free = self.entries.get_mut(self.length);
        let fits = free.is_some();
        if let Some(free) = free {
            *free = entry;
            self.length += 1;
        }
        fits
    }
}

/// A panic as the hook saw it.
#[derive(Clone, Debug)]
pub(crate) struct PanicNote {
    pub(crate) message: String,
    pub(crate) location: Option<SourceLocation>,
    pub(crate) frames: Vec<Frame>,
    /// Order among the panics of the execution.
    pub(crate) order: u32,
    /// Steps taken before.
    pub(crate) after_steps: u64,
}

/// A thread-local value.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) key: *const (),
    pub(crate) value: *mut (),
    pub(crate) drop: unsafe fn(*mut ()),
    /// Its destructor does something: it goes in its turn. Else it stays to the end.
    pub(crate) needs_drop: bool,
    pub(crate) gone: bool,
}

/// What a thread that goes round in a loop has come to that is new to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Since {
    /// It has changed so many things.
    Changes(u32),
    /// In a loop that changes something all the same: it was at a new place so often.
    News(u32),
}

/// One thread. Slots are used again by later executions.
pub(crate) struct Thread {
    pub(crate) life: Life,
    pub(crate) coroutine: Option<Coroutine<ThreadMain>>,
    /// What it is going to do, where there are no coroutines.
    pub(crate) job: Option<ThreadMain>,
    pub(crate) suspension: Suspension,
    pub(crate) clock: ThreadClock,
    pub(crate) hash: ThreadHash,
    /// The thread as an object.
    pub(crate) object: ObjectId,
    /// Its park token as an object, once it is used.
    pub(crate) token_object: ObjectId,
    pub(crate) parent: Option<usize>,
    pub(crate) spawn_index: u64,
    pub(crate) spawn_count: u64,
    /// Its own number, and that of the thread which it spawns next; 0: they are numbered in the order of their spawns.
    pub(crate) number: u64,
    pub(crate) next_number: u64,
    pub(crate) name: Option<Arc<str>>,
    /// Where its pending operation stands in the program.
    pub(crate) location: Option<Place>,
    /// In a replay: the return addresses on its stack at its pending operation.
    pub(crate) stack: Vec<usize>,
    pub(crate) readiness: Readiness,
    /// The pending timed wait's length.
    pub(crate) timeout: Duration,
    /// When that will be over, on the clock of the execution, where time passes only when nobody can go on.
    pub(crate) deadline: Duration,
    /// Set when it was chosen although its wait had not been answered.
    pub(crate) expired: Option<Readiness>,
    /// Its condvar wait has been answered.
    pub(crate) notified: bool,
    /// Its condvar wait was over by its time before it was answered.
    pub(crate) late: bool,
    /// Its pending count operation is on a strong count.
    pub(crate) strong: bool,
    pub(crate) token: bool,
    /// Nobody else has given it the token that it has.
    pub(crate) own_token: bool,
    /// Where its own clock stood when it last came out of an operation in which `std` may have parked it; nothing once it has parked
    /// itself and found its token.
    pub(crate) parked_within: Option<u32>,
    /// Parks in a row that returned because it had unparked itself.
    self_wakes: u32,
    /// The barrier generation it waits for the end of.
    pub(crate) generation: u64,
    /// The rendezvous message it waits for being taken.
    pub(crate) ticket: u64,
    pub(crate) unwinding: bool,
    pub(crate) panic: Option<PanicNote>,
    pub(crate) panicked: bool,
    pub(crate) panic_handled: bool,
    pub(crate) reads: Reads,
    previous_reads: Reads,
    /// It has changed something since its last yield.
    pub(crate) dirty: bool,
    pub(crate) awaiting: bool,
    /// What it waits for is news about what its last turn touched, not a change of what it has read.
    pub(crate) awaits_news: bool,
    /// Its pending pause is not the program's: it stands back for others.
    pub(crate) gives_way: bool,
    pub(crate) turns: Turns,
    pub(crate) rounds: Rounds,
    pub(crate) idle: IdleTurns,
    pub(crate) spins: Spins,
    /// Its loop has come round: it pauses before what it does next, without having been asked to.
    pub(crate) comes_round: bool,
    /// It has read the clock since its last pause.
    pub(crate) reads_clock: bool,
    /// The step at which it has read the clock last, and how often there.
    pub(crate) clock_readings: (u64, u32),
    /// Pauses at which it had done nothing else, in a row.
    pub(crate) waits_in_vain: u32,
    /// Turns of its loop that repeated the one before, since it last went on early.
    pub(crate) repeated_turns: u32,
    /// So many repeated turns count as spinning; more after each time that it went on early.
    pub(crate) patience: u32,
    /// What these turns have read, and pauses right after a pause.
    repeated_operations: usize,
    /// Reads of this turn that are not kept any more.
    forgotten_reads: usize,
    /// With so many reads kept it is time to look whether it spins without a hint; 0: it is watched, and each read is looked at.
    next_look: usize,
    /// Places where it has cut a wait short (a timed one expired early, another woke spuriously) since a wait last got what it
    /// waited for, and how often.
    pub(crate) cut_waits: Vec<(usize, u32)>,
    /// Timed waits that have expired since the test ended.
    pub(crate) late_expiries: u32,
    /// So many turns in a row it has done nothing.
    pub(crate) empty_turns: u32,
    /// Turns that it was let on for before time passed, and since when.
    counted: (u32, Since),
    /// How often time had passed then until somebody's wait was over.
    seen_expiries: u32,
    /// Exchanges in a row that failed for no reason.
    pub(crate) spurious_failures: u32,
    /// How often it has found that a thread which has ended had not done so yet.
    pub(crate) late_ends: u32,
    /// Those threads, since it last gave way or let a wait expire: they still have not.
    pub(crate) kept_from_ending: Vec<usize>,
    /// Who has found that it has ended, and when, by their own clocks.
    pub(crate) seen_ended_by: Vec<(usize, u32)>,
    /// Just above its stack's first frame.
    pub(crate) stack_bottom: usize,
    /// While it does not run: the program's frames lie above this.
    pub(crate) stack_top: usize,
    /// It waits inside an access hook, which must not unwind.
    pub(crate) in_hook: bool,
    /// The mirrored library tells of an access that it makes for whoever has called it.
    pub(crate) on_behalf: bool,
    /// What it is about to try is what it does first of all to write: it waits then.
    pub(crate) comes_to_write: bool,
    /// It is in a function that its caller takes for one of C: it cannot be unwound.
    pub(crate) in_foreign: bool,
    /// It must be unwound as soon as it can be.
    pub(crate) unwinds_late: bool,
    pub(crate) locals: Vec<Local>,
    /// It has let go of what it shares with whoever joins it: only its thread-locals have something to do yet.
    pub(crate) has_left: bool,
    /// What it had done and knew then. Who finds out that it has left comes after that, whatever its thread-locals have done meanwhile.
    pub(crate) left: VectorClock,
    /// What whoever has given up its handle had done and knew then. It is looked at only after that.
    pub(crate) given_up_after: VectorClock,
    /// Its pending join waits for no more than that.
    pub(crate) joins_left: bool,
}

impl std::fmt::Debug for Thread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Thread")
            .field("life", &self.life)
            .field("readiness", &self.readiness)
            .finish_non_exhaustive()
    }
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            life: Life::Ended,
            coroutine: None,
            job: None,
            suspension: Suspension::NONE,
            clock: ThreadClock::default(),
            hash: ThreadHash::default(),
            object: ObjectId::NONE,
            token_object: ObjectId::NONE,
            parent: None,
            spawn_index: 0,
            spawn_count: 0,
            number: 0,
            next_number: 0,
            name: None,
            location: None,
            stack: Vec::new(),
            readiness: Readiness::Ready,
            timeout: Duration::ZERO,
            deadline: Duration::ZERO,
            expired: None,
            notified: false,
            late: false,
            strong: false,
            token: false,
            own_token: false,
            parked_within: None,
            self_wakes: 0,
            generation: 0,
            ticket: 0,
            unwinding: false,
            panic: None,
            panicked: false,
            panic_handled: false,
            reads: Reads::default(),
            previous_reads: Reads::default(),
            dirty: false,
            awaiting: false,
            awaits_news: false,
            gives_way: false,
            turns: Turns::default(),
            rounds: Rounds::default(),
            idle: IdleTurns::default(),
            spins: Spins::default(),
            comes_round: false,
            reads_clock: false,
            clock_readings: (0, 0),
            waits_in_vain: 0,
            repeated_turns: 0,
            patience: 1,
            repeated_operations: 0,
            forgotten_reads: 0,
            next_look: FIRST_LOOK,
            cut_waits: Vec::new(),
            late_expiries: 0,
            empty_turns: 0,
            counted: (0, Since::Changes(0)),
            seen_expiries: 0,
            spurious_failures: 0,
            late_ends: 0,
            kept_from_ending: Vec::new(),
            seen_ended_by: Vec::new(),
            stack_bottom: 0,
            stack_top: 0,
            in_hook: false,
            on_behalf: false,
            comes_to_write: false,
            in_foreign: false,
            unwinds_late: false,
            locals: Vec::new(),
            has_left: false,
            left: VectorClock::new(),
            given_up_after: VectorClock::new(),
            joins_left: false,
        }
    }
}

/// Reads kept for the recognition of spinning without a hint.
const MAX_READS: usize = 256;
/// So many reads in a row must repeat before a loop without a hint counts as spinning, whatever it counts.
const REPEATS: usize = 48;
/// And then it is looked again after so many more.
const BETWEEN_LOOKS: usize = 16;
/// After so many reads in a row, and each time that these have doubled, it is looked whether it does the same again.
const FIRST_LOOK: usize = 2;
/// How much longer a loop may go on each time that this has been paid for.
const MORE_PATIENCE: u32 = 4;
/// And no longer than so many reads and further pauses: what waits in a loop that reads much, or pauses ever longer, would come to the limit on steps.
const MAX_REPEATED_OPERATIONS: usize = 1024;
/// So many parks in a row must have returned on the thread's own token before each counts as a pause.
const SELF_WAKES: u32 = 2;
/// A thread that may be counting its rounds is let on for so many before time passes: more than a backoff has that ends with a wait.
const MAX_COUNTED: u32 = 128;
/// The same where it changes something in each: whoever wakes himself until some time has passed takes that many steps more.
const MAX_COUNTED_CHANGES: u32 = 32;
/// Exchanges in a row that may fail for no reason: more would only repeat what a loop around them does, for ever.
pub(crate) const MAX_SPURIOUS_FAILURES: u32 = 3;
/// So often a thread may find that one which has ended has not done so yet: more would only repeat what a loop around that does.
pub(crate) const MAX_LATE_ENDS: u32 = 3;
/// Longest recognised loop, in reads.
const MAX_PERIOD: usize = 16;
/// A longer loop than a few reads must go round so often.
const MIN_ROUNDS: usize = 8;

impl Thread {
    /// What it had done and knew when it let go of what it shares with whoever joins it, if it has.
    pub(crate) fn shared_clock(&self) -> &VectorClock {
        if self.has_left { &self.left } else { &self.clock.clock }
    }

    /// Makes the slot a new thread. Its clock is begun by the caller.
    pub(crate) fn reset(
        &mut self,
        object: ObjectId,
        parent: Option<usize>,
        spawn_index: u64,
        name: Option<Arc<str>>,
    ) {
        self.name = name;
        self.panic = None;
        self.stack.clear();
        // Of an execution whose threads were given up as they were.
        self.locals.clear();
        self.number = 0;
        self.next_number = 0;
        self.reset_warm(object, parent, spawn_index);
    }

    /// [`reset`](Self::reset), where the slot [is warm](Self::is_warm).
    #[inline(always)]
    pub(crate) fn reset_warm(&mut self, object: ObjectId, parent: Option<usize>, spawn_index: u64) {
        self.life = Life::Unborn;
        self.object = object;
        self.token_object = ObjectId::NONE;
        self.parent = parent;
        self.spawn_index = spawn_index;
        self.spawn_count = 0;
        self.readiness = Readiness::Ready;
        self.expired = None;
        self.notified = false;
        self.late = false;
        self.token = false;
        self.own_token = false;
        self.parked_within = None;
        self.self_wakes = 0;
        self.unwinding = false;
        self.panicked = false;
        self.panic_handled = false;
        self.reads.clear();
        self.previous_reads.clear();
        self.dirty = false;
        self.awaiting = false;
        self.awaits_news = false;
        self.gives_way = false;
        self.turns.reset();
        self.rounds.reset();
        self.idle.reset();
        self.spins.reset();
        self.comes_round = false;
        self.reads_clock = false;
        self.clock_readings = (0, 0);
        self.waits_in_vain = 0;
        self.repeated_turns = 0;
        self.patience = 1;
        self.repeated_operations = 0;
        self.forgotten_reads = 0;
        self.next_look = FIRST_LOOK;
        self.cut_waits.clear();
        self.late_expiries = 0;
        self.empty_turns = 0;
        self.counted = (0, Since::Changes(0));
        self.seen_expiries = 0;
        self.stack_bottom = 0;
        self.stack_top = 0;
        self.in_hook = false;
        self.on_behalf = false;
        self.comes_to_write = false;
        self.in_foreign = false;
        self.unwinds_late = false;
        self.spurious_failures = 0;
        self.late_ends = 0;
        self.kept_from_ending.clear();
        self.seen_ended_by.clear();
        self.has_left = false;
        self.joins_left = false;
    }

    /// Whether a new thread can have the slot as it is, stack and all.
    #[inline]
    pub(crate) fn is_warm(&self) -> bool {
        self.name.is_none()
            && self.panic.is_none()
            && self.stack.is_empty()
            && self.locals.is_empty()
            && self.coroutine.is_some()
    }

    /// At a pause: it waits for a time, and does nothing else.
    pub(crate) fn waits_for_time(&self) -> bool {
        self.reads_clock && self.reads.is_empty() && !self.dirty
    }

    /// It has read something without changing anything.
    #[inline(always)]
    pub(crate) fn note_read(&mut self, entry: ReadEntry) {
        if !self.reads.push(entry) {
            self.forgotten_reads += self.reads.len() - MAX_READS / 2;
            self.reads.keep(MAX_READS / 2);
            self.reads.push(entry);
            self.stop_watching();
        }
    }

    /// What it has read last was as it wanted it, and it was told otherwise: that must not be taken for waiting for a change.
    pub(crate) fn note_spurious_failure(&mut self) {
        if let Some(entry) = self.reads.latest() {
            entry.version = entry.version.wrapping_sub(1);
        }
    }

    /// It has changed something: whatever it does, it is not spinning.
    #[inline]
    pub(crate) fn note_change(&mut self) {
        self.dirty = true;
        self.awaiting = false;
        self.repeated_turns = 0;
        self.patience = 1;
        self.spurious_failures = 0;
        self.reads.clear();
        self.next_look = FIRST_LOOK;
        self.rounds.note_change();
    }

    /// It has been parked; `wakes_itself`: it only had the token because it had unparked itself. Says whether it is to pause now: a task
    /// that wakes itself and is polled again at once, more than once in a row, waits for others.
    pub(crate) fn note_park(&mut self, wakes_itself: bool) -> bool {
        self.self_wakes = if wakes_itself { self.self_wakes + 1 } else { 0 };
        let goes_round = self.self_wakes >= SELF_WAKES;
        self.comes_round |= goes_round;
        goes_round
    }

    /// Nothing is to be noted of what it does.
    #[inline(always)]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.turns.left | self.rounds.watched == 0
    }

    /// It begins to wait for a change of what it read last.
    pub(crate) fn begin_awaiting(&mut self) {
        self.begin_awaiting_change_of(REPEATS);
        self.idle.is_idle = false;
    }

    /// It begins to wait for a change of what it has read in so many reads.
    pub(super) fn begin_awaiting_change_of(&mut self, reads: usize) {
        self.awaiting = true;
        self.awaits_news = false;
        self.reads.keep(reads.min(self.reads.len()));
        self.next_look = FIRST_LOOK;
    }

    /// Its yield takes effect: a new turn of its loop begins.
    pub(crate) fn note_yield(&mut self) {
        self.kept_from_ending.clear();
        self.awaiting = false;
        if self.reads.is_empty() && !self.dirty {
            // A pause right after a pause (a backoff): still the same turn.
            self.repeated_operations += 1;
            return;
        }
        if self.repeats_itself() {
            self.repeated_turns += 1;
            self.repeated_operations += self.turn_reads();
        }
        self.forgotten_reads = 0;
        self.waits_in_vain = 0;
        std::mem::swap(&mut self.reads, &mut self.previous_reads);
        self.reads.clear();
        self.next_look = FIRST_LOOK;
        self.dirty = false;
    }

    /// At a yield: it has read, since the last one, only what it had read before that.
    pub(crate) fn repeats_itself(&self) -> bool {
        let same = |(a, b): (&ReadEntry, &ReadEntry)| (a.object, a.version) == (b.object, b.version);
        !self.dirty
            && !self.reads.is_empty()
            && self.reads.len() == self.previous_reads.len()
            && self.reads.iter().zip(self.previous_reads.iter()).all(same)
    }

    /// At a yield, if it has changed nothing since the last one: how much it has read.
    pub(crate) fn turn_reads(&self) -> usize {
        self.forgotten_reads + self.reads.len()
    }

    /// At a yield: it has repeated itself for longer than it is given the benefit of the doubt.
    pub(crate) fn awaits(&self) -> bool {
        self.repeats_itself()
            && (self.repeated_turns + 1 >= self.patience
                || self.repeated_operations + self.turn_reads() >= MAX_REPEATED_OPERATIONS)
    }

    /// It goes on although nothing has changed, at a cost: it may be counting its attempts, and gets more of them before
    /// it is taken for spinning again.
    pub(crate) fn go_on_early(&mut self) {
        if self.awaits_news {
            return self.turns.go_on_early();
        }
        self.repeated_turns = 0;
        self.repeated_operations = 0;
        self.patience = self.patience.saturating_mul(MORE_PATIENCE);
    }

    /// It goes on early, at a cost: a wait is cut short, or a loop goes on although nothing has changed.
    pub(crate) fn note_early(&mut self) {
        self.expired = Some(self.readiness);
        if self.awaiting {
            return self.go_on_early();
        }
        let place = self.place();
        match self.cut_waits.iter_mut().find(|(known, _)| *known == place) {
            Some((_, count)) => *count += 1,
            None => self.cut_waits.push((place, 1)),
        }
    }

    /// Whether it may go on early once more, so many times in a row being the most. Depends on nothing but what it has done itself.
    pub(crate) fn may_go_on_early(&self, most: u32) -> bool {
        if self.awaiting {
            return match self.awaits_news {
                true => self.turns.may_go_on_early(most),
                false => {
                    let is_idle = self.idle.is_idle && self.idle.is_surely_known;
                    !is_idle && self.patience < MORE_PATIENCE.saturating_pow(most)
                }
            };
        }
        let place = self.place();
        self.cut_waits.iter().all(|&(known, count)| known != place || count < most)
    }

    /// It waits for a change, and may be counting its rounds up to a number that it has not come to. Depends on nothing but what it has done itself.
    /// And on how often time has passed until somebody's wait was over (`expiries`): once more each time.
    pub(crate) fn may_be_counting(&self, expiries: u32) -> bool {
        let is_idle = || self.idle.is_idle && self.idle.is_surely_known;
        let has_rounds = |most: u32| self.counted_rounds() < most || self.seen_expiries != expiries;
        let may_be = match self.awaits_news {
            true => has_rounds(MAX_COUNTED_CHANGES),
            false => has_rounds(MAX_COUNTED) && !is_idle(),
        };
        self.awaiting && may_be && !self.reads_clock
    }

    /// So often has it been let on before time passed since it came to something new.
    fn counted_rounds(&self) -> u32 {
        let (rounds, since) = self.counted;
        if since == self.counted_since() { rounds } else { 0 }
    }

    fn counted_since(&self) -> Since {
        match self.awaits_news {
            true => Since::News(self.turns.news()),
            false => Since::Changes(self.rounds.changes()),
        }
    }

    /// It is let on before time passes.
    pub(crate) fn note_counted_round(&mut self, expiries: u32) {
        self.seen_expiries = expiries;
        self.counted = (self.counted_rounds() + 1, self.counted_since());
    }

    /// It waits for a change, and its last turn was idle.
    pub(crate) fn is_idle(&self) -> bool {
        self.awaiting && self.idle.is_undisturbed()
    }

    /// A wait has got what it waited for.
    #[inline]
    pub(crate) fn end_wait(&mut self) {
        self.cut_waits.clear();
    }

    fn place(&self) -> usize {
        self.location.map_or(0, Place::address)
    }

    /// At a yield or a read in a spinning loop: it repeats its reads, whatever it has read, so that it waits, or would
    /// wait if nothing had changed.
    pub(crate) fn could_await(&self) -> bool {
        let same = |(a, b): (&ReadEntry, &ReadEntry)| a.object == b.object;
        let repeats = self.reads.len() == self.previous_reads.len()
            && self.reads.iter().zip(self.previous_reads.iter()).all(same);
        // The same whether or not it is known by now that it waits no more.
        match self.awaiting {
            true => !self.awaits_news,
            false => !self.dirty && !self.reads.is_empty() && repeats,
        }
    }

    /// What it waits for a change of, or would if nothing had changed.
    pub(crate) fn could_await_change_of(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let reads: &[ReadEntry] = if self.could_await() { &self.reads } else { &[] };
        let news = self.gives_way || (self.dirty && self.turns.is_tired());
        let reads = reads.iter().map(|read| ObjectId::new(read.object as usize));
        reads.chain(self.turns.objects().filter(move |_| news))
    }

    /// [`note_read`](Self::note_read), if there is room for it.
    #[inline]
    pub(crate) fn has_room_for_reads(&self) -> bool {
        self.reads.length < MAX_READS
    }

    /// At a read without a hint: it is time to look whether it repeats itself.
    #[inline]
    pub(crate) fn may_spin(&self) -> bool {
        self.reads.length >= self.next_look
    }

    /// At a read without a hint: so many have repeated themselves that it counts as spinning, whatever it may be counting. Depends on nothing but what
    /// it has read.
    pub(super) fn repeats_for_long(&self) -> bool {
        let beyond = self.reads.len().checked_sub(REPEATS);
        beyond.is_some_and(|beyond| beyond.is_multiple_of(BETWEEN_LOOKS))
            && self.has_period(REPEATS, MIN_ROUNDS)
    }

    /// At a read without a hint: it may be going round in a loop.
    pub(super) fn may_go_round(&self) -> bool {
        self.has_period(2, 2)
    }

    /// The last reads, so many of them and so many rounds, repeat with a short period, from the same places of the program.
    fn has_period(&self, reads: usize, rounds: usize) -> bool {
        const { assert!(MAX_PERIOD * MIN_ROUNDS <= MAX_READS / 2) };
        (1..=MAX_PERIOD).any(|period| {
            let repeated = reads.max(rounds * period);
            let Some(first) = self.reads.len().checked_sub(repeated) else { return false };
            let tail = &self.reads[first..];
            tail.iter().zip(&tail[period..]).all(|(a, b)| a == b)
        })
    }

    /// One of its last reads, so many, was at the place where it is.
    pub(super) fn was_here(&self, reads: usize) -> bool {
        self.reads.iter().rev().take(reads).any(|read| read.place == self.location)
    }

    /// What it is about to do it has done in the loop that it waited in last.
    pub(super) fn was_in_loop(&self) -> bool {
        self.was_here(REPEATS)
    }

    /// Each of its reads is looked at from now on: it may be going round.
    pub(super) fn watch(&mut self) {
        self.next_look = 0;
        self.idle.begin_watch();
    }

    pub(super) fn is_watched(&self) -> bool {
        self.next_look == 0
    }

    /// It is looked again when it has read more.
    pub(super) fn stop_watching(&mut self) {
        let read = self.reads.len();
        self.next_look = match read {
            REPEATS.. => read + BETWEEN_LOOKS - (read - REPEATS) % BETWEEN_LOOKS,
            _ => REPEATS.min((read + 1).next_power_of_two()),
        };
    }
}
