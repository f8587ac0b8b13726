//! `cargo icb test` is killed, stopped and gone on with, and run in shards: what comes out in the end is what one undisturbed
//! run comes to.

use icb_tests::tool;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const USAGE: i32 = 2;
const INCOMPLETE: i32 = 5;
const STORED: i32 = 6;
const INTERRUPTED: i32 = 9;

fn command(arguments: &str) -> Command {
    let mut command = tool::command(env!("CARGO_TARGET_TMPDIR"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("COLUMNS", "120").stdin(Stdio::null());
    let words: Vec<&str> = tool::words(arguments).collect();
    if words[0] == "test" {
        command
            .args(["test", "-p", "icb-demo", "--test", "long", "--ignored", "--target-dir"])
            .arg(tool::target(env!("CARGO_TARGET_TMPDIR")));
        command.args(&words[1..]);
    } else {
        command.args(words);
    }
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Runs the tool to its end.
fn icb(arguments: &str) -> (i32, String) {
    let output = command(arguments).output().unwrap();
    (output.status.code().unwrap_or(-1), said(&output))
}

/// Ends the tool with a signal after this time, if it has not ended.
fn icb_until(arguments: &str, time: Duration, signal: &str) -> (Option<i32>, String) {
    let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + time;
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), said(&output))
}

/// Ends the tool with two signals, one after the other, when it has said this.
fn icb_when(arguments: &str, sign: &str, signal: &str) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    // The command holds the writing ends, without which there would be no end.
    let mut child = command(arguments).stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    let mut text = String::new();
    let mut has_said = false;
    for line in BufReader::new(reader).lines().map_while(Result::ok) {
        if !has_said && line.contains(sign) {
            has_said = true;
            // Twice, as `timeout` does: to the process, and to its group.
            for _ in 0..2 {
                let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        text += &line;
        text.push('\n');
    }
    (child.wait().unwrap().code(), text)
}

/// Runs the tool to its end. The most memory that one of its processes has had, in MiB.
#[cfg(target_os = "linux")]
#[expect(clippy::zombie_processes, reason = "`wait4` waits for it")]
fn measured(arguments: &str) -> (i32, String, i64) {
    let (reader, writer) = std::io::pipe().unwrap();
    let child = command(arguments).stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    let text = std::io::read_to_string(reader).unwrap();
    let mut status = 0;
    // SAFETY: all zeros is a value of this type.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a child that has not been waited for; both pointers are to variables of this frame.
    let ended = unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, &raw mut used) };
    assert!(ended > 0 && libc::WIFEXITED(status), "{text}");
    (libc::WEXITSTATUS(status), text, used.ru_maxrss / 1024)
}

/// The lines of the summary, without the times.
fn figures(text: &str) -> Vec<String> {
    let summary = text.lines().skip_while(|line| *line != "Summary").skip(1);
    let lines = summary.take_while(|line| !line.contains(" passed, ")).filter(|line| !line.trim().is_empty());
    let without_time = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let timed = |index: usize| words.get(index) == Some(&"s") || words.get(index + 1) == Some(&"s");
        (0..words.len())
            .filter(|&index| !timed(index))
            .map(|index| words[index])
            .collect::<Vec<_>>()
            .join(" ")
    };
    lines.map(without_time).collect()
}

/// Kills the tool up to so many times, then lets it end. A life lasts this long, or less where the machine is so fast that the
/// first one would have come to its end. Returns how many were cut off.
fn killed(count: usize, mut time: Duration, arguments: &str) -> usize {
    let (code, undisturbed) = icb(arguments);
    assert_eq!(code, 0, "{undisturbed}");
    while icb_until(arguments, time, "-KILL").0.is_some() {
        time /= 2;
        assert!(time > Duration::from_millis(20), "it cannot be cut off");
    }
    let resumed = format!("{arguments} --resume");
    let cut = 1 + (1..count).filter(|_| icb_until(&resumed, time, "-KILL").0.is_none()).count();
    println!("{cut} of {count} were cut off after {time:?}");
    let (code, text) = icb(&resumed);
    assert_eq!((code, figures(&text)), (0, figures(&undisturbed)), "{text}");
    cut
}

#[test]
fn a_run_that_is_killed_again_and_again_comes_to_the_same() {
    let _alone = tool::alone();
    killed(5, Duration::from_millis(900), "test few_counters stack --max-bound 4");
}

/// Two gigabytes, if no process ended before the search does.
#[test]
#[cfg(target_os = "linux")]
fn what_executions_leave_behind_does_not_fill_the_machine() {
    let _alone = tool::alone();
    let (code, without) = icb("test few_counters --max-bound 3");
    assert_eq!(code, 0, "{without}");
    for jobs in [1, 2] {
        let arguments = format!("test left_behind --max-bound 3 -j {jobs}");
        let (code, text, most) = measured(&arguments);
        let found = figures(&text.replace("left_behind", "few_counters"));
        assert_eq!((code, found), (0, figures(&without)), "{text}");
        println!("{most} MiB at most with {jobs}");
        assert!((50..600).contains(&most), "{most} MiB with {jobs}");
    }
}

#[test]
fn a_search_at_once_that_is_killed_goes_on_where_it_was() {
    let _alone = tool::alone();
    killed(4, Duration::from_millis(1500), "test mutexes --max-bound unlimited --at-once");
    let resumed = "test mutexes --max-bound unlimited --at-once --resume";
    // It was told apart from one that goes bound by bound.
    let (code, text) = icb("test few_counters --max-bound 2 --at-once");
    assert_eq!(code, 0, "{text}");
    let (code, text) = icb("test few_counters --max-bound 2 --resume");
    assert!(code == 0 && text.contains("ok bound 0 "), "{text}");
    let (code, text) = icb(resumed);
    assert!(code == 0 && text.contains("(exhaustive)") && !text.contains("ok bound 0 "), "{text}");
}

#[test]
#[ignore = "takes minutes: cargo test --release -p icb-tests --test interruption -- --ignored --nocapture killed"]
fn killed_every_two_seconds_fifty_times() {
    let _alone = tool::alone();
    let cut = killed(50, Duration::from_secs(2), "test slow --max-bound 4");
    assert!(cut > 25, "the run was over after {cut} of 50 times");
}

/// Each bound is a process. What it leaves for the next one is all that costs more than it may, also what costs two more.
#[test]
fn searches_agree_where_each_bound_is_a_process() {
    let _alone = tool::alone();
    // By bound executions and states.
    let counts = |arguments: &str| {
        let (code, text) = icb(&format!("test queue --max-bound 2 {arguments}"));
        assert_eq!(code, 0, "{text}");
        let line = |line: String| {
            let words: Vec<String> = line.split_whitespace().map(|word| word.replace(',', "")).collect();
            let number = |index: usize| words[index].parse::<u64>().ok();
            (words[0] == "bound").then(|| Some([number(1)?, number(2)?, number(4)?])).flatten()
        };
        figures(&text).into_iter().filter_map(line).collect::<Vec<_>>()
    };
    let every = counts("--reduction none");
    assert_eq!(every, [[0, 22, 22], [1, 746, 386], [2, 11_354, 3_272]]);
    assert_eq!(counts("--reduction none --at-once"), [[2, 22 + 746 + 11_354, 3_272]]);
    let states =
        |counts: &[[u64; 3]]| counts.iter().map(|&[bound, _, states]| (bound, states)).collect::<Vec<_>>();
    let reduced = counts("");
    assert_eq!(states(&reduced), states(&every));
    // Each terminal state once, over all bounds up to this one.
    let visited = counts("--reduction visited");
    assert_eq!(visited, [[0, 22, 22], [1, 386, 386], [2, 3_272, 3_272]]);
    assert_eq!(counts("--reduction visited --at-once"), [[2, 3_272, 3_272]]);
}

#[test]
fn what_is_done_of_a_long_item_is_not_lost() {
    let _alone = tool::alone();
    // All of a bound is one item here, which takes longer than the run ever lasts.
    let arguments = "test crawling --max-bound 2 -j 1";
    let (code, undisturbed) = icb(arguments);
    assert_eq!(code, 0, "{undisturbed}");
    let mut cut = 0;
    let mut text = String::new();
    for life in 0..30 {
        let resume = if life == 0 { "" } else { " --resume" };
        // Where the machine is slow, most of a life goes into its beginning: later ones are longer.
        let length = Duration::from_millis(1700 + 100 * life);
        let ended = icb_until(&format!("{arguments}{resume}"), length, "-KILL");
        text = ended.1;
        if ended.0.is_some() {
            break;
        }
        cut += 1;
    }
    println!("{cut} were cut off");
    assert_eq!(figures(&text), figures(&undisturbed), "{text}");
    assert!(cut > 0);
}

#[test]
fn what_is_interrupted_says_what_is_proved_and_can_be_gone_on_with() {
    let _alone = tool::alone();
    let (code, text) = icb_when("test few_counters --max-bound 9", "ok bound 1 ", "-INT");
    assert_eq!(code, Some(INTERRUPTED), "{text}");
    assert!(text.contains("proved up to ") && text.contains("interrupted at bound "), "{text}");
    assert!(text.contains("The same command with --resume goes on where this one stopped."), "{text}");
    let (code, text) = icb("show");
    assert_eq!(code, INTERRUPTED, "{text}");
    let (code, text) = icb("test few_counters --max-bound 2 --resume");
    assert_eq!(code, 0, "{text}");
}

#[test]
fn who_asks_while_the_tests_are_built_is_heard() {
    let _alone = tool::alone();
    let project = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slow-to-build");
    let _ = fs::remove_dir_all(&project);
    fs::create_dir_all(project.join("src")).unwrap();
    let manifest =
        "[package]\nname = \"slow-to-build\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    fs::write(project.join("src/lib.rs"), "#[test]\nfn passes() {}\n").unwrap();
    let wait = "fn main() {\n    std::fs::write(\"begun\", \"\").unwrap();\n    std::thread::sleep(std::time::Duration::from_secs(4));\n}\n";
    fs::write(project.join("build.rs"), wait).unwrap();
    let mut tool = tool::command(env!("CARGO_TARGET_TMPDIR"));
    tool.current_dir(&project).args(["test", "--target-dir"]).arg(tool::target(env!("CARGO_TARGET_TMPDIR")));
    let child = tool.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(300);
    while !project.join("begun").exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(INTERRUPTED), "{text}");
    assert!(
        text.contains("interrupted while the tests were being built: nothing has been explored"),
        "{text}"
    );
    assert!(!text.contains("could not be built"), "{text}");
}

#[test]
fn damage_is_named_and_left_as_it_is() {
    let _alone = tool::alone();
    let directory = tool::target(env!("CARGO_TARGET_TMPDIR")).join("icb/work/icb-demo/long/few_counters");
    // Other tests may have left journals of higher bounds, which this run does not read.
    let _ = fs::remove_dir_all(&directory);
    icb("test few_counters --max-bound 4 --max-time 1500ms -j 1");
    let journals = fs::read_dir(&directory).unwrap().flatten().map(|entry| entry.path());
    let journal = journals
        .filter(|path| path.to_string_lossy().contains("journal-"))
        .find(|path| fs::metadata(path).is_ok_and(|metadata| metadata.len() > 10_000));
    let Some(journal) = journal else { return println!("the machine was too quick, or too slow") };
    let mut bytes = fs::read(&journal).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&journal, &bytes).unwrap();
    let (code, text) = icb("test few_counters --max-bound 4 --resume");
    assert_eq!(code, USAGE, "{text}");
    assert!(text.contains("journal-") && text.contains("is damaged"), "{text}");
    assert_eq!(fs::read(&journal).unwrap(), bytes);
}

#[test]
fn budgets_are_shared_among_tests() {
    let _alone = tool::alone();
    let (code, text) = icb("test few_counters mutexes queue --max-bound 9 --max-time 4s");
    assert_eq!(code, INCOMPLETE, "{text}");
    for test in ["few_counters", "mutexes", "queue"] {
        let line = text.lines().find(|line| line.contains(&format!("::{test}: "))).unwrap();
        assert!(line.contains("proved up to ") || line.contains("exhaustive"), "{line}");
    }
    let (code, text) = icb("test few_counters --max-bound 9 --max-run-executions 20000");
    assert_eq!(code, INCOMPLETE, "{text}");
    assert!(text.contains("stopped by the run's limit on executions"), "{text}");
    assert!(text.contains("--resume and a greater --max-run-executions goes on where"), "{text}");
    // The bound that it comes to its limit in is the last of some: the limit holds exactly, however quick the search.
    assert!(text.contains("1 incomplete; 20,000 executions in "), "{text}");
}

#[test]
fn the_time_of_a_bound_is_that_of_all_its_parts() {
    let _alone = tool::alone();
    let seconds = |arguments: &str| {
        let (_, text) =
            icb(&format!("test few_counters {arguments} --max-bound 9 --message-format json -j 1"));
        let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let finished = lines.filter(|line| line["event"] == "test_finished");
        let times = finished.filter_map(|line| {
            let is_of_counters = line["test"].as_str()?.ends_with("::few_counters");
            Some((is_of_counters, line["figures"]["seconds"].as_f64()?))
        });
        let (counters, others): (Vec<_>, Vec<_>) = times.partition(|&(is_of_counters, _)| is_of_counters);
        [counters, others].map(|times| times.into_iter().map(|(_, seconds)| seconds).sum::<f64>())
    };
    // Both are stopped several times, when they have had their shares.
    let [counters, others] = seconds("mutexes --max-time 3s");
    assert!((2.0..4.0).contains(&(counters + others)), "{counters} + {others}");
    let [both, _] = seconds("--max-time 2s --resume");
    assert!((counters + 1.2..counters + 3.0).contains(&both), "{counters}, then {both}");
}

#[test]
fn of_what_fails_in_shards_the_least_schedule_is_told() {
    let _alone = tool::alone();
    let directory = tool::target(env!("CARGO_TARGET_TMPDIR")).join("tmp/failing-shards");
    let _ = fs::remove_dir_all(&directory);
    let mut schedules = Vec::new();
    for number in 1..=4 {
        let shard = format!("--shard {number}/4 --shard-dir {}", directory.display());
        let (code, text) = icb(&format!("test rare --max-bound 4 {shard} --message-format json"));
        let found = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let found = found.filter_map(|line| {
            Some(
                line.pointer("/finding/failure/schedule")
                    .or(line.pointer("/failure/schedule"))?
                    .as_str()?
                    .to_owned(),
            )
        });
        let found: Vec<String> = found.collect();
        assert_eq!(code, i32::from(!found.is_empty()), "{text}");
        schedules.extend(found.into_iter().next());
    }
    schedules.sort();
    println!("{schedules:?}");
    let different: std::collections::BTreeSet<&String> = schedules.iter().collect();
    assert!(different.len() > 1, "{schedules:?}");
    let (code, text) = icb(&format!("merge {} --message-format json", directory.display()));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains(&schedules[0]), "{schedules:?}\n{text}");
    let others = schedules.iter().filter(|&other| *other != schedules[0]);
    others.for_each(|other| assert!(!text.contains(other), "{schedules:?}\n{text}"));
}

/// Runs all shards, one after the other.
fn run_shards(count: usize, selection: &str, directory: &Path) {
    let _ = fs::remove_dir_all(directory);
    for number in 1..=count {
        let (code, text) = icb(&format!(
            "test {selection} --shard {number}/{count} --shard-dir {} -j 2",
            directory.display()
        ));
        assert_eq!(code, 0, "{text}");
    }
}

#[test]
fn shards_put_together_are_the_whole() {
    let _alone = tool::alone();
    let directory = tool::target(env!("CARGO_TARGET_TMPDIR")).join("tmp/shard-results");
    let selection = "few_counters stack --max-bound 3";
    let (_, whole) = icb(&format!("test {selection}"));
    run_shards(4, selection, &directory);
    let merge = format!("merge {}", directory.display());
    let (code, merged) = icb(&merge);
    assert_eq!((code, figures(&merged)), (0, figures(&whole)), "{merged}");
    for bound in ["3", "unlimited"] {
        let at_once = tool::target(env!("CARGO_TARGET_TMPDIR")).join(format!("tmp/at-once-{bound}"));
        let selection = format!("sums --max-bound {bound} --at-once");
        let (_, whole) = icb(&format!("test {selection}"));
        run_shards(3, &selection, &at_once);
        let (code, merged) = icb(&format!("merge {}", at_once.display()));
        assert_eq!((code, figures(&merged)), (0, figures(&whole)), "{merged}");
    }

    let refused = |named: &[&str]| {
        let (code, text) = icb(&merge);
        assert_eq!(code, STORED, "{text}");
        named.iter().for_each(|word| assert!(text.contains(word), "no {word} in {text}"));
    };
    let file = |name: &str| directory.join(format!("{name}.icbshard"));
    let third = fs::read(file("shard-3-of-4")).unwrap();
    fs::remove_file(file("shard-3-of-4")).unwrap();
    refused(&["shard 3/4 is missing"]);
    fs::write(file("shard-3-of-4"), &third[..third.len() - 100]).unwrap();
    refused(&["shard-3-of-4.icbshard is truncated"]);
    fs::write(file("shard-3-of-4"), &third).unwrap();
    fs::write(file("copy"), &third).unwrap();
    refused(&["copy.icbshard", "shard-3-of-4.icbshard", "are both shard 3/4"]);
    fs::remove_file(file("copy")).unwrap();
    let mut damaged = third.clone();
    damaged[third.len() / 2] ^= 1;
    fs::write(file("shard-3-of-4"), &damaged).unwrap();
    refused(&["shard-3-of-4.icbshard is damaged"]);
    for other in ["--max-steps 19999", "--at-once"] {
        icb(&format!("test {selection} {other} --shard 3/4 --shard-dir {}", directory.display()));
        refused(&["shard-3-of-4.icbshard does not belong to", "other settings"]);
    }

    // A shard in two parts.
    fs::remove_file(file("shard-3-of-4")).unwrap();
    for part in ["1/2", "2/2"] {
        icb(&format!("test {selection} --shard 3/4:{part} --shard-dir {}", directory.display()));
    }
    let (code, merged) = icb(&merge);
    assert_eq!((code, figures(&merged)), (0, figures(&whole)), "{merged}");
    fs::remove_file(file("shard-3-of-4-part-2-of-2")).unwrap();
    refused(&["shard 3/4:2/2 is missing"]);
}
