//! How many executions the default reduction runs for each class of executions that are really different: at bounds 0
//! to 3 and without a bound, on programs whose classes are known.

use icb_core::explore::{Explorer, Options};
use icb_core::program::Strategy;
use icb_core::runtime::Settings;
use icb_core::search::ContextBounded;
use icb_std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;
use icb_tests::programs::baselines::PROGRAMS;
use icb_tests::searches::{coroutines, every_execution, reduced, run_count, without_spurious};
use std::time::Duration;

const MAX_BOUND: u32 = 3;

/// Executions of the last bound searched, those given up half-way too, and the classes reached.
fn measure(program: fn(), strategy: &mut dyn Strategy) -> (u64, u64) {
    let mut explorer = Explorer::new(Options { check_determinism: false, ..Options::default() });
    let report = explorer.run(strategy, &mut without_spurious(program));
    let last = report.bounds.last().expect("a bound");
    (last.executions + last.given_up, last.states)
}

/// By program: the classes at bounds 0 to 3, the most executions at bound 3; and where the search without a bound is
/// short enough the classes of all executions, and the most executions for them.
type Row = (&'static str, [u64; 4], u64, Option<(u64, u64)>);

const TABLE: [Row; 19] = [
    ("counter_racy(2,2)", [2, 8, 22, 32], 38, Some((34, 34))),
    ("counter_racy(2,3)", [2, 12, 56, 132], 142, Some((328, 328))),
    ("counter_racy(3,1)", [6, 24, 36, 36], 90, Some((36, 37))),
    ("counter_racy(3,2)", [6, 60, 360, 1_380], 1_596, None),
    ("mutex_counter(2,2)", [2, 4, 6, 6], 6, Some((6, 6))),
    ("mutex_counter(3,1)", [6, 6, 6, 6], 6, Some((6, 6))),
    ("mutex_counter(3,2)", [6, 24, 60, 90], 90, Some((90, 93))),
    ("wsq(1)", [1, 4, 7, 7], 7, Some((7, 7))),
    ("wsq(2)", [1, 7, 32, 67], 75, Some((86, 86))),
    ("wsq(3)", [1, 10, 78, 256], 291, None),
    ("bluetooth(2)", [2, 21, 93, 211], 438, Some((314, 348))),
    ("prodcons(2,1,1)", [4, 12, 16, 16], 16, Some((16, 16))),
    ("prodcons(2,2,1)", [22, 182, 660, 1_412], 1_412, None),
    ("dining_ok(3)", [6, 6, 6, 6], 18, Some((6, 10))),
    ("treiber(2)", [1, 5, 15, 31], 31, Some((46, 46))),
    ("treiber(3)", [2, 24, 162, 804], 838, Some((68_892, 68_892))),
    ("rwlock_mix(2,1)", [1, 4, 8, 9], 10, Some((9, 9))),
    ("rwlock_mix(2,2)", [1, 7, 33, 75], 82, Some((169, 169))),
    ("rwlock_mix(3,2)", [1, 15, 99, 351], 436, Some((2_197, 2_197))),
];

#[test]
fn about_one_execution_is_run_for_each_class() {
    let mut ratios = Vec::new();
    for (((name, program), only_locks), (row, classes, max_runs, _)) in PROGRAMS.into_iter().zip(TABLE) {
        assert_eq!(name, row);
        let mut line = format!("{name:20}");
        let mut last = 0;
        for bound in 0..=MAX_BOUND {
            let (runs, states) = measure(program, &mut reduced(Some(bound)));
            assert_eq!(states, classes[bound as usize], "{name} at bound {bound}");
            line += &format!(" {runs:5} for {states:5}");
            last = runs;
        }
        let ratio = last as f64 / classes[3] as f64;
        println!("{line} = {ratio:.2}");
        assert!(last <= max_runs, "{name}: {last} executions");
        assert!(ratio <= 4.0 || !only_locks, "{name}: {ratio}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[ratios.len() / 2] <= 1.5, "{ratios:?}");
}

#[test]
fn the_plain_search_reaches_the_same_classes() {
    for (((name, program), _), (_, classes, ..)) in PROGRAMS.into_iter().zip(TABLE) {
        // Every execution of these would take too long.
        if ["counter_racy(3,2)", "prodcons(2,2,1)", "rwlock_mix(3,2)", "mutex_counter(3,2)"].contains(&name) {
            continue;
        }
        let (_, states) = measure(program, &mut ContextBounded::new(Some(MAX_BOUND)));
        assert_eq!(states, classes[3], "{name}");
    }
}

#[test]
fn without_a_bound_too() {
    for (((name, program), _), (.., all)) in PROGRAMS.into_iter().zip(TABLE) {
        let Some((classes, max_runs)) = all else { continue };
        let (runs, states) = measure(program, &mut reduced(None));
        println!("{name:20} {runs:6} for {states:5} = {:.2}", runs as f64 / states as f64);
        assert_eq!(states, classes, "{name}");
        assert!(runs <= max_runs, "{name}: {runs} executions");
    }
}

/// A thread that waits in one of the ways there are, and the one that it waits for.
type Pair = [Box<dyn FnOnce() + Send>; 2];

fn with_condvar() -> Pair {
    let waiting = Arc::new((Mutex::new(false), Condvar::new()));
    let telling = waiting.clone();
    let wait = move || {
        let mut told = waiting.0.lock().unwrap();
        while !*told {
            told = waiting.1.wait(told).unwrap();
        }
    };
    let tell = move || {
        *telling.0.lock().unwrap() = true;
        telling.1.notify_one();
    };
    [Box::new(wait), Box::new(tell)]
}

fn with_a_time() -> Pair {
    let waiting = Arc::new((Mutex::new(()), Condvar::new()));
    let telling = waiting.clone();
    let wait = move || {
        let guard = waiting.0.lock().unwrap();
        drop(waiting.1.wait_timeout(guard, Duration::from_millis(5)).unwrap());
    };
    [Box::new(wait), Box::new(move || telling.1.notify_one())]
}

fn with_a_loop() -> Pair {
    let waiting = Arc::new(AtomicBool::new(false));
    let telling = waiting.clone();
    let wait = move || {
        while !waiting.load(SeqCst) {
            icb_std::hint::spin_loop();
        }
    };
    [Box::new(wait), Box::new(move || telling.store(true, SeqCst))]
}

fn with_yields() -> Pair {
    let waiting = Arc::new(Mutex::new(0));
    let telling = waiting.clone();
    let wait = move || {
        *waiting.lock().unwrap() += 1;
        thread::yield_now();
        *waiting.lock().unwrap() *= 2;
    };
    [Box::new(wait), Box::new(move || *telling.lock().unwrap() += 1)]
}

fn all_of(count: usize, pair: fn() -> Pair) {
    let threads: Vec<_> = (0..count).flat_map(|_| pair()).map(thread::spawn).collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn with_tokens(count: usize) {
    let mut threads = Vec::new();
    for _ in 0..count {
        let waiting = Arc::new(AtomicBool::new(false));
        let telling = waiting.clone();
        let wait = thread::spawn(move || {
            while !waiting.load(SeqCst) {
                thread::park();
            }
        });
        let waits = wait.thread().clone();
        threads.push(wait);
        threads.push(thread::spawn(move || {
            telling.store(true, SeqCst);
            waits.unpark();
        }));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

/// By kind of pair: for four of them at bounds 0 to 2 the classes, and the most executions, those given up half-way too.
const PAIRS: [(&str, [(u64, u64); 3]); 5] = [
    ("condvar", [(16, 16), (112, 562), (424, 2_758)]),
    ("time", [(16, 65), (176, 1_938), (936, 13_497)]),
    ("loop", [(81, 81), (837, 3_371), (5_859, 26_237)]),
    ("yields", [(81, 81), (405, 567), (891, 2_115)]),
    ("tokens", [(16, 16), (112, 562), (456, 2_886)]),
];

/// A thread that spawns another one, and has something to do with it.
fn family() {
    let shared = Arc::new(Mutex::new(0));
    let childs = shared.clone();
    let child = thread::spawn(move || *childs.lock().unwrap() += 1);
    *shared.lock().unwrap() += 1;
    child.join().unwrap();
}

/// What one of them does is not tried again in each order with what others do.
#[test]
fn families_do_not_multiply() {
    let program = || {
        let families: Vec<_> = (0..4).map(|_| thread::spawn(family)).collect();
        families.into_iter().for_each(|family| family.join().unwrap());
    };
    for (bound, classes) in (0..).zip([1, 5, 11, 15, 16]) {
        assert_eq!(measure(program, &mut reduced(Some(bound))), (classes, classes), "at bound {bound}");
    }
}

/// Threads that have nothing to do with each other: what one pair does is hardly tried again in each order with what others do.
#[test]
fn pairs_that_wait_hardly_multiply() {
    let programs: [&(dyn Fn() + Send + Sync); 5] = [
        &|| all_of(4, with_condvar),
        &|| all_of(4, with_a_time),
        &|| all_of(4, with_a_loop),
        &|| all_of(4, with_yields),
        &|| with_tokens(4),
    ];
    for (program, (name, table)) in programs.into_iter().zip(PAIRS) {
        for (bound, (classes, max_runs)) in (0..).zip(table) {
            let mut explorer = Explorer::new(every_execution(None));
            // What is idle may be found out or not while other tests of the process run.
            let mut program = coroutines(program, Settings { idle_turns: false, ..Settings::default() });
            let report = explorer.run(&mut reduced(Some(bound)), &mut program);
            let last = report.bounds.last().expect("a bound");
            println!("{name}, bound {bound}: {} and {} for {}", last.executions, last.given_up, last.states);
            assert_eq!(last.states, classes, "{name} at bound {bound}");
            assert!(run_count(&report) <= max_runs, "{name} at bound {bound}: {} given up", last.given_up);
        }
    }
}
