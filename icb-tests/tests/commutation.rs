//! Operations that do not conflict commute, on every kind of object: in random executions of random real programs, two
//! steps that follow one another, of different threads and without a conflict, are exchanged. Both must still be
//! possible, and every thread must see and do what it did before.

use icb_core::dependence::accesses_conflict;
use icb_core::program::{
    BranchPoint, Chooser, End, Granularity, Outcome, Program as _, SchedulingPoint, Taken,
};
use icb_core::runtime::{CoroutineProgram, Settings};
use icb_core::trace::{Access, Action, FailureKind, Mode, ObjectId, ThreadId};
use icb_tests::abstract_program::random::Random;
use icb_tests::random_real::generate::{self, features};
use icb_tests::random_real::language::{Instruction, Program};
use icb_tests::random_real::walk::{Record, Shared, run};
use icb_tests::searches::coroutines;
use icb_tests::seeds;
use icb_tests::watched::Slot;
use std::collections::BTreeSet;
use std::mem::discriminant;
use std::ops::Range;
use std::sync::{Arc, Mutex};

const SEEDS: Range<u64> = 0..3_000;
const MAX_STEPS: u64 = 300;

/// One step: who took it, with which outcomes, and what it came to.
#[derive(Clone, Debug)]
struct Step {
    thread: usize,
    outcomes: Vec<u32>,
    action: Action,
    accesses: Vec<Access>,
}

/// Runs a script; where that is over, or there is none, chooses at random among those who can go on for free.
struct Scripted {
    script: Vec<(usize, Vec<u32>)>,
    random: Random,
    steps: Vec<Step>,
    outcome: usize,
    /// A thread of the script could not go on: it waits for something that has not happened, or, `true`, goes on only
    /// when nobody else can.
    stuck: Option<bool>,
}

impl Scripted {
    /// The newest step has done this too.
    fn add(&mut self, object: ObjectId, mode: Mode) {
        if let Some(step) = self.steps.last_mut() {
            step.accesses.push(Access { object, mode });
        }
    }
}

impl Chooser for Scripted {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let thread = match self.script.get(self.steps.len()) {
            Some(&(thread, _)) if !point.enabled.contains(thread) => {
                self.stuck = Some(point.early.contains(thread));
                return None;
            }
            Some(&(thread, _)) => thread,
            None => {
                let choices: Vec<usize> = point.enabled.iter().collect();
                self.random.pick(&choices)
            }
        };
        self.outcome = 0;
        self.steps.push(Step { thread, outcomes: Vec::new(), action: Action::Nop, accesses: Vec::new() });
        Some(ThreadId::new(thread))
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let Some(current) = self.steps.len().checked_sub(1) else { return 0 };
        let scripted = self.script.get(current).and_then(|(_, outcomes)| outcomes.get(self.outcome)).copied();
        let chosen = match scripted {
            Some(outcome) => outcome.min(point.count - 1),
            None if point.costly => 0,
            None => self.random.below(point.count as usize) as u32,
        };
        self.outcome += 1;
        self.steps[current].outcomes.push(chosen);
        chosen
    }

    fn wants_every_point(&self) -> bool {
        true
    }

    fn stepped(&mut self, taken: &Taken<'_>) {
        let Some(step) = self.steps.last_mut() else { return };
        if step.accesses.is_empty() {
            step.action = taken.operation.action;
        }
        step.accesses.extend(taken.accesses);
    }

    fn ended(&mut self, _: ThreadId, object: ObjectId) {
        self.add(object, Mode::Write);
    }

    fn freed(&mut self, object: ObjectId) {
        self.add(object, Mode::Write);
    }

    fn looked_at(&mut self, object: ObjectId) {
        self.add(object, Mode::Read);
    }

    fn touched(&mut self, access: Access) {
        self.add(access.object, access.mode);
    }
}

/// What an execution came to: how it ended, what its threads saw, and its dependence order.
type Result = (Option<FailureKind>, Record, u128);

struct Subject {
    coroutines: CoroutineProgram,
    kept: Slot<Arc<Shared>>,
}

impl Subject {
    fn new(program: &Program, granularity: Granularity) -> Self {
        let kept: Slot<Arc<Shared>> = Slot::default();
        let (program, keep) = (Arc::new(program.clone()), kept.clone());
        let body = move || {
            run(&program, |shared| {
                keep.put(shared);
            });
        };
        let settings = Settings {
            granularity,
            spurious: false,
            unwind_failed: true,
            max_steps: MAX_STEPS,
            ..Settings::default()
        };
        Subject { coroutines: coroutines(body, settings), kept }
    }

    /// `None`: it was given up, or cut short by a failure.
    fn run(&mut self, script: Vec<(usize, Vec<u32>)>, seed: u64) -> (Scripted, Option<Result>) {
        let mut chooser =
            Scripted { script, random: Random::new(seed), steps: Vec::new(), outcome: 0, stuck: None };
        let Outcome { end, fingerprint, .. } = self.coroutines.run(&mut chooser, None);
        let shared = self.kept.take();
        let record = shared.map(|shared| shared.take_record()).unwrap_or_default();
        let result = match end {
            End::Passed => Some((None, record, fingerprint)),
            End::Failed(failure) if failure.kind == FailureKind::Deadlock => {
                Some((Some(failure.kind), record, fingerprint))
            }
            End::Failed(_) | End::GivenUp => None,
        };
        (chooser, result)
    }
}

/// Programs in which more than the steps counts: who spins is woken in turn, a receiver that waits lets a `try_send`
/// through, and some reference counts are not known exactly.
fn is_special(program: &Program) -> bool {
    use Instruction::{
        ArcIntoInner, ArcMakeMut, ArcTryUnwrap, ArcUnwrapOrClone, AwaitEither, AwaitLock, AwaitNonZero,
        GiveUpWaiting, OnceLockWait, OnceWaitForce, PollLocked, SpinLock, SpinWhileZero, TrySend,
        TrySendParcel, WeakUpgrade,
    };
    program.has(|instruction| {
        matches!(
            instruction,
            ArcTryUnwrap
                | ArcIntoInner
                | ArcMakeMut
                | ArcUnwrapOrClone
                | AwaitEither(_)
                | AwaitLock { .. }
                | AwaitNonZero { .. }
                | GiveUpWaiting { .. }
                | OnceLockWait(_)
                | OnceWaitForce(_)
                | PollLocked { .. }
                | SpinLock { .. }
                | SpinWhileZero { .. }
                | TrySend(_)
                | TrySendParcel(_)
                | WeakUpgrade
        )
    })
}

fn conflict(a: &Step, b: &Step) -> bool {
    a.accesses.iter().any(|&a| b.accesses.iter().any(|&b| accesses_conflict(a, b)))
}

fn share_an_object(a: &Step, b: &Step) -> bool {
    a.accesses.iter().any(|a| b.accesses.iter().any(|b| a.object == b.object))
}

/// What each thread did.
fn by_thread(steps: &[Step]) -> Vec<(usize, std::mem::Discriminant<Action>)> {
    let mut steps: Vec<_> = steps.iter().map(|step| (step.thread, discriminant(&step.action))).collect();
    steps.sort_by_key(|&(thread, _)| thread);
    steps
}

#[test]
fn what_does_not_conflict_commutes() {
    everything_commutes(SEEDS, generate::program);
}

/// The same on the rest of std.
#[test]
fn what_does_not_conflict_commutes_with_other_features() {
    everything_commutes(SEEDS, features::program);
}

fn everything_commutes(seeds: Range<u64>, program: fn(u64) -> Program) {
    let seen = Mutex::new((0_u64, BTreeSet::new(), BTreeSet::new()));
    seeds::for_each(seeds::from_environment().unwrap_or(seeds), |seed| {
        let program = program(seed);
        if is_special(&program) {
            return;
        }
        let points = if seed % 2 == 0 { Granularity::SyncOnly } else { Granularity::EveryAccess };
        let mut subject = Subject::new(&program, points);
        let (first, Some(result)) = subject.run(Vec::new(), seed) else { return };
        let script: Vec<(usize, Vec<u32>)> =
            first.steps.iter().map(|step| (step.thread, step.outcomes.clone())).collect();
        for at in 1..first.steps.len() {
            let (a, b) = (&first.steps[at - 1], &first.steps[at]);
            if a.thread == b.thread || conflict(a, b) {
                continue;
            }
            if [a, b].iter().all(|step| step.action == Action::Spawn) {
                // The script names threads in the order in which they are spawned.
                continue;
            }
            let mut exchanged = script.clone();
            exchanged.swap(at - 1, at);
            let (second, other) = subject.run(exchanged, 0);
            if second.stuck == Some(true) {
                // Its time is over only because nobody else could go on.
                continue;
            }
            let which = || format!("{:?} and {:?} at step {at} of {program}", a, b);
            assert_eq!(second.stuck, None, "not possible the other way round: {}", which());
            assert_eq!(other.as_ref(), Some(&result), "{}", which());
            assert_eq!(by_thread(&second.steps), by_thread(&first.steps), "{}", which());
            let mut seen = seen.lock().expect("no panics here");
            seen.0 += 1;
            let name =
                |action: Action| format!("{action:?}").split(['(', ' ']).next().unwrap_or("").to_owned();
            let mut pair = [name(a.action), name(b.action)];
            pair.sort();
            seen.1.extend(pair.clone());
            if share_an_object(a, b) {
                seen.2.insert(pair.join("/"));
            }
        }
    });
    let (count, actions, pairs) = seen.into_inner().expect("no panics here");
    println!(
        "{count} exchanges; {} kinds of operations: {actions:?}\non one object: {pairs:?}",
        actions.len()
    );
    if seeds::from_environment().is_none() {
        assert!(count > 5_000 && actions.len() >= 25 && pairs.len() >= 12, "too little was tried");
    }
}
