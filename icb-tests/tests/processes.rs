//! `cargo icb test` on random programs, in every way that it goes about a search: each bound in a process of its own, the last one at once,
//! with a reduction or without, on one core or several, in shards, killed and resumed. What it comes to is the same. `ICB_LONG=1` runs twice as many
//! programs.

use icb_tests::tool;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// By test, what is known of its last bound: the states, or the failure's bound.
type Results = BTreeMap<String, Result<u64, u64>>;

/// The tool, to be run with these arguments.
fn command(arguments: &str) -> Command {
    let mut command = tool::command(env!("CARGO_TARGET_TMPDIR"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command.args(tool::words(arguments));
    command
}

fn icb(arguments: &str) -> Vec<serde_json::Value> {
    let output = command(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<serde_json::Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(lines.len() > 1, "{text}{}", String::from_utf8_lossy(&output.stderr));
    lines
}

/// Whether all programs are run, and not every other one.
fn is_long() -> bool {
    std::env::var_os("ICB_LONG").is_some()
}

/// `cargo icb test` of the random programs in this test target, and of the test of this name; their names end with a digit.
fn search(program: &str, target: &Path, and: &str) -> String {
    let part = if is_long() { String::new() } else { format!("0 2 4 6 8 {and}") };
    format!(
        "test -p icb-demo --features random --test {program} --ignored --target-dir {} --max-bound 2 --message-format json {part}",
        target.display()
    )
}

/// What the plain search of the programs comes to, of so many in a long run, of which some fail.
#[track_caller]
fn plain(test: &str, programs: usize, failing: Range<usize>) -> Results {
    let part = if is_long() { 1 } else { 2 };
    let expected = results(&icb(&format!("{test} --reduction none")));
    let failures = expected.values().filter(|result| result.is_err()).count();
    assert!(
        expected.len() == programs.div_ceil(part) && failing.contains(&(failures * part)),
        "{failures} of {} fail",
        expected.len()
    );
    expected
}

/// Every one of these ways of going about the search comes to that.
#[track_caller]
fn all_same(test: &str, ways: &[&str], expected: &Results) {
    for options in ways {
        same(&results(&icb(&format!("{test} {options}"))), expected, &format!("{test} {options}"));
    }
}

fn results(lines: &[serde_json::Value]) -> Results {
    let mut results = Results::new();
    for line in lines.iter().filter(|line| line["event"] == "test_finished") {
        let test = line["test"].as_str().unwrap().to_owned();
        match line["verdict"]["is"].as_str().unwrap() {
            "holds" => drop(results.insert(test, Ok(line["figures"]["states"].as_u64().unwrap()))),
            "failed" => {
                let bound = line.pointer("/verdict/with/failure/bound").unwrap().as_u64().unwrap();
                results.insert(test, Err(bound));
            }
            // It is about to be searched bound by bound.
            "bound_by_bound" => {}
            other => panic!("{test} is {other}: {line}"),
        }
    }
    results
}

#[track_caller]
fn same(found: &Results, expected: &Results, how: &str) {
    let others: Vec<_> = expected.iter().filter(|(test, result)| found.get(*test) != Some(result)).collect();
    let here: Vec<_> = others.iter().map(|(test, _)| found.get(*test)).collect();
    assert!(others.is_empty() && found.len() == expected.len(), "{how}: {here:?} instead of {others:?}");
}

#[test]
fn random_programs_come_to_the_same_however_they_are_searched() {
    let _alone = tool::alone();
    let target = tool::target(env!("CARGO_TARGET_TMPDIR"));
    let shards = target.join("tmp/random-shards");
    let test = search("random", &target, "");
    let expected = plain(&test, 40, 5..35);
    let ways = [
        "",
        "-j 1",
        "--at-once",
        "--reduction visited",
        "--reduction visited --at-once",
        "--reduction none --at-once",
    ];
    all_same(&test, &ways, &expected);
    for options in ["", "--at-once"] {
        let _ = std::fs::remove_dir_all(&shards);
        for number in 1..=3 {
            icb(&format!("{test} {options} --shard {number}/3 --shard-dir {}", shards.display()));
        }
        let merged = results(&icb(&format!("merge {} --message-format json", shards.display())));
        if options.is_empty() {
            same(&merged, &expected, "shards");
        } else {
            // What a shard finds at once may not have the fewest preemptions.
            let states = |results: &Results| {
                results.iter().map(|(test, r)| (test.clone(), r.ok())).collect::<Vec<_>>()
            };
            assert_eq!(states(&merged), states(&expected), "shards at once");
        }
    }
}

/// The same with stale values, with cells that become scheduling points, and with both.
#[test]
fn random_programs_of_all_orders_come_to_the_same_however_they_are_searched() {
    let _alone = tool::alone();
    let target = tool::target(env!("CARGO_TARGET_TMPDIR"));
    let shards = target.join("tmp/random-order-shards");
    for settings in ["--weak-memory", "--on-race promote", "--weak-memory --on-race promote"] {
        let test = format!("{} {settings}", search("orders", &target, "chance"));
        let expected = plain(&test, 31, 0..25);
        if settings == "--weak-memory" {
            assert_eq!(expected["icb-demo::orders::ordered_by_chance"], Err(1));
        }
        all_same(&test, &["", "--at-once", "--reduction visited"], &expected);
        // With promotion a search is not divided.
        if settings == "--weak-memory" {
            let _ = std::fs::remove_dir_all(&shards);
            for number in 1..=2 {
                icb(&format!("{test} --shard {number}/2 --shard-dir {}", shards.display()));
            }
            let merged = results(&icb(&format!("merge {} --message-format json", shards.display())));
            same(&merged, &expected, &format!("{settings}, shards"));
        }
        killed(&test, Duration::from_millis(400));
        killed(&format!("{test} --resume"), Duration::from_millis(600));
        same(&results(&icb(&format!("{test} --resume"))), &expected, &format!("{settings}, resumed"));
    }
}

/// The same with programs whose threads are mostly ordered by what is no step.
#[test]
fn random_programs_on_the_real_std_come_to_the_same_however_they_are_searched() {
    let _alone = tool::alone();
    let target = tool::target(env!("CARGO_TARGET_TMPDIR"));
    for program in ["foreign", "real_std"] {
        let test = search(program, &target, "");
        let expected = plain(&test, 40, 5..35);
        all_same(&test, &["", "--at-once", "--reduction visited"], &expected);
    }
}

/// The same with small programs of few kinds of things, many in one process.
#[test]
fn dense_programs_on_the_real_std_come_to_the_same_however_they_are_searched() {
    let _alone = tool::alone();
    let target = tool::target(env!("CARGO_TARGET_TMPDIR"));
    let arguments =
        format!("test -p icb-demo --features random --test real_std dense --target-dir {}", target.display());
    let output =
        command(&arguments).env("PROGRAM_SEEDS", if is_long() { "0..80" } else { "0..20" }).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed, 0 failed"), "{text}");
}

/// Runs the tool, and kills it after this time.
fn killed(arguments: &str, time: Duration) {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    let _ = Command::new("kill").args(["-KILL", &child.id().to_string()]).status();
    let _ = child.wait();
}
