//! A search that is cut up into work items loses nothing, however often it is cut: as many terminal states at each bound, and
//! without one, as the brute-force graph of all happens-before states has.

use icb_core::explore::Explorer;
use icb_core::program::Strategy;
use icb_core::reduction::{Doing, Done, Item, PartialOrder, SplitSearch};
use icb_core::runtime::Settings;
use icb_tests::abstract_program::as_program::AbstractProgram;
use icb_tests::abstract_program::dense;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::Program;
use icb_tests::abstract_program::state_graph::StateGraph;
use icb_tests::programs::{baselines::*, bluetooth, prodcons};
use icb_tests::searches::{coroutines, every_execution, reduced, run_count};
use icb_tests::seeds;
use std::collections::HashSet;
use std::sync::Mutex;

const MAX_BOUND: u32 = 3;
const MAX_STATES: usize = 6_000;
const BUDGETS: [u64; 4] = [1, 2, 7, 40];

fn search(strategy: &mut dyn Strategy, program: &Program) -> (u64, u64) {
    let mut subject = AbstractProgram::new(program, Granularity::SyncOnly);
    let report = Explorer::new(every_execution(None)).run(strategy, &mut subject);
    assert!(report.stopped.is_none(), "{program}");
    (run_count(&report), report.bounds.last().map_or(0, |bound| bound.states))
}

#[test]
fn dense_random_programs_keep_their_terminal_states() {
    let totals = Mutex::new([0u64; BUDGETS.len() + 1]);
    let lost = Mutex::new(Vec::new());
    seeds::for_each(seeds::from_environment().unwrap_or(0..100), |seed| {
        let program = dense::program(seed);
        let Some(graph) = StateGraph::build(&program, Granularity::SyncOnly, None, MAX_STATES) else {
            return;
        };
        for bound in (0..=MAX_BOUND).map(Some).chain([None]) {
            let expected = graph.terminal_count(bound.map_or(usize::MAX, |bound| bound as usize)) as u64;
            let (whole, _) = search(&mut reduced(bound), &program);
            let mut runs = vec![whole];
            for budget in BUDGETS {
                let (count, states) = search(
                    &mut SplitSearch::of_items(Doing::new(reduced(bound)).max_executions(budget)),
                    &program,
                );
                if states != expected {
                    lost.lock().unwrap().push(format!(
                        "{states} of {expected} at bound {bound:?}, budget {budget}, seed {seed}"
                    ));
                }
                runs.push(count);
            }
            totals.lock().unwrap().iter_mut().zip(runs).for_each(|(t, r)| *t += r);
        }
    });
    let totals = totals.into_inner().unwrap();
    println!("runs {totals:?}");
    assert!(totals[0] > 5_000 || seeds::from_environment().is_some(), "too little was searched");
    let lost = lost.into_inner().unwrap();
    assert!(lost.is_empty(), "{} {:?}", lost.len(), lost.first());
}

/// Does an item, by another search after each execution.
fn run_in_pieces(
    order: &dyn Fn() -> PartialOrder,
    budget: u64,
    item: &Item,
    program: &mut AbstractProgram,
) -> Done {
    let mut doing = Doing::new(order()).max_executions(budget);
    let mut done = doing.enter(item.clone());
    loop {
        if doing.can_be_saved() {
            let begun = doing.save(&done);
            doing = Doing::new(order()).max_executions(budget);
            let bound = doing.search().bound();
            doing.search_mut().join(bound);
            done = doing.enter(item.clone().begun(begun.into()));
        }
        if let Some(remains) = doing.prepare() {
            done.remains = remains;
            done.cut = doing.search_mut().take_cut();
            return done;
        }
        let outcome = icb_core::program::Program::run(program, doing.chooser(), None);
        doing.end(&outcome);
        done.figures.note(&outcome);
    }
}

#[test]
fn an_item_can_be_gone_on_with_after_each_of_its_executions() {
    let counts = Mutex::new([0u64; 2]);
    seeds::for_each(seeds::from_environment().unwrap_or(0..60), |seed| {
        let program = dense::program(seed);
        for (bound, budget) in [(Some(1), 7), (Some(2), 40), (Some(3), 300), (None, 7), (None, 300)] {
            let order = || reduced(bound);
            let mut subject = AbstractProgram::new(&program, Granularity::SyncOnly);
            let (mut waiting, mut found) = (vec![Item::root()], HashSet::new());
            while let Some(item) = waiting.pop().filter(|_| found.len() < 300) {
                let mut doing = Doing::new(order()).max_executions(budget);
                let whole = doing.run(item.clone(), &mut subject, &mut |_| {});
                // What an item comes to is not known where it fails.
                let Some(whole) = whole else { break };
                let pieces = run_in_pieces(&order, budget, &item, &mut subject);
                let encoded = [&whole, &pieces].map(|done| {
                    let mut bytes = Vec::new();
                    done.encode(&mut bytes);
                    bytes
                });
                assert_eq!(
                    encoded[0], encoded[1],
                    "seed {seed}, bound {bound:?}, budget {budget}, {item:?}: {program}"
                );
                let mut counts = counts.lock().unwrap();
                *counts = [counts[0] + 1, counts[1] + whole.figures.trail.len() as u64];
                waiting.extend(item.next(&whole.remains));
                waiting.extend(item.extras(&whole.remains));
                waiting.extend(item.parts(&whole.remains));
                waiting.retain(|item| !found.contains(&item.key()));
                found.insert(item.key());
            }
        }
    });
    let counts = counts.into_inner().unwrap();
    println!("{} items, {} executions", counts[0], counts[1]);
    assert!(counts[0] > 1_000 && counts[1] > 20_000, "{counts:?}");
}

/// Places for one message each, handed on by two numbers and a stamp, after the bounded channel of crossbeam; who finds none, or nothing, waits in a
/// loop with longer and longer pauses.
mod stamped {
    use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use icb_std::{hint, thread};
    use std::sync::Arc;

    #[derive(Default)]
    struct Place {
        head: AtomicUsize,
        tail: AtomicUsize,
        stamp: AtomicUsize,
    }

    #[derive(Default)]
    struct Backoff(u32);

    impl Backoff {
        fn pause(&mut self) {
            match self.0 {
                0..=6 => (0..1 << self.0).for_each(|_| hint::spin_loop()),
                _ => thread::yield_now(),
            }
            self.0 = (self.0 + 1).min(11);
        }
    }

    const LAP: usize = 2;

    impl Place {
        /// Takes a turn of `mine`, if the stamp is `ahead` of it; unless `other` shows that there is none.
        fn take(&self, mine: &AtomicUsize, ahead: usize, none: impl Fn(usize) -> bool) -> bool {
            let mut backoff = Backoff::default();
            let mut turn = mine.load(SeqCst);
            loop {
                let stamp = self.stamp.load(SeqCst);
                if stamp == turn + ahead {
                    match mine.compare_exchange(turn, turn + LAP, SeqCst, SeqCst) {
                        Ok(_) => {
                            self.stamp.store(if ahead == 0 { turn + 1 } else { turn + LAP }, SeqCst);
                            return true;
                        }
                        Err(newer) => turn = newer,
                    }
                } else if none(turn) {
                    return false;
                } else {
                    turn = mine.load(SeqCst);
                }
                backoff.pause();
            }
        }

        fn send(&self) {
            let mut backoff = Backoff::default();
            while !self.take(&self.tail, 0, |turn| self.head.load(SeqCst) + LAP == turn) {
                backoff.pause();
            }
        }

        fn receive(&self) {
            let mut backoff = Backoff::default();
            while !self.take(&self.head, 1, |turn| self.tail.load(SeqCst) == turn) {
                backoff.pause();
            }
        }
    }

    /// Two senders, the first of two messages and the second of one, and a receiver.
    pub(crate) fn run() {
        let place = Arc::new(Place::default());
        let (first, second) = (place.clone(), place.clone());
        let senders =
            [thread::spawn(move || (0..2).for_each(|_| first.send())), thread::spawn(move || second.send())];
        (0..3).for_each(|_| place.receive());
        senders.into_iter().for_each(|sender| sender.join().unwrap());
    }
}

#[test]
fn cutting_up_costs_few_executions() {
    let run = |strategy: &mut dyn Strategy| {
        let mut program = coroutines(stamped::run, Settings::default());
        let report = Explorer::new(every_execution(None)).run(strategy, &mut program);
        assert!(report.stopped.is_none(), "{report:?}");
        (run_count(&report), report.bounds.last().map_or(0, |bound| bound.states))
    };
    let (whole, states) = run(&mut reduced(Some(1)));
    let mut split = SplitSearch::new(reduced(Some(1)));
    let (parts, same) = run(&mut split);
    println!("{whole} executions, {parts} in {} items, {states} states", split.committed());
    assert_eq!(same, states);
    assert!(whole > 5_000 && split.committed() > 50, "it is cut up");
    assert!(parts <= whole + whole / 30, "{parts} executions instead of {whole}");
}

#[test]
#[ignore = "a table"]
fn overhead() {
    type Case = (&'static str, fn(), Option<u32>);
    let cases: [Case; 13] = [
        ("counter_racy(3,2)", || counter_racy(3, 2), Some(3)),
        ("counter_racy(3,3)", || counter_racy(3, 3), Some(3)),
        ("counter_racy(4,2)", || counter_racy(4, 2), Some(3)),
        ("mutex_counter(4,3)", || mutex_counter(4, 3), Some(3)),
        ("prodcons(2,2,1)", || prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1), Some(3)),
        ("prodcons(2,2,1)", || prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1), Some(4)),
        ("treiber(3)", || treiber(3), Some(4)),
        ("treiber(4)", || treiber(4), Some(3)),
        ("wsq(3)", || wsq(3), Some(5)),
        ("rwlock_mix(3,2)", || rwlock_mix(3, 2), Some(4)),
        ("bluetooth(3)", || bluetooth::run(bluetooth::Version::Fixed, 3), Some(3)),
        ("dining_ok(4)", || dining_ok(4), Some(4)),
        ("counter_racy(3,2)", || counter_racy(3, 2), None),
    ];
    for (name, f, bound) in cases {
        let mut line = format!("{name:20} {bound:?}");
        for budget in [u64::MAX, 8, 64, 256, 1024, 4096] {
            let mut split = SplitSearch::of_items(Doing::new(reduced(bound)).max_executions(budget));
            let mut program = coroutines(f, Settings::default());
            let report = Explorer::new(every_execution(None)).run(&mut split, &mut program);
            let last = report.bounds.last().unwrap();
            line += &format!(
                " | {} +{} {} i{} {:.2}s",
                last.executions,
                last.given_up,
                last.states,
                split.committed(),
                last.seconds
            );
        }
        println!("{line}");
    }
}

#[test]
#[ignore = "a table: cargo test --release -p icb-tests --test split_search -- --ignored --nocapture balance"]
fn balance() {
    use icb_core::trace::{Ownership, Shard};
    type Case = (&'static str, fn(), u32);
    let cases: [Case; 6] = [
        ("counter_racy(4,2)", || counter_racy(4, 2), 4),
        ("prodcons(2,2,1)", || prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1), 4),
        ("prodcons(2,2,1)", || prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1), 5),
        ("mutex_counter(4,3)", || mutex_counter(4, 3), 4),
        ("treiber(4)", || treiber(4), 4),
        ("bluetooth(3)", || bluetooth::run(bluetooth::Version::Fixed, 3), 5),
    ];
    for (name, f, bound) in cases {
        let run = |shard: &str| {
            let mut split = SplitSearch::new(reduced(Some(bound))).shard(shard.parse::<Shard>().unwrap());
            let mut program = coroutines(f, Settings::default());
            let report = Explorer::new(every_execution(None)).run(&mut split, &mut program);
            (run_count(&report), split.shard_part().unwrap())
        };
        let (whole, _) = run("1/1");
        for n in [4, 16] {
            let mut totals = Vec::new();
            let mut pieces = std::collections::BTreeMap::new();
            let (mut plan, mut extra, mut count) = (0, 0, 0);
            for k in 1..=n {
                let (runs, part) = run(&format!("{k}/{n}"));
                totals.push(runs);
                count = part.share_count;
                plan = part
                    .pieces
                    .iter()
                    .filter(|p| p.of == Ownership::Plan)
                    .map(|p| p.executions + p.given_up)
                    .sum::<u64>();
                extra += part
                    .pieces
                    .iter()
                    .filter(|p| p.of == Ownership::Extra)
                    .map(|p| p.executions + p.given_up)
                    .sum::<u64>();
                for piece in part.pieces {
                    pieces.insert(piece.key, piece.executions + piece.given_up);
                }
            }
            let sum: u64 = pieces.values().sum();
            let mean = totals.iter().sum::<u64>() as f64 / f64::from(n);
            let max = *totals.iter().max().unwrap() as f64;
            println!(
                "{name:20} bound {bound} n {n:2}: whole {whole} union {sum} plan {plan} extras {extra} shares {count} max/mean {:.2} speedup {:.1}",
                max / mean,
                whole as f64 / max
            );
            assert!(max / mean <= 1.25, "the largest shard is more than a quarter larger than the mean");
        }
    }
}
