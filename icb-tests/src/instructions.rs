//! Instructions that an execution takes, counted by callgrind: figures that do not depend on how busy the machine is.
//!
//! A program that wants them calls [`child`] first in its `main`, which runs the rounds asked for and is what valgrind
//! runs; and then [`measure`]. What starting and warming up takes is subtracted by running twice.

use crate::searches::{run_count, without_spurious};
use icb_core::explore::{Explorer, Options};
use icb_core::program::Strategy;
use icb_core::reduction::PartialOrder;
use icb_core::search::ContextBounded;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Condvar, Mutex};
use icb_std::thread;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The first argument of the process that valgrind runs.
const CHILD: &str = "--instructions-of";

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    reduced: bool,
    bound: u32,
    program: fn(),
}

/// Two threads with `count` atomic operations each.
fn atomics(count: usize) {
    let value = Arc::new(AtomicUsize::new(0));
    let work = move |value: &AtomicUsize| {
        for index in 0..count / 2 {
            value.load(SeqCst);
            value.store(index, SeqCst);
        }
    };
    let theirs = value.clone();
    let other = thread::spawn(move || work(&theirs));
    work(&value);
    other.join().unwrap();
}

/// Two threads with `count` locks and unlocks each.
fn locks(count: usize) {
    let value = Arc::new(Mutex::new(0));
    let work = move |value: &Mutex<u32>| {
        for _ in 0..count / 2 {
            *value.lock().unwrap() += 1;
        }
    };
    let theirs = value.clone();
    let other = thread::spawn(move || work(&theirs));
    work(&value);
    other.join().unwrap();
}

/// Two threads put two items each into a buffer of one, from which a third takes them: a mutex and two condition variables.
fn buffer() {
    let shared = Arc::new((Mutex::new(0), Condvar::new(), Condvar::new()));
    let put = |shared: &(Mutex<u32>, Condvar, Condvar)| {
        for _ in 0..2 {
            let mut count = shared.1.wait_while(shared.0.lock().unwrap(), |count| *count == 1).unwrap();
            *count += 1;
            shared.2.notify_one();
        }
    };
    let spawn = |shared: Arc<(Mutex<u32>, Condvar, Condvar)>| thread::spawn(move || put(&shared));
    let producers = [spawn(shared.clone()), spawn(shared.clone())];
    for _ in 0..4 {
        let mut count = shared.2.wait_while(shared.0.lock().unwrap(), |count| *count == 0).unwrap();
        *count -= 1;
        shared.1.notify_one();
    }
    producers.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Three threads that do nothing.
fn threads() {
    let all: Vec<_> = (0..3).map(|_| thread::spawn(|| ())).collect();
    all.into_iter().for_each(|thread| thread.join().unwrap());
}

/// What is counted: the step path, with and without a reduction, and the life of threads.
pub const CASES: [Case; 8] = [
    Case {
        name: "2 threads, 100 atomic operations each, every execution",
        reduced: false,
        bound: 1,
        program: || atomics(100),
    },
    Case {
        name: "2 threads, 100 atomic operations each, reduced",
        reduced: true,
        bound: 1,
        program: || atomics(100),
    },
    Case {
        name: "2 threads, 100 locks and unlocks each, every execution",
        reduced: false,
        bound: 1,
        program: || locks(100),
    },
    Case {
        name: "2 threads, 6 atomic operations each, every execution",
        reduced: false,
        bound: 4,
        program: || atomics(6),
    },
    Case {
        name: "2 threads, 6 atomic operations each, reduced",
        reduced: true,
        bound: 4,
        program: || atomics(6),
    },
    Case { name: "3 threads that do nothing, every execution", reduced: false, bound: 4, program: threads },
    Case {
        name: "a buffer of one item between 2 producers and a consumer, every execution",
        reduced: false,
        bound: 2,
        program: buffer,
    },
    Case {
        name: "a buffer of one item between 2 producers and a consumer, reduced",
        reduced: true,
        bound: 2,
        program: buffer,
    },
];

impl Case {
    /// Explores so many times, and returns executions and steps of one time. What is pooled is kept from one to the next, as
    /// it is between executions.
    fn run(&self, rounds: u64) -> (u64, u64) {
        let mut program = without_spurious(self.program);
        let mut counts = (0, 0);
        for _ in 0..rounds {
            let mut strategy: Box<dyn Strategy> = match self.reduced {
                true => Box::new(PartialOrder::new(Some(self.bound))),
                false => Box::new(ContextBounded::new(Some(self.bound))),
            };
            let mut explorer = Explorer::new(Options { check_determinism: false, ..Options::default() });
            let report = explorer.run(strategy.as_mut(), &mut program);
            assert!(report.complete, "{}: {report:?}", self.name);
            counts = (run_count(&report), report.bounds.iter().map(|bound| bound.steps).sum());
        }
        counts
    }
}

/// Whether this process is one that [`measure`] has started; then it has done what it was asked for.
///
/// # Panics
/// If the arguments are not those of [`measure`].
#[must_use]
pub fn child() -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [first, index, rounds] = &arguments[..] else { return false };
    if first != CHILD {
        return false;
    }
    let case = &CASES[index.parse::<usize>().expect("a number")];
    case.run(rounds.parse().expect("a number"));
    true
}

/// One case's figures.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Instructions of an execution.
    pub per_execution: f64,
    /// Instructions of a step: those of the execution, divided.
    pub per_step: f64,
}

/// Counts the instructions of a case.
///
/// # Errors
/// If valgrind cannot be run, or does not say what is expected of it.
pub fn measure(index: usize) -> Result<Figures, String> {
    const FEW: u64 = 2;
    const MANY: u64 = 6;
    let (few, many) = (count(index, FEW)?, count(index, MANY)?);
    let (executions, steps) = CASES[index].run(1);
    let round = (many - few) as f64 / (MANY - FEW) as f64;
    Ok(Figures { per_execution: round / executions as f64, per_step: round / steps as f64 })
}

/// Instructions of a process that explores so many times.
fn count(index: usize, rounds: u64) -> Result<u64, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("this program does not know its own path: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args([CHILD, &index.to_string(), &rounds.to_string()])
        .stdout(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}; install it to count instructions"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines()
        .find_map(|line| line.split_once("Collected : ")?.1.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| format!("valgrind has not said how many instructions it counted:\n{text}"))
}
