//! Steps of which nothing can come are written down and not analysed (`reduction/partial_order/coast.rs`). That changes nothing
//! but the time: with and without it the same executions are run, in the same order.
//!
//! The long run: `ICB_SEEDS=0..20000 cargo test --release -p icb-tests --test coasting -- --nocapture`.

use icb_core::program::{Program, Strategy};
use icb_core::reduction::PartialOrder;
use icb_core::runtime::Settings;
use icb_tests::random_real::compare::{MANNERS, WEAK_MANNERS};
use icb_tests::random_real::generate;
use icb_tests::random_real::search::Manner;
use icb_tests::random_real::walk::run;
use icb_tests::searches::coroutines;
use icb_tests::seeds;
use icb_tests::watched::Slot;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Programs of every run.
const SEEDS: Range<u64> = 0..400;
const MAX_BOUND: u32 = 3;
/// Of each search so many executions are compared.
const MAX_EXECUTIONS: usize = 4_000;
const MAX_STEPS: u64 = 600;

/// An execution: its bound, its steps, its terminal state, how it ended.
type Run = (u32, u64, u128, String);

fn runs(seed: u64, manner: Manner, search: &mut PartialOrder) -> Vec<Run> {
    let settings = Settings {
        granularity: manner.granularity,
        spurious: manner.spurious,
        weak_memory: manner.weak_memory,
        unwind_failed: true,
        max_steps: MAX_STEPS,
        ..Settings::default()
    };
    let kept = Slot::default();
    let (random, keep) = (Arc::new(generate::program(seed)), kept.clone());
    let body = move || {
        run(&random, |shared| {
            keep.put(shared);
        });
    };
    let mut program = coroutines(body, settings);
    let mut runs = Vec::new();
    loop {
        while search.begin() {
            let outcome = program.run(search.chooser(), None);
            search.end(&outcome);
            drop(kept.take());
            // A failure names threads and places in maps whose order is no part of it.
            let end = std::mem::discriminant(&outcome.end);
            runs.push((search.bound(), outcome.step_count, outcome.fingerprint, format!("{end:?}")));
            if runs.len() == MAX_EXECUTIONS {
                return runs;
            }
        }
        if !search.advance() {
            return runs;
        }
    }
}

#[test]
fn coasting_changes_nothing_but_the_time() {
    let [compared, coasted, landed] = [const { AtomicU64::new(0) }; 3];
    seeds::for_each(seeds::from_environment().unwrap_or(SEEDS), |seed| {
        for manner in MANNERS.into_iter().chain(WEAK_MANNERS) {
            let mut coasting = PartialOrder::new(Some(MAX_BOUND));
            let mut plain = PartialOrder::new(Some(MAX_BOUND)).without_coasting();
            let found = runs(seed, manner, &mut coasting);
            let expected = runs(seed, manner, &mut plain);
            let differs = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            if let Some(at) = differs.or((found.len() != expected.len()).then_some(found.len().min(expected.len()))) {
                panic!(
                    "seed {seed}, {manner:?}: execution {at} is {:?} instead of {:?}\n{}",
                    found.get(at),
                    expected.get(at),
                    generate::program(seed)
                );
            }
            let (steps, landings) = coasting.coasted();
            compared.fetch_add(found.len() as u64, Ordering::Relaxed);
            coasted.fetch_add(steps, Ordering::Relaxed);
            landed.fetch_add(landings, Ordering::Relaxed);
            assert_eq!(plain.coasted(), (0, 0));
        }
    });
    println!("{compared:?} executions compared, {coasted:?} steps coasted, {landed:?} landings");
    assert!(coasted.into_inner() > compared.into_inner() / 10, "too little was coasted");
    assert!(landed.into_inner() > 100 || seeds::from_environment().is_some(), "there were too few landings");
}
