//! Whether a reduced search finds what the plain one finds, and the smallest program that shows that it does not.

use super::language::{Instruction, Program, Use};
use super::search::{Found, Level, Manner, Outcome, WhileSmall, search};
use icb_core::program::{Granularity, Strategy};
use icb_core::reduction::{Doing, PartialOrder, SplitSearch, Visited};
use icb_core::search::ContextBounded;
use icb_core::trace::FailureKind;
use std::collections::BTreeSet;

/// A reduced search: of the bounds up to the given one, or without a bound.
pub type Reduced<'a> = &'a dyn Fn(Option<u32>) -> PartialOrder;

const fn manner(granularity: Granularity, spurious: bool) -> Manner {
    Manner {
        granularity,
        spurious,
        auto_advance: false,
        weak_memory: false,
        promote: false,
        detached: false,
        idle_turns: false,
        check_frees: false,
        reuse_addresses: false,
    }
}

/// Both granularities, with spurious wake-ups and without.
pub const MANNERS: [Manner; 4] = [
    manner(Granularity::SyncOnly, false),
    manner(Granularity::SyncOnly, true),
    manner(Granularity::EveryAccess, true),
    manner(Granularity::EveryAccess, false),
];

/// With stale values of atomic variables.
pub const WEAK_MANNERS: [Manner; 2] = [
    Manner { weak_memory: true, ..manner(Granularity::SyncOnly, false) },
    Manner { weak_memory: true, ..manner(Granularity::EveryAccess, true) },
];

/// As under Rust's own harness.
pub const DETACHED_MANNERS: [Manner; 2] = [
    Manner { detached: true, ..manner(Granularity::SyncOnly, false) },
    Manner { detached: true, ..manner(Granularity::EveryAccess, true) },
];

/// With objects that are freed too early.
pub const FREEING_MANNERS: [Manner; 3] = [
    Manner { check_frees: true, ..manner(Granularity::SyncOnly, false) },
    Manner { check_frees: true, ..manner(Granularity::EveryAccess, true) },
    Manner { check_frees: true, reuse_addresses: true, ..manner(Granularity::SyncOnly, true) },
];

/// One of so many programs is searched in items of a few executions too.
const CUT_UP: u64 = 8;
/// Such a search may take so many times as many executions.
const CUT_UP_MORE: u64 = 4;

/// What was compared: so many searches of one bound, or without a bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// How many.
    pub searches: u64,
    /// Those without a bound that were left out because they were too large.
    pub unbounded_skipped: u64,
    /// Executions of the plain searches.
    pub plain: u64,
    /// Executions of the reduced ones.
    pub reduced: u64,
    /// Executions of those that were cut up into items.
    pub cut_up: u64,
    /// Executions of searches in which idle turns wait, plain and reduced.
    pub idle: u64,
    /// And of the plain ones in which they do not, for each of them.
    pub not_idle: u64,
    /// Searches in which some execution failed.
    pub failing: u64,
    /// Searches in which some execution was cut short by a failure.
    pub cut: u64,
    /// Searches in which some execution was cut short, and where that is so not everything else was found.
    pub cut_short: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.searches += other.searches;
        self.unbounded_skipped += other.unbounded_skipped;
        self.plain += other.plain;
        self.reduced += other.reduced;
        self.cut_up += other.cut_up;
        self.idle += other.idle;
        self.not_idle += other.not_idle;
        self.failing += other.failing;
        self.cut += other.cut;
        self.cut_short += other.cut_short;
    }
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// How executions were run.
    pub manner: Manner,
    /// At which bound; `None`: without one.
    pub bound: Option<u32>,
    /// In words.
    pub what: String,
}

/// Compares the searches of the program at each bound up to the last one, and without one where the plain search comes to
/// an end.
///
/// # Errors
/// With the first difference.
pub fn compare(
    program: &Program,
    manner: Manner,
    max_bound: u32,
    max_executions: u64,
    reduced: Reduced<'_>,
) -> Result<Tally, Difference> {
    let mut tally = Tally::default();
    let plain = search(program, manner, &mut WhileSmall::new(None, max_executions), max_executions);
    tally.unbounded_skipped = u64::from(!plain.complete);
    let bounds =
        (0..).zip(&plain.levels).take(max_bound as usize + 1).map(|(bound, level)| (Some(bound), level));
    let all = plain.levels.last().filter(|_| plain.complete).map(|level| (None, level));
    for (bound, expected) in bounds.chain(all) {
        let found = search(program, manner, &mut reduced(bound), 20 * max_executions);
        let mut what = judge_search(program, expected, &found, &mut tally);
        if what.is_none() && program.seed.is_multiple_of(CUT_UP) {
            let items = Doing::new(reduced(bound)).max_executions(1 + program.seed / CUT_UP % 7);
            let found =
                search(program, manner, &mut SplitSearch::of_items(items), CUT_UP_MORE * 20 * max_executions);
            tally.cut_up += last(&found).map_or(0, |found| found.execution_count);
            what = judge_search(program, expected, &found, &mut Tally::default())
                .map(|what| format!("cut up into items: {what}"));
        }
        if let Some(what) = what {
            return Err(Difference { manner, bound, what });
        }
        if program.has(|i| may_be_idle(&i)) {
            let manner = Manner { idle_turns: true, ..manner };
            let plain = search(program, manner, &mut ContextBounded::new(bound), 20 * max_executions);
            let reduced = search(program, manner, &mut reduced(bound), 20 * max_executions);
            let table = search(program, manner, &mut Visited::new(bound), 20 * max_executions);
            let endless =
                |name| Difference { manner, bound, what: format!("{name}: the search does not end") };
            let told = told_sooner(expected, last(&plain).ok_or_else(|| endless("plain"))?);
            for (name, found) in [("reduced", &reduced), ("plain", &plain), ("table of states", &table)] {
                let found = last(found).ok_or_else(|| endless(name))?;
                if let Some(what) = judge_outcomes(expected, found, Some(&told), &mut Tally::default()) {
                    return Err(Difference {
                        manner,
                        bound,
                        what: format!("{name}, with idle turns: {what}"),
                    });
                }
                tally.idle += found.execution_count;
                tally.not_idle += expected.execution_count;
            }
        }
        tally.searches += 1;
        tally.plain += expected.execution_count;
        tally.reduced += last(&found).map_or(0, |found| found.execution_count);
        tally.failing += u64::from(expected.fails());
        tally.cut += u64::from(expected.is_cut());
        if expected.is_cut() {
            // Nor does more show at other bounds than that it fails.
            break;
        }
    }
    Ok(tally)
}

/// Compares a search of one bound after the other with the plain one, at each of the bounds that this comes to.
///
/// # Errors
/// With the first difference.
pub fn compare_bound_by_bound(
    program: &Program,
    manner: Manner,
    max_bound: u32,
    max_executions: u64,
    strategy: &mut dyn Strategy,
) -> Result<Tally, Difference> {
    let plain =
        search(program, manner, &mut WhileSmall::new(Some(max_bound), max_executions), max_executions);
    let found = search(program, manner, strategy, 2 * max_executions);
    let mut tally = Tally::default();
    for (bound, expected) in plain.levels.iter().enumerate() {
        let what = match found.levels.get(bound) {
            Some(found) => judge(program, expected, found, &mut tally),
            None => Some("the search does not end".to_owned()),
        };
        if let Some(what) = what {
            return Err(Difference { manner, bound: Some(bound as u32), what });
        }
        tally.searches += 1;
        tally.plain += expected.execution_count;
        tally.reduced += found.levels[bound].execution_count;
    }
    Ok(tally)
}

/// Searches, by their names; the first is the plain one.
pub type Searches<'a> = &'a dyn Fn(Option<u32>) -> Vec<(&'static str, Box<dyn Strategy>)>;

/// Compares searches at each bound, and without one, where the plain one is small enough. None goes on from what an other bound has come to.
///
/// # Errors
/// With the first difference.
pub fn compare_each_bound(
    program: &Program,
    manner: Manner,
    max_bound: u32,
    max_executions: u64,
    searches: Searches<'_>,
) -> Result<Tally, Difference> {
    let mut tally = Tally::default();
    for bound in (0..=max_bound).map(Some).chain([None]) {
        let mut searches = searches(bound).into_iter();
        let Some((_, mut plain)) = searches.next() else { return Ok(tally) };
        let plain = search(program, manner, &mut *plain, max_executions);
        let Some(expected) = last(&plain) else {
            tally.unbounded_skipped += 1;
            continue;
        };
        for (name, mut strategy) in searches {
            let found = search(program, manner, &mut *strategy, 20 * max_executions);
            if let Some(what) = judge_search(program, expected, &found, &mut tally) {
                return Err(Difference { manner, bound, what: format!("{name}: {what}") });
            }
            tally.reduced += last(&found).map_or(0, |found| found.execution_count);
        }
        tally.searches += 1;
        tally.plain += expected.execution_count;
        tally.failing += u64::from(expected.fails());
        tally.cut += u64::from(expected.is_cut());
    }
    Ok(tally)
}

fn last(found: &Found) -> Option<&Level> {
    found.levels.last().filter(|_| !found.stopped)
}

/// What is wrong with what the reduced search found, or with how it ended.
fn judge_search(program: &Program, expected: &Level, found: &Found, tally: &mut Tally) -> Option<String> {
    match last(found) {
        Some(found) => judge(program, expected, found, tally),
        None => Some("the reduced search does not end".to_owned()),
    }
}

/// Whether a loop of the program may go round in turns in which nothing changes. (What it has read is a part of the state: how often it
/// went round shows there, and nowhere else.)
#[must_use]
pub const fn may_be_idle(instruction: &Instruction) -> bool {
    use Instruction::{
        AwaitBoth, AwaitChange, AwaitEither, AwaitEnd, AwaitLock, AwaitMessage, AwaitNonZero, AwaitOwner,
        AwaitValue, EnterSide, GiveUpWaiting, GoRound, Poll, PollLocked, ReadVersioned, ReceiveAgain,
        SpinLock, SpinWeakly, SpinWhileZero, TakeOne, TakeTicket, UseLocal, WaitAgain, Yield,
    };
    matches!(
        instruction,
        AwaitBoth(_)
            | AwaitEither(_)
            | AwaitEnd(..)
            | AwaitMessage(..)
            | AwaitOwner(_)
            | AwaitLock { .. }
            | AwaitNonZero { .. }
            | GiveUpWaiting { .. }
            | GoRound { .. }
            | PollLocked { .. }
            | SpinLock { .. }
            | SpinWhileZero { .. }
            | AwaitChange(..)
            | AwaitValue { .. }
            | EnterSide(..)
            | ReadVersioned { .. }
            | SpinWeakly(..)
            | TakeOne(..)
            | TakeTicket(_)
            | Poll { .. }
            | ReceiveAgain(..)
            | WaitAgain { .. }
            | UseLocal(Use::Await)
            | Yield
    )
}

fn failed(kind: FailureKind) -> Outcome {
    Outcome::Failed(kind.to_string())
}

/// What a plain search that knows of idle turns comes to where one that does not (`expected`) only comes to the limit on steps: the end of a test beside a thread
/// that spins on, say.
fn told_sooner(expected: &Level, found: &Level) -> BTreeSet<Outcome> {
    let comes_to_limit = expected.outcomes.contains(&failed(FailureKind::StepLimit));
    if comes_to_limit { found.outcomes.clone() } else { BTreeSet::new() }
}

/// What is wrong with the outcomes that a search found; `told_sooner`: of one that knows of idle turns, while what is expected does not.
fn judge_outcomes(
    expected: &Level,
    found: &Level,
    told_sooner: Option<&BTreeSet<Outcome>>,
    tally: &mut Tally,
) -> Option<String> {
    let missing: Vec<&Outcome> = expected.outcomes.difference(&found.outcomes).collect();
    // A loop that provably does the same again is known to be endless before it comes to the limit on steps.
    let is_told_sooner = |outcome: &&Outcome| {
        **outcome == failed(FailureKind::Livelock)
            && expected.outcomes.contains(&failed(FailureKind::StepLimit))
            || told_sooner.is_some_and(|told| told.contains(outcome))
    };
    let invented: Vec<&Outcome> =
        found.outcomes.difference(&expected.outcomes).filter(|outcome| !is_told_sooner(outcome)).collect();
    if let Some(outcome) = invented.first() {
        let expected = &expected.outcomes;
        return Some(format!("invented {}: {outcome:?}; expected {expected:?}", invented.len()));
    }
    if expected.is_cut() {
        // An execution that is cut short ends in a state that depends on how far the others had come.
        // Who provably does the same again is not let on until it comes to that limit.
        let is_spared = told_sooner.is_some()
            && expected.cuts().iter().all(|cut| **cut == failed(FailureKind::StepLimit));
        if !found.fails() && !is_spared {
            return Some(format!("no failure; expected {:?}", expected.cuts()));
        }
        tally.cut_short += u64::from(!missing.is_empty());
        return None;
    }
    if let Some(outcome) = missing.first() {
        return Some(format!("lost {} of {}: {outcome:?}", missing.len(), expected.outcomes.len()));
    }
    None
}

/// What is wrong with what the reduced search found.
fn judge(program: &Program, expected: &Level, found: &Level, tally: &mut Tally) -> Option<String> {
    let what = judge_outcomes(expected, found, None, tally);
    if what.is_some() || expected.is_cut() {
        return what;
    }
    // Until it is told again, the engine does not know the count after an operation that may have changed it; whether a
    // drop is the last one then shows in the state.
    // Where nobody can go on, who goes round is let on in turn, and stands back when somebody else can go on: how often it
    // goes round depends on more than what it saw.
    // That writers say that they come begins with an execution in which one goes on as a reader, which a lower bound need not have.
    let guesses = program.has(|i| {
        matches!(
            i,
            Instruction::Downgrade(_)
                | Instruction::ArcTryUnwrap
                | Instruction::ArcIntoInner
                | Instruction::ArcIntoLocked
                | Instruction::ArcMakeMut
                | Instruction::ArcUnwrapOrClone
                | Instruction::WeakUpgrade
                | Instruction::GoRound { .. }
        )
    });
    if expected.states != found.states && !guesses {
        let lost = expected.states.difference(&found.states).count();
        return Some(format!("lost {lost} of {} states", expected.states.len()));
    }
    None
}

/// The smallest program that can be had from this one by taking out instructions and that still differs.
pub fn shrink(program: &Program, differs: &dyn Fn(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    'again: loop {
        for thread in (0..smallest.threads.len()).rev() {
            for instruction in (0..smallest.threads[thread].code.len()).rev() {
                let smaller = smallest.without(thread, instruction);
                if differs(&smaller) {
                    smallest = smaller;
                    continue 'again;
                }
            }
        }
        return smallest;
    }
}
