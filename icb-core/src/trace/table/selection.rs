//! Which steps of a failure are worth a line, and why.

use crate::trace::{Action, Failure, FailureKind, ObjectId, Step, Switch, ThreadId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Why a step is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Why {
    /// Its order with a step of another thread was tried the other way round: the failure did not come.
    Ordered,
    /// Its order with a step of another thread could not be tried in time.
    Untried,
    /// One of the accesses of the data race.
    Races,
    /// It takes what another thread waits for.
    Holds,
    /// A part of the loop that never ends.
    Loops,
    /// It costs a unit of the bound: it went on early, failed spuriously, or read a stale value.
    Costs,
    /// One of several outcomes was chosen.
    Chosen,
    /// The last step of the thread that failed.
    Last,
}

impl Why {
    /// In words, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Why::Ordered => "without its order the failure does not come",
            Why::Untried => "there was no time to try without its order",
            Why::Races => "it is one of the accesses that race",
            Why::Holds => "it takes what another thread waits for",
            Why::Loops => "it is a part of the loop that never ends",
            Why::Costs => "it costs a unit of the bound",
            Why::Chosen => "one of several outcomes was chosen here",
            Why::Last => "it is the last step of the thread that failed",
        }
    }
}

/// The positions in the trace of the steps that are shown, and why. `None` if it has not been found out which steps
/// matter.
#[must_use]
pub fn selection(failure: &Failure) -> Option<BTreeMap<usize, Why>> {
    let trace = &failure.trace;
    let explanation = trace.explanation.as_ref().filter(|explanation| explanation.executions > 0)?;
    let mut shown = BTreeMap::new();
    let mut show = |position: usize, why: Why| {
        let known = shown.entry(position).or_insert(why);
        *known = why.min(*known);
    };
    for order in &explanation.orders {
        let why = if order.without.is_some() { Why::Ordered } else { Why::Untried };
        show(order.before, why);
        show(order.after, why);
    }
    for (position, step) in trace.steps.iter().enumerate() {
        // Where something could have read a stale value or failed spuriously, and did not, nothing is to be seen.
        let is_usual = matches!(
            step.operation.action,
            Action::Load(_) | Action::ReadModifyWrite(_) | Action::CompareExchange { .. } | Action::CountRead
        );
        if step.early
            || step.is_stale()
            || step.fails_spuriously()
            || step.sees_late_end()
            || step.late_count() > 0
        {
            show(position, Why::Costs);
        } else if !step.branches.is_empty() && !is_usual {
            show(position, Why::Chosen);
        }
    }
    for position in racing(failure).into_iter().flatten() {
        show(position, Why::Races);
    }
    for entry in &failure.waiting {
        for holder in &entry.held_by {
            if let Some(position) = taking(failure, *holder, entry.operation.object) {
                show(position, Why::Holds);
            }
        }
        if failure.kind == FailureKind::Livelock
            && let Some(positions) = cycle(failure, entry.thread)
        {
            positions.into_iter().for_each(|position| show(position, Why::Loops));
        }
    }
    if failure.waiting.is_empty()
        && let Some(position) = last(failure)
    {
        show(position, Why::Last);
    }
    Some(shown)
}

/// The accesses of a data race, the earlier one first.
pub(super) fn racing(failure: &Failure) -> [Option<usize>; 2] {
    let Some(race) = failure.race.as_ref().filter(|_| failure.kind == FailureKind::DataRace) else {
        return [None, None];
    };
    let steps = &failure.trace.steps;
    let data = |step: &Step| matches!(step.operation.action, Action::CellRead | Action::CellWrite);
    let second = steps.iter().rposition(|step| data(step) && step.thread == race[1].thread);
    let object = second.map(|position| steps[position].operation.object);
    let writes = |step: &Step| (step.operation.action == Action::CellWrite) == race[0].write;
    let first = steps.iter().rposition(|step| {
        data(step) && writes(step) && step.thread == race[0].thread && Some(step.operation.object) == object
    });
    [first, second]
}

/// The step with which a thread took what it holds.
pub(super) fn taking(failure: &Failure, holder: ThreadId, object: ObjectId) -> Option<usize> {
    failure.trace.steps.iter().rposition(|step| {
        let takes = takes_hold(step.operation.action);
        let again =
            matches!(step.operation.action, Action::Reacquire { .. }) && step.operation.other == object;
        step.thread == holder && (takes && step.operation.object == object || again)
    })
}

/// Whether it takes what others then wait for.
pub(super) const fn takes_hold(action: Action) -> bool {
    matches!(
        action,
        Action::Lock
            | Action::TryLock
            | Action::ReadLock
            | Action::TryReadLock
            | Action::WriteLock
            | Action::TryWriteLock
            | Action::OnceEnter
    )
}

/// The positions of one round of what a thread does again and again: the shortest sequence of steps with which its
/// part of the trace ends twice.
pub(super) fn cycle(failure: &Failure, thread: ThreadId) -> Option<Vec<usize>> {
    let steps = &failure.trace.steps;
    let own: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].thread == thread).collect();
    let same = |a: usize, b: usize| {
        let (a, b) = (&steps[a], &steps[b]);
        a.operation == b.operation && a.location == b.location
    };
    let round = |length: &usize| {
        let start = own.len() - 2 * length;
        (0..*length).all(|offset| same(own[start + offset], own[start + length + offset]))
    };
    let lengths: RangeInclusive<usize> = 1..=(own.len() / 2).min(64);
    let length = lengths.into_iter().find(round)?;
    Some(own[own.len() - length..].to_vec())
}

/// The end of a trace that does the same over and over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repetition {
    /// Where its first round begins.
    pub(super) start: usize,
    /// Steps of a round.
    pub(super) length: usize,
    /// How often the round comes again, the part of one at the end left out.
    pub(super) times: usize,
}

/// The longest round that is looked for, in steps.
const MAX_ROUND: usize = 256;
/// So often a round must come again before the others are left out.
const MIN_TIMES: usize = 4;

/// The rounds that the execution went on with until it was stopped, of all threads together, as short as they can be.
pub(super) fn repetition(failure: &Failure) -> Option<Repetition> {
    let goes_on = [FailureKind::StepLimit, FailureKind::Livelock, FailureKind::StackOverflow];
    if !goes_on.contains(&failure.kind) {
        return None;
    }
    let steps = &failure.trace.steps;
    let same = |a: usize, b: usize| {
        let (a, b) = (&steps[a], &steps[b]);
        (a.thread, a.operation, &a.location, a.early) == (b.thread, b.operation, &b.location, b.early)
            && !preempts(a)
            && !preempts(b)
    };
    (1..=MAX_ROUND.min(steps.len() / (MIN_TIMES + 1))).find_map(|length| {
        let repeated = (0..steps.len() - length).rev().take_while(|&at| same(at, at + length)).count();
        let times = repeated / length;
        let start = steps.len() - length - repeated;
        (times >= MIN_TIMES).then_some(Repetition { start, length, times })
    })
}

/// The last step of the thread that failed; what it does while it unwinds does not count.
fn last(failure: &Failure) -> Option<usize> {
    let steps = &failure.trace.steps;
    let thread = failure.thread.or_else(|| steps.last().map(|step| step.thread))?;
    let ends = |action| {
        matches!(
            action,
            Action::CountDown
                | Action::CountLast
                | Action::Unlock
                | Action::ReadUnlock
                | Action::WriteUnlock
                | Action::SenderDrop
                | Action::ReceiverDrop
        )
    };
    let before = |step: &Step| failure.after_steps.is_none_or(|count| (step.index as u64) < count);
    let own = |step: &Step| {
        step.thread == thread && step.operation.action != Action::Begin && !step.is_choice() && before(step)
    };
    steps
        .iter()
        .rposition(|step| own(step) && !ends(step.operation.action))
        .or_else(|| steps.iter().rposition(own))
}

/// Whether a step begins with a preemption, which has a line of its own.
pub(super) fn preempts(step: &Step) -> bool {
    step.switch == Switch::Preemption
}
