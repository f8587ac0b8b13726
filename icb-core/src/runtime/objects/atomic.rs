//! Atomic variables. The value is in the program's memory and is read and written by the mirrored type between
//! [`Execution::announce`] and [`Execution::finish_atomic`]; here stand the orderings and the dependence.

use crate::runtime::execution::Execution;
use crate::runtime::idle::Watched;
use crate::runtime::threads::ReadEntry;
use crate::trace::{Access, Action, Mode, ObjectId, Operation, Ordering};

impl Execution {
    /// Completes a load, if nothing is to be looked at more closely; else does nothing. The chooser is not told.
    #[inline(always)]
    pub(in crate::runtime) fn finish_load(&mut self, id: ObjectId, order: Ordering) -> bool {
        let thread = self.threads.mine();
        let object = &mut self.objects[id.index()];
        let is_usual = thread.is_unwatched() && thread.has_room_for_reads();
        object.note_use(self.current, &thread.clock);
        if !is_usual || !thread.clock.load_shortly(&object.sync, order) {
            return false;
        }
        thread.awaiting = false;
        let (version, place) = (object.version, thread.location);
        thread.note_read(ReadEntry { object: id.index() as u32, version, place });
        thread.hash.step(&mut object.hash, Mode::Read);
        self.count_step();
        true
    }

    /// Completes a store, if nothing is to be looked at more closely; else does nothing. The chooser is not told.
    #[inline(always)]
    pub(in crate::runtime) fn finish_store(&mut self, id: ObjectId, order: Ordering) -> bool {
        let thread = self.threads.mine();
        let object = &mut self.objects[id.index()];
        let is_usual = thread.is_unwatched();
        object.note_use(self.current, &thread.clock);
        if !is_usual || !thread.clock.store_shortly(self.current, &mut object.sync, order) {
            return false;
        }
        object.note_change(false);
        thread.note_change();
        thread.hash.step(&mut object.hash, Mode::Write);
        self.note_progress();
        self.count_step();
        self.reconsider(id);
        true
    }

    /// Completes a read-modify-write that has changed the value, if nothing is to be looked at more closely; else does nothing. The chooser is not told.
    #[inline(always)]
    pub(in crate::runtime) fn finish_change(&mut self, id: ObjectId, order: Ordering) -> bool {
        let thread = self.threads.mine();
        let object = &mut self.objects[id.index()];
        let is_usual = thread.is_unwatched();
        object.note_use(self.current, &thread.clock);
        if !is_usual || !thread.clock.modify_shortly(self.current, &mut object.sync, order) {
            return false;
        }
        object.note_change(false);
        thread.note_change();
        thread.hash.step(&mut object.hash, Mode::Write);
        self.note_progress();
        self.count_step();
        self.reconsider(id);
        true
    }

    /// Completes an atomic step: the bits read and written tell whether it changed anything.
    #[inline(always)]
    pub(in crate::runtime) fn finish_atomic(
        &mut self,
        id: ObjectId,
        read: Option<u64>,
        written: Option<u64>,
    ) {
        let me = self.current;
        let operation = self.pending[me];
        let object = &mut self.objects[id.index()];
        let thread = self.threads.mine();
        let mut note = None;
        object.note_use(me, &thread.clock);
        match operation.action {
            Action::Load(order) => thread.clock.load(&object.sync, order),
            Action::Store(order) => thread.clock.store(me, &mut object.sync, order),
            Action::ReadModifyWrite(order) => {
                thread.clock.load(&object.sync, order);
                thread.clock.continue_sequence(me, &mut object.sync, order);
            }
            Action::CompareExchange { success, failure, .. } => {
                if written.is_some() {
                    thread.clock.load(&object.sync, success);
                    thread.clock.continue_sequence(me, &mut object.sync, success);
                } else {
                    thread.clock.load(&object.sync, failure);
                    note = Some("failed");
                }
            }
            _ => {}
        }
        // A write of the value that was there changes nothing that a spinning thread could wait for.
        let changed = written.is_some() && (read.is_none() || read != written);
        if changed {
            object.note_change(thread.turns.tired);
            thread.note_change();
            self.note_progress();
        } else {
            let (version, place) = (object.version, thread.location);
            let entry = ReadEntry { object: id.index() as u32, version, place };
            thread.awaiting = false;
            thread.note_read(entry);
        }
        let mode = if written.is_some() { Mode::Write } else { Mode::Read };
        self.finish_single(operation, Access { object: id, mode }, read, written, note);
    }

    /// The registers have been noted at an operation that is about to be announced.
    #[inline(never)]
    pub(in crate::runtime) fn registers_noted(&mut self) {
        self.registers_of = (self.current, self.step_count);
        self.threads.mine().idle.note_call(self.registers.stack_pointer());
    }

    /// A read is announced without a hint: a thread that provably does the same again, or has been reading the same values for long, waits
    /// until one of them changes.
    #[inline]
    pub(in crate::runtime) fn recognise_spinning(&mut self) {
        if self.threads.mine().may_spin() {
            self.look_for_spinning();
        }
    }

    #[cold]
    fn look_for_spinning(&mut self) {
        let are_known = self.watches_loops && self.registers_of == (self.current, self.step_count);
        let registers = are_known.then_some(self.registers);
        let thread = self.threads.mine();
        if thread.repeats_for_long() {
            thread.begin_awaiting();
            self.await_change();
        } else if !self.settings.idle_turns {
            thread.stop_watching();
        } else if thread.is_watched() {
            let owns_statics = self.settings.owns_statics;
            match self
                .with_memory(owns_statics, |thread, step, memory| thread.watch_read(registers, step, memory))
            {
                Watched::Idle { reads } => {
                    self.threads.mine().begin_awaiting_change_of(reads);
                    self.await_change();
                }
                Watched::GoesOn => {}
                Watched::Changes => self.threads.mine().stop_watching(),
            }
        } else if thread.may_go_round() {
            thread.watch();
            self.notes_registers = true;
            self.watches_loops = true;
        } else {
            thread.stop_watching();
        }
    }

    /// The running thread waits from now on for a change of what it has read.
    fn await_change(&mut self) {
        let me = self.current;
        self.note_spinning();
        self.note_awaited(me);
        self.wait_for_anything();
        self.reconsider_thread(me);
    }

    /// A fence: orders, but touches no object.
    pub(in crate::runtime) fn finish_fence(&mut self, operation: Operation, order: Ordering) {
        // What has been freed so far was freed without it.
        self.note_freed();
        let me = self.current;
        self.threads[me].clock.fence(me, order);
        self.accesses.clear();
        self.finish_many(operation, 8, None);
    }
}
