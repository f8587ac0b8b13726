//! Partial-order reduction loses nothing on random programs of real threads and objects: at each bound, and without
//! one, the same outcomes and terminal states as the plain search, at either granularity, with spurious wake-ups and
//! without.
//!
//! The long run: `ICB_SEEDS=0..20000 cargo test --release -p icb-tests --test reduction_campaign -- --nocapture`.

use icb_core::reduction::PartialOrder;
use icb_tests::random_real::compare::{Difference, MANNERS, Tally, compare, shrink};
use icb_tests::random_real::generate;
use icb_tests::random_real::language::Program;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs of every run.
const SEEDS: Range<u64> = 0..600;
const MAX_BOUND: u32 = 3;
/// Bounds whose plain search would run more executions are left out.
const MAX_EXECUTIONS: u64 = 1_500;

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("ICB_SEEDS") else { return SEEDS };
    let (first, end) = text.split_once("..").expect("ICB_SEEDS is a range, for example 0..100");
    first.parse().expect("a number")..end.parse().expect("a number")
}

/// Runs `check` on every seed, on all processors.
fn for_each_seed(seeds: Range<u64>, check: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    check(seed);
                }
            });
        }
    });
}

fn reduced(bound: Option<u32>) -> PartialOrder {
    match bound {
        Some(bound) => PartialOrder::new(Some(bound)).from_bound(bound),
        None => PartialOrder::new(None).unbounded_at_once(),
    }
}

fn check(program: &Program, bounds: Option<u32>) -> Result<Tally, Difference> {
    let mut tally = Tally::default();
    for manner in MANNERS {
        tally += compare(program, manner, bounds, MAX_EXECUTIONS, &reduced)?;
    }
    Ok(tally)
}

fn campaign(bounds: Option<u32>) {
    let total = Mutex::new(Tally::default());
    let differences = AtomicU64::new(0);
    for_each_seed(seeds(), |seed| {
        let program = generate::program(seed);
        match check(&program, bounds) {
            Ok(tally) => *total.lock().expect("no panics here") += tally,
            Err(difference) => {
                differences.fetch_add(1, Ordering::Relaxed);
                let smallest = shrink(&program, &|program| check(program, bounds).is_err());
                let difference = check(&smallest, bounds).err().unwrap_or(difference);
                println!("{difference:?}\n{smallest}");
            }
        }
    });
    println!("{:?}", total.into_inner().expect("no panics here"));
    assert_eq!(differences.into_inner(), 0, "programs on which the searches differ");
}

#[test]
fn random_programs_keep_their_outcomes_at_each_bound() {
    campaign(Some(MAX_BOUND));
}

#[test]
fn random_programs_keep_their_outcomes_without_a_bound() {
    campaign(None);
}
