//! What backtraces cost: nothing while exploring, because none is taken; and what a replay with them costs:
//! `cargo bench -p icb-tests --bench replays`.
//!
//! Wall-clock time, median of repetitions.

use icb_core::runtime::backtrace_count;
use icb_std::model::{Builder, Reduction};
use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use icb_std::thread;
use icb_tests::programs::bluetooth;
use std::time::Instant;

/// Repetitions of each measurement.
const REPETITIONS: usize = 9;

fn median(mut measure: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..REPETITIONS).map(|_| measure()).collect();
    all.sort_by(f64::total_cmp);
    all[REPETITIONS / 2]
}

/// Two threads, 300 steps in all, and an increment lost at the first preemption.
fn lost_increments() {
    let count = Arc::new(AtomicU32::new(0));
    let same = count.clone();
    let other = thread::spawn(move || (0..73).for_each(|_| same.store(same.load(SeqCst) + 1, SeqCst)));
    (0..73).for_each(|_| count.store(count.load(SeqCst) + 1, SeqCst));
    other.join().unwrap();
    assert_eq!(count.load(SeqCst), 146);
}

fn main() {
    let explore = || {
        let builder = Builder::new().max_bound(3).reduction(Reduction::None);
        builder.explore(|| bluetooth::run(bluetooth::Version::Fixed, 2))
    };
    let steps = explore().step_count();
    let before = backtrace_count();
    let exploring = median(|| {
        let started = Instant::now();
        explore();
        started.elapsed().as_secs_f64() / steps as f64
    });
    assert_eq!(backtrace_count(), before, "exploring must not take backtraces");
    println!("exploring: {:.0} ns a step, {steps} steps, 0 backtraces", exploring * 1e9);

    let failure = Builder::new().max_bound(1).explore(lost_increments).failure.expect("it fails");
    let count = failure.trace.steps.len();
    let replay = || Builder::new().replay(failure.schedule.clone()).explore(lost_increments);
    let before = backtrace_count();
    let first = Instant::now();
    replay();
    let first = first.elapsed().as_secs_f64();
    let taken = backtrace_count() - before;
    let replaying = median(|| {
        let started = Instant::now();
        replay();
        started.elapsed().as_secs_f64()
    });
    println!(
        "replaying {count} steps with {taken} backtraces: {:.1} ms, with debug information read already {:.1} ms",
        first * 1e3,
        replaying * 1e3
    );
    assert!(replaying < 1.0, "a replay of {count} steps takes {replaying} s");
}
