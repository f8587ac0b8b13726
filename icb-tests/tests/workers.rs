//! What is found and counted does not depend on how many processes search.

#[cfg(unix)]
use icb_std::model::{BoundReport, FailureKind};
use icb_std::model::{Builder, Report};
use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::thread;
use icb_tests::programs::baselines::{counter_racy, mutex_counter, treiber};
use icb_tests::programs::{bluetooth, prodcons};

fn explore(program: fn(), bound: u32, workers: usize) -> Report {
    let mut report = Builder::new().max_bound(bound).workers(workers).explore(program);
    report.bounds.iter_mut().for_each(|bound| bound.seconds = 0.0);
    report
}

/// Fails in few executions of many: one thread has to be stopped twice and its reader once, among others that make noise.
fn rare_failure() {
    let written = Arc::new(AtomicUsize::new(0));
    let theirs = written.clone();
    let writer = thread::spawn(move || (1..=3).for_each(|value| theirs.store(value, SeqCst)));
    let reader = thread::spawn(move || [(); 3].map(|()| written.load(SeqCst)));
    counter_racy(3, 2);
    writer.join().unwrap();
    assert_ne!(reader.join().unwrap(), [1, 2, 2]);
}

#[test]
fn reports_are_the_same_for_any_number_of_workers() {
    let programs: [(&str, fn(), u32); 6] = [
        ("counter", || counter_racy(4, 2), 3),
        ("mutexes", || mutex_counter(4, 3), 3),
        ("producers", || prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1), 3),
        ("treiber", || treiber(4), 3),
        ("bluetooth", || bluetooth::run(bluetooth::Version::Fixed, 3), 3),
        ("rare failure", rare_failure, 3),
    ];
    for (name, program, bound) in programs {
        let alone = explore(program, bound, 1);
        assert!(
            alone.execution_count() > 3_000,
            "{name}: {} executions are not shared out",
            alone.execution_count()
        );
        for workers in [2, 3] {
            let together = explore(program, bound, workers);
            assert_eq!(together, alone, "{name} with {workers} workers");
        }
    }
    assert!(explore(rare_failure, 3, 2).failure.is_some());
}

#[test]
#[cfg(unix)]
fn executions_in_processes_of_their_own_are_the_same() {
    let programs: [(&str, fn(), u32); 5] = [
        ("counter", || counter_racy(2, 2), 3),
        ("mutexes", || mutex_counter(3, 1), 2),
        ("producers", || prodcons::run(prodcons::Version::TwoCondvars, 1, 1, 1), 2),
        ("treiber", || treiber(2), 2),
        ("bluetooth", || bluetooth::run(bluetooth::Version::Published, 2), 2),
    ];
    for (name, program, bound) in programs {
        let search = Builder::new().max_bound(bound);
        let together = search.explore(program);
        for workers in [1, 2] {
            let isolated = search.clone().isolated(true).workers(workers).explore(program);
            let claims = |report: &Report| {
                let of_bound = |bound: &BoundReport| (bound.states, bound.complete, bound.exhausted);
                report.bounds.iter().map(of_bound).collect::<Vec<_>>()
            };
            assert_eq!(claims(&isolated), claims(&together), "{name}");
            let shown = |report: &Report| {
                let failure = report.failure.clone()?;
                Some((failure.message, failure.schedule.to_string(), failure.trace.steps.len()))
            };
            assert_eq!(shown(&isolated), shown(&together), "{name}");
            assert!(isolated.bounds.iter().all(|bound| bound.isolated));
            let limited = search.clone().isolated(true).workers(workers).max_executions(5).explore(program);
            assert_eq!(limited.execution_count(), 5, "{name}");
            assert!(!limited.complete, "{name}");
        }
    }
    assert!(Builder::new().explore(|| bluetooth::run(bluetooth::Version::Published, 2)).failure.is_some());
}

/// A global that is not of the mirrored `std` stays as an execution leaves it.
#[test]
#[cfg(unix)]
fn a_process_of_its_own_finds_nothing_left_behind() {
    static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let program = || {
        let flag = Arc::new(AtomicUsize::new(0));
        for _ in 0..=COUNT.fetch_add(1, SeqCst) {
            flag.fetch_add(1, SeqCst);
        }
        let other = flag.clone();
        let thread = thread::spawn(move || other.load(SeqCst));
        flag.fetch_add(1, SeqCst);
        assert!(thread.join().unwrap() <= 2);
    };
    let isolated = Builder::new().isolated(true).explore(program);
    assert_eq!(isolated.failure, None);
    assert!(isolated.complete && isolated.execution_count() > 1);
    assert_eq!(COUNT.load(SeqCst), 0);
    let together = Builder::new().explore(program).failure.unwrap();
    assert_eq!(together.kind, FailureKind::Divergence);
}

/// Processor time of this process and of those of its children that have ended, and how much of it the system took, in seconds.
#[cfg(target_os = "linux")]
fn processor_time() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().unwrap() / 100.0;
    let system = ticks(12) + ticks(14);
    (ticks(11) + ticks(13) + system, system)
}

/// A search of at least half a minute: two workers take at most 1/1.8 of the time, on a machine with two idle cores.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes minutes; on an idle machine: cargo test --release -p icb-tests --test workers -- --ignored --nocapture two_workers"]
fn two_workers_are_nearly_twice_as_fast() {
    let run = |workers| {
        let (began, before) = (std::time::Instant::now(), processor_time());
        let report = Builder::new()
            .max_bound(5)
            .workers(workers)
            .max_executions(12_000_000)
            .explore(|| counter_racy(4, 3));
        let (seconds, after) = (began.elapsed().as_secs_f64(), processor_time());
        let (cpu, system) = (after.0 - before.0, after.1 - before.1);
        println!(
            "{workers}: {seconds:.2} s, {cpu:.2} s of processor time ({system:.2} s in the system), {:.0} % of {workers} cores, {} executions",
            cpu / seconds / workers as f64 * 100.0,
            report.execution_count()
        );
        let mut report = report;
        report.bounds.iter_mut().for_each(|bound| bound.seconds = 0.0);
        (seconds, cpu, report)
    };
    let (one, two) = (run(1), run(2));
    println!("{:.2} times as fast, {:.1} % more work", one.0 / two.0, (two.1 / one.1 - 1.0) * 100.0);
    assert_eq!(one.2, two.2);
    assert!(one.0 / two.0 >= 1.8);
}

/// The most memory that this process has had, in MiB.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    icb_tests::usage::memory("VmHWM").unwrap() / 1024
}

/// Nearly all of it is the set of the states reached.
#[test]
#[cfg(target_os = "linux")]
#[ignore = "takes a minute: cargo test --release -p icb-tests --test workers -- --ignored --nocapture memory"]
fn ten_million_executions_fit_into_little_memory() {
    let search = Builder::new().max_bound(3).max_executions(10_000_000);
    let report = search.explore(|| counter_racy(5, 5));
    let (last, states) = report.bounds.last().map(|bound| (bound.bound, bound.states)).unwrap();
    println!("{} executions, {states} states, {} MiB at most", report.execution_count(), peak_memory());
    assert_eq!((last, report.execution_count()), (3, 10_000_000));
    assert!(peak_memory() < 500);
}
