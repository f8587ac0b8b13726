//! The search as the one who chooses: it makes a node for each new state, and notes what the steps touch.

use super::PartialOrder;
use super::node::Branch;
use crate::program::{BranchPoint, Chooser, SchedulingPoint, Taken};
use crate::trace::{Access, Action, Mode, ObjectId, Operation, ThreadId};

impl Chooser for PartialOrder {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let index = self.cursor;
        let place = point.place ^ point.enabled.digest().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if index < self.depth {
            if index >= self.kept {
                self.events.introduce(point.pending.len());
            }
            self.cursor += 1;
            self.branch_cursor = 0;
            let node = &self.nodes[index];
            if node.place != place {
                self.diverge(point.step);
                return None;
            }
            return Some(ThreadId::new(node.chosen));
        }
        self.events.introduce(point.pending.len());
        self.note_stop(index, point);
        self.note_receiver(point);
        self.read_pending(point);
        self.push_node(point, place);
        self.analyse(index, point, None);
        let prescribed = self.follow(index);
        if prescribed.is_some_and(|t| !point.enabled.contains(t) && !point.early.contains(t)) {
            self.diverge(point.step);
            return None;
        }
        let Some(thread) = prescribed.or_else(|| self.first_choice(index, point.pending)) else {
            // Everything from here on is covered elsewhere.
            self.depth = index;
            return None;
        };
        self.nodes[index].choose(thread);
        self.cursor += 1;
        self.branch_cursor = 0;
        Some(ThreadId::new(thread))
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let place = (u64::from(point.count) << 32) ^ point.thread.index() as u64;
        let position = self.branch_cursor;
        self.branch_cursor += 1;
        let prescribed = self.prescribed_outcome(self.cursor.saturating_sub(1), position);
        let Some(node) = self.current() else { return 0 };
        match node.branches.get(position) {
            Some(branch) if branch.place != place => {
                self.diverge(0);
                0
            }
            Some(branch) => branch.chosen,
            None => {
                let chosen = prescribed.min(point.count.saturating_sub(1));
                node.branches.push(Branch { chosen, count: point.count, costly: point.costly, place });
                chosen
            }
        }
    }

    fn wants_every_point(&self) -> bool {
        true
    }

    fn divergence(&self) -> Option<String> {
        self.divergence.clone()
    }

    fn stepped(&mut self, step: &Taken<'_>) {
        if self.cursor <= self.kept {
            return;
        }
        if self.events.len() + 1 == self.cursor {
            let early = self.nodes[self.cursor - 1].is_early(step.thread.index());
            let fuses = self.is_bounded();
            self.events.push(step, early, fuses);
        } else {
            // A step without a decision of its own: part of the one before.
            for &access in step.accesses {
                self.analyse_part(access);
            }
            self.events.touch(step.accesses);
        }
        if matches!(step.operation.action, Action::CountDown) {
            self.events.note_count_down();
        }
        // Nobody else can touch a thread before its spawn.
        if !matches!(step.operation.action, Action::Spawn) {
            self.touch_nodes(step.accesses);
        }
    }

    fn ended(&mut self, _: ThreadId, object: ObjectId) {
        if self.cursor <= self.kept {
            return;
        }
        let accesses = [Access { object, mode: Mode::Write }];
        self.analyse_part(accesses[0]);
        self.events.touch(&accesses);
        self.touch_nodes(&accesses);
        if let Some(node) = self.current() {
            node.stops = true;
        }
        if let Some(event) = self.events.last() {
            self.nodes[event.first].stops = true;
        }
    }

    fn freed(&mut self, object: ObjectId) {
        if self.cursor <= self.kept {
            return;
        }
        let accesses = [Access { object, mode: Mode::Write }];
        self.analyse_part(accesses[0]);
        self.events.touch(&accesses);
        self.touch_nodes(&accesses);
    }

    fn over(&mut self, point: &SchedulingPoint<'_>, without: Option<ThreadId>) {
        self.events.introduce(point.pending.len());
        self.note_stop(self.cursor, point);
        if self.cursor == self.depth {
            self.note_receiver(point);
            self.read_pending(point);
            self.analyse(self.depth, point, without.map(ThreadId::index));
        }
    }
}

impl PartialOrder {
    /// Whether the thread of the step before could go on right after it.
    fn note_stop(&mut self, index: usize, point: &SchedulingPoint<'_>) {
        if let Some(before) = index.checked_sub(1) {
            let node = &mut self.nodes[before];
            if point.yielded || !point.enabled.contains(node.chosen) {
                node.stops = true;
                if let Some(event) = self.events.last().filter(|_| self.events.len() == index) {
                    self.nodes[event.first].stops = true;
                }
            }
        }
    }

    /// A receiver that begins to wait lets a `try_send` without a buffer succeed. So where there is a `try_send`, this is
    /// a write of the channel that belongs to the receiver's step before.
    fn note_receiver(&mut self, point: &SchedulingPoint<'_>) {
        if !self.tries_to_send {
            if !point.pending.iter().any(|operation| matches!(operation.action, Action::TrySend)) {
                return;
            }
            self.tries_to_send = true;
            self.anew = true;
        }
        let Some(previous) = point.previous.map(ThreadId::index) else { return };
        let waits = !point.enabled.contains(previous) && !point.ended.contains(previous);
        if let Operation { action: Action::Receive { .. }, object, .. } = point.pending[previous]
            && waits
        {
            let access = Access { object, mode: Mode::Write };
            self.analyse_part(access);
            self.events.touch(&[access]);
            self.touch_nodes(&[access]);
        }
    }

    /// The current step, and the block it belongs to, touch these objects.
    fn touch_nodes(&mut self, accesses: &[Access]) {
        let (Some(index), Some(event)) = (self.cursor.checked_sub(1), self.events.last()) else { return };
        let (block, first) = (event.block, event.first);
        if index < self.depth {
            let step = &mut self.nodes[index].step;
            accesses.iter().for_each(|&access| step.add(access));
        }
        if first != index {
            // A free step and the one it leads to go to sleep together.
            let step = &mut self.nodes[first].step;
            accesses.iter().for_each(|&access| step.add(access));
        }
        if block >= self.fresh && block < self.depth {
            let footprint = &mut self.nodes[block].block;
            accesses.iter().for_each(|&access| footprint.add(access));
        }
    }
}
