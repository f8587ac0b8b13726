//! Runs abstract programs for real: every thread of the program is a thread that walks through its code and
//! performs each operation on an object of `icb_std`.
//!
//! What the walkers themselves share (the program, the record of values) is kept in `std`'s own types, so that
//! it adds no steps. Walkers see values through their registers only, as a Rust program would; the record
//! follows each write right after it, which is sound because nothing else runs before the thread's next
//! scheduling point. Only programs with [`Lifecycle::MainLikeStd`] can be run.
//!
//! [`explore`] goes through the public interface; [`enumerate`] runs the same closure through the parts behind it,
//! so that every failure can be seen, and not the first one only.

use super::execution::Outcome;
use super::language::{Lifecycle, Op, Program, REGISTER_COUNT, Value, failure_ordering};
use crate::watched::{self, Level, Slot};
use icb_core::program::End;
use icb_core::runtime::Settings;
use icb_core::search::ContextBounded;
use icb_std::cell::UnsafeCell;
use icb_std::model::{Builder, Failure, FailureKind, Granularity, Report};
use icb_std::sync::atomic::{AtomicUsize, Ordering};
use icb_std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use icb_std::thread::JoinHandle;
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// What the tester found out about a program.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Its report.
    pub report: Report,
    /// The outcomes of all executions that it ran to their end, and that of the failure it reports, if any.
    pub outcomes: BTreeSet<Outcome>,
}

/// Explores the program as the builder says.
///
/// # Panics
/// If the program is of another life cycle, or fails in a way in which abstract programs cannot fail.
#[must_use]
pub fn explore(program: &Program, builder: Builder) -> Exploration {
    let outcomes = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let seen = std::sync::Arc::clone(&outcomes);
    let sink = move |outcome| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).insert(outcome);
    };
    let report = builder.explore(body(program, sink));
    let mut outcomes = std::mem::take(&mut *outcomes.lock().unwrap_or_else(PoisonError::into_inner));
    outcomes.extend(report.failure.as_ref().map(|failure| outcome_of(failure, program)));
    Exploration { report, outcomes }
}

/// All executions of a program up to a bound, failing ones included.
#[derive(Clone, Debug)]
pub struct Enumeration {
    /// The tester's report.
    pub report: Report,
    /// By number of preemptions. Levels after the last one that has executions are missing.
    pub levels: Vec<Level<Outcome>>,
}

impl Enumeration {
    /// Outcomes of the executions with at most `bound` preemptions.
    #[must_use]
    pub fn outcomes(&self, bound: usize) -> BTreeSet<Outcome> {
        self.levels.iter().take(bound + 1).flat_map(|level| level.outcomes.iter().cloned()).collect()
    }

    /// Number of executions with exactly `preemptions` preemptions.
    #[must_use]
    pub fn execution_count(&self, preemptions: usize) -> u64 {
        self.levels.get(preemptions).map_or(0, |level| level.execution_count)
    }

    /// Distinct terminal happens-before states with at most `bound` preemptions.
    #[must_use]
    pub fn state_count(&self, bound: usize) -> u64 {
        self.report.bounds.get(bound).or(self.report.bounds.last()).map_or(0, |bound| bound.states)
    }
}

/// Runs every execution of the program with at most `max_bound` preemptions (`None`: with any number), without
/// spurious wake-ups.
///
/// # Panics
/// If the program is of another life cycle, or fails in a way in which abstract programs cannot fail.
#[must_use]
pub fn enumerate(program: &Program, granularity: Granularity, max_bound: Option<u32>) -> Enumeration {
    let finished = Slot::default();
    let sink = finished.clone();
    let sink = move |outcome| assert_eq!(sink.put(outcome), None, "an execution ends once");
    let settings = Settings { granularity, spurious: false, unwind_failed: true, ..Settings::default() };
    let mut strategy = ContextBounded::new(max_bound);
    let found = watched::search(body(program, sink), settings, &mut strategy, None, |bound, result| {
        match (&result.end, finished.take()) {
            (End::Passed, Some(outcome)) => Some(outcome),
            (End::Failed(failure), None) => {
                assert_eq!(failure.bound, bound, "{failure}, {}: {program}", failure.schedule);
                Some(outcome_of(failure, program))
            }
            (end, finished) => panic!("an execution ends with {end:?} and {finished:?}: {program}"),
        }
    });
    Enumeration { report: found.report, levels: found.levels }
}

/// The outcome that a failure stands for. Threads have the same numbers on both sides, because the main thread
/// spawns all others in order.
fn outcome_of(failure: &Failure, program: &Program) -> Outcome {
    match failure.kind {
        FailureKind::DataRace => Outcome::Race,
        FailureKind::Deadlock => {
            let mut blocked: Vec<usize> = failure.waiting.iter().map(|entry| entry.thread.index()).collect();
            blocked.sort_unstable();
            Outcome::Deadlock { blocked }
        }
        kind => panic!("an abstract program cannot fail by {kind:?} ({}): {program}", failure.message),
    }
}

/// Makes a closure that runs the program once and tells `sink` the outcome when all threads have ended.
/// An execution that deadlocks or is stopped tells nothing.
///
/// # Panics
/// If the program is of another life cycle.
pub fn body<S>(program: &Program, sink: S) -> impl Fn() + Send + Sync + 'static
where
    S: Fn(Outcome) + Send + Sync + 'static,
{
    assert_eq!(program.lifecycle, Lifecycle::MainLikeStd, "{program}");
    let program = std::sync::Arc::new(program.clone());
    let sink: Sink = std::sync::Arc::new(sink);
    move || {
        let shared = Shared::new(std::sync::Arc::clone(&program), std::sync::Arc::clone(&sink));
        walk(&std::sync::Arc::new(shared), 0);
    }
}

type Sink = std::sync::Arc<dyn Fn(Outcome) + Send + Sync>;

/// A data cell that threads access without any ordering of their own.
struct Cell(UnsafeCell<usize>);

// SAFETY: threads access the cell only through `with` and `with_mut`, one at a time: the tester runs one thread
// at a time and switches at scheduling points only. That two accesses may be unordered is what is being tested.
unsafe impl Sync for Cell {}

/// What all threads of one execution share.
struct Shared {
    program: std::sync::Arc<Program>,
    variables: Vec<AtomicUsize>,
    cells: Vec<Cell>,
    mutexes: Vec<Mutex<()>>,
    condvars: Vec<Condvar>,
    /// For each thread, a variable that nobody else touches: reading it is a step that means nothing.
    nowhere: Vec<AtomicUsize>,
    record: std::sync::Mutex<Record>,
    sink: Sink,
}

/// What will be the outcome.
struct Record {
    variables: Vec<usize>,
    cells: Vec<usize>,
    registers: Vec<[usize; REGISTER_COUNT]>,
    ended_count: usize,
}

impl Shared {
    fn new(program: std::sync::Arc<Program>, sink: Sink) -> Self {
        let counts = program.object_counts();
        Shared {
            variables: (0..counts.variables).map(|_| AtomicUsize::new(0)).collect(),
            cells: (0..counts.cells).map(|_| Cell(UnsafeCell::new(0))).collect(),
            mutexes: (0..counts.mutexes).map(|_| Mutex::new(())).collect(),
            condvars: (0..counts.condvars).map(|_| Condvar::new()).collect(),
            nowhere: program.threads.iter().map(|_| AtomicUsize::new(0)).collect(),
            record: std::sync::Mutex::new(Record {
                variables: vec![0; counts.variables],
                cells: vec![0; counts.cells],
                registers: vec![[0; REGISTER_COUNT]; program.threads.len()],
                ended_count: 0,
            }),
            program,
            sink,
        }
    }

    fn record(&self) -> std::sync::MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn walk(shared: &std::sync::Arc<Shared>, thread: usize) {
    let mut walker = Walker {
        shared,
        thread,
        registers: [0; REGISTER_COUNT],
        guards: shared.mutexes.iter().map(|_| None).collect(),
        children: shared.program.threads.iter().map(|_| None).collect(),
    };
    let code = &shared.program.threads[thread];
    let mut counter = 0;
    while let Some(&op) = code.get(counter) {
        counter += 1;
        match op {
            Op::SkipIf { register, is, value, count } => {
                if is.holds(walker.registers[register], walker.value(value)) {
                    counter += count;
                }
            }
            Op::Back { count } => counter -= count + 1,
            _ => walker.perform(op),
        }
    }
    walker.end();
}

/// One thread on its way through its code.
struct Walker<'s> {
    shared: &'s std::sync::Arc<Shared>,
    thread: usize,
    registers: [usize; REGISTER_COUNT],
    guards: Vec<Option<MutexGuard<'s, ()>>>,
    children: Vec<Option<JoinHandle<()>>>,
}

impl<'s> Walker<'s> {
    fn value(&self, value: Value) -> usize {
        match value {
            Value::Constant(number) => number,
            Value::Register(register) => self.registers[register],
        }
    }

    fn perform(&mut self, op: Op) {
        match op {
            Op::Load { .. }
            | Op::Store { .. }
            | Op::FetchAdd { .. }
            | Op::Swap { .. }
            | Op::CompareExchange { .. } => {
                self.access_variable(op);
            }
            Op::CellRead { to, cell } => {
                // SAFETY: the pointer is valid during the call, and nobody else runs meanwhile; see `Cell`.
                self.registers[to] = self.shared.cells[cell].0.with(|value| unsafe { *value });
            }
            Op::CellWrite { cell, value } => {
                let value = self.value(value);
                // SAFETY: the pointer is valid during the call, and nobody else runs meanwhile; see `Cell`.
                self.shared.cells[cell].0.with_mut(|target| unsafe { *target = value });
                self.shared.record().cells[cell] = value;
            }
            Op::Set { to, value } => self.registers[to] = self.value(value),
            Op::Add { to, value } => {
                self.registers[to] = self.registers[to].wrapping_add(self.value(value));
            }
            Op::Spawn { thread } => {
                let shared = std::sync::Arc::clone(self.shared);
                self.children[thread] = Some(icb_std::thread::spawn(move || walk(&shared, thread)));
            }
            Op::Join { thread } => {
                let child = self.children[thread].take().expect("it was spawned here and not joined yet");
                child.join().expect("walkers do not panic");
            }
            Op::Yield => icb_std::thread::yield_now(),
            Op::Lock { .. }
            | Op::TryLock { .. }
            | Op::Unlock { .. }
            | Op::Wait { .. }
            | Op::NotifyOne { .. }
            | Op::NotifyAll { .. } => {
                self.use_lock(op);
            }
            Op::Nop => {
                self.shared.nowhere[self.thread].load(Ordering::Relaxed);
            }
            Op::Send { .. } | Op::TrySend { .. } | Op::Receive { .. } | Op::TryReceive { .. } => {
                unreachable!("{op}: std's channels have one receiver, these may have several")
            }
            Op::Exit | Op::SkipIf { .. } | Op::Back { .. } => {
                unreachable!("{op} cannot be performed")
            }
        }
    }

    fn access_variable(&mut self, op: Op) {
        let shared = self.shared;
        let (variable, written) = match op {
            Op::Load { to, variable, ordering } => {
                self.registers[to] = shared.variables[variable].load(ordering);
                (variable, None)
            }
            Op::Store { variable, value, ordering } => {
                let value = self.value(value);
                shared.variables[variable].store(value, ordering);
                (variable, Some(value))
            }
            Op::FetchAdd { to, variable, amount, ordering } => {
                let old = shared.variables[variable].fetch_add(amount, ordering);
                self.registers[to] = old;
                (variable, Some(old.wrapping_add(amount)))
            }
            Op::Swap { to, variable, value, ordering } => {
                let value = self.value(value);
                self.registers[to] = shared.variables[variable].swap(value, ordering);
                (variable, Some(value))
            }
            Op::CompareExchange { success, variable, expected, new, ordering } => {
                let (expected, new) = (self.value(expected), self.value(new));
                let variable_ref = &shared.variables[variable];
                let result =
                    variable_ref.compare_exchange(expected, new, ordering, failure_ordering(ordering));
                self.registers[success] = usize::from(result.is_ok());
                (variable, result.is_ok().then_some(new))
            }
            _ => unreachable!("{op} is no atomic access"),
        };
        if let Some(value) = written {
            shared.record().variables[variable] = value;
        }
    }

    fn use_lock(&mut self, op: Op) {
        let shared = self.shared;
        match op {
            Op::Lock { mutex } => {
                self.guards[mutex] =
                    Some(shared.mutexes[mutex].lock().unwrap_or_else(PoisonError::into_inner));
            }
            Op::TryLock { success, mutex } => {
                let guard = match shared.mutexes[mutex].try_lock() {
                    Ok(guard) => Some(guard),
                    Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
                    Err(TryLockError::WouldBlock) => None,
                };
                self.registers[success] = usize::from(guard.is_some());
                if guard.is_some() {
                    self.guards[mutex] = guard;
                }
            }
            Op::Unlock { mutex } => drop(self.guards[mutex].take().expect("it is held")),
            Op::Wait { condvar, mutex } => {
                let guard = self.guards[mutex].take().expect("it is held");
                let waited = shared.condvars[condvar].wait(guard);
                self.guards[mutex] = Some(waited.unwrap_or_else(PoisonError::into_inner));
            }
            Op::NotifyOne { condvar } => shared.condvars[condvar].notify_one(),
            Op::NotifyAll { condvar } => shared.condvars[condvar].notify_all(),
            _ => unreachable!("{op} is not about locks"),
        }
    }

    /// Ends the thread, which takes no step: mutexes that it holds stay locked.
    fn end(self) {
        self.guards.into_iter().flatten().for_each(std::mem::forget);
        let mut record = self.shared.record();
        record.registers[self.thread] = self.registers;
        record.ended_count += 1;
        if record.ended_count == self.shared.program.threads.len() {
            (self.shared.sink)(Outcome::Finished {
                variables: record.variables.clone(),
                cells: record.cells.clone(),
                registers: record.registers.clone(),
            });
        }
    }
}
