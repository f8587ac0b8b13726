//! What a program can come to with the mirrored objects is what an enumeration of all its states comes to, no more and no less: channels of all
//! kinds, park tokens, barriers, read-write locks, condition variables with timeouts, one-time initialisation, threads that are joined, asked whether they have
//! ended, and left alone. The enumeration is written after the documentation of `std` and shares nothing with the engine.
//!
//! The long run: `ICB_SEEDS=0..50 cargo test --release -p icb-tests --test enumeration`, and so on with other seeds (a process has room for
//! the stacks of so many deadlocks only).

mod enumerated;
mod language;
mod mirrored;

use icb_std::model::{Builder, Reduction};
use icb_tests::seeds;
use language::{Draw, Program};
use mirrored::Telling;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What each thread has been told, one thing after another.
type Told = Vec<Vec<u8>>;

/// Programs with more executions than this are passed over.
const MAX_EXECUTIONS: u64 = 3_000;

/// Everything that the executions of a program come to; with at most so many preemptions, if there is a bound. `None`: there are too many.
fn explored(program: &Program, reduction: Reduction, bound: Option<u32>) -> Option<BTreeSet<Told>> {
    let told: Telling = Arc::new(Mutex::new((Told::new(), BTreeSet::new())));
    let builder = Builder::new().reduction(reduction).spurious(false).keep_going(true);
    let builder = match bound {
        Some(bound) => builder.max_bound(bound),
        None => builder.unbounded(),
    };
    let report = builder.max_executions(MAX_EXECUTIONS).explore({
        let (program, told) = (program.clone(), told.clone());
        move || {
            {
                // An execution that ends in a deadlock does not come to its end.
                let (now, all) = &mut *told.lock().unwrap();
                let before = std::mem::replace(now, vec![Vec::new(); program.threads.len()]);
                all.extend((!before.is_empty()).then_some(before));
            }
            mirrored::run(&program, &told);
        }
    });
    let executions: u64 = report.bounds.iter().map(|bound| bound.executions).sum();
    let (last, mut all) = std::mem::take(&mut *told.lock().unwrap());
    all.insert(last);
    (executions < MAX_EXECUTIONS).then_some(all)
}

/// Compares random programs made of what is drawn, within each of these bounds.
fn compare(draws: &[Draw], bounds: &[Option<u32>]) {
    let compared = Mutex::new(0);
    seeds::for_each(seeds::from_environment().unwrap_or(0..40), |seed| {
        let program = language::generate(seed, draws);
        for &bound in bounds {
            let Some(expected) = enumerated::outcomes(&program, bound) else { return };
            for reduction in [Reduction::None, Reduction::PartialOrder] {
                let Some(found) = explored(&program, reduction, bound) else { return };
                let missing: Vec<_> = expected.difference(&found).collect();
                let extra: Vec<_> = found.difference(&expected).collect();
                assert!(
                    missing.is_empty() && extra.is_empty(),
                    "{reduction:?}, bound {bound:?}, seed {seed}: {program:?}\nnever: {missing:?}\nshould not be: {extra:?}"
                );
                *compared.lock().unwrap() += 1;
            }
        }
    });
    let compared = *compared.lock().unwrap();
    assert!(compared >= 20, "only {compared} were compared");
}

/// Bounds at which the preemptions of the enumeration are those of the tester: what goes on early has a cost that it knows nothing of.
const BOUNDS: &[Option<u32>] = &[Some(0), Some(1), Some(2), Some(3), None];

/// A test for each table of what is drawn.
macro_rules! tables {
    ($($name:ident $bounds:ident: $($draw:ident)*;)*) => { $(
        #[test]
        fn $name() {
            compare(&[$(Draw::$draw),*], $bounds);
        }
    )* };
}

/// Without a bound.
const ALL: &[Option<u32>] = &[None];

tables! {
    channels BOUNDS: Transfer Transfer Transfer TryTransfer DropEnd Lock Store Store Load Load;
    channels_with_timeouts ALL: Transfer Transfer TryTransfer ReceiveTimeout ReceiveTimeout DropEnd Store Load IsFinished Initialise;
    park_tokens BOUNDS: Park Park Unpark Unpark Unpark Lock Store Store Load Load;
    park_tokens_with_timeouts ALL: Park ParkTimeout ParkTimeout Unpark Unpark Unpark Lock Store Load IsFinished;
    park_tokens_and_channels BOUNDS: Transfer Transfer Transfer TryTransfer Park Unpark Unpark Store Store Load;
    condition_variables BOUNDS: Lock Lock Lock Wait Wait Wait NotifyOne NotifyAll Store Load;
    condition_variables_with_timeouts ALL: Lock Lock Lock Wait Wait WaitTimeout WaitTimeout NotifyOne NotifyAll Store Load;
    initialisation BOUNDS: Initialise Initialise Set Get Get Get Store Store Load Lock;
    read_write_locks BOUNDS: Read Read TryRead TryRead Write Write TryWrite Release Release Store Load;
    all_sorts ALL: Transfer TryTransfer ReceiveTimeout Lock Lock Wait WaitTimeout NotifyOne IsFinished Initialise Set Get Store Load;
}
