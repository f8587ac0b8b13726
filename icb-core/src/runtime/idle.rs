//! Idle turns: a thread that goes round in a loop which only reads, and comes to its pause with the same registers, the same stack and the
//! same heap as at the pause before, having read only what it had read before. Until one of the objects that it has read is changed it
//! would do just this again, however often: an execution in which it does so is one in which it does not, with more of the same steps. So such
//! a thread waits for that change, and is not let on early at a cost, as one is that may be counting its attempts.
//!
//! Nothing is guessed: the memory is copied when the turn begins and compared when it ends, byte by byte: the thread's stack and those of all others, all
//! blocks, and the statics. What others do meanwhile, and what the thread gets from where a turn cannot be seen to use it up (the clock, random numbers, a
//! choice), makes a turn count as not idle. Copying takes time, so it is left out while a loop counts in registers (a backoff). Not looked at: what a library that is loaded at run time keeps in its own memory. In a process with other tests
//! beside this one, statics change for other reasons too. There what is found at a pause is taken for uncertain (see below), and a loop without a hint that counts
//! its rounds in a static that is no variable of the model is not told from one that does not.
//!
//! What the engine leaves on unused stack depends on how it came to its decision, and so on more than what the program did. A function that is called in each turn
//! has that in its frame, where it has not written yet. So a loop without a hint is compared at the read that is called from furthest up: what lies above, no
//! operation of the turn has touched. At a pause that is called from further down than an operation of the turn, what is found may be different in another execution of
//! the same schedule: it is uncertain. Then it says only what is not worth while, see [`SchedulingPoint::idle`](crate::program::SchedulingPoint::idle), and a search that has let such a thread
//! on goes on to do so.
//!
//! With a pause, that a thread waits is known from what it has read, and whether its turn was idle decides only about what is offered to a search: a
//! schedule that lets such a thread on early is followed like any other. A loop that does not pause is watched from when it has read the same twice in a row,
//! at the same places: then a turn goes from one read to the next one at that place, and when it was idle the thread begins to wait. (What is not seen to be
//! idle counts as waiting only after many rounds, see `threads`: it may be counting them.) When that begins depends on who ran in the middle of a turn, and so
//! on more than the order of dependent operations. But all that a thread does until then is to read the same again, and leaving it while it waits is free: an
//! execution in which it goes round more often has one beside it in which it waits, and everybody else does the same, at no higher cost. Replays see the same.

use super::allocator::Quarantine;
use super::arena::Range;
use super::execution::Execution;
use super::image;
use super::registers::Registers;
use super::threads::{Life, Thread};
use crate::trace::{Access, Action, Mode, ObjectId, Operation};

/// More memory than this is not copied: the turn counts as not idle. In bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A turn of a loop without a hint that reads more counts as not idle.
const MAX_TURN_READS: usize = 16;

/// After so many turns that were not idle it is looked again later whether a loop without a hint has idle ones.
const MAX_TURNS_IN_VAIN: u32 = 3;

/// After so many turns of a loop that counts in registers its next ones are not looked at, as long as it does.
const MAX_COUNTING: u32 = 2;

/// Whether something has been changed since a turn was found to be idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Disturbed {
    #[default]
    No,
    /// Only by this thread in this turn of it, which may come to nothing.
    In(usize, u32),
    Yes,
}

/// What is known of the turn of a thread.
#[derive(Debug, Default)]
pub(crate) struct IdleTurns {
    /// It waits at a pause at which nothing was as it had not been at the one before.
    pub(crate) is_idle: bool,
    /// Whether that is so is the same in every execution of the schedule.
    pub(crate) is_surely_known: bool,
    /// After so many steps of the execution that has been found out.
    found_at: u64,
    /// Who may have changed since then what the turn has to do with.
    disturbed: Disturbed,
    /// In this turn nothing was done that leaves something elsewhere than in memory.
    is_quiet: bool,
    /// Something was locked or changed in this turn.
    changes: bool,
    /// It was tried to lock something in this turn.
    tries: bool,
    /// What has been locked in this turn, and is still.
    held: Vec<ObjectId>,
    /// What the turn has to do with.
    objects: Vec<ObjectId>,
    /// At the pause that is pending.
    registers: Option<Registers>,
    /// At the last pause.
    last: Option<Registers>,
    /// So many pauses in a row were at the place of the one before, and had other registers: the loop counts in them.
    counting: u32,
    /// How things were when this turn began is known.
    pub(super) known: bool,
    /// Something has been got that the next turn may get otherwise.
    spoiled: bool,
    began_with: Option<Registers>,
    /// The highest stack pointer at the operations since.
    highest_call: usize,
    /// After so many steps of the execution this turn began.
    began_at: u64,
    /// The same, with its own pauses since.
    steps: u64,
    /// How many blocks had been freed.
    freed: usize,
    /// The thread had read so much when the turn began, where that was a read without a hint.
    reads: usize,
    /// Turns of a loop without a hint that have not come to their ends as they had begun.
    in_vain: u32,
    /// The thread's stack, those of the others, statics, and all blocks.
    ranges: Vec<Range>,
    bytes: Vec<u8>,
    /// The same at the end of the turn.
    ranges_now: Vec<Range>,
}

impl IdleTurns {
    #[inline(always)]
    pub(crate) fn reset(&mut self) {
        self.is_idle = false;
        self.known = false;
        self.registers = None;
        self.last = None;
        self.counting = 0;
    }

    /// What the thread does next may be something else, although it is in the same state.
    #[inline]
    pub(crate) fn spoil(&mut self) {
        self.spoiled = true;
    }

    /// What the engine has just changed in these statics counts as having been so when the turn began.
    pub(super) fn disregard(&mut self, place: Range, before: &[u8], now: &[u8]) {
        let mut copied = &mut self.bytes[..];
        for &(start, end) in &self.ranges {
            let Some((there, rest)) = copied.split_at_mut_checked(end - start) else { return };
            copied = rest;
            if (start, end) == place {
                let unchanged =
                    there.iter_mut().zip(before).zip(now).filter(|((kept, before), _)| kept == before);
                unchanged.for_each(|((kept, _), now)| *kept = *now);
            }
        }
    }

    /// The bytes of these addresses follow one another in `bytes`.
    fn is_unchanged(&self) -> bool {
        let mut copied = &self.bytes[..];
        self.ranges.iter().all(|&(start, end)| {
            let Some((before, rest)) = copied.split_at_checked(end - start) else { return false };
            copied = rest;
            // SAFETY: `begin_turn` has copied from there, and what the program allocates stays mapped up to the end of the execution, as does
            // the stack. Nobody else runs.
            unsafe { is_same(std::ptr::with_exposed_provenance(start), before) }
        })
    }
}

/// What has become of a thread that is watched.
pub(super) enum Watched {
    /// In its last turn, of so many reads, nothing was changed.
    Idle {
        /// Reads of the turn.
        reads: usize,
    },
    /// Its turn is not over, or it has another one.
    GoesOn,
    /// It is not known to be doing the same again.
    Changes,
}

/// Where what a thread can have changed lies.
pub(super) struct Memory<'a> {
    /// The stacks of the other threads, and the statics if they count.
    pub(super) elsewhere: &'a [Range],
    pub(super) quarantine: &'a mut Quarantine,
}

impl Memory<'_> {
    /// The addresses that a thread can have changed: its stack up to `bottom`, what lies elsewhere, and all blocks. `false` if they are not known, or too
    /// many.
    fn in_use(&mut self, registers: &Registers, bottom: usize, ranges: &mut Vec<Range>) -> bool {
        ranges.clear();
        let top = registers.stack_pointer();
        if top == 0 || top >= bottom {
            return false;
        }
        ranges.push((top, bottom));
        ranges.extend_from_slice(self.elsewhere);
        let bytes: usize = ranges.iter().map(|(start, end)| end - start).sum();
        bytes <= MAX_BYTES && self.quarantine.blocks_in_use(ranges, MAX_BYTES - bytes)
    }
}

/// Copies what is in memory from one address up to another. Statics that others may change are read as they happen to be.
///
/// # Safety
/// It is mapped, and no thread of the model writes to it meanwhile.
pub(super) unsafe fn append_bytes((start, end): Range, bytes: &mut Vec<u8>) {
    let (length, held) = (end - start, bytes.len());
    bytes.reserve(length);
    let from: *const u8 = std::ptr::with_exposed_provenance(start);
    // SAFETY: the caller's promise, and as many bytes are reserved.
    unsafe {
        from.copy_to_nonoverlapping(bytes.as_mut_ptr().add(held), length);
        bytes.set_len(held + length);
    }
}

/// Whether these are the bytes that are there.
///
/// # Safety
/// As many are mapped, and nobody writes to them meanwhile.
#[cfg(unix)]
unsafe fn is_same(now: *const u8, before: &[u8]) -> bool {
    // SAFETY: the caller's promise.
    unsafe { libc::memcmp(now.cast(), before.as_ptr().cast(), before.len()) == 0 }
}

#[cfg(not(unix))]
unsafe fn is_same(_: *const u8, _: &[u8]) -> bool {
    false
}

impl Execution {
    /// The running thread does something with this object, which may make a difference for a thread that waits in a loop. What is changed under a lock the
    /// thread comes to know when it is let go; before that only if it tries whether it is free.
    pub(super) fn disturb(&mut self, thread: usize, object: ObjectId) {
        let idle = &self.threads[thread].idle;
        if !idle.is_idle || idle.disturbed == Disturbed::Yes || !idle.objects.contains(&object) {
            return;
        }
        let makes_no_difference = match self.pending[self.current].action {
            Action::Lock
            | Action::ReadLock
            | Action::WriteLock
            | Action::TryLock
            | Action::TryReadLock
            | Action::TryWriteLock => !idle.tries,
            Action::Unlock | Action::ReadUnlock | Action::WriteUnlock => {
                idle.found_at <= self.threads.mine().idle.began_at && self.has_changed_nothing()
            }
            _ => false,
        };
        if makes_no_difference {
            return;
        }
        let running = self.threads.mine();
        let (turn, may_be_idle) = (running.turns.number(), running.idle.known);
        self.threads[thread].idle.note_disturbance(self.current, turn, may_be_idle);
    }

    /// All memory is as it was when the running thread's turn began.
    fn has_changed_nothing(&mut self) -> bool {
        self.with_memory(true, |thread, _, memory| {
            let bottom = thread.stack_bottom;
            thread.idle.is_quiet && thread.idle.is_memory_as_before(bottom, memory)
        })
    }

    /// The running thread's turn, which is over, has come to nothing: it has disturbed nobody.
    pub(super) fn calm_down(&mut self) {
        let by = Disturbed::In(self.current, self.threads.mine().turns.number());
        for thread in 0..self.thread_count {
            if self.threads[thread].idle.disturbed == by {
                self.threads[thread].idle.disturbed = Disturbed::No;
                if self.early.contains(thread) && self.threads[thread].is_idle() {
                    self.idle.insert(thread);
                }
            }
        }
    }

    /// Looks at the running thread, with the steps so far, and all memory that it may have changed; with statics, if these count.
    pub(super) fn with_memory<R>(
        &mut self,
        statics: bool,
        look: impl FnOnce(&mut Thread, u64, &mut Memory<'_>) -> R,
    ) -> R {
        let mut elsewhere = std::mem::take(&mut self.elsewhere);
        elsewhere.clear();
        for (index, thread) in self.threads.iter().enumerate().take(self.thread_count) {
            if index != self.current && thread.life == Life::Live && thread.stack_top != 0 {
                elsewhere.push((thread.stack_top, thread.stack_bottom));
            }
        }
        if statics {
            elsewhere.extend_from_slice(image::writable());
        }
        let mut memory = Memory { elsewhere: &elsewhere, quarantine: &mut self.quarantine };
        let result = look(&mut self.threads[self.current], self.step_count, &mut memory);
        self.elsewhere = elsewhere;
        result
    }
}

impl Thread {
    /// It is at a pause; `registers`: those that it has there, if it is a pause of the program's. `step`: steps of the
    /// execution so far.
    pub(super) fn recognise_idle_turn(
        &mut self,
        registers: Option<Registers>,
        step: u64,
        owns_statics: bool,
        memory: &mut Memory<'_>,
    ) {
        let operations = self.turns.operations();
        let bottom = self.stack_bottom;
        let idle = &mut self.idle;
        (idle.found_at, idle.disturbed) = (step, Disturbed::No);
        idle.is_idle = idle.is_quiet
            && idle.held.is_empty()
            && operations.is_some_and(|own| step == idle.steps + u64::from(own))
            && registers.is_some_and(|now| idle.is_as_before(now, bottom, memory));
        let is_highest = |now: Registers| now.stack_pointer() >= idle.highest_call;
        idle.is_surely_known = owns_statics && !idle.changes && registers.is_some_and(is_highest);
        idle.registers = registers;
    }

    /// Its pause takes effect, after so many steps. `ends_turn`: it has done something since the one before; and whether the
    /// next turn may be the same: it has read something since it changed something last. Whether its stack has been looked at.
    pub(super) fn begin_turn(&mut self, ends_turn: Option<bool>, step: u64, memory: &mut Memory<'_>) -> bool {
        let bottom = self.stack_bottom;
        if self.is_watched() {
            self.stop_watching();
        }
        let idle = &mut self.idle;
        idle.is_idle = false;
        match ends_turn {
            // A pause right after a pause.
            None => {
                idle.steps += 1;
                return false;
            }
            Some(may_repeat) => idle.known = may_repeat,
        }
        let Some(registers) = idle.registers.take().filter(|_| idle.known) else {
            idle.known = false;
            return false;
        };
        let before = idle.last.replace(registers);
        let counts = before.is_some_and(|before| before != registers && before.place() == registers.place());
        idle.counting = if counts { idle.counting + 1 } else { 0 };
        if idle.counting > MAX_COUNTING {
            idle.known = false;
            return false;
        }
        idle.begin(registers, bottom, step, memory)
    }

    /// A read without a hint is announced, by a thread that may be going round. `registers`: those that it has there, if they are known; `step`: steps
    /// of the execution so far.
    ///
    /// That it is watched is known after two rounds of its loop: whatever these write on its stack and in its blocks, they have written.
    pub(super) fn watch_read(
        &mut self,
        registers: Option<Registers>,
        step: u64,
        memory: &mut Memory<'_>,
    ) -> Watched {
        let (reads, bottom) = (self.turn_reads(), self.stack_bottom);
        let begins = match &self.idle.began_with {
            Some(then) if self.idle.known => self.idle.highest_call > then.stack_pointer(),
            _ => true,
        };
        if begins {
            // Copying takes time.
            let Some(registers) = registers.filter(|_| self.was_here(MAX_TURN_READS)) else {
                return Watched::Changes;
            };
            self.idle.reads = reads;
            return if self.idle.begin(registers, bottom, step, memory) {
                Watched::GoesOn
            } else {
                Watched::Changes
            };
        }
        let idle = &mut self.idle;
        let Some(of_turn) = reads.checked_sub(idle.reads) else { return Watched::Changes };
        let Some(registers) =
            registers.filter(|now| idle.began_with.is_some_and(|then| then.place() == now.place()))
        else {
            return if of_turn < MAX_TURN_READS { Watched::GoesOn } else { Watched::Changes };
        };
        if step == idle.steps + of_turn as u64
            && registers.stack_pointer() >= idle.highest_call
            && idle.is_as_before(registers, bottom, memory)
        {
            idle.known = false;
            idle.is_idle = true;
            idle.is_surely_known = true;
            idle.disturbed = Disturbed::No;
            idle.objects.clear();
            return Watched::Idle { reads: of_turn };
        }
        idle.in_vain += 1;
        idle.reads = reads;
        if idle.in_vain < MAX_TURNS_IN_VAIN && idle.begin(registers, bottom, step, memory) {
            Watched::GoesOn
        } else {
            Watched::Changes
        }
    }
}

impl IdleTurns {
    /// A turn begins, with these registers and after so many steps. `false`: it cannot be told whether it will have been idle.
    fn begin(&mut self, registers: Registers, bottom: usize, step: u64, memory: &mut Memory<'_>) -> bool {
        self.known = memory.in_use(&registers, bottom, &mut self.ranges);
        if !self.known {
            return false;
        }
        self.highest_call = registers.stack_pointer();
        self.bytes.clear();
        for &range in &self.ranges {
            // SAFETY: it is the thread's own stack above what the engine has in use now, that of a thread which does not run, a static, or memory that
            // has been given out in this execution: mapped, and nobody else runs. (Where nothing has been written yet, it is what the system gave.)
            unsafe { append_bytes(range, &mut self.bytes) };
        }
        self.began_with = Some(registers);
        self.spoiled = false;
        self.is_quiet = true;
        self.changes = false;
        self.tries = false;
        self.held.clear();
        self.objects.clear();
        (self.began_at, self.steps) = (step, step);
        self.freed = memory.quarantine.freed();
        true
    }

    /// Whether a turn that ends with these registers has left everything as it was when it began.
    fn is_as_before(&mut self, registers: Registers, bottom: usize, memory: &mut Memory<'_>) -> bool {
        self.known
            && !self.spoiled
            && Some(registers) == self.began_with
            && self.is_memory_as_before(bottom, memory)
    }

    /// Whether all memory is as it was when the turn began, but for the stack of what has been called since.
    fn is_memory_as_before(&mut self, bottom: usize, memory: &mut Memory<'_>) -> bool {
        self.known
            && self.freed == memory.quarantine.freed()
            && self.began_with.is_some_and(|then| memory.in_use(&then, bottom, &mut self.ranges_now))
            && self.ranges == self.ranges_now
            && self.is_unchanged()
    }

    /// What the thread does in its turn. `in_memory`: what it stores is in memory, and nowhere else.
    pub(super) fn note_operation(&mut self, operation: Operation, accesses: &[Access], in_memory: bool) {
        if !self.known {
            return;
        }
        let object = operation.object;
        let changes = accesses.iter().any(|access| access.mode != Mode::Read);
        self.changes |= changes;
        match operation.action {
            Action::Load(_) | Action::Fence(_) | Action::CellRead | Action::CellWrite => {}
            Action::CountUp | Action::CountDown | Action::CountRead => {}
            Action::Store(_) | Action::ReadModifyWrite(_) | Action::CompareExchange { .. } => {
                self.is_quiet &= in_memory || !changes;
            }
            Action::Lock | Action::ReadLock | Action::WriteLock => self.held.push(object),
            Action::TryLock | Action::TryReadLock | Action::TryWriteLock => {
                self.tries = true;
                if changes {
                    self.held.push(object);
                }
            }
            Action::Unlock | Action::ReadUnlock | Action::WriteUnlock => {
                match self.held.iter().rposition(|&held| held == object) {
                    Some(position) => {
                        self.held.swap_remove(position);
                    }
                    None => self.is_quiet = false,
                }
            }
            _ => self.is_quiet = false,
        }
        for access in accesses {
            if !self.objects.contains(&access.object) {
                self.objects.push(access.object);
            }
        }
    }

    /// This thread has done something with one of the objects, in this turn of its own; `in_vain`: which may come to nothing.
    fn note_disturbance(&mut self, by: usize, turn: u32, in_vain: bool) {
        self.disturbed = match self.disturbed {
            Disturbed::No if in_vain => Disturbed::In(by, turn),
            Disturbed::In(thread, known) if (thread, known) == (by, turn) => self.disturbed,
            _ => Disturbed::Yes,
        };
    }

    /// Its last turn was idle, and nothing has been changed since.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.is_idle && self.disturbed == Disturbed::No
    }

    /// Something is called from where the stack pointer is this.
    pub(super) fn note_call(&mut self, stack_pointer: usize) {
        self.highest_call = self.highest_call.max(stack_pointer);
    }

    /// A thread is about to be watched.
    pub(super) fn begin_watch(&mut self) {
        self.known = false;
        self.in_vain = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn that has begun with these bytes.
    fn turn(statics: &[u8]) -> IdleTurns {
        let start = statics.as_ptr().expose_provenance();
        let ranges = vec![(start, start + statics.len())];
        IdleTurns { known: true, ranges, bytes: statics.to_vec(), ..IdleTurns::default() }
    }

    #[test]
    fn what_the_engine_changes_in_statics_is_no_change_and_what_the_program_changes_is_one() {
        for by_program in [false, true] {
            let mut statics = vec![1, 2, 3, 4];
            let mut turns = turn(&statics);
            let place = turns.ranges[0];
            statics[0] += u8::from(by_program);
            let before = statics.clone();
            statics[2] = 9;
            assert!(!turns.is_unchanged());
            turns.disregard(place, &before, &statics);
            assert_eq!(turns.is_unchanged(), !by_program);
        }
    }
}
