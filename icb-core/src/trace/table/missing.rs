//! What is missing between two accesses that race: the places where what one thread sees of another does not carry happens-before.

use super::frames::{Sources, short_place};
use super::selection::{racing, takes_hold};
use super::words::{Detail, Names};
use crate::trace::{Action, Failure, ObjectId, Ordering, RaceAccess, Step, ThreadId};
use std::collections::{HashMap, VecDeque};

/// How far back the values are followed that exchanges have passed on.
const MAX_PASSED_ON: usize = 64;

/// A step that sees what another thread has done before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Sight {
    /// The step that is seen.
    seen: usize,
    by: usize,
    /// The ordering of the store, where it is too weak.
    store: Option<Ordering>,
    /// The ordering of the load, where it is too weak.
    load: Option<Ordering>,
}

impl Sight {
    const fn is_weak(&self) -> bool {
        self.store.is_some() || self.load.is_some()
    }
}

/// Where happens-before breaks off: values go from one thread to the other between the accesses, perhaps through others, but some orderings
/// are too weak to carry what came before.
pub(super) fn missing(
    failure: &Failure,
    race: &[RaceAccess; 2],
    names: &Names<'_>,
    sources: &Sources<'_>,
) -> Vec<String> {
    let steps = &failure.trace.steps;
    let [known, second] = racing(failure);
    let next = |count: u64| {
        steps.iter().position(|step| step.thread == race[0].thread && step.index as u64 >= count)
    };
    let known = known.or_else(|| race[0].after_steps.map(|count| next(count).unwrap_or(steps.len())));
    let second = second.or_else(|| {
        let count = failure.after_steps?;
        steps.iter().position(|step| step.index as u64 >= count)
    });
    let (first, second) = (known.unwrap_or(0), second.unwrap_or(steps.len()));
    let between = Between { steps, first, second };
    let sights = between.sights();
    let direct = |sight: &&Sight| {
        let threads = (steps[sight.seen].thread, steps[sight.by].thread);
        sight.is_weak() && threads == (race[0].thread, race[1].thread)
    };
    let mut breaks: Vec<Sight> = sights.iter().filter(direct).copied().collect();
    if breaks.is_empty() && known.is_some() {
        breaks = between.chain(&sights, race[1].thread);
    }
    let mut lines: Vec<String> = breaks.iter().map(|sight| words(sight, steps, names, sources)).collect();
    lines.dedup();
    if lines.is_empty() {
        lines.push(format!(
            "{} does nothing after its access that {} sees, by itself or through other threads, before its own: no lock, no atomic, \
             no join stands between them",
            race[0].thread, race[1].thread
        ));
    }
    lines
}

fn words(sight: &Sight, steps: &[Step], names: &Names<'_>, sources: &Sources<'_>) -> String {
    let at = |step: &Step| {
        step.location.as_ref().map_or(String::new(), |at| format!(" at {}", short_place(at, sources)))
    };
    let name = names.object(steps[sight.seen].operation.object, Detail::Full);
    let (store, load) = (at(&steps[sight.seen]), at(&steps[sight.by]));
    match (sight.store, sight.load) {
        (Some(stores), Some(loads)) => format!(
            "the store of {name}{store} is {stores:?}: no happens-before to the read{load}, which is {loads:?}; make them {:?} and {:?}",
            and_release(stores),
            and_acquire(loads)
        ),
        (Some(stores), None) => format!(
            "the store of {name}{store} is {stores:?}: no happens-before to the read{load}; make it {:?}",
            and_release(stores)
        ),
        (None, loads) => {
            let loads = loads.unwrap_or(Ordering::Relaxed);
            format!(
                "the read of {name}{load} is {loads:?}: no happens-before from the store{store}; make it {:?}",
                and_acquire(loads)
            )
        }
    }
}

/// What releases and does what this does: an exchange may acquire already.
const fn and_release(order: Ordering) -> Ordering {
    if order.acquires() { Ordering::AcqRel } else { Ordering::Release }
}

/// What acquires and does what this does: an exchange may release already.
const fn and_acquire(order: Ordering) -> Ordering {
    if order.releases() { Ordering::AcqRel } else { Ordering::Acquire }
}

/// The steps from one access to the other.
#[derive(Clone, Copy)]
struct Between<'a> {
    steps: &'a [Step],
    first: usize,
    second: usize,
}

impl Between<'_> {
    /// What the steps see of other threads, by the steps that see it.
    fn sights(self) -> Vec<Sight> {
        let steps = self.steps;
        let mut sights = Vec::new();
        // The latest step that lets go of an object, and the writes of each variable.
        let mut let_go: HashMap<ObjectId, usize> = HashMap::new();
        let mut writes: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        let mut last_of_thread: HashMap<ObjectId, usize> = HashMap::new();
        let mut thread_objects: HashMap<ThreadId, ObjectId> = HashMap::new();
        for (by, step) in steps.iter().enumerate().take(self.second).skip(self.first) {
            let object = step.operation.object;
            let order = |seen: usize| Sight { seen, by, store: None, load: None };
            if step.operation.action == Action::Begin {
                thread_objects.insert(step.thread, object);
            }
            if let Some(order_of_load) = read_order(step).filter(|_| step.read.is_some() && !step.is_stale())
            {
                let load = (!order_of_load.acquires() && !self.has_fence_after(by)).then_some(order_of_load);
                let before = writes.get(&object).map_or(&[][..], Vec::as_slice);
                for &seen in before.iter().rev().take(MAX_PASSED_ON) {
                    let order_of_store =
                        write_order(steps[seen].operation.action).unwrap_or(Ordering::Relaxed);
                    let store = (!order_of_store.releases() && !self.has_fence_before(seen))
                        .then_some(order_of_store);
                    sights.push(Sight { seen, by, store, load });
                    if steps[seen].read.is_none() {
                        // It does not pass on what it has read.
                        break;
                    }
                }
            } else if takes(step.operation.action) {
                sights.extend(let_go.get(&taken(step)).map(|&seen| order(seen)));
            } else if step.operation.action == Action::Join {
                sights.extend(last_of_thread.get(&object).map(|&seen| order(seen)));
            }
            if step.written.is_some() && write_order(step.operation.action).is_some() {
                writes.entry(object).or_default().push(by);
            }
            if lets_go(step.operation.action) {
                let_go.insert(taken(step), by);
            }
            if let Some(&object) = thread_objects.get(&step.thread) {
                last_of_thread.insert(object, by);
            }
        }
        sights.retain(|sight| steps[sight.seen].thread != steps[sight.by].thread);
        sights
    }

    fn has_fence_before(self, at: usize) -> bool {
        let thread = self.steps[at].thread;
        let releases =
            |step: &Step| matches!(step.operation.action, Action::Fence(order) if order.releases());
        self.steps[self.first..at].iter().any(|step| step.thread == thread && releases(step))
    }

    fn has_fence_after(self, at: usize) -> bool {
        let thread = self.steps[at].thread;
        let acquires =
            |step: &Step| matches!(step.operation.action, Action::Fence(order) if order.acquires());
        self.steps[at..self.second].iter().any(|step| step.thread == thread && acquires(step))
    }

    /// What is too weak on the way from the first access to a thread, where there is one: with as few of these as can be.
    fn chain(self, sights: &[Sight], to: ThreadId) -> Vec<Sight> {
        let steps = self.steps;
        let mut ways: HashMap<usize, Vec<(usize, Option<Sight>)>> = HashMap::new();
        let mut before: HashMap<ThreadId, usize> = HashMap::new();
        for (at, step) in steps.iter().enumerate().take(self.second).skip(self.first) {
            if let Some(previous) = before.insert(step.thread, at) {
                ways.entry(previous).or_default().push((at, None));
            }
        }
        for &sight in sights {
            ways.entry(sight.seen).or_default().push((sight.by, Some(sight)));
        }
        // Breadth first, and what costs nothing first of all.
        let mut reached: HashMap<usize, (usize, Option<Sight>)> = HashMap::new();
        let mut cost: HashMap<usize, usize> = HashMap::from([(self.first, 0)]);
        let mut next = VecDeque::from([self.first]);
        while let Some(at) = next.pop_front() {
            for &(there, sight) in ways.get(&at).into_iter().flatten() {
                let step = usize::from(sight.is_some_and(|sight| sight.is_weak()));
                let total = cost[&at] + step;
                if cost.get(&there).is_some_and(|&known| known <= total) {
                    continue;
                }
                cost.insert(there, total);
                reached.insert(there, (at, sight));
                if step == 0 { next.push_front(there) } else { next.push_back(there) }
            }
        }
        let mut breaks = Vec::new();
        let mut at = before.get(&to).copied().unwrap_or(self.first);
        while let Some(&(from, sight)) = reached.get(&at) {
            breaks.extend(sight.filter(Sight::is_weak));
            at = from;
        }
        breaks.reverse();
        breaks
    }
}

/// Whether it lets others go on with what it has done so far.
const fn lets_go(action: Action) -> bool {
    matches!(
        action,
        Action::Unlock
            | Action::ReadUnlock
            | Action::WriteUnlock
            | Action::Wait { .. }
            | Action::Spawn
            | Action::Unpark
            | Action::OnceLeave
            | Action::Send
            | Action::TrySend
            | Action::BarrierArrive
    )
}

/// Whether it goes on with what another has let go.
const fn takes(action: Action) -> bool {
    takes_hold(action)
        || matches!(
            action,
            Action::Reacquire { .. }
                | Action::Begin
                | Action::Park { .. }
                | Action::OnceCheck
                | Action::OnceWait
                | Action::OnceWaitForce
                | Action::ReceiveBegin
                | Action::Receive { .. }
                | Action::TryReceive
                | Action::BarrierLeave
        )
}

/// The object that is let go or taken: of a condvar's operation, the mutex.
fn taken(step: &Step) -> ObjectId {
    match step.operation.action {
        Action::Wait { .. } | Action::Reacquire { .. } => step.operation.other,
        _ => step.operation.object,
    }
}

fn write_order(action: Action) -> Option<Ordering> {
    match action {
        Action::Store(order) | Action::ReadModifyWrite(order) => Some(order),
        Action::CompareExchange { success, .. } => Some(success),
        _ => None,
    }
}

fn read_order(step: &Step) -> Option<Ordering> {
    match step.operation.action {
        Action::Load(order) | Action::ReadModifyWrite(order) => Some(order),
        Action::CompareExchange { success, failure, .. } => {
            Some(if step.written.is_some() { success } else { failure })
        }
        _ => None,
    }
}
