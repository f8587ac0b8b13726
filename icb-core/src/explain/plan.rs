//! A failing execution as something that others can be made from: who took which step, and which orders between
//! threads it has.

use crate::trace::{Action, Explanation, Failure, Mode, ObjectClass, Schedule, ScheduleEntry, Step, Trace};
use std::collections::{HashMap, HashSet};

/// A step by a name that other executions share: its thread, and how many steps that thread took before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Place {
    /// Number of the thread in the plan.
    pub(super) thread: usize,
    /// How many steps it has taken before.
    pub(super) ordinal: usize,
}

/// One step comes before another one, of another thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Edge {
    pub(super) before: Place,
    pub(super) after: Place,
    /// Positions among the steps of the trace.
    pub(super) positions: (usize, usize),
}

/// The execution that is to be explained.
#[derive(Debug)]
pub(super) struct Plan {
    /// The parent of each thread and its number among the parent's children: the same in all executions.
    pub(super) threads: HashMap<(usize, u32), usize>,
    /// Its steps in order, with whether they went on early.
    pub(super) steps: Vec<(Place, bool)>,
    /// What each thread does, one step after another.
    pub(super) actions: Vec<Vec<Action>>,
    /// Outcomes chosen inside steps, by thread.
    pub(super) branches: Vec<Vec<u32>>,
    /// Orders between steps of different threads that touch the same object.
    pub(super) edges: Vec<Edge>,
    /// Such orders that others make: of steps with a third one between them.
    pub(super) indirect: Vec<Edge>,
}

impl Plan {
    /// Threads that do nothing.
    pub(super) fn empty(thread_count: usize) -> Plan {
        Plan {
            threads: HashMap::new(),
            steps: Vec::new(),
            actions: vec![Vec::new(); thread_count],
            branches: vec![Vec::new(); thread_count],
            edges: Vec::new(),
            indirect: Vec::new(),
        }
    }

    /// Reads a trace that holds the accesses of its steps. `None`: it is too long, or there is none.
    pub(super) fn new(failure: &Failure) -> Option<Plan> {
        let trace = &failure.trace;
        if trace.steps.is_empty() || trace.steps.len() > Explanation::MAX_STEPS {
            return None;
        }
        let mut plan = Plan::empty(trace.threads.len().max(1));
        plan.name_threads(trace);
        let places = plan.place_steps(trace);
        plan.read_branches(&trace.schedule);
        plan.read_edges(trace, &places);
        plan.read_waits(failure, &places);
        Some(plan)
    }

    /// Whoever holds what another thread waits for has taken it before that thread could: an order too, although the
    /// later step never comes.
    fn read_waits(&mut self, failure: &Failure, places: &[Option<Place>]) {
        let steps = &failure.trace.steps;
        for (number, entry) in failure.waiting.iter().enumerate() {
            let Some(actions) = self.actions.get_mut(entry.thread.index()) else { continue };
            let after = Place { thread: entry.thread.index(), ordinal: actions.len() };
            actions.push(plain(entry.operation.action));
            let holders = entry.held_by.iter().chain(&entry.behind);
            for holder in holders.filter(|holder| **holder != entry.thread) {
                let taking = steps.iter().rposition(|step| {
                    step.thread == *holder
                        && step.accesses.iter().any(|access| {
                            access.object == entry.operation.object && access.mode != Mode::Read
                        })
                });
                if let Some(position) = taking
                    && let Some(before) = places[position]
                {
                    self.edges.push(Edge { before, after, positions: (position, steps.len() + number) });
                }
            }
        }
    }

    fn name_threads(&mut self, trace: &Trace) {
        let mut spawned: Vec<u32> = vec![0; trace.threads.len()];
        let mut next = 1;
        for step in trace.steps.iter().filter(|step| step.operation.action == Action::Spawn) {
            let parent = step.thread.index();
            if let Some(count) = spawned.get_mut(parent) {
                self.threads.insert((parent, *count), next);
                *count += 1;
                next += 1;
            }
        }
    }

    fn place_steps(&mut self, trace: &Trace) -> Vec<Option<Place>> {
        let mut places = Vec::new();
        for step in &trace.steps {
            let thread = step.thread.index();
            let actions = self.actions.get_mut(thread).filter(|_| step.is_own());
            places.push(actions.map(|actions| {
                let place = Place { thread, ordinal: actions.len() };
                actions.push(plain(step.operation.action));
                self.steps.push((place, step.early));
                place
            }));
        }
        places
    }

    fn read_branches(&mut self, schedule: &Schedule) {
        let mut running = 0;
        for entry in schedule.entries() {
            match *entry {
                ScheduleEntry::Run { thread, .. } => running = thread.index(),
                ScheduleEntry::Branch { index, .. } => {
                    if let Some(branches) = self.branches.get_mut(running) {
                        branches.push(index);
                    }
                }
            }
        }
    }

    /// For each step and each other thread: the latest step of that thread that conflicts with it, unless a third one
    /// stands between the two and orders them anyway.
    fn read_edges(&mut self, trace: &Trace, places: &[Option<Place>]) {
        let threads: HashSet<_> = trace
            .objects
            .iter()
            .filter(|object| object.class == ObjectClass::Thread)
            .map(|object| object.id)
            .collect();
        let lasting = |step: &Step| -> Step {
            let mut step = step.clone();
            step.accesses.retain(|access| !threads.contains(&access.object));
            step
        };
        let steps: Vec<Step> = trace.steps.iter().map(lasting).collect();
        for (after, step) in steps.iter().enumerate().filter(|(_, step)| !step.accesses.is_empty()) {
            let mut between: Vec<&Step> = Vec::new();
            for before in (0..after).rev() {
                let earlier = &steps[before];
                if !earlier.conflicts_with(step) {
                    continue;
                }
                let ordered = between.iter().any(|middle| middle.conflicts_with(earlier));
                if earlier.thread != step.thread
                    && let (Some(first), Some(second)) = (places[before], places[after])
                {
                    let edge = Edge { before: first, after: second, positions: (before, after) };
                    if ordered { &mut self.indirect } else { &mut self.edges }.push(edge);
                }
                // What comes still earlier is ordered by this one as soon as it conflicts with it.
                between.push(earlier);
                if between.len() > 32 {
                    break;
                }
            }
        }
    }
}

/// The last drop of an `Arc` is another one in another order.
pub(super) fn plain(action: Action) -> Action {
    if action == Action::CountLast { Action::CountDown } else { action }
}
