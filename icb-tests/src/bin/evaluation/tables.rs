//! The papers' tables.

use super::benchmarks::{self, PROGRAMS};
use icb_std::model::{Builder, Reduction, Strategy};
use icb_tests::programs::baselines::wsq;

/// LOC, threads, K, B, c of the paper.
const THEIR_CHARACTERISTICS: [[u32; 5]; 5] = [
    [400, 3, 15, 2, 8],
    [84, 4, 20, 8, 13],
    [1266, 3, 99, 2, 35],
    [18947, 4, 247, 2, 75],
    [16036, 5, 273, 4, 167],
];

/// Executions whose largest figures are taken, for each of two strategies.
const MEASURED: u64 = 2_000;

/// Table 1.
pub(crate) fn characteristics() {
    println!("Ours: the largest figures in {MEASURED} random walks and {MEASURED} executions depth first.\n");
    println!(
        "| program | LOC ours | theirs | threads ours | theirs | K ours | theirs | B ours | theirs | c ours | theirs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (benchmark, theirs) in PROGRAMS.iter().zip(THEIR_CHARACTERISTICS) {
        let mut ours = [benchmark.text.lines().count() as u64, 0, 0, 0, 0];
        for strategy in [Strategy::Random { seed: 1 }, Strategy::DepthFirst] {
            let report = Builder::new()
                .strategy(strategy)
                .spurious(false)
                .max_executions(MEASURED)
                .measured_executions(MEASURED)
                .explore(benchmark.run);
            for bound in &report.bounds {
                let found = [
                    u64::from(bound.max_threads),
                    bound.max_steps,
                    bound.max_blocking,
                    bound.max_preemptions.into(),
                ];
                for (most, found) in ours[1..].iter_mut().zip(found) {
                    *most = (*most).max(found);
                }
            }
        }
        let cells: Vec<String> =
            ours.iter().zip(theirs).map(|(ours, theirs)| format!("{ours} | {theirs}")).collect();
        println!("| {} | {} |", benchmark.name, cells.join(" | "));
    }
    println!(
        "\nK is smaller where a stand-in is a hundredth of the original, and larger where the reference counts of `Arc`, spawns, \
         joins and the begin of each thread are steps, which they were not in CHESS. B counts every lock, wait and join, and the \
         end of each thread; theirs counts fewer kinds of blocking instructions."
    );
}

/// Bugs with exactly 0, 1, 2, 3 preemptions, of the paper.
const THEIR_BUGS: [(&str, [u32; 4]); 5] = [
    ("Bluetooth", [0, 1, 0, 0]),
    ("Work Stealing Queue", [0, 1, 2, 0]),
    ("Transaction Manager", [0, 0, 2, 1]),
    ("APE (stand-in)", [2, 1, 1, 0]),
    ("Dryad Channels (stand-in)", [1, 4, 0, 0]),
];

/// Searches for every bug: how many were found at each bound, and whether all were where they must be.
fn bugs_found() -> (Vec<(&'static str, [u32; 4])>, bool) {
    let mut table: Vec<(&str, [u32; 4])> = THEIR_BUGS.iter().map(|(name, _)| (*name, [0; 4])).collect();
    let mut as_expected = true;
    println!("| program | version | must be found at | found at | below | as |");
    println!("|---|---|---:|---:|---|---|");
    for bug in benchmarks::bugs() {
        let failure = (bug.search)(bug.bound);
        let below = bug.bound.checked_sub(1).and_then(|below| (bug.search)(below));
        let found = failure.as_ref().map(|failure| failure.bound);
        as_expected &= found == Some(bug.bound) && below.is_none();
        if let (Some(bound), Some(row)) = (found, table.iter_mut().find(|row| row.0 == bug.program)) {
            row.1[bound as usize] += 1;
        }
        let found = found.map_or_else(|| "not at all".to_owned(), |bound| bound.to_string());
        let below = if below.is_none() { "nothing" } else { "a failure" };
        let kind = failure.map_or_else(String::new, |failure| failure.kind.to_string());
        println!("| {} | {} | {} | {found} | {below} | {kind} |", bug.program, bug.version, bug.bound);
    }
    (table, as_expected)
}

/// Table 2, and that what is right passes.
pub(crate) fn bugs() {
    let (table, as_expected) = bugs_found();
    println!(
        "\n| program | bugs ours | theirs | at 0 | theirs | at 1 | theirs | at 2 | theirs | at 3 | theirs |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for ((name, ours), (_, theirs)) in table.iter().zip(THEIR_BUGS) {
        let cells: Vec<String> =
            ours.iter().zip(theirs).map(|(ours, theirs)| format!("{ours} | {theirs}")).collect();
        println!(
            "| {name} | {} | {} | {} |",
            ours.iter().sum::<u32>(),
            theirs.iter().sum::<u32>(),
            cells.join(" | ")
        );
    }
    println!("\nEvery bug is found at exactly its bound and none below: {as_expected}.");
    for fixed in benchmarks::fixed() {
        println!(
            "{} without its bugs has no failure up to bound {}: {}.",
            fixed.program,
            fixed.bound,
            (fixed.passes)(fixed.bound)
        );
    }
}

/// For sizes 3, 4 and 5, bounds 0 to 4: executions without and with reduction, of the report.
const THEIR_EXECUTIONS: [[[u64; 2]; 5]; 3] = [
    [[2, 2], [46, 46], [756, 713], [8918, 7838], [66374, 48828]],
    [[2, 2], [54, 54], [898, 853], [12711, 8458], [95935, 52572]],
    [[2, 2], [67, 67], [1197, 1136], [19460, 14563], [161637, 95068]],
];

/// Table 1 of the technical report.
pub(crate) fn reduction() {
    println!("Executions with at most so many preemptions, without and with partial-order reduction.\n");
    println!("| size | bound | ours: every execution | with reduction | states | theirs: cb-dfs | cb-por |");
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    for (size, theirs) in (3..).zip(THEIR_EXECUTIONS) {
        let every = Builder::new().max_bound(4).reduction(Reduction::None).explore(move || wsq(size));
        let reduced = Builder::new().max_bound(4).explore(move || wsq(size));
        let mut sum = 0;
        for (bound, [dfs, por]) in theirs.into_iter().enumerate() {
            sum += every.bounds.get(bound).map_or(0, |bound| bound.executions);
            let reduced = reduced.bounds.get(bound).map_or(0, |bound| bound.executions);
            let states = every.bounds.get(bound).map_or(0, |bound| bound.states);
            println!("| {size} | {bound} | {sum} | {reduced} | {states} | {dfs} | {por} |");
        }
    }
    println!(
        "\nTheir queue is 1,000 lines of C++ with other operations; ours is Cilk's protocol alone, so counts differ. Their cb-por \
         runs one execution for each state that it caches; ours keeps no states, and comes close to one execution for each. Where \
         bound 0 has 1 execution and not 2, the main thread begins alone here."
    );
}
