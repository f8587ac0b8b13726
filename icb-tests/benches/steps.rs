//! What a step, a thread and an execution of icb cost, and that a step allocates nothing:
//! `cargo bench -p icb-tests --bench steps`.
//!
//! CPU time of one thread, median of repetitions, defaults but for spurious wake-ups, no reduction.

use icb_core::explore::{Explorer, Options};
use icb_core::program::{BranchPoint, Chooser, End, Program, SchedulingPoint};
use icb_core::runtime::allocation_count;
use icb_core::search::ContextBounded;
use icb_core::trace::ThreadId;
use icb_std::sync::Mutex;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::thread;
use icb_tests::searches::without_spurious;
use icb_tests::usage::cpu_time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Allocations in the executions of the program that runs, the engine's own among them, up to the end of its main
/// thread.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// `threads` threads besides main, `operations` loads and stores of one atomic each.
fn atomics(threads: usize, operations: usize) {
    let value = Arc::new(AtomicUsize::new(0));
    let work = move |value: &AtomicUsize| {
        for index in 0..operations / 2 {
            value.load(SeqCst);
            value.store(index, SeqCst);
        }
    };
    let spawned: Vec<_> = (0..threads)
        .map(|_| {
            let value = value.clone();
            thread::spawn(move || work(&value))
        })
        .collect();
    for thread in spawned {
        thread.join().unwrap();
    }
}

/// The same with locks and unlocks of one mutex.
fn locks(threads: usize, operations: usize) {
    let value = Arc::new(Mutex::new(0));
    let spawned: Vec<_> = (0..threads)
        .map(|_| {
            let value = value.clone();
            thread::spawn(move || {
                for _ in 0..operations / 2 {
                    *value.lock().unwrap() += 1;
                }
            })
        })
        .collect();
    for thread in spawned {
        thread.join().unwrap();
    }
}

fn program<F: Fn() + Send + Sync + 'static>(f: F) -> impl Program {
    without_spurious(move || {
        f();
        ALLOCATIONS.store(allocation_count(), Relaxed);
    })
}

struct Cost {
    executions: u64,
    steps: u64,
    seconds: f64,
    allocations: u64,
}

fn explore(program: &mut dyn Program, bound: u32) -> Cost {
    let allocations = ALLOCATIONS.load(Relaxed);
    let began = cpu_time();
    let mut explorer = Explorer::new(Options { check_determinism: false, ..Options::default() });
    let report = explorer.run(&mut ContextBounded::new(Some(bound)), program);
    let seconds = cpu_time() - began;
    let allocations = ALLOCATIONS.load(Relaxed) - allocations;
    assert!(report.complete, "{report:?}");
    Cost {
        executions: report.bounds.iter().map(|b| b.executions).sum(),
        steps: report.bounds.iter().map(|b| b.steps).sum(),
        seconds,
        allocations,
    }
}

fn report<F: Fn() + Send + Sync + 'static>(name: &str, bound: u32, f: F) {
    let mut program = program(f);
    let first = explore(&mut program, bound);
    let rounds = (0.05 / first.seconds).ceil() as u64;
    let mut samples: Vec<f64> = (0..9)
        .map(|_| (0..rounds).map(|_| explore(&mut program, bound).seconds).sum::<f64>() / rounds as f64)
        .collect();
    samples.sort_by(f64::total_cmp);
    let seconds = samples[samples.len() / 2];
    let warm = explore(&mut program, bound);
    let per_execution = |value: f64| value / warm.executions as f64;
    println!(
        "| {name} | {bound} | {} | {:.1} | {:.0} | {:.1} | {:.1} | {:.2} |",
        warm.executions,
        per_execution(warm.steps as f64),
        1.0 / per_execution(seconds),
        per_execution(seconds) * 1e9,
        seconds * 1e9 / warm.steps as f64,
        per_execution(warm.allocations as f64),
    );
}

/// Goes on with the running thread where it can.
struct Default_;

impl Chooser for Default_ {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        Some(point.default_choice())
    }
    fn choose_branch(&mut self, _: &BranchPoint) -> u32 {
        0
    }
}

/// Nanoseconds of one execution without a search, once warm.
fn report_execution<F: Fn() + Send + Sync + 'static>(name: &str, f: F) {
    const ROUNDS: u32 = 20_000;
    let mut program = program(f);
    let mut steps = 0;
    let mut samples: Vec<f64> = (0..9)
        .map(|_| {
            let began = cpu_time();
            for _ in 0..ROUNDS {
                steps = program.run(&mut Default_, None).step_count;
            }
            (cpu_time() - began) / f64::from(ROUNDS)
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    println!("| {name} | none | | {steps} | | {:.0} | | |", samples[samples.len() / 2] * 1e9);
}

/// Allocations of one execution without a search, once warm.
fn allocations_of_an_execution<F: Fn() + Send + Sync + 'static>(f: F) -> u64 {
    let mut program = program(f);
    let mut last = 0;
    for _ in 0..20 {
        let before = ALLOCATIONS.load(Relaxed);
        let outcome = program.run(&mut Default_, None);
        last = ALLOCATIONS.load(Relaxed) - before;
        assert!(matches!(outcome.end, End::Passed));
    }
    last
}

fn main() {
    if !std::env::args().any(|a| a == "--bench") {
        return; // `cargo test --all-targets` only wants to see it compile.
    }
    println!(
        "| program | bound | executions | steps of one | executions/s | ns/execution | ns/step | allocations of one |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    report("nothing", 0, || ());
    report_execution("nothing", || ());
    for threads in 1..=3 {
        report_execution(&format!("spawn and join {threads}"), move || atomics(threads, 0));
        report(&format!("spawn and join {threads}"), 0, move || atomics(threads, 0));
    }
    report("1 thread, 300 atomic operations", 0, || atomics(1, 300));
    report("2 threads, 150 atomic operations each", 1, || atomics(2, 150));
    report("1 thread, 300 locks and unlocks", 0, || locks(1, 300));
    report("2 threads, 150 locks and unlocks each", 1, || locks(2, 150));
    report("2 threads, 4 atomic operations each", 3, || atomics(2, 4));
    report("3 threads, 4 locks and unlocks each", 3, || locks(3, 4));

    println!();
    type Operations = fn(usize);
    let kinds: [(&str, Operations); 2] =
        [("atomic operations", |n| atomics(2, n)), ("locks and unlocks", |n| locks(2, n))];
    for (name, run) in kinds {
        let [short, long] = [200, 400].map(|n| allocations_of_an_execution(move || run(n)));
        println!("allocations of an execution with 2 x 200 {name}: {short}, with 2 x 400: {long}");
        assert_eq!(short, long, "a step allocates nothing");
    }
}
