//! The bound at which a failure is first reported is the same with and without reduction: on the programs with a seeded
//! bug, and on random programs that fail. And a search without a last bound stops where no bound has cut anything.

use icb_core::explore::{Explorer, Limits, Options};
use icb_core::program::Strategy;
use icb_core::reduction::{PartialOrder, Visited};
use icb_core::runtime::Settings;
use icb_core::search::ContextBounded;
use icb_core::trace::{BoundReport, Report};
use icb_std::model::{Builder, Reduction};
use icb_std::sync::Arc as ModelArc;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::thread;
use icb_tests::abstract_program::as_program::AbstractProgram;
use icb_tests::abstract_program::interpreter::Granularity as Points;
use icb_tests::abstract_program::random;
use icb_tests::programs::{
    bluetooth, counter, double_checked, lock_order, lost_wakeup, prodcons, rwlock_mix, treiber,
    work_stealing_queue as queue,
};
use icb_tests::random_real::generate;
use icb_tests::random_real::walk::run;
use icb_tests::searches::{coroutines, without_spurious};
use icb_tests::seeds;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAX_BOUND: u32 = 3;

/// Every program of this crate that fails.
const SEEDED: [(&str, fn()); 13] = [
    ("bluetooth", || bluetooth::run(bluetooth::Version::Published, 2)),
    ("bluetooth 3", || bluetooth::run(bluetooth::Version::Published, 3)),
    ("counter", || counter::run(counter::Version::LoadThenStore, 2, 1)),
    ("counter 3", || counter::run(counter::Version::LoadThenStore, 3, 2)),
    ("double-checked", || double_checked::run(double_checked::Version::Relaxed)),
    ("transfers", || lock_order::transfers(lock_order::Version::AsItComes)),
    ("philosophers", || lock_order::philosophers(lock_order::Version::AsItComes, 3)),
    ("lost wake-up", || lost_wakeup::run(lost_wakeup::Version::LooksOutside)),
    ("prodcons", || prodcons::run(prodcons::Version::OneCondvar, 2, 2, 1)),
    ("rwlock", || rwlock_mix::run(rwlock_mix::Version::InTwoParts, 2, 1)),
    ("treiber", || treiber::run(treiber::Version::Plain)),
    ("queue", || queue::run(queue::Version::LooksBeforeAnnouncing)),
    ("queue without lock", || queue::run(queue::Version::StealsWithoutLock)),
];

#[test]
fn seeded_bugs_show_at_the_same_bound() {
    for (name, program) in SEEDED {
        let failure = |reduction| {
            let report = Builder::new().max_bound(MAX_BOUND).reduction(reduction).explore(program);
            report.failure.map(|failure| (failure.bound, failure.kind))
        };
        let plain = failure(Reduction::None);
        println!("{name:20} {plain:?}");
        assert!(plain.is_some(), "{name}");
        assert_eq!(failure(Reduction::PartialOrder), plain, "{name}");
        assert_eq!(failure(Reduction::Visited), plain, "{name}");
    }
}

/// Searched at once, the last bound leads to the failure that is found bound by bound, and so do all executions.
#[test]
fn seeded_bugs_searched_at_once_are_the_same() {
    for (name, program) in SEEDED {
        let failure = |builder: Builder| {
            let report = builder.explore(program);
            report.failure.map(|failure| (failure.bound, failure.kind, failure.schedule.to_string()))
        };
        let by_bounds = failure(Builder::new().max_bound(MAX_BOUND));
        assert!(by_bounds.is_some(), "{name}");
        assert_eq!(failure(Builder::new().max_bound(MAX_BOUND).at_once(true)), by_bounds, "{name}");
        assert_eq!(failure(Builder::new().unbounded().at_once(true)), by_bounds, "{name}");
    }
}

/// The same of random programs, and those that pass have the same states.
#[test]
fn random_programs_searched_at_once_come_to_the_same() {
    let mut by_bound = [0_usize; MAX_BOUND as usize + 1];
    for seed in seeds::from_environment().unwrap_or(5_000_000..5_000_300) {
        let program = Arc::new(generate::program(seed));
        let explore = |bound: Option<u32>, at_once: bool| {
            let body = program.clone();
            let builder = Builder::new().max_steps(600).max_executions(20_000).at_once(at_once);
            let builder = bound.map_or(builder.clone().unbounded(), |bound| builder.max_bound(bound));
            let report = builder.explore(move || run(&body, std::mem::forget));
            // Too many executions to tell.
            (report.failure.is_some() || report.stopped.is_none()).then_some(report)
        };
        let found = |report: &Report| {
            let failure = report.failure.as_ref()?;
            Some((failure.bound, failure.schedule.to_string()))
        };
        let (Some(by_bounds), Some(at_once)) =
            (explore(Some(MAX_BOUND), false), explore(Some(MAX_BOUND), true))
        else {
            continue;
        };
        let expected = found(&by_bounds);
        assert_eq!(found(&at_once), expected, "{program}");
        match &expected {
            Some((bound, _)) => by_bound[*bound as usize] += 1,
            None => {
                let states = |report: &Report| report.bounds.last().map(|bound| (bound.bound, bound.states));
                assert_eq!(states(&at_once), states(&by_bounds), "{program}");
            }
        }
        for report in [explore(None, true), explore(None, false)].into_iter().flatten() {
            assert!(expected.is_none() || found(&report) == expected, "{program}");
        }
    }
    println!("failing at bound 0, 1, 2, 3: {by_bound:?}");
}

/// Two threads count in turns, and another may come in between, which takes a preemption more: four are needed, and beyond bound 2
/// a search without a last bound does not go by bounds.
#[test]
fn the_fewest_preemptions_are_found_without_a_bound() {
    let program = || {
        let count = ModelArc::new(AtomicUsize::new(0));
        let turns = |first: usize| {
            let count = count.clone();
            move || {
                for turn in (first..6).step_by(2) {
                    if count.load(SeqCst) == turn {
                        count.store(turn + 1, SeqCst);
                    }
                }
            }
        };
        let threads = [thread::spawn(turns(0)), thread::spawn(turns(1))];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(count.load(SeqCst) < 6, "all turns were taken");
    };
    let by_bounds = Builder::new().max_bound(5).explore(program);
    let expected = by_bounds.failure.map(|failure| (failure.bound, failure.schedule.to_string()));
    assert_eq!(expected.as_ref().map(|found| found.0), Some(4));
    for builder in [
        Builder::new().unbounded(),
        Builder::new().unbounded().at_once(true),
        Builder::new().unbounded().at_once(true).reduction(Reduction::None),
        Builder::new().max_bound(6).at_once(true),
    ] {
        let report = builder.explore(program);
        let found = report.failure.map(|failure| (failure.bound, failure.schedule.to_string()));
        assert_eq!(found.as_ref().map(|found| found.0), Some(4), "{builder:?}");
    }
    // That is not the one that comes first.
    let mut search = PartialOrder::new(None).unbounded_at_once();
    let first = Explorer::new(Options::default()).run(&mut search, &mut without_spurious(program));
    assert_eq!(first.failure.map(|failure| failure.bound), Some(5));
    // What holds is proved by the last bound alone.
    let report = Builder::new().max_bound(3).at_once(true).explore(program);
    assert!(report.complete && report.failure.is_none(), "{report:?}");
    assert_eq!(report.bounds.iter().map(|bound| bound.bound).collect::<Vec<u32>>(), [3]);
    let bound_3 = Builder::new().max_bound(3).explore(program).bounds.pop();
    let figures = |bound: Option<&BoundReport>| bound.map(|bound| (bound.executions, bound.states));
    assert_eq!(figures(report.bounds.last()), figures(bound_3.as_ref()));
}

/// The first failing bound; `Err`: there are too many executions to tell.
fn first(seed: u64, strategy: &mut dyn Strategy, max_executions: u64) -> Result<Option<u32>, ()> {
    let program = Arc::new(generate::program(seed));
    let settings = Settings { max_steps: 600, spurious: seed.is_multiple_of(2), ..Settings::default() };
    let body = move || run(&program, std::mem::forget);
    let limits = Limits { max_executions: Some(max_executions), max_duration: None };
    let options = Options { limits, check_determinism: false, count_states: false, ..Options::default() };
    let report: Report = Explorer::new(options).run(strategy, &mut coroutines(body, settings));
    match report.failure {
        Some(failure) => Ok(Some(failure.bound)),
        None if report.stopped.is_some() => Err(()),
        None => Ok(None),
    }
}

#[test]
fn random_failures_show_at_the_same_bound() {
    const FAILING: usize = 250;
    const MAX_EXECUTIONS: u64 = 3_000;
    let (mut by_bound, mut passing) = ([0_usize; MAX_BOUND as usize + 1], 0_u64);
    for seed in 1_000_000.. {
        if by_bound.iter().sum::<usize>() == FAILING {
            break;
        }
        let Ok(plain) = first(seed, &mut ContextBounded::new(Some(MAX_BOUND)), MAX_EXECUTIONS) else {
            continue;
        };
        match plain {
            Some(bound) => by_bound[bound as usize] += 1,
            // Of those that pass some are looked at too: nothing is invented.
            None if passing < 100 => passing += 1,
            None => continue,
        }
        let reduced = first(seed, &mut PartialOrder::new(Some(MAX_BOUND)), 20 * MAX_EXECUTIONS);
        assert_eq!(reduced, Ok(plain), "{}", generate::program(seed));
    }
    println!("failing at bound 0, 1, 2, 3: {by_bound:?}; passing: {passing}");
}

/// Random abstract programs all of whose failures need preemptions; the bound is that of a brute-force enumeration.
#[test]
fn random_failures_that_need_preemptions_show_at_the_same_bound() {
    const FAILING: usize = 250;
    let mut by_bound = [0_usize; MAX_BOUND as usize + 1];
    for seed in 3_000_000.. {
        if by_bound.iter().sum::<usize>() == FAILING {
            break;
        }
        let case = random::case(seed);
        for (points, answers) in
            [(Points::SyncOnly, &case.sync_only), (Points::EveryAccess, &case.every_access)]
        {
            let Some(expected @ 1..) = answers.first_failing_bound() else { continue };
            let strategies: [&mut dyn Strategy; 2] =
                [&mut PartialOrder::new(Some(MAX_BOUND)), &mut Visited::new(Some(MAX_BOUND))];
            for strategy in strategies {
                let options = Options { check_determinism: false, ..Options::default() };
                let mut subject = AbstractProgram::new(&case.program, points);
                let report = Explorer::new(options).run(strategy, &mut subject);
                let found = report.failure.map(|failure| failure.bound as usize);
                assert_eq!(found, Some(expected), "{points:?}: {}", case.program);
            }
            by_bound[expected] += 1;
            break;
        }
    }
    println!("failing at bound 1, 2, 3: {:?}", &by_bound[1..]);
}

/// Two threads take turns; the plain search never comes to an end in so few bounds.
#[test]
fn a_search_stops_where_no_bound_has_cut_anything() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let program = || {
        RUNS.fetch_add(1, Ordering::Relaxed);
        counter::run(counter::Version::Mutex, 2, 2);
    };
    let report = Builder::new().unbounded().explore(program);
    assert!(report.exhausted() && report.complete && report.failure.is_none(), "{report:?}");
    let last = report.bounds.iter().filter(|bound| bound.executions > 0).map(|bound| bound.bound).max();
    assert_eq!(last, Some(2), "no execution needs a third preemption: {report:?}");
    assert!(RUNS.load(Ordering::Relaxed) < 30);
    // With a last bound that is too low it says that it has not seen everything.
    let report = Builder::new().max_bound(1).explore(|| counter::run(counter::Version::Mutex, 2, 2));
    assert!(report.complete && !report.exhausted(), "{report:?}");
    // And one that is as high as need be.
    let report = Builder::new().max_bound(2).explore(|| counter::run(counter::Version::Mutex, 2, 2));
    assert!(report.complete && report.exhausted(), "{report:?}");
    let mut visited = Visited::new(None);
    let mut subject = without_spurious(|| counter::run(counter::Version::Mutex, 2, 2));
    let report = Explorer::new(Options::default()).run(&mut visited, &mut subject);
    assert!(report.exhausted(), "{report:?}");
}
