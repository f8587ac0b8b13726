//! Coasting: the end of an execution that the bound leaves to the threads themselves, and that can show no alternative that is not known.
//!
//! Where the bound is spent, whoever runs goes on until it stops, and as long as then just one thread can go on there is nothing to choose. Nor
//! is there where all others are blocked, or have ended, whatever the bound allows.
//! What races with such a step is to be tried before the step's block, or before an earlier event; where everybody is to be tried
//! there already, nothing comes of it. Then steps are written down and not analysed. As soon as something else comes up, the
//! search *lands*: it makes the nodes and events of the steps written down, and goes on as if it had done so all along.
//!
//! So it changes nothing but the time that a search takes. What could show an alternative yet:
//! 1. A race with an earlier event that is *open*: somebody is not to be tried yet right before it, or before its block. As long as whoever
//!    acts knows it, or does what commutes with it, nothing comes of it.
//! 2. The pending operation of another thread that conflicts with an open event: it is analysed anew when a step conflicts with it.
//! 3. A thread that an open event has enabled (`Deferred`).
//! 4. A choice that costs nothing: several threads that can go on where the one before has stopped, an outcome inside a step.
//! 5. Where the bound is not spent: a choice that costs something, as soon as somebody else can go on, be it early, or an outcome at a cost.

use super::events::{Event, is_free};
use super::footprint::Footprint;
use super::grow::may_be_freed;
use super::node::Branch;
use super::{Flaw, PartialOrder, script};
use crate::dependence;
use crate::program::{BranchPoint, Coasted, Foreseen, Leave, LetOn, SchedulingPoint, Taken, ThreadSet};
use crate::trace::{Access, Action, ObjectId, Operation, ThreadId};

/// What belongs to a step beside its operation.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Its thread has touched this too.
    Touch(Access),
    /// It has looked at something.
    Look,
    /// A count went down.
    CountDown,
}

/// What coasting has saved, and what it has cost: roughly in tens of instructions.
mod price {
    /// A step that is written down only.
    pub(super) const SAVED: i64 = 80;
    /// One whose node and event are made all the same.
    pub(super) const LANDED: i64 = 15;
    /// To look whether an execution can coast, and for each open event, and for each of these and each thread.
    pub(super) const LOOK: i64 = 20;
    pub(super) const OPEN: i64 = 1;
    /// What is allowed for a point where nobody looks, because it has cost too much.
    pub(super) const ALLOWANCE: i64 = 2;
    /// What a search may spend before anything has been saved: in a small one every look counts.
    pub(super) const START: i64 = 1_000;
    /// No more is saved up.
    pub(super) const MOST: i64 = 20_000;
}

/// An open event, with what is looked at over and over.
#[derive(Clone, Copy, Debug)]
struct Open {
    event: u32,
    /// Its thread, its number there, and the one object that it touches.
    thread: u32,
    number: u32,
    only: Option<Access>,
}

/// Where the running execution coasts, and what it has done since.
#[derive(Debug, Default)]
pub(super) struct Coast {
    pub(super) is_on: bool,
    /// The bound may allow more, but as long as it coasts nobody else can go on, not even early.
    is_alone: bool,
    steps: Vec<Coasted>,
    /// What steps touch that touch several objects, or none, by number of the step.
    several: Vec<(u32, Access)>,
    parts: Vec<(u32, Part)>,
    branches: Vec<(u32, Branch)>,
    /// What the threads wanted to do where it began, and later ones when they were spawned.
    pending: Vec<Operation>,
    /// The running block has begun where others could have gone on, and has done nothing yet that is more than free.
    is_loose: bool,
    /// There are open events.
    is_guarded: bool,
    /// By thread what the open events touch that it does not know.
    unknown: Vec<Footprint>,
    /// Pending operations that conflict with open events.
    waiting: Footprint,
    /// Open events of the current execution, of those before `judged`.
    open: Vec<Open>,
    judged: usize,
    /// Since the open events were judged, somebody more is to be tried at a node this deep, or at one below it: of the events from there on fewer
    /// may be open.
    stale: Option<usize>,
    /// What it has cost so far, less what it has saved; above [`price::START`] nobody looks whether an execution can coast.
    debt: i64,
    /// Steps written down, and landings, in all executions.
    counts: (u64, u64),
}

impl Coast {
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.counts.0 + self.steps.len() as u64, self.counts.1)
    }

    /// The first `kept` events are repeated, and the others are other ones.
    pub(super) fn rewind(&mut self, kept: usize) {
        self.clear(-price::SAVED);
        self.judged = self.judged.min(kept);
        while self.open.pop_if(|open| open.event as usize >= kept).is_some() {}
    }

    /// Somebody more is to be tried at the node.
    #[inline]
    pub(super) fn note_addition(&mut self, node: usize) {
        self.stale = Some(self.stale.map_or(node, |stale| stale.min(node)));
    }

    /// Whether the newest step has not been taken yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.steps.last().is_some_and(|step| !step.is_taken)
    }

    pub(super) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Forgets the steps, each of which has cost so much.
    fn clear(&mut self, cost: i64) {
        self.is_on = false;
        if self.steps.is_empty() {
            return;
        }
        self.counts.0 += self.steps.len() as u64;
        self.debt = (self.debt + cost * self.steps.len() as i64).max(price::START - price::MOST);
        self.steps.clear();
        self.several.clear();
        self.parts.clear();
        self.branches.clear();
    }

    /// What the step touches, without its parts.
    fn accesses_of(&self, position: usize) -> impl Iterator<Item = Access> + '_ {
        self.steps[position].only.into_iter().chain(of(&self.several, position))
    }

    fn parts_of(&self, position: usize) -> impl Iterator<Item = Part> + '_ {
        of(&self.parts, position)
    }

    /// Whether a thread that does this could show an alternative.
    #[inline]
    fn minds(&self, thread: usize, access: Access) -> bool {
        self.is_guarded && (self.waiting.minds(access) || self.unknown[thread].minds(access))
    }
}

/// What of all this belongs to the step at the position.
fn of<T: Copy>(all: &[(u32, T)], position: usize) -> impl Iterator<Item = T> + '_ {
    let start = all.partition_point(|&(of, _)| (of as usize) < position);
    all[start..].iter().take_while(move |&&(of, _)| of as usize == position).map(|&(_, one)| one)
}

/// How the next step follows the one before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    /// The thread goes on.
    Same(usize),
    /// Nobody else can go on.
    Only(usize),
    /// Others could go on, but with this step, which is free (see [`Event::is_free`]), nothing ever races.
    Free(usize),
}

impl Next {
    /// Who takes the next step, if there is nothing to choose.
    #[inline(always)]
    fn at(point: &SchedulingPoint<'_>, previous: usize) -> Option<Next> {
        if point.enabled.contains(previous) && !point.yielded {
            return Some(Next::Same(previous));
        }
        let first = point.enabled.first()?;
        if point.enabled.is_only(first) {
            return Some(Next::Only(first));
        }
        is_free(point.pending[first].action).then_some(Next::Free(first))
    }

    #[inline]
    fn thread(self) -> usize {
        let (Next::Same(thread) | Next::Only(thread) | Next::Free(thread)) = self;
        thread
    }
}

impl PartialOrder {
    /// Whether it may be worth looking whether the execution can coast from a point on where there is no node yet.
    #[inline]
    pub(super) fn may_begin_to_coast(&mut self, point: &SchedulingPoint<'_>) -> bool {
        let Some(parent) = self.cursor.checked_sub(1).map(|before| &self.nodes[before]) else { return false };
        let Some(budget) = self.budget else { return false };
        // Its step may have cost something, or it did not.
        let may_be_spent = self.bound_pruned > 0
            && (parent.cost == budget || (parent.cost + 1 == budget && !parent.goes_on_plainly()));
        if !may_be_spent && script::is_asked(point) {
            return false;
        }
        let is_worth_it = self.coast.debt <= price::START;
        if !is_worth_it {
            self.coast.debt -= price::ALLOWANCE;
        }
        is_worth_it
    }

    /// Whether the execution can coast from this point on, where there is no node yet. It does then.
    pub(super) fn begin_coasting(&mut self, point: &SchedulingPoint<'_>) -> bool {
        let index = self.cursor;
        let parent = &self.nodes[index - 1];
        let cost = parent.cost + parent.switch_cost(parent.chosen) + parent.branch_cost();
        let Some(previous) = point.previous.map(ThreadId::index) else { return false };
        let Some(next) = Next::at(point, previous) else { return false };
        let is_spent = self.budget == Some(cost) && self.bound_pruned > 0;
        if !is_spent && script::is_asked(point) {
            return false;
        }
        let is_usual = self.is_bounded()
            && self.coasts
            && self.flaw == Flaw::None
            && self.events.len() == index
            && self.item.depth() <= index
            && point.awaited.is_empty()
            && point.pending.len() == self.events.thread_count()
            && point.pending.len() <= ThreadSet::WORD;
        if !is_usual {
            return false;
        }
        let event = self.events.get(index - 1);
        // A free step and the next one go to sleep together: it would have to learn of that.
        let goes_on = matches!(next, Next::Same(_));
        if (goes_on && (event.is_free() || !self.takes_nobody(event.block)))
            || !parent.wakes_all(event, true, &self.pending)
        {
            return false;
        }
        self.look_for_open_events();
        if self.deferred.iter().any(|deferred| self.is_open(deferred.index)) || !self.guard(previous, point) {
            return false;
        }
        self.note_stop(index, point);
        self.coast.is_on = true;
        self.coast.is_alone = !is_spent;
        self.coast.is_loose = false;
        self.coast.pending.clear();
        self.coast.pending.extend_from_slice(point.pending);
        true
    }

    /// Whether somebody could be added before the event, or before its block.
    #[inline(always)]
    fn is_open(&self, index: usize) -> bool {
        let event = self.events.get(index);
        let Event { first, block, .. } = *event;
        let is_closed = self.takes_nobody(first) && (first == block || self.takes_nobody(block));
        !is_closed && !event.is_free()
    }

    /// Events that are not open will not be: nodes only gain those that are to be tried. Those that were open are looked at again where
    /// some have been gained.
    fn look_for_open_events(&mut self) {
        let mut open = std::mem::take(&mut self.coast.open);
        if let Some(stale) = self.coast.stale.take() {
            let first = open.partition_point(|open| (open.event as usize) < stale);
            let mut kept = first;
            for position in first..open.len() {
                let one = open[position];
                if self.is_open(one.event as usize) {
                    open[kept] = one;
                    kept += 1;
                }
            }
            open.truncate(kept);
        }
        let count = self.events.len();
        for event in self.coast.judged..count {
            if self.is_open(event) {
                let Event { thread, number, only, .. } = *self.events.get(event);
                open.push(Open { event: event as u32, thread: thread as u32, number, only });
            }
        }
        let pairs = open.len() * (1 + self.events.thread_count());
        self.coast.debt += price::LOOK + price::OPEN * pairs as i64;
        self.coast.open = open;
        self.coast.judged = count;
    }

    /// Notes what must not be touched. `false`: what `previous` wants to do touches it, or the newest event does.
    fn guard(&mut self, previous: usize, point: &SchedulingPoint<'_>) -> bool {
        let Coast { is_guarded, unknown, waiting, open, .. } = &mut self.coast;
        *is_guarded = false;
        if open.is_empty() {
            return true;
        }
        waiting.clear();
        if unknown.len() < point.pending.len() {
            unknown.resize_with(point.pending.len(), Footprint::default);
        }
        for (thread, unknown) in unknown.iter_mut().enumerate().take(point.pending.len()) {
            unknown.clear();
            if point.ended.contains(thread) {
                continue;
            }
            let known = self.events.known(thread);
            let mut knows_all = true;
            for &Open { event, thread: by, number, only } in &*open {
                if by as usize != thread && number > known.get(by as usize) {
                    knows_all = false;
                    match only {
                        Some(access) => unknown.add(access),
                        None => unknown.add_all(&self.events.get(event as usize).footprint),
                    }
                }
            }
            if knows_all {
                continue;
            }
            *is_guarded = true;
            let mut is_met = false;
            dependence::for_each_access(point.pending[thread], |access| is_met |= unknown.minds(access));
            if is_met {
                if thread == previous {
                    return false;
                }
                dependence::for_each_access(point.pending[thread], |access| waiting.add(access));
            }
        }
        self.events.last().is_none_or(|event| !event.footprint.conflicts(waiting))
    }

    /// Writes down the next step, if the execution goes on coasting; else it has to land.
    #[inline(always)]
    pub(super) fn coast(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let previous = point.previous?.index();
        let follows = Next::at(point, previous)?;
        let next = follows.thread();
        let wanted = &point.pending[previous];
        let coast = &mut self.coast;
        if coast.is_alone && script::is_asked(point) {
            return None;
        }
        match follows {
            Next::Same(_) if coast.is_loose && !is_free(wanted.action) => return None,
            Next::Same(_) => {}
            Next::Only(_) => coast.is_loose = false,
            Next::Free(_) => coast.is_loose = true,
        }
        let thread_count = coast.pending.len();
        if !point.others_unchanged && !coast.steps.is_empty()
            || may_be_freed(point.pending[next])
            || matches!(wanted.action, Action::TrySend)
            || !point.awaited.is_empty()
        {
            return None;
        }
        if point.pending.len() > thread_count && !coast.welcome(previous, point) {
            return None;
        }
        if coast.is_guarded && coast.is_met_by(previous, *wanted) {
            return None;
        }
        coast.steps.push(point.written_down(previous, next));
        Some(ThreadId::new(next))
    }

    /// What steps that the program takes without asking must not touch, in bits; `None`: it is to ask. It writes them down itself.
    #[inline]
    pub(super) fn lend_steps(&mut self, lent: &mut Vec<Coasted>) -> Option<Leave> {
        let minded = self.minded()?;
        std::mem::swap(&mut self.coast.steps, lent);
        Some(Leave { minded, alone: self.coast.is_alone })
    }

    #[inline]
    fn minded(&self) -> Option<u64> {
        let Coast { is_on, is_loose, is_guarded, unknown, waiting, steps, .. } = &self.coast;
        let last = steps.last().filter(|_| *is_on && !is_loose)?;
        if !is_guarded {
            return Some(0);
        }
        Some(waiting.word()? | unknown[last.thread as usize].word()?)
    }

    /// The steps that were lent come back, and more of them.
    pub(super) fn take_back(&mut self, lent: &mut Vec<Coasted>) {
        std::mem::swap(&mut self.coast.steps, lent);
    }

    /// The step that has been written down last has been taken; or its thread has done one more that needed no choice.
    #[inline(never)]
    pub(super) fn note_coasted(&mut self, step: &Taken<'_>) {
        let coast = &mut self.coast;
        let minds = step.accesses.iter().any(|&access| coast.minds(step.thread.index(), access));
        let Some(last) = coast.steps.last_mut() else { return };
        if last.is_taken {
            return self.note_coasted_parts(step, minds);
        }
        last.is_taken = true;
        last.pauses = step.yielded;
        last.operation = step.operation;
        match step.accesses {
            &[only] => last.only = Some(only),
            several => {
                let position = coast.steps.len() as u32 - 1;
                coast.several.extend(several.iter().map(|&access| (position, access)));
            }
        }
        if minds {
            self.land();
        }
    }

    #[cold]
    fn note_coasted_parts(&mut self, step: &Taken<'_>, minds: bool) {
        if minds || self.coast.is_loose {
            self.land();
            return self.add_parts(step);
        }
        step.accesses.iter().for_each(|&access| self.coast.add_part(Part::Touch(access)));
        if matches!(step.operation.action, Action::CountDown) {
            self.coast.add_part(Part::CountDown);
        }
        if step.yielded
            && let Some(last) = self.coast.steps.last_mut()
        {
            last.pauses = true;
        }
    }

    /// The newest step has done this too. `false`: the execution has landed, and it is to be noted as usual.
    pub(super) fn coasts_on_with(&mut self, access: Access) -> bool {
        let Some(thread) = self.coast.steps.last().map(|step| step.thread as usize) else { return false };
        if self.coast.is_loose || self.coast.minds(thread, access) {
            self.land();
            return false;
        }
        self.coast.add_part(Part::Touch(access));
        true
    }

    /// The newest step has looked at something.
    pub(super) fn note_coasted_look(&mut self) {
        self.coast.add_part(Part::Look);
    }

    /// An outcome inside a step that is written down: the first, if the others cannot be afforded. `None`: the execution
    /// has landed.
    pub(super) fn coasted_outcome(&mut self, point: &BranchPoint, place: u64) -> Option<u32> {
        if !point.costly || self.coast.is_alone || !self.coast.is_awaited() {
            self.land();
            return None;
        }
        let branch = Branch { chosen: 0, count: point.count, costly: true, place };
        self.coast.branches.push((self.coast.steps.len() as u32 - 1, branch));
        Some(0)
    }

    /// Makes the nodes and events of what has been written down.
    #[inline(never)]
    pub(super) fn land(&mut self) {
        let coast = std::mem::take(&mut self.coast);
        self.pending.forget();
        let (mut pending, mut accesses) = (coast.pending.clone(), Vec::new());
        let idle = ThreadSet::new();
        for (position, step) in coast.steps.iter().enumerate() {
            let index = self.cursor;
            let (enabled, early, ended): (ThreadSet, ThreadSet, ThreadSet) =
                (step.enabled.into(), step.early.into(), step.ended.into());
            pending[step.previous as usize] = step.wanted;
            let point = SchedulingPoint {
                step: step.number,
                previous: Some(ThreadId::new(step.previous as usize)),
                yielded: step.yielded,
                enabled: &enabled,
                early: &early,
                // Nobody waits for a change where it coasts.
                idle: &idle,
                pending: &pending[..step.thread_count as usize],
                others_unchanged: position > 0,
                awaited: &[],
                ended: &ended,
                place: step.place,
                let_on: LetOn::default(),
            };
            let place = Foreseen::place(step.place, &enabled, &early);
            self.arrive(index, &point, place);
            self.take_choice(index, step.thread as usize, &point, place);
            for branch in of(&coast.branches, position) {
                self.branch_cursor += 1;
                self.nodes[index].branches.push(branch);
                self.script.push(Foreseen { place: branch.place, chosen: branch.chosen });
            }
            if step.is_taken {
                let thread = ThreadId::new(step.thread as usize);
                accesses.clear();
                accesses.extend(coast.accesses_of(position));
                let Coasted { operation, pauses: yielded, .. } = *step;
                let taken = Taken { thread, operation, accesses: &accesses, yielded };
                self.push_event(&taken, false);
                for part in coast.parts_of(position) {
                    match part {
                        Part::Touch(access) => self.events.touch(access),
                        Part::Look => self.events.note_look(),
                        Part::CountDown => self.events.note_count_down(),
                    }
                }
            }
        }
        self.coast = coast;
        self.coast.counts.1 += 1;
        self.coast.clear(price::LANDED);
    }

    /// The block that was running when the execution began to coast learns what it has touched since; see
    /// [`note_footprints`](Self::note_footprints).
    pub(super) fn note_coasted_footprints(&mut self, deepest: usize) {
        let Some(&Event { block, thread, yielded, .. }) = self.events.last() else { return };
        let node = &mut self.nodes[block];
        // Everybody is to be tried there already: who is left finds the choice asleep.
        let is_wanted = block <= deepest && node.has_left();
        if !yielded && is_wanted && !node.spent {
            for (position, step) in self.coast.steps.iter().enumerate() {
                if step.thread as usize != thread {
                    break;
                }
                // Nobody else can touch a thread before its spawn.
                let spawned = if step.operation.action == Action::Spawn {
                    step.operation.object
                } else {
                    ObjectId::NONE
                };
                let mut note = |access: Access| {
                    if access.object != spawned {
                        node.block.add(access);
                    }
                };
                self.coast.accesses_of(position).for_each(&mut note);
                for part in self.coast.parts_of(position) {
                    if let Part::Touch(access) = part {
                        note(access);
                    }
                }
                if step.pauses {
                    break;
                }
            }
        }
        self.coast.clear(-price::SAVED);
    }
}

impl Coast {
    fn add_part(&mut self, part: Part) {
        if let Some(last) = self.steps.len().checked_sub(1) {
            self.parts.push((last as u32, part));
        }
    }

    /// Whether the operation conflicts with an open event that the thread does not know.
    #[inline]
    fn is_met_by(&self, thread: usize, operation: Operation) -> bool {
        dependence::accesses(operation).any(|access| self.unknown[thread].minds(access))
    }

    /// Threads that the step before has spawned know what their parent knows. `false`: there are too many.
    #[cold]
    fn welcome(&mut self, parent: usize, point: &SchedulingPoint<'_>) -> bool {
        let (known, count) = (self.pending.len(), point.pending.len());
        if count > ThreadSet::WORD {
            return false;
        }
        self.pending.extend_from_slice(&point.pending[known..]);
        if !self.is_guarded {
            return true;
        }
        self.unknown.resize_with(self.unknown.len().max(count), Footprint::default);
        (known..count).all(|thread| {
            let unknown = self.unknown[parent].clone();
            self.unknown[thread] = unknown;
            !self.is_met_by(thread, point.pending[thread])
        })
    }
}
