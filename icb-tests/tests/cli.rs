//! `cargo icb` from end to end, on the crates in `fixtures`: every bad input gives one clear message and its documented
//! exit code, everything that can go wrong in a test is told while the other tests run on, and failures are stored and
//! replayed. Knows nothing of the tool but its command line, its output and its exit codes.

use icb_tests::tool;
use std::path::{Path, PathBuf};

/// Codes that scripts depend on.
const PASSED: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const NOT_BUILT: i32 = 3;
const NO_TESTS: i32 = 4;
const INCOMPLETE: i32 = 5;
const STORED: i32 = 6;
const DIVERGED: i32 = 8;

/// What the tool has said and how it ended.
#[derive(Debug)]
struct Said {
    code: i32,
    text: String,
}

impl Said {
    #[track_caller]
    fn check(&self, code: i32, words: &[&str]) {
        for word in words {
            assert!(self.text.contains(word), "no {word:?} in\n{}", self.text);
        }
        assert_eq!(self.code, code, "{}", self.text);
    }
}

/// The directory where these tests build; all fixtures share it, so the mirrored library is built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

/// Runs the tool in the directory of a fixture.
fn icb_with(fixture: &str, arguments: &str, variables: &[(&str, &str)]) -> Said {
    icb_into(&target(), fixture, arguments, variables)
}

/// The same with another target directory.
fn icb_into(target: &Path, fixture: &str, arguments: &str, variables: &[(&str, &str)]) -> Said {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(fixture);
    let mut words = tool::words(arguments);
    let mut command = tool::command(env!("CARGO_TARGET_TMPDIR"));
    command.current_dir(directory).arg(words.next().unwrap());
    let output = command
        .arg("--target-dir")
        .arg(target)
        .args(words)
        .env("COLUMNS", "120")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Said { code: output.status.code().unwrap_or(-1), text: text.into_owned() }
}

fn icb(arguments: &str) -> Said {
    icb_with("cases", arguments, &[])
}

#[test]
fn bad_input_is_refused_in_one_sentence() {
    let _alone = tool::alone();
    for (arguments, code, words) in [
        ("test --no-such-option", USAGE, ["unexpected argument '--no-such-option'", "--help"]),
        ("test --max-bound lots", USAGE, ["'lots'", "a bound is a number of preemptions"]),
        ("test --max-bound -1", USAGE, ["'-1'", ""]),
        ("test --max-time soon", USAGE, ["'soon'", "a duration is"]),
        ("test --at-once --strategy dfs", USAGE, ["--at-once", "leave out --strategy"]),
        ("test -p nowhere", USAGE, ["there is no package `nowhere`", "it has cases"]),
        ("test --manifest-path nowhere/Cargo.toml", USAGE, ["nowhere/Cargo.toml", "error: "]),
        ("test --instrument nowhere", USAGE, ["there is no package `nowhere` to instrument", "--instrument"]),
        ("test --doc", USAGE, ["--doc: documentation tests", "move the example into a #[test]"]),
        ("test -- --list", USAGE, ["--list: `cargo icb list` lists the tests", "the same filters"]),
        ("test --no-run", USAGE, ["--no-run: leave it out", "cargo icb list"]),
        (
            "test --features nowhere",
            USAGE,
            ["--features nowhere: there is no feature `nowhere`", "there is none"],
        ),
        (
            "test --test holdin",
            USAGE,
            ["--test holdin: there is no integration test", "(did you mean `holding`?)"],
        ),
        ("test --bin nowhere", USAGE, ["--bin nowhere: there is no binary", "in the package cases"]),
        (
            "test --target nowhere",
            USAGE,
            ["--target nowhere: the compiler knows no such target", "rustc --print target-list"],
        ),
        (
            "test --profile nowhere",
            USAGE,
            ["--profile nowhere: there is no such profile", "bench, dev, release, test"],
        ),
        ("test --shard 0/4", USAGE, ["'0/4'", "shards are counted from 1"]),
        ("test --junit .", USAGE, ["--junit: cannot write .: ", "name another file"]),
        (
            "coverage counts --strategies icb,icb",
            USAGE,
            ["--strategies: icb is icb once more", "leave one out"],
        ),
        ("test --lib", NO_TESTS, ["there are no tests", "select another package or target"]),
        ("test --test holding nowhere", NO_TESTS, ["no test matches `nowhere` among 4", "cargo icb list"]),
        ("test --test holding --ignored", NO_TESTS, ["none of the 4 tests is selected", "--include-ignored"]),
        ("replay", USAGE, ["<TEST|FILE>", "--help"]),
        ("replay nowhere", STORED, ["no stored failure matches `nowhere`", "cargo icb list --failures"]),
        ("replay panics --schedule 0*3", USAGE, ["--schedule: ", "begins with"]),
        ("replay panics --schedule icb1:0*3?", USAGE, ["--schedule: ", ""]),
    ] {
        let said = icb(arguments);
        said.check(code, &words);
        assert_eq!(
            said.text.matches("error: ").count().max(1),
            1 + usize::from(code == NOT_BUILT),
            "{}",
            said.text
        );
    }
    for list in ["--only", "--except"] {
        let said = icb_with("unchanged", &format!("test {list} nowhere"), &[]);
        said.check(USAGE, &["there is no package `nowhere`", list]);
    }
    icb_with("unchanged", "test --instrument spin", &[])
        .check(USAGE, &["--instrument spin: none of the tested packages depends on icb-std", "--only"]);
    let file = target().join("no-directory");
    std::fs::create_dir_all(target()).and_then(|()| std::fs::write(&file, "")).unwrap();
    icb_into(&file, "cases", "test", &[])
        .check(USAGE, &["no-directory", "name another directory with --target-dir"]);
    icb_with("unchanged", "test one_thread", &[("ICB_CACHE_DIR", file.to_str().unwrap())])
        .check(USAGE, &["no-directory", "name another directory with --cache-dir"]);
    let said = icb_with("cases", "test", &[("ICB_MAX_BOUND", "two")]);
    said.check(USAGE, &["'two'", "a bound is a number of preemptions"]);
    // What has no effect is told.
    let said = icb_with("cases", "test --lib", &[("ICB_MAX_BOUNDS", "2"), ("ICB_WORKERS", "2")]);
    said.check(NO_TESTS, &["did you mean ICB_MAX_BOUND?", "does not obey ICB_WORKERS: --jobs"]);
}

#[test]
fn settings_that_no_model_can_have_are_refused() {
    let _alone = tool::alone();
    for (arguments, words) in [
        ("--stack-size 1", "'1' for '--stack-size <BYTES>': a stack has from 16384 to "),
        ("--stack-size 999999999999999", "a stack has from 16384 to "),
        ("--max-steps 0", "with a limit of 0 nothing is done; give at least 1, or leave it out for 20000"),
    ] {
        icb(&format!("test --test holding {arguments} counts")).check(USAGE, &[words]);
    }
}

/// What is told to a full disk is lost, and the exit code says so; that nobody reads it any more is no mistake.
#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_told_is_an_error() {
    let _alone = tool::alone();
    icb("test --test holding --max-bound 0 counts").check(PASSED, &[]);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    for format in ["human", "json"] {
        let mut command = tool::command(env!("CARGO_TARGET_TMPDIR"));
        command
            .current_dir(&directory)
            .arg("show")
            .arg("--target-dir")
            .arg(target())
            .args(["--message-format", format]);
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("error: cannot write to the standard output: "), "{said}");
        assert_eq!(output.status.code(), Some(USAGE), "{said}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(command.stdout(writer).output().unwrap().status.code(), Some(PASSED));
    }
}

#[test]
fn what_holds_is_proved() {
    let _alone = tool::alone();
    icb("test --test holding --max-bound 3").check(
        PASSED,
        &[
            "proved cases::holding::counts_under_a_lock: no failure in any execution (exhaustive)",
            "proved cases::holding::has_one_thread: no failure in any execution (exhaustive)",
            "ok cases::holding::fails_as_expected: fails as expected: panic: ",
            "run once cases::holding::has_no_model",
            "4 passed, 0 failed",
        ],
    );
    icb("test --test holding --max-bound 3 --reduction none counts").check(
        PASSED,
        &["proved cases::holding::counts_under_a_lock: no failure in any execution (exhaustive)"],
    );
    icb("test --test holding --max-bound 1 --reduction none counts").check(
        PASSED,
        &["proved cases::holding::counts_under_a_lock: no failure in any execution with at most 1 preemption", "1 passed"],
    );
}

/// One process for each test that holds; what fails is told as if it had been searched bound by bound.
#[test]
fn the_last_bound_can_be_searched_at_once() {
    let _alone = tool::alone();
    let said = icb("test --test holding --test afterwards --max-bound 3 --at-once -- --skip third");
    said.check(
        PASSED,
        &[
            "bound 3 at once, ",
            "ok bound 3  cases::holding::counts_under_a_lock",
            "proved cases::holding::counts_under_a_lock: no failure in any execution (exhaustive)",
            "ok cases::holding::fails_as_expected: fails as expected: panic: ",
            "ok bound 3  cases::afterwards::both_results_are_seen",
            "5 passed, 0 failed",
        ],
    );
    assert!(!said.text.contains("bound 0  cases::holding"), "{}", said.text);
    let narrowed = "narrowing bound 3  cases::failing::panics  2 executions, 2 states, ";
    icb("test --test failing --max-bound 3 --at-once panics").check(
        FAILED,
        &[
            narrowed,
            "fails with 1 preemption: panic: lost an increment",
            "ok bound 0  cases::failing::panics",
            "FAILED bound 1  cases::failing::panics",
            "1 preemption, found in execution ",
        ],
    );
    // A failure stays one where there is no time to look for a better one.
    icb("test --test failing --max-bound 3 --at-once --max-run-executions 2 panics").check(
        FAILED,
        &[
            narrowed,
            "FAILED bound 0  cases::failing::panics",
            "Found at once, with 1 preemption; stopped by the run's limit on executions at bound 0",
        ],
    );
    let said = icb("test --test holding --test failing --max-bound unlimited --at-once counts panics");
    said.check(
        FAILED,
        &[
            "all executions at once, ",
            "ok no bound cases::holding::counts_under_a_lock  2 executions, 2 states, ",
            "proved cases::holding::counts_under_a_lock: no failure in any execution (exhaustive)",
            "narrowing no bound cases::failing::panics",
            "FAILED bound 1  cases::failing::panics",
            "1 preemption, found in execution ",
        ],
    );
    assert!(!said.text.contains("bound 0  cases::holding"), "{}", said.text);
    let all = "test --test holding --max-bound 3 --at-once";
    icb(&format!("{all} --max-executions 1 counts")).check(INCOMPLETE, &["at bound 3: nothing is proved"]);
    icb(&format!("{all} --resume counts")).check(PASSED, &["bound 3 at once", "1 passed"]);
}

/// Nothing would be proved.
#[test]
fn threads_that_the_model_does_not_have_are_told() {
    let _alone = tool::alone();
    icb("test --test outsiders --reduction none").check(
        FAILED,
        &[
            "divergence: a thread that is not part of the model uses `Mutex<i32>` at tests/outsiders.rs:12:",
            "divergence: a thread that is not part of the model uses `AtomicU32` at tests/outsiders.rs:23:",
            "divergence: a thread that is not part of the model uses `AtomicU32` at tests/outsiders.rs:34:",
            "spawn it with",
            "proved cases::outsiders::minds_its_own_business: no failure in any execution (exhaustive)",
            "1 passed, 3 failed",
        ],
    );
}

#[test]
fn options_do_what_they_say() {
    let _alone = tool::alone();
    let test =
        |name: &str, options: &str| icb(&format!("test --test options --max-bound 1 {name} {options}"));
    for (name, failure, option) in [
        ("relies_on_a_weak_exchange", "panic: it failed", "--spurious=false"),
        ("panics_where_nobody_joins", "panic: nobody sees this", "--allow-unjoined-panics"),
        (
            "takes_a_large_stack",
            "overflowed its stack of 262144 bytes; give threads a larger one with --stack-size",
            "--stack-size 4194304",
        ),
    ] {
        test(name, "").check(FAILED, &[failure]);
        test(name, option).check(PASSED, &["1 passed, 0 failed"]);
    }
    test("takes_one_block_for_another", "--reuse-addresses=false")
        .check(PASSED, &["proved", "in any execution with at most 1 preemption\n"]);
    test("takes_one_block_for_another", "--reuse-addresses")
        .check(FAILED, &["bound 1", "something was lost", "1 preemption"]);
    icb("replay takes_one_block_for_another").check(FAILED, &["something was lost"]);
    test("writes_under_a_lock", "--reuse-addresses")
        .check(PASSED, &["no failure in any execution (exhaustive), where addresses are used again"]);
    for (options, code, executions) in [
        ("--reduction none", PASSED, "bound 1              2 executions           2 states"),
        (
            "--reduction none --granularity access",
            PASSED,
            "bound 1              4 executions           2 states",
        ),
        ("--reduction none --spill", PASSED, "bound 1              2 executions           2 states"),
        ("--strategy kiss --sequential", INCOMPLETE, "no bound             2 executions           2 states"),
        (
            "--strategy kiss --max-pending 1",
            INCOMPLETE,
            "no bound             2 executions           2 states",
        ),
    ] {
        test("writes_under_a_lock", options).check(code, &[executions]);
    }
    test("relies_on_a_weak_exchange", "--simplify 1s")
        .check(FAILED, &["simpler (2 tried)", "--spurious=false leaves such executions out"]);
}

/// Where accesses are checked, frees are too.
#[test]
#[ignore = "builds all that the mirrored library is made of once more"]
fn frees_are_checked_if_asked_for() {
    let _alone = tool::alone();
    let test = |options: &str| {
        icb(&format!("test --test options --max-bound 1 frees_what_it_has_not_acquired {options}"))
    };
    test("").check(FAILED, &["use after free: memory is freed after an atomic"]);
    test("--no-accesses").check(PASSED, &["1 passed, 0 failed"]);
    test("--no-accesses --check-frees").check(FAILED, &["use after free: "]);
}

/// Searches that do not go by bounds are one process for each test, and prove something only where they leave nothing out.
#[test]
fn other_searches_claim_what_they_have_done() {
    let _alone = tool::alone();
    let test = |strategy: &str| icb(&format!("test --test holding counts --strategy {strategy}"));
    for strategy in ["dfs", "idfs"] {
        let line = "ok no bound cases::holding::counts_under_a_lock  6 executions, 2 states, ";
        test(strategy).check(PASSED, &[line, "no failure in any execution (exhaustive)"]);
    }
    for (strategy, line) in [
        ("db:3", "incomplete no bound cases::holding::counts_under_a_lock  1 execution, "),
        (
            "random:3",
            "incomplete no bound cases::holding::counts_under_a_lock  10,000 executions, 2 states, ",
        ),
        ("pct:3:5", "incomplete no bound cases::holding::counts_under_a_lock  10,000 executions, 2 states, "),
        ("delay", "incomplete up to 2  cases::holding::counts_under_a_lock  9 executions, 2 states, "),
        (
            "kiss",
            "incomplete no bound cases::holding::counts_under_a_lock  2 executions (3 given up), 2 states, ",
        ),
    ] {
        test(strategy).check(INCOMPLETE, &[line, "nothing is proved"]);
    }
    test("pct:x").check(USAGE, &["`pct:x` is no strategy", "pct[:DEPTH[:SEED]]"]);
    icb("test --test failing panics --strategy random:3")
        .check(FAILED, &["FAILED no bound cases::failing::panics", "panic: lost an increment"]);
}

/// The search with a table of states: the same verdicts at the same bounds, and the failure replays.
#[test]
fn states_are_visited_once() {
    let _alone = tool::alone();
    icb("test --test holding --max-bound 3 --reduction visited").check(
        PASSED,
        &[
            "proved cases::holding::counts_under_a_lock: no failure in any execution (exhaustive)",
            "proved cases::holding::has_one_thread: no failure in any execution (exhaustive)",
            "ok cases::holding::fails_as_expected: fails as expected: panic: ",
            "4 passed, 0 failed",
        ],
    );
    icb("test --test holding --max-bound 1 --reduction visited counts").check(PASSED, &["1 passed"]);
    icb("test --test failing --reduction visited panics").check(
        FAILED,
        &["FAILED cases::failing::panics: panic: lost an increment", "1 preemption, found in execution "],
    );
    icb("replay cases::failing::panics").check(FAILED, &["panic: lost an increment"]);
}

#[test]
fn what_is_cut_short_is_incomplete() {
    let _alone = tool::alone();
    icb("test --test holding --max-executions 1").check(
        INCOMPLETE,
        &[
            "incomplete cases::holding::counts_under_a_lock: ",
            "stopped by the limit on executions",
            "bound 0              1 execution            1 state ",
            "proved cases::holding::has_one_thread",
            "2 passed, 0 failed, 2 incomplete",
            "The same command with --resume and a greater --max-executions goes on where this one stopped.",
        ],
    );
    icb("test --test holding --max-executions 1 --reduction none counts").check(
        INCOMPLETE,
        &["--resume and a greater --max-executions goes on with the bound at which this one stopped."],
    );
    for strategy in ["dfs", "db:20", "delay", "random", "pct"] {
        let said = icb(&format!("test --test holding --strategy {strategy} --max-executions 1 counts"));
        said.check(INCOMPLETE, &["stopped by the limit on executions"]);
        assert!(!said.text.contains("--resume"), "{}", said.text);
    }
}

#[test]
fn a_failure_that_does_not_come_is_missed() {
    let _alone = tool::alone();
    let said = icb("test --test holding --max-bound 0 fails_as_expected");
    assert_ne!(said.code, PASSED, "{}", said.text);
    said.check(FAILED, &["fails_as_expected"]);
}

/// One bound sees some of the executions only, and so does each of several processes.
#[test]
fn what_a_test_says_of_all_executions_is_judged_after_the_last_bound() {
    let _alone = tool::alone();
    icb("test --test afterwards --max-bound 1").check(
        FAILED,
        &[
            "proved cases::afterwards::both_results_are_seen: no failure in any execution with at most 1 preemption",
            "ok bound 0  cases::afterwards::a_third_result_is_not_seen",
            "FAILED cases::afterwards::a_third_result_is_not_seen: the test failed outside any model",
            "what all executions come to",
            "1 passed, 1 failed",
        ],
    );
    icb("test --test afterwards --max-bound 0").check(
        FAILED,
        &["FAILED cases::afterwards::both_results_are_seen: the test failed outside any model"],
    );
    icb("test --test afterwards --reduction none both").check(PASSED, &["1 passed, 0 failed"]);
    icb("test --test afterwards --max-executions 3 both").check(
        INCOMPLETE,
        &["stopped by the limit on executions", "after bound 0 the test failed outside any model"],
    );
    // What was not seen is no fault of the test: of a search that is cut short, of one execution, of a part of them.
    let not_judged = "what is asserted after the model could not be judged";
    for (arguments, why) in [
        ("--strategy dfs --max-executions 1", "stopped by the limit on executions; "),
        ("--isolated --max-bound 1", "with --isolated no process sees more than one execution"),
    ] {
        icb(&format!("test --test afterwards {arguments} both")).check(INCOMPLETE, &[not_judged, why]);
    }
}

/// Where the search comes upon it, a divergence says what the thread was about to do, and what it does otherwise.
#[test]
fn a_divergence_is_told_with_its_steps() {
    let _alone = tool::alone();
    icb("test --test diverging --max-bound 3 -j 1").check(
        FAILED,
        &[
            "FAILED cases::diverging::does_something_else_once: divergence: the test did something else than before at step ",
            "at tests/diverging.rs:20",
            "│ divergence",
            "*their_lock.lock().unwrap() += 1;",
            "With the same schedule T1 goes on with ReadModifyWrite(SeqCst) at tests/diverging.rs:22",
            "There is nothing to replay",
        ],
    );
}

#[test]
fn every_failure_is_told_stored_and_replayed() {
    let _alone = tool::alone();
    let said = icb("test --max-bound 1 --max-steps 2000 --watchdog 1");
    said.check(
        FAILED,
        &[
            "FAILED cases::failing::aborts: abort: the process died of SIGABRT",
            "FAILED cases::failing::asks_the_real_world: divergence: ",
            "FAILED cases::failing::blocks_outside: blocked outside the model: the test blocks in ",
            "FAILED cases::failing::deadlocks: deadlock: T0 is parked and nobody unparks it",
            "FAILED cases::failing::dereferences_null: abort: the process died of SIGSEGV",
            "FAILED cases::failing::exits: abort: the process ended with exit code 3 in the middle of an execution",
            "FAILED cases::failing::fails_without_a_model: the test failed outside any model",
            "an ordinary failure",
            "FAILED cases::failing::never_ends: step limit reached: ",
            "FAILED cases::failing::overflows_its_stack: stack overflow: T0 overflowed its stack",
            "FAILED cases::failing::panics: panic: lost an increment",
            // The others run on.
            "proved cases::holding::counts_under_a_lock",
            "run once cases::holding::has_no_model",
            "11 passed, 19 failed",
            // The report.
            "1 preemption, found in execution ",
            "▶1         │ preempted by T1",
            "Preemption 1: T0 main is stopped here; T1 main.0 goes on with step 4",
            "Replay it with:  cargo icb replay panics",
        ],
    );
    for (test, kind) in [
        ("aborts", "abort: the process died of SIGABRT"),
        ("blocks_outside", "blocked outside the model: the test blocks in "),
        ("deadlocks", "deadlock: T0 is parked and nobody unparks it"),
        ("dereferences_null", "abort: the process died of SIGSEGV"),
        ("unwinds_into_foreign_code", ": the reason\n"),
        ("never_ends", "step limit reached: "),
        ("overflows_its_stack", "stack overflow: T0 overflowed its stack"),
        ("cases::failing::panics", "panic: lost an increment"),
    ] {
        let told = format!("Replay it with:  cargo icb replay {}", test.rsplit("::").next().unwrap());
        said.check(FAILED, &[&told]);
        icb(&format!("replay {test}")).check(FAILED, &[kind, "The failure shows again."]);
    }
    // Where memory is accessed that is not there, the process lives on, and tells where that was.
    icb("replay dereferences_null").check(FAILED, &["It takes these orders", "The failure, in T0 main:"]);
    // What the failing execution printed, and no other, is part of its report, even where the process dies of it.
    let replayed = icb("replay cases::failing::panics");
    replayed.check(FAILED, &["│ » an execution begins", "│ » about to panic"]);
    assert_eq!(replayed.text.matches("an execution begins").count(), 1, "{}", replayed.text);
    // Which orders it takes is told of deaths, too; some executions without one of them die in another way.
    let lost = "T0 load count = 0 (3) before T1 store count := 1 (6)";
    for (test, words) in [
        ("aborts", ["│ » an execution begins", lost]),
        ("unwinds_into_foreign_code", ["panic in a function that cannot unwind", lost]),
        ("exits", ["It takes these orders", "T0 update count: 0 → 1 (3) before T1 update count: 1 → 2 (5)"]),
    ] {
        icb(&format!("replay {test}")).check(FAILED, &words);
    }
    // A simpler one dies in the same way.
    let simplified = icb("test --test failing aborts --strategy random:1 --simplify 2s");
    simplified.check(FAILED, &["only moves of steps were tried (", lost]);
    icb("list --failures")
        .check(PASSED, &["cases::failing::panics: panic: lost an increment (1 preemption)"]);
    // Schedules of which the test knows nothing: too long, and impossible.
    for schedule in ["icb1:0*4!1*99", "icb1:0!7"] {
        icb(&format!("replay panics --schedule {schedule} --test failing"))
            .check(DIVERGED, &["divergence: "]);
    }
    icb("replay panics --schedule icb1:0*99 --test failing").check(DIVERGED, &["divergence: "]);
}

/// Benches are targets like others: they are selected by name, and what fails there is replayed there.
#[test]
fn a_failure_in_a_bench_is_replayed() {
    let _alone = tool::alone();
    let test = "cases::bench:counting::counts_without_a_lock";
    for selection in ["--bench counting", "--benches"] {
        icb(&format!("test {selection}")).check(
            FAILED,
            &[&format!("FAILED {test}"), "cargo icb replay counts_without_a_lock", "0 passed, 1 failed"],
        );
    }
    icb(&format!("replay {test}")).check(FAILED, &["an update was lost"]);
}

#[test]
fn a_damaged_stored_failure_is_kept_and_stops_nothing() {
    let _alone = tool::alone();
    let file = target().join("icb/failures/cases/failing/deadlocks.json");
    let _ = std::fs::remove_file(&file);
    icb("test --test failing deadlocks").check(FAILED, &["Stored in "]);
    let whole = std::fs::read_to_string(&file).unwrap();
    for (damage, words) in [
        (whole[..whole.len() / 2].to_owned(), "is damaged: "),
        (whole.replace("icb1:", "icb9:"), "is damaged: "),
        (whole.replace("\"format\": 1", "\"format\": 7"), "it has format 7, this cargo-icb reads format 1"),
    ] {
        std::fs::write(&file, &damage).unwrap();
        icb("replay deadlocks").check(STORED, &["deadlocks.json", words]);
        icb("test --test failing --test holding deadlocks counts").check(
            FAILED,
            &[
                "Not stored: ",
                "is damaged",
                "replay cases::failing::deadlocks --schedule",
                "1 passed, 1 failed",
            ],
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damage, "a damaged file must not be overwritten");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_failure_from_elsewhere_is_replayed_by_its_file() {
    let _alone = tool::alone();
    let stored = target().join("icb/failures/cases/failing/deadlocks.json");
    let _ = std::fs::remove_file(&stored);
    icb("test --test failing deadlocks").check(FAILED, &["Stored in "]);
    let brought = target().join("brought.json");
    std::fs::copy(&stored, &brought).unwrap();
    // Two files for one test: neither name nor whole name says which.
    let second = target().join("icb/failures/second.json");
    std::fs::copy(&stored, &second).unwrap();
    icb("replay deadlocks")
        .check(STORED, &["several files say", "second.json", "deadlocks.json", "delete the others"]);
    std::fs::remove_file(&second).and_then(|()| std::fs::remove_file(&stored)).unwrap();
    let replay = format!("replay {}", brought.display());
    icb(&replay).check(FAILED, &["Replaying cases::failing::deadlocks", "The failure shows again."]);
    std::fs::write(&brought, "{}").unwrap();
    icb(&replay).check(STORED, &["brought.json is damaged: it is no stored failure", "cargo icb test"]);
    std::fs::remove_file(&brought).unwrap();
    icb(&replay).check(STORED, &["there is no file ", "brought.json; `cargo icb test` says where"]);
}

#[test]
fn an_unmodified_published_crate_shows_its_published_bug() {
    let _alone = tool::alone();
    let bound_1 = icb_with("spin-once", "test --max-bound 1 --locked", &[]);
    bound_1.check(PASSED, &["no failure in any execution with at most 1 preemption"]);
    let said = icb_with("spin-once", "test --locked --full", &[]);
    said.check(
        FAILED,
        &[
            "panic: internal error: entered unreachable code: Encountered INCOMPLETE when polling Once",
            "2 preemptions, found in execution",
            // Steps inside the crate: it really was compiled against the mirrored library.
            "compare_exchange",
            ": 0 → 1",
            "spin_loop",
            "spin-0.9.7/src/once.rs",
        ],
    );
    let replay = icb_with("spin-once", "replay a_failed_initialisation --locked", &[]);
    replay.check(FAILED, &["Encountered INCOMPLETE when polling Once", "The failure shows again."]);
    let fixed = icb_with("spin-once-fixed", "test --max-bound 3 --locked", &[]);
    fixed.check(PASSED, &["proved spin-once-fixed::once::a_failed_initialisation_beside_another"]);
}

#[test]
fn strict_crates_and_procedural_macros_are_tested_as_they_are() {
    let said = icb_with("strict", "test --workspace --locked", &[]);
    said.check(
        PASSED,
        &[
            "proved strict::lib::tests::counts: no failure in any execution",
            "run once macros::lib::tests::runs",
            "2 passed",
        ],
    );
    assert!(!said.text.contains("not instrumented"), "{}", said.text);
}

#[test]
fn a_crate_that_has_never_heard_of_icb_shows_its_bug() {
    let _alone = tool::alone();
    let said = icb_with("unchanged", "test --watchdog 2", &[]);
    said.check(
        FAILED,
        &[
            "FAILED unchanged::lib::tests::two_withdrawals: panic: assertion failed: account.balance() >= 0",
            "1 preemption, found in execution ",
            "lock balance",
            "Mutex<i64> #",
            "proved unchanged::lib::tests::deposits: no failure in any execution (exhaustive)\n",
            "proved unchanged::lib::tests::in_the_order_of_a_hash_map: no failure in any execution (exhaustive)",
            "::in_the_order_of_a_hash_map: no failure in any execution (exhaustive), with one assignment of the random numbers that it depends on",
            "proved unchanged::lib::tests::in_the_order_of_addresses: no failure in any execution",
            "::as_often_as_the_address_of_a_leak_says: no failure in any execution (exhaustive), each in a process of its own",
            "proved unchanged::lib::tests::dates: no failure in any execution",
            "proved unchanged::lib::tests::statics_under_a_lock: no failure in any execution",
            "proved unchanged::lib::tests::small_statics_under_a_lock: no failure in any execution",
            "proved unchanged::lib::tests::an_event_loop: no failure in any execution",
            "proved unchanged::lib::tests::an_idle_worker_that_aborts_when_unwound: no failure in any execution",
            "proved unchanged::lib::tests::an_idle_worker_that_waits_again_and_again: no failure in any execution",
            "proved unchanged::allocator::counts_what_threads_allocate: no failure in any execution",
            "FAILED unchanged::allocator::loses_one: panic: assertion `left == right` failed: one is lost",
            "one thread unchanged::lib::tests::a_result, unchanged::lib::tests::one_thread, ",
            "unchanged::lib::tests::panics_as_expected\n",
            "proved unchanged::lib::tests::panics_because_another_thread_does: no failure in any execution",
            "proved unchanged::lib::tests::locked_streams: no failure in any execution",
            "run once unchanged::lib::tests::takes_some_time: its only thread fails in the model",
            "run once unchanged::lib::tests::waits_for_a_socket: the test blocks in ",
            "FAILED unchanged::lib::tests::two_make_a_file: panic: assertion `left == right` failed: one makes it",
            "proved unchanged::lib::tests::a_pipe_and_the_environment: no failure in any execution",
            "proved unchanged::lib::tests::a_connection: no failure in any execution",
            "Replay it with:  cargo icb replay ",
        ],
    );
    // The counter of time stamps is one of x86-64.
    let of_processor: &[&str] = match cfg!(target_arch = "x86_64") {
        true => {
            &["proved unchanged::lib::tests::time_stamps: no failure in any execution", "21 passed, 3 failed"]
        }
        false => &["20 passed, 3 failed"],
    };
    said.check(FAILED, of_processor);
    assert!(!said.text.contains("not instrumented"), "{}", said.text);
    // Other crates in the same store may have a test of that name.
    icb_with("unchanged", "replay unchanged::lib::tests::two_withdrawals", &[])
        .check(FAILED, &["account.balance() >= 0", "The failure shows again."]);
    // What builds a stored failure's test does so with the mirrored std in the directory that is given.
    let file = target().join("no-directory-either");
    std::fs::write(&file, "").unwrap();
    for command in ["replay", "diff", "timeline"] {
        let command = format!("{command} unchanged::lib::tests::two_withdrawals");
        icb_with("unchanged", &command, &[("ICB_CACHE_DIR", file.to_str().unwrap())])
            .check(USAGE, &["no-directory-either", "name another directory with --cache-dir"]);
    }
    icb_with("unchanged", "test --ignored a_result does_not shows_an", &[]).check(
        FAILED,
        &[
            "FAILED unchanged::lib::tests::a_result_that_fails: panic: ",
            "FAILED unchanged::lib::tests::does_not_panic: panic: test did not panic as expected",
            "FAILED unchanged::lib::tests::shows_an_address: panic: ",
            "0 passed, 3 failed",
        ],
    );
    // What a test starts is no part of the search, not even if it is the same program.
    icb_with("unchanged", "test --ignored has_itself_run", &[])
        .check(PASSED, &["one thread unchanged::lib::tests::has_itself_run", "1 passed, 0 failed"]);
    // Nor are the processes that share a search forks of the test.
    let forks = "test -j 2 --ignored is_told_of_its_own_forks";
    for environment in [&[][..], &[("UNCHANGED_FORKS", "1")]] {
        icb_with("unchanged", forks, environment).check(PASSED, &["1,024 executions", "1 passed, 0 failed"]);
    }
    // Another process comes to the same message, with the same address.
    icb_with("unchanged", "replay unchanged::lib::tests::shows_an_address", &[])
        .check(FAILED, &["left: Some(\"0x", "The failure shows again."]);
    // Cargo compiles nothing that has been compiled, and starts at once.
    let again = icb_with("unchanged", "test one_thread", &[]);
    again.check(PASSED, &["1 passed, 0 failed"]);
    assert!(!again.text.contains("Compiling"), "{}", again.text);
    // One that never ends, not even for real, leaves its place to the others.
    icb_with("unchanged", "test -j 1 --max-test-time 1s --include-ignored never_ends one_thread", &[]).check(
        INCOMPLETE,
        &[
            "incomplete unchanged::lib::tests::never_ends: ",
            "; so it was run once, for real (not over after 1 s; --max-test-time sets another limit)",
            "1 passed, 0 failed, 1 incomplete",
        ],
    );
    // One that does not come to the end of an execution is ended some seconds after its time.
    icb_with("unchanged", "test --max-test-time 1s --ignored computes_for_ever", &[]).check(
        INCOMPLETE,
        &[
            "incomplete unchanged::lib::tests::computes_for_ever: stopped by the limit on time in the middle of an execution",
            "0 passed, 0 failed, 1 incomplete",
        ],
    );
    // Nor is a panic of the only thread a failure if it does not come for real.
    icb_with("unchanged", "test --ignored time_goes_on", &[]).check(
        PASSED,
        &[
            "run once unchanged::lib::tests::time_goes_on: its only thread fails in the model, ",
            "1 passed, 0 failed",
        ],
    );
    if cfg!(target_os = "linux") {
        icb_with("unchanged", "test --ignored each_thread_has_its_errno", &[]).check(
            PASSED,
            &["proved unchanged::lib::tests::each_thread_has_its_errno: no failure in any execution (exhaustive)"],
        );
    }
    // It is not the only one where others have not begun.
    icb_with("unchanged", "test --ignored others_begin_in_time", &[]).check(
        FAILED,
        &[
            "FAILED unchanged::lib::tests::others_begin_in_time: panic: assertion failed: has_begun",
            "0 passed, 1 failed",
        ],
    );
    // Of the only thread, a loop that looks endless is one if it does not end for real either.
    icb_with("unchanged", "test --ignored reads_for_long spins_alone", &[]).check(
        FAILED,
        &[
            "run once unchanged::lib::tests::reads_for_long: one execution is too long to explore: threads spin for ever",
            "FAILED unchanged::lib::tests::spins_alone: livelock: threads spin for ever on values that nobody will change: T0 spins",
            "the limit on steps is too small for it (--max-steps)",
            "1 passed, 1 failed",
        ],
    );
    icb_with("unchanged", "test --ignored reads_for_long --max-steps 60000", &[])
        .check(PASSED, &["one thread unchanged::lib::tests::reads_for_long"]);
    // Data that nothing tells of is not put back, unless it goes with its process.
    icb_with("unchanged", "test --no-accesses statics_under_a_lock", &[]).check(
        PASSED,
        &[
            "::statics_under_a_lock: no failure in any execution (exhaustive), each in a process of its own\n",
            "::small_statics_under_a_lock: no failure in any execution with at most 2 preemptions, each in a process of its own\n",
        ],
    );
    icb_with("unchanged", "test --no-accesses --isolated=false statics_under_a_lock", &[]).check(
        PASSED,
        &[
            "run once unchanged::lib::tests::statics_under_a_lock: it does not follow its schedule: the test passed, and with the same \
             schedule it then failed (panic: assertion",
        ],
    );
    // What a failure takes is found out with processes of their own too.
    let orders = |arguments: &str| {
        // Enough on a machine that has other things to do.
        let said = icb_with("unchanged", arguments, &[("ICB_EXPLAIN_SECONDS", "60")]);
        said.check(FAILED, &["It takes these orders: with all but one of them, it need not fail like this"]);
        let text = said.text.split_once("It takes these orders").unwrap().1;
        text.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(orders("test --isolated two_withdrawals"), orders("test two_withdrawals"));
    // An execution that ends its process does not fail like this either.
    for ignored in ["--ignored", "--ignored --isolated"] {
        let orders = orders(&format!("test {ignored} ends_the_process_in_another_order"));
        let told: Vec<&String> = orders.iter().filter(|line| line.contains(" before ")).collect();
        let [first, second] = told[..] else { panic!("two orders: {orders:?}") };
        assert!(first.contains("load") && first.contains(" = 0 ") && second.contains(":= 1 "), "{orders:?}");
    }
    // What is excepted stays on the real std: its tests run once, as they are.
    icb_with("unchanged", "test --except unchanged two_withdrawals", &[])
        .check(PASSED, &["run once unchanged::lib::tests::two_withdrawals"]);
}

#[test]
fn tests_that_were_written_for_loom_run_as_they_are() {
    let _alone = tool::alone();
    let said = icb_with("written-for-loom", "test --loom --lib --max-bound 3 --locked", &[]);
    said.check(
        FAILED,
        &[
            "proved written-for-loom::lib::tests::a_number_is_sent: no failure in any execution",
            "FAILED written-for-loom::lib::tests::a_number_is_sent_too_weakly: data race: ",
            "FAILED written-for-loom::lib::tests::a_pointer_that_lives_on: data race: ",
            "proved written-for-loom::lib::tests::a_pointer_that_goes_after_the_place: no failure in any execution",
            "proved written-for-loom::lib::tests::a_task_is_woken: no failure in any execution",
            "proved written-for-loom::lib::tests::the_rest: no failure in any execution",
            "FAILED written-for-loom::lib::tests::two_senders: data race: ",
            "proved written-for-loom::lib::tests::a_value_is_never_dropped: no failure in any execution",
            "run once written-for-loom::lib::tests::no_model",
            "6 passed, 3 failed",
        ],
    );
    icb_with("written-for-loom", "replay two_senders", &[])
        .check(FAILED, &["data race: ", "The failure shows again."]);
    // The value is all that the test allocates: in a replay it lies where the window of the blocks begins.
    icb_with("written-for-loom", "test --loom --lib --check-leaks a_value_is_never_dropped", &[]).check(
        FAILED,
        &["FAILED written-for-loom::lib::tests::a_value_is_never_dropped: leak: ", "0 passed, 1 failed"],
    );
    icb_with("written-for-loom", "replay a_value_is_never_dropped", &[])
        .check(FAILED, &["leak: ", "The failure shows again."]);
    // Then what is std's is seen as well, and all memory.
    icb_with("written-for-loom", "test --loom --accesses --test raw_memory", &[]).check(
        FAILED,
        &[
            "proved written-for-loom::raw_memory::under_a_real_lock: no failure",
            "FAILED written-for-loom::raw_memory::without_a_lock: data race: ",
            "1 passed, 1 failed",
        ],
    );
    icb_with("written-for-loom", "replay without_a_lock", &[])
        .check(FAILED, &["data race: ", "The failure shows again."]);
    // Without the option it is the crate that its users get.
    icb_with("written-for-loom", "test --lib", &[])
        .check(PASSED, &["one thread written-for-loom::lib::tests::without_loom"]);
    icb_with("written-for-loom", "test --lib two_senders", &[])
        .check(NO_TESTS, &["no test matches `two_senders`", "written for loom are run with --loom"]);
    icb_with("unchanged", "test --loom", &[])
        .check(USAGE, &["depends on `loom`, so there is nothing to run with --loom; leave it out"]);
    icb_with("written-for-loom", "test --loom --only loom", &[])
        .check(USAGE, &["'--loom[=<CFG>]' cannot be used with '--only <PACKAGE>'"]);
}

#[test]
fn tests_that_were_written_for_shuttle_run_as_they_are() {
    let _alone = tool::alone();
    let said = icb_with("written-for-shuttle", "test --shuttle --max-bound 3 --locked", &[]);
    said.check(
        FAILED,
        &[
            "proved written-for-shuttle::lib::tests::a_lock_is_one: no failure in any execution",
            "FAILED written-for-shuttle::lib::tests::a_number_is_drawn: panic: assertion `left != right` failed",
            "proved written-for-shuttle::lib::tests::a_server_is_left_alone: no failure in any execution",
            "proved written-for-shuttle::lib::tests::a_task_is_aborted_or_has_ended: no failure in any execution",
            "FAILED written-for-shuttle::lib::tests::a_task_waits_for_ever: deadlock: ",
            "FAILED written-for-shuttle::lib::tests::beside_shuttle: panic: ",
            "FAILED written-for-shuttle::lib::tests::a_thread_that_nobody_joins_waits_for_ever: deadlock: ",
            "proved written-for-shuttle::lib::tests::numbers_are_the_threads_own: no failure in any execution (exhaustive), with 16 assignments of the random numbers that it draws",
            "proved written-for-shuttle::lib::tests::tasks_hand_over: no failure in any execution",
            "FAILED written-for-shuttle::lib::tests::tasks_hand_over_too_early: panic: there is no letter",
            "FAILED written-for-shuttle::lib::tests::the_last_place_is_given_once: panic: two have entered",
            "FAILED bound 1  written-for-shuttle::lib::tests::the_last_place_is_given_once",
            "proved written-for-shuttle::lib::tests::the_rest: no failure in any execution",
            "run once written-for-shuttle::lib::tests::no_model",
            "7 passed, 6 failed",
            "Replay it with:  cargo icb replay tests::the_last_place_is_given_once",
        ],
    );
    // As printed; what is drawn at random is drawn again.
    for test in ["tests::the_last_place_is_given_once", "tests::a_number_is_drawn"] {
        icb_with("written-for-shuttle", &format!("replay {test}"), &[])
            .check(FAILED, &["panic: ", "The failure shows again."]);
    }
    // Without the option it is the crate that its users get.
    icb_with("written-for-shuttle", "test", &[])
        .check(PASSED, &["one thread written-for-shuttle::lib::tests::without_shuttle"]);
    // Where shuttle is there for the tests alone, or as a feature says.
    icb_with("written-for-shuttle", "test --shuttle -p for-tests", &[])
        .check(PASSED, &["ok for-tests::lib::tests::documented: fails as expected: panic: "]);
    icb_with("written-for-shuttle", "test --shuttle -p by-feature --features shuttle", &[])
        .check(PASSED, &["proved by-feature::lib::tickets_differ: no failure in any execution (exhaustive)"]);
    for (arguments, variables, said) in [
        ("test -p by-feature --features shuttle", &[][..], "hint: the feature `shuttle` is on"),
        ("test", &[("RUSTFLAGS", "--cfg shuttle")][..], "hint: --cfg shuttle is on"),
    ] {
        // Here the package is a stub that does not compile.
        icb_with("written-for-shuttle", arguments, variables)
            .check(NOT_BUILT, &[said, "with --shuttle icb is compiled in its place"]);
    }
    icb_with("unchanged", "test --shuttle", &[])
        .check(USAGE, &["depends on `shuttle`, so there is nothing to run with --shuttle; leave it out"]);
}

/// Loads and stores that no type wraps: each program of the fixture has its verdict in its name.
#[test]
fn plain_memory_is_checked() {
    let _alone = tool::alone();
    // There is unsafe code, so nobody has to ask.
    let said = icb_with("raw-memory", "test --max-bound 1", &[]);
    let mut verdicts = 0;
    for line in said.text.lines().skip_while(|line| *line != "Summary") {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (failed, name) = match words.as_slice() {
            ["FAILED", name, ..] => (true, name),
            ["proved", name, ..] => (false, name),
            _ => continue,
        };
        let name = name.trim_end_matches(':').trim_start_matches("raw-memory::lib::");
        let expected = match name.split('_').next() {
            Some("racy") => "data race: ",
            Some("freed") => "use after free: ",
            _ => "",
        };
        assert_eq!(failed, !expected.is_empty(), "{line}");
        // A read of freed memory that races with the free is either, by the order of the two.
        assert!(line.contains(expected) || name == "racy_free", "{line}");
        // Statics begin anew.
        assert!(!line.contains("process of its own"), "{line}");
        verdicts += 1;
    }
    assert_eq!((said.code, verdicts), (FAILED, 124), "{}", said.text);
    said.check(FAILED, &["src/lib.rs:", "racy_counter: data race: write by T1 and read by T2"]);
    // What a race leads to is shown instead of the race.
    icb_with("raw-memory", "test --on-race promote racy_lost racy_torn", &[]).check(
        FAILED,
        &[
            "1 preemption, found in execution",
            "an update is lost",
            "an update on the stack is lost",
            "half of the value is new",
            "It takes these orders",
        ],
    );
    icb_with("raw-memory", "replay racy_torn_value", &[]).check(FAILED, &["The failure shows again."]);
    icb_with("raw-memory", "replay racy_lost_update_on_the_stack", &[])
        .check(FAILED, &["The failure shows again."]);
    // One that is compiled in no time, checked and not.
    icb_with("raw-memory", "test -p counter --max-bound 1", &[])
        .check(FAILED, &["FAILED counter::lib::racy_counter: data race: ", ", in the static counter::COUNT"]);
    icb_with("raw-memory", "test -p counter --no-accesses --max-bound 1", &[])
        .check(PASSED, &["proved counter::lib::racy_counter: no failure in any execution"]);
}

/// The same in tests that name the mirrored library, and beside a dependency that is instrumented.
#[test]
fn plain_memory_is_checked_in_opted_in_tests() {
    let _alone = tool::alone();
    icb_with("opted-memory", "test --locked --instrument spin", &[]).check(
        FAILED,
        &[
            "FAILED opted-memory::memory::racy_counter: data race: write by T0 and read by T1",
            "FAILED opted-memory::memory::racy_relaxed: data race: ",
            "proved opted-memory::memory::fine_under_a_lock: no failure in any execution (exhaustive)",
            "proved opted-memory::memory::fine_release_acquire: no failure in any execution (exhaustive)",
            "proved opted-memory::memory::fine_under_a_published_lock: no failure in any execution",
            "proved opted-memory::memory::fine_in_an_arc_of_std: no failure in any execution",
            "proved opted-memory::memory::fine_for_the_last_owner_in_std: no failure in any execution",
            "proved opted-memory::memory::fine_with_fences_and_atomics_of_std: no failure in any execution",
            "FAILED opted-memory::memory::racy_with_relaxed_atomics_of_std: data race: ",
            "proved opted-memory::memory::fine_with_the_flag_of_a_dependency: no failure in any execution",
            "proved opted-memory::memory::fine_under_the_once_types_of_std: no failure in any execution",
            "FAILED opted-memory::memory::racy_beside_a_once_lock_of_std: data race: ",
            "proved opted-memory::memory::fine_for_the_last_of_two_owners: no failure in any execution",
            "FAILED opted-memory::memory::freed_early_by_the_last_of_two_owners: use after free: memory is freed after an atomic variable in it has been used",
            "tests/memory.rs:",
            "9 passed, 5 failed",
        ],
    );
    icb_with("opted-memory", "replay opted-memory::memory::racy_counter --locked", &[])
        .check(FAILED, &["The failure shows again."]);
    // What the model does not see may order what threads do.
    let unseen = "not checked: accesses to plain memory, although there is unsafe code: `spin` may order what \
                  threads do, and the model does not see it; instrument it (--instrument spin)";
    icb_with("opted-memory", "test --locked racy", &[]).check(PASSED, &[unseen, "4 passed, 0 failed"]);
    let said = icb_with("opted-memory", "test --locked --accesses --target riscv64gc-unknown-linux-gnu", &[]);
    said.check(USAGE, &["--accesses is not possible here: there are hooks for x86_64 and aarch64 only"]);
}

#[test]
fn stale_values_are_found_where_they_are_asked_for() {
    let _alone = tool::alone();
    icb("test --test weak").check(
        PASSED,
        &[
            "proved cases::weak::relaxed_flags: no failure in any execution (exhaustive)\n",
            "note orderings weaker than SeqCst were treated as SeqCst in cases::weak::relaxed_flags; --weak-memory tries stale values\n",
            "2 passed, 0 failed",
        ],
    );
    // Whoever says that there are none knows of it.
    let said = icb("test --test weak --weak-memory=false");
    assert!(!said.text.contains("orderings weaker"), "{}", said.text);
    said.check(PASSED, &["2 passed, 0 failed"]);
    let said = icb("test --test weak --weak-memory");
    assert!(!said.text.contains("orderings weaker"), "{}", said.text);
    said.check(
        FAILED,
        &[
            "panic: nobody has seen the other",
            "1 stale value, found in execution",
            "= false (a stale value: T0 stored at weak.rs:16)",
            "proved cases::weak::ordered_flags: no failure in any execution (exhaustive), under weak memory (stale values)",
            "1 passed, 1 failed",
        ],
    );
    // The setting is stored with the failure.
    icb("replay relaxed_flags").check(FAILED, &["panic: nobody has seen the other", "(a stale value: "]);
    icb("replay relaxed_flags --weak-memory=false").check(PASSED, &["this schedule no longer fails"]);
    icb_with("cases", "test --test weak ordered --max-bound 1", &[("ICB_WEAK_MEMORY", "1")]).check(
        PASSED,
        &["no failure in any execution with at most 1 preemption, under weak memory (stale values)"],
    );
    // A failure that is expected may need one.
    icb("test --test expected --ignored --weak-memory").check(
        PASSED,
        &[
            "fails as expected: panic: nobody has seen the other, in an execution with a stale value",
            "note a stale value (weak memory) made the failure that is expected of cases::expected::flags_are_missed; without",
        ],
    );
    icb("test --test expected --ignored").check(
        FAILED,
        &[
            "it should panic, but no failure in any execution",
            "note orderings weaker than SeqCst were treated as SeqCst in cases::expected::flags_are_missed; --weak-memory tries",
        ],
    );
    let said = icb("test --test holding --weak-memory fails_as_expected");
    assert!(!said.text.contains("a stale value"), "{}", said.text);
    said.check(PASSED, &["fails as expected: panic: ", "lost an increment"]);
}
