//! Explicit states: that the search reaches what a plain breadth-first search reaches, and what a state costs.

use icb_core::model::{Model, StateSearch, Storage};
use icb_tests::models::bluetooth::Bluetooth;
use icb_tests::models::peterson::Peterson;
use icb_tests::models::philosophers::Philosophers;
use icb_tests::models::plain::whole;
use icb_tests::models::ring_buffer::RingBuffer;
use icb_tests::models::transaction_manager::{Action, TransactionManager, Version};
use icb_tests::usage;

/// A figure of this process's memory, in bytes; 0 where the system does not say.
fn figure(name: &str) -> usize {
    usage::memory(name).unwrap_or(0) as usize * 1024
}

fn resident() -> usize {
    figure("VmRSS")
}

fn most_resident() -> usize {
    figure("VmHWM")
}

fn compare<M: Model>(name: &str, model: &M) {
    let plain = whole(model);
    let report = StateSearch::new(model).run();
    let small = StateSearch::new(model).storage(Storage::Fingerprints).run();
    println!(
        "| {name} | {} | {} | {} | {} | {} | {} | {:.0} | {:.0} | {:.0e} |",
        plain.states,
        report.state_count(),
        small.state_count(),
        if plain.cyclic { "yes" } else { "no" },
        report.full_coverage_bound().map_or_else(|| "-".to_owned(), |bound| bound.to_string()),
        report.bounds.len() - 1,
        report.memory.per_state(),
        small.memory.per_state(),
        small.omission_probability,
    );
}

/// The table, and the memory of a larger model as the system sees it.
pub(crate) fn explicit() {
    println!(
        "| model | states, plain search | with states | with fingerprints | cyclic | all at bound | last bound | bytes a state | with fingerprints | state missed with probability |"
    );
    println!("|---|---:|---:|---:|---|---:|---:|---:|---:|---:|");
    for action in [Action::Create, Action::Commit, Action::Delete] {
        let model = TransactionManager { version: Version::Correct, action, rounds: 2 };
        compare(&format!("transaction manager, {action:?}"), &model);
    }
    // The plain search knows no symmetry: a model that has none for one thread more than the stopper.
    compare("bluetooth, 1 thread of I/O", &Bluetooth { adders: 1, fixed: true });
    compare("Peterson", &Peterson { turn_first: false });
    compare("philosophers, 8, ordered", &Philosophers { count: 8, ordered: true });
    compare("ring buffer, 4 slots", &RingBuffer { slots: 4, index_first: false });
    println!();
    for storage in ["states", "fingerprints"] {
        // In a process of its own, whose memory nothing else has grown.
        let this =
            std::env::current_exe().unwrap_or_else(|error| panic!("cannot find this program: {error}"));
        let output = std::process::Command::new(this).args([MEMORY, storage]).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run this program again: {error}"));
        print!("{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// The argument that asks for [`memory`].
pub(crate) const MEMORY: &str = "--memory-of-states";

/// The memory of a larger search, by our count and as the system sees it.
pub(crate) fn memory(storage: &str) {
    let kept = if storage == "states" { Storage::States } else { Storage::Fingerprints };
    let before = resident();
    let report = StateSearch::new(&Philosophers { count: 12, ordered: true }).storage(kept).run();
    let grown = most_resident().saturating_sub(before);
    println!(
        "Twelve philosophers, {storage} kept: {} states, {:.0} bytes each by our count; at its largest the process had grown by {:.0} \
         bytes a state.",
        report.state_count(),
        report.memory.per_state(),
        grown as f64 / report.state_count() as f64
    );
}
