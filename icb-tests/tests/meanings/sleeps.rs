//! Where time passes only when nobody can go on, the default reduction loses no outcome of random programs that sleep, compared with every execution.

use icb_std::model::{Builder, Reduction};
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::sync::{Arc, Condvar, Mutex};
use icb_std::thread;
use icb_std::time::Instant;
use icb_tests::abstract_program::random::Random;
use std::collections::BTreeSet;
use std::time::Duration;

#[derive(Clone, Copy, Debug)]
enum Word {
    Sleep(u64),
    Load,
    Store(usize),
    Add,
    Lock,
    WaitTimeout(u64),
    Notify,
    Park(u64),
    Now,
}

/// Programs of two or three threads; half of them only sleep, and use variables and a lock.
fn program(seed: u64) -> Vec<Vec<Word>> {
    let mut random = Random::new(seed);
    let thread_count = 2 + random.below(2);
    let kinds = random.pick(&[9, 13]);
    let mut word = || match random.below(kinds) {
        0..=3 => Word::Sleep(random.pick(&[1, 2, 3])),
        4 => Word::Load,
        5 | 6 => Word::Store(1 + random.below(3)),
        7 => Word::Add,
        8 => Word::Lock,
        9 => Word::WaitTimeout(random.pick(&[1, 2])),
        10 => Word::Notify,
        11 => Word::Park(random.pick(&[1, 2])),
        _ => Word::Now,
    };
    (0..thread_count).map(|_| (0..3).map(|_| word()).collect()).collect()
}

/// What its threads see, in each execution; `None` if there are too many.
fn outcomes(program: &[Vec<Word>], reduction: Reduction, bound: u32) -> Option<BTreeSet<Vec<usize>>> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (into, program) = (seen.clone(), program.to_vec());
    let builder = Builder::new().max_bound(bound).spurious(false).auto_advance(true).reduction(reduction);
    let report = builder.max_executions(3_000).explore(move || {
        let shared = Arc::new((AtomicUsize::new(0), Mutex::new(0), Condvar::new()));
        let run = |(me, words): (usize, &Vec<Word>)| {
            let (words, shared) = (words.clone(), shared.clone());
            thread::spawn(move || {
                let (variable, lock, condvar) = &*shared;
                let begin = Instant::now();
                let mut log = Vec::new();
                for word in words {
                    match word {
                        Word::Sleep(count) => thread::sleep(Duration::from_millis(count)),
                        Word::Load => log.push(variable.load(SeqCst)),
                        Word::Store(value) => variable.store(value * 10 + me, SeqCst),
                        Word::Add => log.push(variable.fetch_add(100, SeqCst)),
                        Word::Lock => {
                            let mut guarded = lock.lock().unwrap();
                            *guarded = *guarded * 3 + me + 1;
                            log.push(*guarded);
                        }
                        Word::WaitTimeout(count) => {
                            let guarded = lock.lock().unwrap();
                            let (guarded, result) =
                                condvar.wait_timeout(guarded, Duration::from_millis(count)).unwrap();
                            log.push(*guarded * 2 + usize::from(result.timed_out()));
                        }
                        Word::Notify => condvar.notify_one(),
                        Word::Park(count) => thread::park_timeout(Duration::from_millis(count)),
                        Word::Now => log.push(begin.elapsed().as_millis() as usize),
                    }
                }
                log
            })
        };
        let threads: Vec<_> = program.iter().enumerate().map(run).collect();
        let mut outcome = Vec::new();
        for thread in threads {
            outcome.extend(thread.join().unwrap());
            outcome.push(usize::MAX);
        }
        outcome.extend([shared.0.load(SeqCst), *shared.1.lock().unwrap()]);
        into.lock().unwrap().insert(outcome);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
    let seen = seen.lock().unwrap().clone();
    report.complete.then_some(seen)
}

#[test]
fn random_programs_that_sleep_keep_their_outcomes() {
    let mut compared = 0;
    for seed in 0..60 {
        let program = program(seed);
        for bound in 0..3 {
            let Some(all) = outcomes(&program, Reduction::None, bound) else { break };
            let reduced = outcomes(&program, Reduction::PartialOrder, bound);
            assert_eq!(reduced, Some(all), "seed {seed}, bound {bound}: {program:?}");
            compared += 1;
        }
    }
    assert!(compared >= 100, "{compared}");
}

/// Who sleeps makes no difference to who sleeps as well.
#[test]
fn threads_that_only_sleep_have_one_execution() {
    let builder = Builder::new().auto_advance(true).max_bound(2).reduction(Reduction::PartialOrder);
    let report = builder.explore(|| {
        let sleeper = || thread::spawn(|| (0..3).for_each(|_| thread::sleep(Duration::from_millis(1))));
        let sleepers: Vec<_> = (0..4).map(|_| sleeper()).collect();
        sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
    });
    assert_eq!((report.complete, report.execution_count()), (true, 1));
}
