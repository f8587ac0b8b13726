//! A chooser that keeps some orders of a given execution, and otherwise does as it is told.

use super::plan::{Edge, Place, Plan, plain};
use crate::program::{BranchPoint, Chooser, SchedulingPoint, Taken};
use crate::trace::{Action, Schedule, ScheduleEntry, ThreadId};

/// What a guide does where the orders that it keeps leave a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// As in the execution that is explained, as far as possible.
    AsBefore,
    /// The thread that ran before, else the first that can go on.
    First,
    /// The thread that ran before, else the last that can go on.
    Last,
    /// Each in turn.
    InTurn,
    /// By chance, from this seed.
    Random(u64),
}

/// A thread of this execution.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Which of the plan's it is.
    name: usize,
    steps: usize,
    children: u32,
    branches: usize,
}

impl Known {
    fn new(name: usize) -> Self {
        Known { name, steps: 0, children: 0, branches: 0 }
    }
}

/// A thread that the plan does not know.
const UNKNOWN: usize = usize::MAX;

/// Chooses within the orders.
pub(super) struct Guide<'a> {
    plan: &'a Plan,
    orders: &'a [Edge],
    /// This one the other way round: its earlier step waits for its later one.
    reversed: Option<Edge>,
    manner: Manner,
    threads: Vec<Known>,
    /// Steps of the plan before this one have been taken.
    head: usize,
    taken: Vec<usize>,
    /// Threads of the plan that do something else than there, or have ended: orders of steps that they no longer take
    /// bind nobody.
    astray: Vec<bool>,
    seed: u64,
    /// The orders could not be kept: nobody else could go on.
    pub(super) gave_way: bool,
    entries: Vec<ScheduleEntry>,
    chosen: (bool, bool),
    outcomes: Vec<ScheduleEntry>,
}

impl<'a> Guide<'a> {
    pub(super) fn new(plan: &'a Plan, orders: &'a [Edge], reversed: Option<Edge>, manner: Manner) -> Self {
        let seed = if let Manner::Random(seed) = manner { seed } else { 0 };
        Guide {
            plan,
            orders,
            reversed,
            manner,
            threads: vec![Known::new(0)],
            head: 0,
            taken: vec![0; plan.branches.len()],
            astray: vec![false; plan.branches.len()],
            seed: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            gave_way: false,
            entries: Vec::new(),
            chosen: (false, false),
            outcomes: Vec::new(),
        }
    }

    /// What was chosen.
    pub(super) fn into_schedule(self) -> Schedule {
        Schedule::new(self.entries)
    }

    fn name(&self, thread: usize) -> (usize, usize) {
        self.threads.get(thread).map_or((UNKNOWN, 0), |known| (known.name, known.steps))
    }

    /// Whether the orders let this thread take its next step.
    fn may(&self, thread: usize) -> bool {
        let (name, ordinal) = self.name(thread);
        let waits = |first: Place, second: Place| {
            second.thread == name
                && second.ordinal == ordinal
                && self.taken[first.thread] <= first.ordinal
                && !self.astray[first.thread]
                && !self.astray[second.thread]
        };
        let kept = self.orders.iter().any(|order| waits(order.before, order.after));
        let reversed = self.reversed.is_some_and(|order| waits(order.after, order.before));
        !kept && !reversed
    }

    /// Notes which threads are about to do something else than in the plan, or have ended.
    fn note_astray(&mut self, point: &SchedulingPoint<'_>) {
        for (thread, known) in self.threads.iter().enumerate() {
            let Some(actions) = self.plan.actions.get(known.name) else { continue };
            let does = point.pending.get(thread).map(|operation| plain(operation.action));
            let over = point.ended.contains(thread);
            if over || does != actions.get(known.steps).copied() && known.steps < actions.len() {
                self.astray[known.name] = true;
            }
        }
    }

    /// The next thread of the plan that can go on.
    fn as_before(&mut self, point: &SchedulingPoint<'_>) -> Option<usize> {
        let over = |place: Place, taken: &[usize]| taken[place.thread] > place.ordinal;
        while self.plan.steps.get(self.head).is_some_and(|(place, _)| over(*place, &self.taken)) {
            self.head += 1;
        }
        let mut seen = Vec::new();
        for &(place, early) in &self.plan.steps[self.head..] {
            if over(place, &self.taken) || seen.contains(&place.thread) {
                continue;
            }
            seen.push(place.thread);
            let Some(thread) = self.threads.iter().position(|known| known.name == place.thread) else {
                continue;
            };
            let can = point.enabled.contains(thread) || early && point.early.contains(thread);
            if can && self.may(thread) {
                return Some(thread);
            }
            if seen.len() == self.taken.len() {
                break;
            }
        }
        None
    }

    fn random(&mut self) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 33) as usize
    }

    fn choose(&mut self, point: &SchedulingPoint<'_>) -> ThreadId {
        if self.manner == Manner::AsBefore
            && let Some(thread) = self.as_before(point)
        {
            return ThreadId::new(thread);
        }
        let allowed: Vec<usize> = point.enabled.iter().filter(|&thread| self.may(thread)).collect();
        let previous = point.previous.map(ThreadId::index);
        let stays = previous.filter(|thread| !point.yielded && allowed.contains(thread));
        let next = |from: usize| allowed.iter().copied().find(|&t| t > from).or(allowed.first().copied());
        let found = match self.manner {
            _ if allowed.is_empty() => None,
            Manner::AsBefore | Manner::First if point.yielded => previous.and_then(next),
            Manner::AsBefore | Manner::First => stays.or(allowed.first().copied()),
            Manner::Last => stays.or(allowed.last().copied()),
            Manner::InTurn => next(previous.unwrap_or(0)),
            Manner::Random(_) => {
                let index = self.random() % allowed.len();
                Some(allowed[index])
            }
        };
        found.map_or_else(
            || {
                self.gave_way = true;
                point.default_choice()
            },
            ThreadId::new,
        )
    }
}

impl Chooser for Guide<'_> {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.note_astray(point);
        let thread = self.choose(point);
        self.chosen = (point.is_preemption(thread), point.is_early(thread));
        Some(thread)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let Some(known) = self.threads.get_mut(point.thread.index()) else { return 0 };
        let planned = self.plan.branches.get(known.name).and_then(|planned| planned.get(known.branches));
        known.branches += 1;
        let index = planned.copied().filter(|&index| index < point.count).unwrap_or(0);
        self.outcomes.push(ScheduleEntry::Branch { index, costly: point.costly && index > 0 });
        index
    }

    fn wants_every_point(&self) -> bool {
        true
    }

    fn stepped(&mut self, step: &Taken<'_>) {
        let thread = step.thread.index();
        let (preemption, early) = std::mem::take(&mut self.chosen);
        self.entries.push(ScheduleEntry::Run { thread: step.thread, preemption, early });
        self.entries.append(&mut self.outcomes);
        let Some(known) = self.threads.get_mut(thread) else { return };
        known.steps += 1;
        if let Some(taken) = self.taken.get_mut(known.name) {
            *taken += 1;
        }
        if step.operation.action == Action::Spawn {
            let child = (known.name, known.children);
            known.children += 1;
            let name = self.plan.threads.get(&child).copied().unwrap_or(UNKNOWN);
            self.threads.push(Known::new(name));
        }
    }
}
