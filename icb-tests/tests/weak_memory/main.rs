//! Stale values of atomic variables: litmus tests, a comparison with an independent checker of C++20's axioms, and the partial-order
//! reduction against the plain search.
//!
//! The long run: `ICB_SEEDS=0..20000 cargo test --release -p icb-tests --test weak_memory -- --nocapture random`.

mod algorithms;
mod litmus;

use icb_core::program::Strategy;
use icb_core::search::{ContextBounded, DepthFirst};
use icb_tests::searches::reduced;
use icb_tests::seeds;
use icb_tests::weak::language::Program;
use icb_tests::weak::real::{Level, search};
use icb_tests::weak::{axioms, random};
use std::sync::Mutex;

/// Searches that would run more executions are left out.
const MAX_EXECUTIONS: u64 = 20_000;
const MAX_BOUND: u32 = 3;

fn last(program: &Program, strategy: &mut dyn Strategy) -> Option<Level> {
    search(program, true, strategy, MAX_EXECUTIONS).pop()
}

/// Random programs have exactly the outcomes that the axioms allow.
#[test]
fn random_programs_have_the_outcomes_that_the_axioms_allow() {
    let counts = Mutex::new((0u64, 0u64, 0u64, 0u64));
    seeds::for_each(seeds::from_environment().unwrap_or(0..400), |seed| {
        let program = random::program(seed, 5 + (seed % 4) as usize);
        let Some(found) = last(&program, &mut reduced(None)) else { return };
        let allowed = axioms::outcomes(&program);
        let interleaved = search(&program, false, &mut DepthFirst::new(), MAX_EXECUTIONS).pop();
        let is_weak = interleaved.is_some_and(|level| level.outcomes != allowed);
        let invented = found.outcomes.difference(&allowed).next();
        let missing = allowed.difference(&found.outcomes).next();
        assert!(
            invented.is_none() && missing.is_none(),
            "seed {seed}: invented {invented:?}, missing {missing:?}\n{program:?}"
        );
        let mut counts = counts.lock().unwrap();
        counts.0 += 1;
        counts.1 += u64::from(is_weak);
        counts.2 += allowed.len() as u64;
        counts.3 += found.execution_count;
    });
    let (programs, weak, outcomes, executions) = counts.into_inner().unwrap();
    println!(
        "{programs} programs, {weak} with outcomes that only weak memory allows, {outcomes} outcomes, {executions} executions"
    );
    assert!(programs > 0 && weak * 40 > programs, "there is little to find");
}

/// The partial-order reduction loses nothing, at each bound and without one.
#[test]
fn random_programs_lose_nothing_to_the_reduction() {
    let counts = Mutex::new((0u64, 0u64, 0u64));
    seeds::for_each(seeds::from_environment().unwrap_or(0..100), |seed| {
        let program = random::program(seed ^ 0x5555_0000, 3 + (seed % 4) as usize);
        let bounded = search(&program, true, &mut ContextBounded::new(Some(MAX_BOUND)), MAX_EXECUTIONS);
        let all = search(&program, true, &mut DepthFirst::new(), MAX_EXECUTIONS);
        let bounded = bounded.iter().enumerate().map(|(bound, level)| (Some(bound as u32), level));
        for (bound, plain) in bounded.chain(all.iter().map(|level| (None, level))) {
            let found = last(&program, &mut reduced(bound)).expect("it runs fewer executions");
            assert!(
                found.outcomes == plain.outcomes && found.states == plain.states,
                "seed {seed}, bound {bound:?}: {} of {} outcomes, {} of {} states\n{program:?}",
                found.outcomes.len(),
                plain.outcomes.len(),
                found.states.len(),
                plain.states.len()
            );
            let mut counts = counts.lock().unwrap();
            counts.0 += 1;
            counts.1 += plain.execution_count;
            counts.2 += found.execution_count;
        }
    });
    let (searches, plain, reduced) = counts.into_inner().unwrap();
    println!("{searches} searches, {plain} executions, {reduced} reduced");
    assert!(searches > 0 && reduced < plain);
}
