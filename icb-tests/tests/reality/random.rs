//! Random programs, for real and in the model.

use crate::real::{self, nudge};
use crate::{Outcome, missing};
use icb_core::program::End;
use icb_core::trace::FailureKind;
use icb_tests::random_real::generate::{self, dense, features};
use icb_tests::random_real::language::{self, Instruction, Program};
use icb_tests::random_real::search::body;
use icb_tests::searches::reduced;
use icb_tests::seeds;
use icb_tests::watched;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The programs' own world, made of `std`.
mod library {
    pub(super) use super::nudge;
    pub(super) use std::*;

    pub(super) mod model {
        pub(in super::super) fn choose(_: usize) -> usize {
            unreachable!("programs that choose are left out")
        }
    }

    pub(super) mod cell {
        /// Not used: programs with races are left out.
        pub(in super::super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

        impl<T> UnsafeCell<T> {
            pub(in super::super) fn new(value: T) -> Self {
                UnsafeCell(std::cell::UnsafeCell::new(value))
            }
            pub(in super::super) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
                f(self.0.get())
            }
            pub(in super::super) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
                f(self.0.get())
            }
        }
    }
}

#[path = "../../reference/src/random_real/walk/mod.rs"]
#[expect(dead_code, unreachable_pub, reason = "it is also part of a library")]
mod walk;

/// Programs of every run.
const SEEDS: Range<u64> = 0..130;
/// Programs with more executions are left out.
const MAX_EXECUTIONS: u64 = 3_000;
/// How long each is run for real.
const DURATION: Duration = Duration::from_millis(40);

/// Whether a program may differ for reasons that are known; see the documentation of the test.
fn is_left_out(program: &Program) -> bool {
    use Instruction::*;
    program.uses_system()
        || program.has(|instruction| {
            matches!(instruction, CellRead(_) | CellWrite(_) | CellAround { .. } | Choose(_) | Clock)
        })
        || program.has(|instruction| {
            matches!(
                instruction,
                AwaitEither(_)
                    | AwaitLock { .. }
                    | AwaitNonZero { .. }
                    | GoRound { .. }
                    | GiveUpWaiting { .. }
                    | PollLocked { .. }
                    | TurnLocked { .. }
                    | SpinLock { .. }
            )
        })
        || program.has(is_long)
        // `std` says that a thread is over before it has dropped its thread-locals.
        || program.has(|instruction| matches!(instruction, Leave(language::Farewell::Spawns(_))))
        || program.has(unwinds)
}

/// What lasts for ever in reality ends in the model.
fn is_long(instruction: Instruction) -> bool {
    use Instruction::*;
    use language::Span::{Ever, Long};
    matches!(instruction, WaitFor(_, Long | Ever) | ReceiveFor(_, Long | Ever) | ParkFor(Long | Ever))
}

/// In the model nobody comes in between while a thread unwinds.
fn unwinds(instruction: Instruction) -> bool {
    use Instruction::*;
    matches!(
        instruction,
        Panic
            | Assert(_)
            | PoisonMutex(_)
            | PoisonRwLock(_)
            | CallOnce { panics: true, .. }
            | CallOnceForce { panics: true, .. }
            | OnceTryInit { .. }
            | LazyForce(1)
            | PanicWith(_)
            | ArcPoison
    )
}

/// Who parks when all others have ended is in a deadlock, which the model reports, and there it ends: that a token which `std` has left
/// may let the thread go on is not explored. Nor is that the end of a scope's last thread gives a token to the scope's thread before that has
/// come to the end of the scope.
fn may_be_let_on(program: &Program, possible: &BTreeSet<Outcome>) -> bool {
    use Instruction::{Park, Scope};
    let has_scope = program.has(|instruction| matches!(instruction, Scope { .. }));
    program.has(|instruction| instruction == Park)
        && (has_scope || possible.iter().any(|told| told.starts_with("deadlock")))
}

fn told(how: &str, seen: &[Vec<u64>]) -> Outcome {
    format!("{how} {seen:?}")
}

/// What the model says can happen; `None`: too much.
fn possible(program: &Program) -> Option<BTreeSet<Outcome>> {
    let (body, kept) = body(program);
    let settings = crate::model::settings(true);
    let found = watched::search(body, settings, &mut reduced(None), Some(MAX_EXECUTIONS), |_, result| {
        let record = kept.take().map(|shared| shared.take_record()).unwrap_or_default();
        match &result.end {
            End::Passed => Some(told("ended", &record.seen)),
            End::Failed(failure) if failure.kind == FailureKind::Deadlock => {
                Some(told("deadlock", &record.seen))
            }
            End::Failed(failure) => Some(format!("{:?}", failure.kind)),
            End::GivenUp => None,
        }
    });
    let outcomes = found.levels.into_iter().flat_map(|level| level.outcomes);
    found.report.stopped.is_none().then(|| outcomes.collect())
}

/// Runs it once. Threads that never end are left behind.
fn run(program: &Arc<Program>, possible: &BTreeSet<Outcome>) -> Outcome {
    let kept: Arc<Mutex<Option<Arc<walk::Shared>>>> = Arc::default();
    let (keep, program) = (kept.clone(), program.clone());
    let main = std::thread::spawn(move || {
        walk::run(&program, |shared| {
            keep.lock().unwrap_or_else(PoisonError::into_inner).replace(shared);
        });
    });
    let begin = Instant::now();
    let shared = || kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // One that is kept, one that has just been asked for.
    let is_over = || main.is_finished() && shared().is_none_or(|shared| Arc::strong_count(&shared) == 2);
    let seen = || shared().map(|shared| shared.seen_so_far()).unwrap_or_default();
    while !is_over() {
        std::thread::sleep(Duration::from_micros(30));
        let stuck = told("deadlock", &seen());
        let limit = if possible.contains(&stuck) { real::LIMIT } else { real::LONG_LIMIT };
        if begin.elapsed() > limit {
            return stuck;
        }
    }
    told("ended", &seen())
}

#[test]
fn random_programs_do_what_the_model_says() {
    real::be_quiet();
    let (compared, runs, outcomes) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let misses = Mutex::new(Vec::new());
    let duration = real::duration(DURATION);
    seeds::for_each(seeds::from_environment().unwrap_or(SEEDS), |seed| {
        let made = [
            generate::program(seed),
            features::program(seed),
            dense::of_partings(seed),
            dense::of_one_subject(seed),
        ];
        for program in made.into_iter().filter(|program| !is_left_out(program)) {
            let Some(possible) = possible(&program) else { continue };
            compared.fetch_add(1, Ordering::Relaxed);
            let program = Arc::new(program);
            let (begin, mut seen) = (Instant::now(), BTreeSet::new());
            while begin.elapsed() < duration {
                seen.insert(run(&program, &possible));
                runs.fetch_add(1, Ordering::Relaxed);
                if !missing(&seen, &possible).is_empty() {
                    break;
                }
            }
            outcomes.fetch_add(seen.len() as u64, Ordering::Relaxed);
            let mut missed = missing(&seen, &possible);
            if may_be_let_on(&program, &possible) {
                missed.retain(|told| !told.starts_with("ended"));
            }
            if !missed.is_empty() {
                println!("seed {seed}: the model misses {missed:?} and has {possible:?}\n{program}");
                misses.lock().expect("no panics here").push(seed);
            }
        }
    });
    println!("{compared:?} programs, {runs:?} runs, {outcomes:?} outcomes seen");
    let misses = misses.into_inner().expect("no panics here");
    assert!(misses.is_empty(), "the model misses outcomes of programs {misses:?}");
}
