//! The search as the one who chooses: it makes a node for each new state, and notes what the steps touch.

use super::events::Event;
use super::footprint::Footprint;
use super::node::Branch;
use super::{Flaw, PartialOrder, script};
use crate::dependence;
use crate::program::{
    BranchPoint, Choice, Chooser, Coasted, Foreseen, FoundChannel, Leave, SchedulingPoint, Taken,
};
use crate::trace::{Access, Action, Mode, ObjectId, ThreadId};

impl Chooser for PartialOrder {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.choose_step(point).map(|choice| choice.thread)
    }

    fn choose_step(&mut self, point: &SchedulingPoint<'_>) -> Option<Choice> {
        if self.cursor == self.depth && (self.coast.is_on || self.may_begin_to_coast(point)) {
            return self.choose_coasting(point);
        }
        self.choose_analysing(point)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let place = script::branch_place(point);
        if let Some(decision) = self.script.recall() {
            if decision.place != place {
                self.diverge(0);
                return 0;
            }
            return decision.chosen;
        }
        if self.coast.is_on
            && let Some(chosen) = self.coasted_outcome(point, place)
        {
            return chosen;
        }
        let chosen = self.choose_outcome(point, place);
        self.script.push(Foreseen { place, chosen });
        chosen
    }

    fn foreseen(&self) -> &[Foreseen] {
        if self.divergence.is_none() { self.script.decisions() } else { &[] }
    }

    fn skip(&mut self, count: usize) {
        self.script.skip(count);
    }

    fn wants_every_point(&self) -> bool {
        true
    }

    fn known_steps(&self) -> u64 {
        if self.kept == 0 { 0 } else { self.nodes[self.kept].number }
    }

    fn divergence(&self) -> Option<String> {
        self.divergence.clone()
    }

    fn coasts(&mut self, steps: &mut Vec<Coasted>) -> Option<Leave> {
        self.lend_steps(steps)
    }

    fn coasted(&mut self, steps: &mut Vec<Coasted>) {
        self.take_back(steps);
    }

    fn stepped(&mut self, step: &Taken<'_>) {
        if self.coast.is_on {
            return self.note_coasted(step);
        }
        if self.cursor <= self.kept {
            return;
        }
        if self.events.len() + 1 != self.cursor {
            return self.add_parts(step);
        }
        let node = &self.nodes[self.cursor - 1];
        let early = !node.early.is_empty() && node.is_early(step.thread.index());
        match *step.accesses {
            [only] => self.events.push_single(step, only, early, self.budget.is_some()),
            _ => self.push_event(step, early),
        }
        if let Some(found) = self.found.take() {
            self.events.note_found(found);
        }
    }

    fn found_channel(&mut self, found: FoundChannel) {
        self.found = (!self.coast.is_on && self.is_in_step()).then_some(found);
    }

    fn ended(&mut self, _: ThreadId, object: ObjectId) {
        let access = Access { object, mode: Mode::Write };
        if self.cursor <= self.kept || (self.coast.is_on && self.coasts_on_with(access)) {
            return;
        }
        self.analyse_part(access);
        self.events.touch(access);
        if let Some(node) = self.current() {
            node.stops = true;
        }
        if let Some(event) = self.events.last() {
            self.nodes[event.first].stops = true;
        }
    }

    fn freed(&mut self, object: ObjectId) {
        self.add_part(Access { object, mode: Mode::Write });
    }

    fn looked_at(&mut self, object: ObjectId) {
        self.look(Access { object, mode: Mode::Read });
    }

    fn touched(&mut self, access: Access) {
        if !self.is_in_step() {
            self.look(access);
        }
    }

    fn over(&mut self, point: &SchedulingPoint<'_>, without: Option<ThreadId>) {
        if self.coast.is_on {
            if point.all_ended() {
                return;
            }
            self.land();
        }
        self.events.introduce(point.pending.len());
        if self.is_in_step() {
            self.take_in_vain(point);
        }
        self.note_stop(self.cursor, point);
        if self.cursor == self.depth && !point.all_ended() {
            self.read_pending(point);
            self.analyse(self.depth, point, without.map(ThreadId::index));
            if let Some(last) = self.depth.checked_sub(1)
                && self.nodes[last].sleep.iter().any(|sleeper| sleeper.early)
            {
                self.add_everybody_before(last);
            }
            if point.enabled.is_empty() && self.flaw != Flaw::LastIgnored {
                self.analyse_left(self.depth, point);
            }
        }
    }
}

impl PartialOrder {
    /// [`choose_thread`](Chooser::choose_thread), where the execution does not coast.
    #[inline(never)]
    fn choose_analysing(&mut self, point: &SchedulingPoint<'_>) -> Option<Choice> {
        let place = Foreseen::place(point.place, point.enabled, point.early);
        let thread = if self.cursor < self.depth {
            self.repeat(point, place)
        } else {
            self.push_continued(point, place).or_else(|| self.choose_anew(point, place))
        };
        thread.map(|thread| Choice { thread, may_coast: false })
    }

    /// [`choose_step`](Chooser::choose_step), where the execution coasts, or may begin to.
    #[inline(never)]
    fn choose_coasting(&mut self, point: &SchedulingPoint<'_>) -> Option<Choice> {
        if self.coast.is_on || self.begin_coasting(point) {
            if let Some(thread) = self.coast(point) {
                return Some(Choice { thread, may_coast: true });
            }
            self.land();
        }
        self.choose_analysing(point)
    }

    /// The execution is the first to come to this point: a node is made, the pending operations are analysed, and somebody is chosen.
    #[inline(never)]
    fn choose_anew(&mut self, point: &SchedulingPoint<'_>, place: u64) -> Option<ThreadId> {
        let index = self.cursor;
        self.arrive(index, point, place);
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
        self.take_choice(index, thread, point, place);
        Some(ThreadId::new(thread))
    }

    /// The execution is the first to come to this point: a node is made.
    #[inline(always)]
    pub(super) fn arrive(&mut self, index: usize, point: &SchedulingPoint<'_>, place: u64) {
        self.events.introduce(point.pending.len());
        self.note_stop(index, point);
        self.read_pending(point);
        self.push_node(point, place);
    }

    /// The thread has been chosen at the node, which has just been made.
    #[inline(always)]
    pub(super) fn take_choice(
        &mut self,
        index: usize,
        thread: usize,
        point: &SchedulingPoint<'_>,
        place: u64,
    ) {
        let node = &mut self.nodes[index];
        node.chosen = thread;
        node.todo.insert(thread);
        node.script = self.script.len();
        if script::is_asked(point) {
            self.script.push(Foreseen { place, chosen: thread as u32 });
        }
        self.cursor = index + 1;
        self.branch_cursor = 0;
    }

    /// The execution is over right after a thread has been chosen, and before it has done anything: the object of its operation is gone. That
    /// depends on who came before, as if it had done what it was going to.
    #[cold]
    fn take_in_vain(&mut self, point: &SchedulingPoint<'_>) {
        let thread = self.nodes[self.cursor - 1].chosen;
        let operation = point.pending[thread];
        let accesses: Vec<Access> = dependence::accesses(operation).collect();
        let thread = ThreadId::new(thread);
        self.stepped(&Taken { thread, operation, accesses: &accesses, yielded: false });
    }

    /// The thread of the newest step has taken another one that needed no decision: a part of the one before.
    #[inline(never)]
    pub(super) fn add_parts(&mut self, step: &Taken<'_>) {
        for &access in step.accesses {
            self.analyse_part(access);
        }
        step.accesses.iter().for_each(|&access| self.events.touch(access));
        if matches!(step.operation.action, Action::CountDown) {
            self.events.note_count_down();
        }
        if step.yielded {
            self.events.note_pause();
        }
    }

    /// Whether a thread has been chosen that has not taken its step yet.
    fn is_in_step(&self) -> bool {
        match self.coast.is_on {
            true => self.coast.is_awaited(),
            false => self.cursor > self.kept && self.events.len() + 1 == self.cursor,
        }
    }

    /// The newest step has done this too, though its operation says nothing of it.
    fn look(&mut self, access: Access) {
        self.add_part(access);
        if self.coast.is_on {
            self.note_coasted_look();
        } else if self.cursor > self.kept {
            self.events.note_look();
        }
    }

    /// The newest step has done this too.
    #[cold]
    fn add_part(&mut self, access: Access) {
        if self.coast.is_on && self.coasts_on_with(access) {
            return;
        }
        if self.cursor > self.kept {
            self.analyse_part(access);
            self.events.touch(access);
        }
    }

    /// The choice at a node that exists. Those that all executions since have passed may not have been asked for.
    #[inline(never)]
    fn repeat(&mut self, point: &SchedulingPoint<'_>, place: u64) -> Option<ThreadId> {
        let mut index = self.cursor;
        if let Some(last) = self.kept.checked_sub(1).filter(|&last| self.nodes[last].number < point.step) {
            index = index.max(last + 1);
        }
        while index < self.kept && self.nodes[index].number < point.step {
            index += 1;
        }
        self.cursor = index;
        if index >= self.kept {
            self.events.introduce(point.pending.len());
        }
        if self.nodes[index].place != place {
            self.cursor += 1;
            self.diverge(point.step);
            return None;
        }
        self.pass(index, point);
        Some(ThreadId::new(self.nodes[index].chosen))
    }

    /// The execution passes the node: what has been chosen there is part of the script.
    #[inline]
    fn pass(&mut self, index: usize, point: &SchedulingPoint<'_>) {
        self.cursor = index + 1;
        self.branch_cursor = 0;
        let asked = script::is_asked(point);
        let node = &mut self.nodes[index];
        if index < self.kept {
            self.script.seek(node.script + usize::from(asked));
            return;
        }
        node.script = self.script.len();
        if asked {
            self.script.push(Foreseen { place: node.place, chosen: node.chosen as u32 });
        }
    }

    /// The outcome of a step that this execution is the first to take, or takes with another outcome.
    fn choose_outcome(&mut self, point: &BranchPoint, place: u64) -> u32 {
        if self.cursor == 0 && !self.nodes.is_empty() {
            // What was foreseen has not come, and nothing has been asked for before.
            self.diverge(0);
            return 0;
        }
        assert!(self.cursor > 0, "the default reduction explores outcomes of steps, and none was chosen yet");
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

    /// Whether the thread of the step before could go on right after it.
    #[inline(always)]
    pub(super) fn note_stop(&mut self, index: usize, point: &SchedulingPoint<'_>) {
        if let Some(before) = index.checked_sub(1) {
            let node = &mut self.nodes[before];
            if point.yielded || !point.enabled.contains(node.chosen) {
                node.stops = true;
                if let Some(first) = self.first_of_newest(index) {
                    self.nodes[first].stops = true;
                }
            } else if !node.branches.is_empty() {
                // After another outcome it may stop.
                node.has_gone_on = true;
                if let Some(first) = self.first_of_newest(index) {
                    self.nodes[first].has_gone_on = true;
                }
            }
        }
    }

    /// Where the free steps begin that lead to the event before the node, if that is known.
    #[inline]
    fn first_of_newest(&self, index: usize) -> Option<usize> {
        self.events.last().filter(|_| self.events.len() == index).map(|event| event.first)
    }

    /// The execution is over: those of its nodes that go on to exist, which are no deeper than this, learn what their steps and blocks have
    /// touched. Once for each execution.
    pub(super) fn note_footprints(&mut self, deepest: usize) {
        let end = std::mem::take(&mut self.unnoted);
        for index in self.kept..end {
            let event = self.events.get(index);
            let Event { block, first, .. } = *event;
            let spawns = matches!(event.action, Action::Spawn);
            if block > deepest {
                // And so are those of all events after it.
                break;
            }
            let is_spent = self.nodes[index].spent;
            if is_spent && first == index && self.nodes[block].spent {
                // Nobody else is tried there, so nobody sleeps there because of this.
                continue;
            }
            if first == index
                && let Some(only) = event.only.filter(|_| !spawns)
            {
                if !is_spent && index <= deepest {
                    self.nodes[index].step.add(only);
                }
                self.nodes[block].block.add(only);
                continue;
            }
            let mut spawn = Footprint::default();
            let footprint = match event.action {
                // Nobody else can touch a thread before its spawn.
                Action::Spawn => {
                    spawn.copy_without(&event.footprint, event.object);
                    &spawn
                }
                _ => &event.footprint,
            };
            if index <= deepest {
                self.nodes[index].step.add_all(footprint);
            }
            if first != index && first <= deepest {
                // A free step and the one it leads to go to sleep together.
                self.nodes[first].step.add_all(footprint);
            }
            self.nodes[block].block.add_all(footprint);
        }
        self.note_coasted_footprints(deepest);
    }
}
