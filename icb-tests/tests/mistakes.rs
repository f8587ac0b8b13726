//! `cargo icb` used wrongly, and in odd circumstances: each gets one sentence that says what is wrong, and its documented exit code; nothing
//! that was found is lost, and nothing is claimed that was not done.

use icb_tests::tool;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Codes that scripts depend on.
const PASSED: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const NOT_BUILT: i32 = 3;
const INCOMPLETE: i32 = 5;
const STORED: i32 = 6;
const DIVERGED: i32 = 8;

/// Where all fixtures are built.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

/// The tool in the directory of a fixture, which is built.
fn command(arguments: &str) -> Command {
    let mut words = tool::words(arguments);
    let mut command = tool::command(env!("CARGO_TARGET_TMPDIR"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases"));
    command.args(words.next());
    if !arguments.starts_with("merge") && !arguments.contains("--target-dir") {
        command.arg("--target-dir").arg(target());
    }
    command.args(words).env("COLUMNS", "120");
    command
}

/// Runs it, and checks its exit code and what it says.
#[track_caller]
fn check(arguments: &str, code: i32, words: &[&str]) -> String {
    let output = command(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    for word in words {
        assert!(text.contains(word), "{arguments}: no {word:?} in\n{text}");
    }
    assert_eq!(output.status.code(), Some(code), "{arguments}: {text}");
    text.into_owned()
}

/// An empty directory.
fn empty(name: &str) -> PathBuf {
    let directory = target().join("tmp").join(name);
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

#[test]
fn contradicting_options_are_refused_before_anything_is_built() {
    let _alone = tool::alone();
    // A directory where a build would leave something.
    let nowhere = empty("nothing-is-built");
    for (arguments, words) in [
        ("--shard 1/2 --reduction none", ["--shard 1/2: only the default search", "--reduction none asks"]),
        ("--shard 1/2 --strategy dfs", ["--shard 1/2: only the default search", "--strategy dfs asks"]),
        ("--shard 1/2 --on-race promote", ["--shard 1/2: only the default search", "--on-race promote asks"]),
        ("--sequential", ["--sequential is for the strategy kiss only, and this is icb", "--strategy kiss"]),
        ("--max-pending 2 --strategy dfs", ["--max-pending is for the strategy kiss only", "this is dfs"]),
        ("--max-bound -1", ["'-1'", "a bound is a number of preemptions"]),
        ("--max-time 999999999999", ["'999999999999'", "a duration is at most 30 years"]),
        ("--max-test-time -3", ["'-3'", "a duration is a number"]),
    ] {
        let said = check(&format!("test --target-dir {} {arguments}", nowhere.display()), USAGE, &words);
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
    }
    assert_eq!(fs::read_dir(&nowhere).unwrap().count(), 0);
    for (arguments, words) in [
        ("--test nowhere", "--test nowhere: there is no integration test of this name in the package cases"),
        ("--profile nowhere", "--profile nowhere: there is no such profile in "),
        ("--target nowhere", "--target nowhere: the compiler knows no such target"),
        ("--features nowhere", "--features nowhere: there is no feature `nowhere` in the package cases"),
    ] {
        check(&format!("test --target-dir {} {arguments}", nowhere.display()), USAGE, &[words]);
    }
    // Only the lock is there, by which two of the tool wait for each other.
    assert_eq!(fs::read_dir(nowhere.join("icb")).unwrap().count(), 1);
    check("test --test holding counts --sequential=false", PASSED, &["1 passed"]);
    check(
        "coverage counts --strategies icb,kiss --sequential",
        USAGE,
        &["--sequential is for the strategy kiss"],
    );
    for (option, words) in [
        ("--strategy dfs", "--strategy has no effect on coverage: the strategies that are compared"),
        ("--reduction none", "--reduction has no effect on coverage: "),
        ("--explain 5s", "--explain has no effect on coverage: it counts failures"),
        ("--at-once", "unexpected argument '--at-once'"),
    ] {
        check(&format!("coverage counts --strategies icb {option}"), USAGE, &[words]);
    }
    let bounded = command("coverage counts --strategies icb").env("ICB_MAX_BOUND", "lots").output().unwrap();
    let said = String::from_utf8_lossy(&bounded.stderr);
    assert!(said.contains("'lots'") && said.contains("a bound is a number of preemptions"), "{said}");
    check("replay panics --model 1", USAGE, &["--model (ICB_REPLAY_MODEL) says", "give --schedule"]);
    check("show --junit x --sarif x", USAGE, &["--junit and --sarif would both write x; give each"]);
}

/// What the environment lacks is named, and is no fault of the tool.
#[test]
fn what_the_environment_lacks_is_named() {
    let _alone = tool::alone();
    let test = |name: &str| {
        let output = command("test --test holding --target-dir")
            .arg(empty("made-anew"))
            .env(name, "/none")
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = test("RUSTC");
    assert!(said.contains("/none") && !said.contains("panicked"), "{said}");
    assert!(code == Some(USAGE) || code == Some(NOT_BUILT), "{said}");
    for (name, words) in [
        ("CARGO", "cannot ask /none for the workspace: "),
        ("RUSTC_WRAPPER", "cannot run the compiler wrapper /none: "),
    ] {
        let (code, said) = test(name);
        assert!(said.contains(words) && said.contains(name), "{said}");
        assert_eq!(code, Some(USAGE), "{said}");
    }
    // A file where the tests' processes are to keep theirs.
    check("test --test holding counts --max-bound 0", PASSED, &[]);
    let work = target().join("icb/work");
    fs::rename(&work, work.with_extension("aside")).unwrap();
    fs::write(&work, "").unwrap();
    let said = command("test --test holding counts --max-bound 0").output().unwrap();
    fs::remove_file(&work).unwrap();
    fs::rename(work.with_extension("aside"), &work).unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.contains("refused cases::holding::counts_under_a_lock: cannot write "), "{text}");
    assert!(
        text.contains("name another directory with --target-dir") && text.contains("1 not run"),
        "{text}"
    );
    assert_eq!(said.status.code(), Some(USAGE), "{text}");
}

/// Whoever reads may go at any time, and a full disk takes nothing.
#[test]
#[cfg(unix)]
fn that_nobody_reads_errors_is_no_mistake() {
    let _alone = tool::alone();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (arguments, code) in [("test -p nowhere", USAGE), ("replay nowhere", STORED)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = command(arguments).stderr(writer.try_clone().unwrap()).stdout(writer).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments}");
        let status = command(arguments).stderr(full()).stdout(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments}");
    }
}

/// What cannot be written is not claimed to be, and takes nothing with it.
#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_written_is_told() {
    let _alone = tool::alone();
    let shards = empty("shard-of-a-run-that-is-not-reported");
    let shard = format!("test --test holding counts --shard 1/2 --shard-dir {}", shards.display());
    check(
        &format!("{shard} --junit /proc/none/report.xml"),
        USAGE,
        &["error: --junit: cannot write /proc/none/report.xml: ", "name another file"],
    );
    // A disk that is full in the end only.
    check(&format!("{shard} --junit /dev/full"), USAGE, &["its result is ", "cannot write /dev/full: "]);
    assert!(shards.join("shard-1-of-2.icbshard").exists());
    check(
        "test --test holding counts --shard 1/2 --shard-dir /proc/none",
        USAGE,
        &["cannot write the result of the shard to /proc/none: ", "--shard-dir"],
    );
    // A test process that cannot say what it does has not shown anything.
    let built = command("test --test holding counts").output().unwrap();
    assert!(built.status.success());
    let executable = newest(&target(), "holding-");
    let output = Command::new(executable)
        .args(["--exact", "counts_under_a_lock", "--nocapture"])
        .env("ICB_CHANNEL", "/dev/full")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("icb: cannot write messages to /dev/full: "), "{said}");
    assert_eq!(output.status.code(), Some(97));
}

/// What is told to a full disk is lost, whatever was asked for, and the exit code says so; that nobody reads it any more is no mistake.
#[test]
#[cfg(target_os = "linux")]
fn what_a_full_disk_takes_is_told() {
    let _alone = tool::alone();
    check("test --test failing cases::failing::panics --exact", FAILED, &["FAILED cases::failing::panics"]);
    check("replay cases::failing::panics", FAILED, &["The failure shows again."]);
    let trace = target().join("icb/traces/cases/failing/panics.json");
    for (arguments, code) in [
        ("list --test holding", PASSED),
        ("list --failures", PASSED),
        ("replay cases::failing::panics", FAILED),
        ("replay cases::failing::panics --debugger", PASSED),
        ("diff cases::failing::panics", PASSED),
        ("diff cases::failing::panics --bounds 0,1", PASSED),
        (&format!("diff {0} {0}", trace.display()), PASSED),
        ("timeline cases::failing::panics", PASSED),
        ("coverage counts --test holding --strategies dfs", PASSED),
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("error: cannot write to the standard output: "), "{arguments}: {said}");
        assert_eq!(output.status.code(), Some(USAGE), "{arguments}: {said}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(
            command(arguments).stdout(writer).output().unwrap().status.code(),
            Some(code),
            "{arguments}"
        );
    }
}

/// The executable of that name that was built last.
fn newest(directory: &Path, name: &str) -> PathBuf {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_named = entry.file_name().to_string_lossy().starts_with(name);
            if path.is_dir() {
                directories.push(path);
            } else if is_named && path.extension().is_none() {
                found.push((entry.metadata().unwrap().modified().unwrap(), path));
            }
        }
    }
    found.into_iter().max().unwrap().1
}

/// A run that was killed has proved what it came to, and no more.
#[test]
fn a_run_without_its_end_is_incomplete() {
    let _alone = tool::alone();
    let said = check("test --test holding --max-bound 1 counts has_one", PASSED, &["Stored as run "]);
    let number = said.split("Stored as run ").nth(1).unwrap().split(':').next().unwrap();
    let run = fs::read_to_string(target().join(format!("icb/runs/{number}.jsonl"))).unwrap();
    let cut = target().join("tmp").join("run.jsonl");
    let ends = |bound: &str| run.find(bound).map(|at| at + run[at..].find('\n').unwrap() + 1).unwrap();
    let of_bound_0 =
        ends(r#""event":"test_finished","test":"cases::holding::counts_under_a_lock","bound":0"#);
    fs::create_dir_all(cut.parent().unwrap()).unwrap();
    for half_a_line in ["", r#"{"icb":1,"event":"test_fin"#] {
        fs::write(&cut, run[..of_bound_0].to_owned() + half_a_line).unwrap();
        check(
            &format!("show {}", cut.display()),
            INCOMPLETE,
            &[
                "cases::holding::counts_under_a_lock: the run has not come to its end at bound 1: proved up to 0",
            ],
        );
    }
    fs::write(&cut, "").unwrap();
    check(&format!("show {}", cut.display()), STORED, &["the stored run ", "there is not one line in it"]);
    fs::write(&cut, "{}\n").unwrap();
    check(&format!("diff {0} {0}", cut.display()), STORED, &["the stored trace ", "it is no trace"]);
}

#[test]
fn a_model_that_is_not_called_is_no_failure() {
    let _alone = tool::alone();
    check(
        "replay cases::holding::counts_under_a_lock --schedule icb1:0*3 --model 5",
        DIVERGED,
        &["the test ended without calling its model number 5"],
    );
    check(
        "replay cases::holding::counts_under_a_lock --schedule icb1:0*3 --stack-size 1",
        USAGE,
        &["'1' for '--stack-size <BYTES>': a stack has from 16384 to"],
    );
}

/// The command that replays what could not be stored is complete, and one word is one word for a shell.
#[test]
fn a_failure_that_cannot_be_stored_can_be_replayed() {
    let _alone = tool::alone();
    let file = target().join("icb/failures/cases/weak/relaxed_flags.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "").unwrap();
    let said = check("test --test weak --weak-memory relaxed", FAILED, &["Not stored: ", "is damaged"]);
    fs::remove_file(&file).unwrap();
    let command = said.split("Replay it with:  ").nth(1).unwrap().lines().next().unwrap();
    let replay =
        command.strip_prefix("ICB_WEAK_MEMORY=1 cargo icb replay cases::weak::relaxed_flags ").unwrap();
    assert!(replay.ends_with(&format!("' --target-dir {}", target().display())), "{replay}");
    let schedule = replay.split('\'').nth(1).unwrap();
    check(
        &format!("replay cases::weak::relaxed_flags --weak-memory --schedule {schedule}"),
        FAILED,
        &["nobody has seen the other"],
    );
}

/// What is said of a whole run is said of its shards together: once, and not where the user knows it.
#[test]
fn stale_values_that_shards_left_out_are_told_once() {
    let _alone = tool::alone();
    for (options, count) in [("", 1), (" --weak-memory=false", 0)] {
        let shards = empty("shards-with-stale-values");
        for number in [1, 2] {
            let shard = format!("--shard {number}/2 --shard-dir {}", shards.display());
            check(&format!("test --test weak {shard}{options}"), PASSED, &["2 passed"]);
        }
        let said = check(
            &format!("merge {}", shards.display()),
            PASSED,
            &["Merging 2 results of 2 tests", "2 passed"],
        );
        let note = "note orderings weaker than SeqCst were treated as SeqCst in cases::weak::relaxed_flags; --weak-memory";
        assert_eq!(said.matches(note).count(), count, "{said}");
        assert_eq!(said.matches("orderings weaker").count(), count, "{said}");
    }
}

/// What a test says of all executions together, no shard can judge: it is neither failed nor proved.
#[test]
fn what_no_shard_can_judge_is_incomplete() {
    let _alone = tool::alone();
    let not_judged = "what is asserted after the model could not be judged";
    let shards = empty("shards-afterwards");
    for number in [1, 2] {
        let shard = format!("--max-bound 1 --shard {number}/2 --shard-dir {}", shards.display());
        let words =
            ["ok bound 0  ", not_judged, "a shard sees a part of the executions only", "1 incomplete"];
        check(&format!("test --test afterwards {shard} third"), INCOMPLETE, &words);
    }
    let words = ["shard 1/2: ", not_judged, "proved up to 0", "0 passed, 0 failed, 1 incomplete"];
    check(&format!("merge {}", shards.display()), INCOMPLETE, &words);
}

/// What a manifest says of the tool has an effect, or is refused before anything is built.
#[test]
fn settings_in_manifests_that_have_no_effect_are_refused() {
    let _alone = tool::alone();
    let project = empty("odd-manifest");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/lib.rs"), "").unwrap();
    for (settings, words) in [
        ("[package.metadata.icb]\nexcept = 'bank'", "says in `except` what is no list of names"),
        ("[package.metadata.icb]\ninstruments = ['bank']", "`instruments` (did you mean `instrument`?)"),
        (
            "[workspace.metadata.icb]\nmax_bound = 3",
            "[workspace.metadata.icb] has no setting `max_bound`; it has",
        ),
    ] {
        let package = "[package]\nname = 'odd-manifest'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n";
        let manifest = project.join("Cargo.toml");
        fs::write(&manifest, format!("{package}{settings}\n")).unwrap();
        let said = check(&format!("test --manifest-path {}", manifest.display()), USAGE, &[words]);
        assert!(said.starts_with("error: ") && said.contains("odd-manifest/Cargo.toml: ["), "{said}");
    }
}

/// A file of another kind is not damaged: it is for another command.
#[test]
fn files_of_the_wrong_kind_are_recognised_and_runs_shown_anywhere() {
    let _alone = tool::alone();
    let told = check("test --test failing cases::failing::panics --exact", FAILED, &["Stored as run "]);
    let number = told.split("Stored as run ").nth(1).unwrap().split(':').next().unwrap();
    let shards = empty("shard-of-the-wrong-kind");
    let shard = format!("test --test holding counts --shard 1/1 --shard-dir {}", shards.display());
    check(&shard, PASSED, &["Shard 1/1: its result is "]);
    let icb = target().join("icb");
    let failure = icb.join("failures/cases/failing/panics.json").display().to_string();
    let trace = icb.join("traces/cases/failing/panics.json").display().to_string();
    let run = icb.join(format!("runs/{number}.jsonl")).display().to_string();
    let shard = shards.join("shard-1-of-1.icbshard").display().to_string();
    for (arguments, words) in [
        (
            format!("replay {trace}"),
            "is a stored trace, and this takes a stored failure; `cargo icb timeline FILE` and",
        ),
        (
            format!("diff {trace} {failure}"),
            "is a stored failure, and this takes a stored trace; `cargo icb replay FILE` takes it",
        ),
        (format!("timeline {failure}"), "is a stored failure, and this takes a stored trace"),
        (
            format!("timeline {run}"),
            "is a stored run, and this takes a stored trace; `cargo icb show FILE` takes it",
        ),
        (format!("show {failure}"), "is a stored failure, and this takes a stored run"),
        (
            format!("show {shard}"),
            "is the result of a shard, and this takes a stored run; `cargo icb merge DIRECTORY`",
        ),
    ] {
        let said = check(&arguments, STORED, &[words]);
        assert!(!said.contains("damaged") && !said.contains("delete"), "{said}");
    }
    // Where there is no package, a file of a run is shown all the same.
    let elsewhere = std::env::temp_dir();
    let shown = command(&format!("show {run}")).current_dir(&elsewhere).output().unwrap();
    let said = String::from_utf8_lossy(&shown.stdout);
    assert!(said.contains("FAILED cases::failing::panics: panic: lost an increment"), "{said}");
    assert_eq!(shown.status.code(), Some(FAILED), "{said}");
    let shown = command(&format!("show {number}")).current_dir(&elsewhere).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stderr).contains("could not find `Cargo.toml`"));
    assert_eq!(shown.status.code(), Some(USAGE));
}

/// What is stored is listed as it is asked for.
#[test]
fn stored_failures_are_listed_by_name() {
    let _alone = tool::alone();
    check("test --test failing cases::failing::panics --exact", FAILED, &["FAILED cases::failing::panics"]);
    let stored = "cases::failing::panics: panic: lost an increment";
    check("list --failures pani", PASSED, &[stored]);
    check("list --failures cases::failing::panics --exact --ignored", PASSED, &[stored]);
    for (arguments, words) in [
        ("nosuch neither", "no failure is stored of a test that matches `nosuch` or `neither`"),
        (
            "cases::failing::pani --skip lost --skip panics",
            "no failure is stored of a test that matches `cases::failing::pani`",
        ),
        (
            "--skip a --skip e --skip i --skip o --skip u",
            "no failure is stored but of the tests that --skip leaves out",
        ),
    ] {
        let said = check(&format!("list --failures {arguments}"), PASSED, &[words]);
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let said =
        check("list --test holding cases::holding::counts", PASSED, &["cases::holding::counts_under_a_lock"]);
    assert!(!said.contains("Stored failures:"), "{said}");
    let said = check(
        "list --test failing cases::failing::panics",
        PASSED,
        &["cases::failing::panics\n", "Stored failures:\n", stored],
    );
    assert!(!said.contains("deadlocks"), "{said}");
}
