//! Litmus tests: of each the outcomes that C++20 allows, exactly, and the bound at which the one that only weak memory allows shows first.

use icb_core::search::ContextBounded;
use icb_tests::weak::axioms;
use icb_tests::weak::language::Instruction::{self, Add, Exchange, Fence, Load, Store};
use icb_tests::weak::language::{Outcome, Program};
use icb_tests::weak::real::search;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

const X: usize = 0;
const Y: usize = 1;

/// A test: its name, its program, what it asks of what the threads have read and what is left, and the bound at which an execution
/// with that shows first; `None`: there is none.
type Litmus = (&'static str, Vec<Vec<Instruction>>, fn(&Outcome) -> bool, Option<u32>);

fn store_buffering(store: Ordering, load: Ordering, fences: [Option<Ordering>; 2]) -> Vec<Vec<Instruction>> {
    let thread = |mine, other, fence: Option<Ordering>| {
        let fence = fence.map(Fence);
        [Some(Store(mine, 1, store)), fence, Some(Load(other, load))].into_iter().flatten().collect()
    };
    vec![thread(X, Y, fences[0]), thread(Y, X, fences[1])]
}

fn message_passing(store: Ordering, load: Ordering, fences: [Option<Ordering>; 2]) -> Vec<Vec<Instruction>> {
    let writer = [Some(Store(X, 1, Relaxed)), fences[0].map(Fence), Some(Store(Y, 1, store))];
    let reader = [Some(Load(Y, load)), fences[1].map(Fence), Some(Load(X, Relaxed))];
    vec![writer.into_iter().flatten().collect(), reader.into_iter().flatten().collect()]
}

fn independent_reads(store: Ordering, load: Ordering) -> Vec<Vec<Instruction>> {
    let reader = |first, second| vec![Load(first, load), Load(second, load)];
    vec![vec![Store(X, 1, store)], vec![Store(Y, 1, store)], reader(X, Y), reader(Y, X)]
}

fn write_to_read(store: Ordering, load: Ordering) -> Vec<Vec<Instruction>> {
    vec![
        vec![Store(X, 1, Relaxed)],
        vec![Load(X, load), Store(Y, 1, store)],
        vec![Load(Y, load), Load(X, Relaxed)],
    ]
}

fn both_zero(o: &Outcome) -> bool {
    o.reads == [[0], [0]]
}
fn flag_without_message(o: &Outcome) -> bool {
    o.reads[1] == [1, 0]
}
fn readers_differ(o: &Outcome) -> bool {
    o.reads[2] == [1, 0] && o.reads[3] == [1, 0]
}
fn seen_and_lost(o: &Outcome) -> bool {
    o.reads[1] == [1] && o.reads[2] == [1, 0]
}

#[rustfmt::skip]
fn table() -> Vec<Litmus> {
    let (sc, acq, rel) = (Some(SeqCst), Some(Acquire), Some(Release));
    vec![
        // Store buffering: nothing but SeqCst accesses, or fences in both threads, keeps both from reading 0.
        ("SB, relaxed", store_buffering(Relaxed, Relaxed, [None; 2]), both_zero, Some(1)),
        ("SB, release and acquire", store_buffering(Release, Acquire, [None; 2]), both_zero, Some(1)),
        ("SB, SeqCst stores, acquire loads", store_buffering(SeqCst, Acquire, [None; 2]), both_zero, Some(1)),
        ("SB, SeqCst", store_buffering(SeqCst, SeqCst, [None; 2]), both_zero, None),
        ("SB, one SeqCst fence", store_buffering(Relaxed, Relaxed, [sc, None]), both_zero, Some(1)),
        ("SB, SeqCst fences", store_buffering(Relaxed, Relaxed, [sc, sc]), both_zero, None),
        ("SB, SeqCst accesses against a SeqCst fence", vec![
            vec![Store(X, 1, Relaxed), Fence(SeqCst), Load(Y, Relaxed)],
            vec![Store(Y, 1, SeqCst), Load(X, SeqCst)]], both_zero, None),
        ("SB, acquire-release fences", store_buffering(Relaxed, Relaxed, [Some(AcqRel); 2]), both_zero, Some(1)),
        // Message passing.
        ("MP, relaxed", message_passing(Relaxed, Relaxed, [None; 2]), flag_without_message, Some(1)),
        ("MP, release, relaxed", message_passing(Release, Relaxed, [None; 2]), flag_without_message, Some(1)),
        ("MP, relaxed, acquire", message_passing(Relaxed, Acquire, [None; 2]), flag_without_message, Some(1)),
        ("MP, release and acquire", message_passing(Release, Acquire, [None; 2]), flag_without_message, None),
        ("MP, fences", message_passing(Relaxed, Relaxed, [rel, acq]), flag_without_message, None),
        ("MP, one fence", message_passing(Relaxed, Relaxed, [rel, None]), flag_without_message, Some(1)),
        ("MP, release fence, acquire load", message_passing(Relaxed, Acquire, [rel, None]), flag_without_message, None),
        // Coherence.
        ("CoRR", vec![vec![Store(X, 1, Relaxed)], vec![Load(X, Relaxed), Load(X, Relaxed)]],
            |o| o.reads[1] == [1, 0], None),
        ("CoWR", vec![vec![Store(X, 1, Relaxed), Load(X, Relaxed)], vec![Store(X, 2, Relaxed)]],
            |o| o.reads[0] == [0] || (o.reads[0] == [2] && o.last[X] == 1), None),
        ("CoRW", vec![vec![Load(X, Relaxed), Store(X, 1, Relaxed)], vec![Store(X, 2, Relaxed)]],
            |o| o.reads[0] == [2] && o.last[X] == 2, None),
        ("a store is not yet seen", vec![vec![Store(X, 1, Relaxed), Store(Y, 1, Relaxed)], vec![Store(Y, 2, Relaxed), Load(X, Relaxed)]],
            |o| o.reads[1] == [0] && o.last[Y] == 2, Some(1)),
        // Independent reads of independent writes.
        ("IRIW, acquire", independent_reads(Release, Acquire), readers_differ, Some(1)),
        ("IRIW, SeqCst loads", independent_reads(Release, SeqCst), readers_differ, None),
        ("IRIW, SeqCst", independent_reads(SeqCst, SeqCst), readers_differ, None),
        // Causality.
        ("WRC, relaxed", write_to_read(Relaxed, Relaxed), seen_and_lost, Some(1)),
        ("WRC, release and acquire", write_to_read(Release, Acquire), seen_and_lost, None),
        ("ISA2, relaxed in the middle", vec![
            vec![Store(X, 1, Relaxed), Store(Y, 1, Release)],
            vec![Load(Y, Relaxed), Store(2, 1, Release)],
            vec![Load(2, Acquire), Load(X, Relaxed)]], seen_and_lost, Some(1)),
        ("ISA2", vec![
            vec![Store(X, 1, Relaxed), Store(Y, 1, Release)],
            vec![Load(Y, Acquire), Store(2, 1, Release)],
            vec![Load(2, Acquire), Load(X, Relaxed)]], seen_and_lost, None),
        // Stores in one thread, a store and a load in the other.
        ("R, release and acquire", vec![
            vec![Store(X, 1, Release), Store(Y, 1, Release)], vec![Store(Y, 2, Release), Load(X, Acquire)]],
            |o| o.last[Y] == 2 && o.reads[1] == [0], Some(1)),
        ("R, SeqCst", vec![
            vec![Store(X, 1, SeqCst), Store(Y, 1, SeqCst)], vec![Store(Y, 2, SeqCst), Load(X, SeqCst)]],
            |o| o.last[Y] == 2 && o.reads[1] == [0], None),
        ("S, relaxed", vec![
            vec![Store(X, 2, Relaxed), Store(Y, 1, Relaxed)], vec![Load(Y, Relaxed), Store(X, 1, Relaxed)]],
            |o| o.reads[1] == [1] && o.last[X] == 2, None),
        // Not produced: it takes another modification order than that of execution, or a store that comes later.
        ("2+2W", vec![
            vec![Store(X, 1, Relaxed), Store(Y, 2, Relaxed)], vec![Store(Y, 1, Relaxed), Store(X, 2, Relaxed)]],
            |o| o.last[X] == 1 && o.last[Y] == 1, None),
        ("LB, relaxed", vec![
            vec![Load(X, Relaxed), Store(Y, 1, Relaxed)], vec![Load(Y, Relaxed), Store(X, 1, Relaxed)]],
            |o| o.reads == [[1], [1]], None),
        // Release sequences.
        ("a release sequence goes on through a relaxed update", vec![
            vec![Store(X, 1, Relaxed), Store(Y, 1, Release)], vec![Add(Y, 1, Relaxed)],
            vec![Load(Y, Acquire), Load(X, Relaxed)]], |o| o.reads[2] == [2, 0], None),
        ("a relaxed store ends a release sequence", vec![
            vec![Store(X, 1, Relaxed), Store(Y, 1, Release)], vec![Load(Y, Relaxed), Store(Y, 2, Relaxed)],
            vec![Load(Y, Acquire), Load(X, Relaxed)]],
            |o| o.reads[1] == [1] && o.reads[2] == [2, 0], Some(1)),
        // Updates read the newest value; exchanges that fail need not.
        ("updates are atomic", vec![vec![Add(X, 1, Relaxed)], vec![Add(X, 1, Relaxed)]],
            |o| o.last[X] != 2, None),
        ("an exchange succeeds on the newest value only", vec![
            vec![Exchange(X, 0, 1, Relaxed, Relaxed)], vec![Exchange(X, 0, 2, Relaxed, Relaxed)]],
            both_zero, None),
        ("an exchange fails on a stale value", vec![
            vec![Store(X, 1, Relaxed), Store(Y, 1, Relaxed)],
            vec![Load(Y, Relaxed), Exchange(X, 1, 2, Relaxed, Relaxed)]],
            |o| o.reads[1] == [1, 0], Some(1)),
    ]
}

#[test]
fn litmus_tests_have_exactly_the_outcomes_that_the_axioms_allow() {
    for (name, threads, weak, first) in table() {
        let program = Program { threads };
        let levels = search(&program, true, &mut ContextBounded::new(Some(3)), 1_000_000);
        let shows = levels.iter().position(|level| level.outcomes.iter().any(weak));
        let allowed = axioms::outcomes(&program);
        println!("{name}: {} outcomes, shows at {shows:?}", allowed.len());
        assert_eq!(shows, first.map(|bound| bound as usize), "{name}");
        assert_eq!(allowed.iter().any(weak), first.is_some(), "{name}");
        let found: &BTreeSet<Outcome> = &levels.last().expect("bounds have been searched").outcomes;
        assert_eq!(found, &allowed, "{name}");
        let interleaved = search(&program, false, &mut ContextBounded::new(Some(3)), 1_000_000);
        let interleaved = &interleaved.last().expect("bounds have been searched").outcomes;
        assert!(interleaved.is_subset(&allowed) && !interleaved.iter().any(weak), "{name}");
    }
}
