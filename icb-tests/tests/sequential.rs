//! Threads as nested calls on one stack: the same executions as with coroutines, and valgrind sees a use after free that needs
//! an interleaving.

use icb_core::explore::Explorer;
use icb_core::runtime::Settings;
use icb_core::search::StackDiscipline;
use icb_std::model::{Builder, FailureKind, Report, Strategy};
use icb_tests::programs::baselines::{counter_racy, mutex_counter, treiber, wsq};
use icb_tests::programs::raw_pointer::{Version, run};
use icb_tests::programs::{bluetooth, lock_order, prodcons, work_stealing_queue as queue};
use icb_tests::searches::{coroutines, every_execution};
use std::process::Command;

/// Every nested execution, with or without coroutines; and the states reached.
fn explored(program: fn(), max_pending: Option<usize>, sequential: bool) -> (Report, Vec<u128>) {
    // Nested calls do not run on where an execution is given up.
    let settings = Settings { sequential, run_out: false, unwind_failed: true, ..Settings::default() };
    let mut explorer = Explorer::new(every_execution(None));
    let mut strategy = StackDiscipline::new(max_pending).nested();
    let report = explorer.run(&mut strategy, &mut coroutines(program, settings));
    let mut states: Vec<u128> = explorer.states().iter().copied().collect();
    states.sort_unstable();
    (report, states)
}

#[test]
fn nested_calls_run_the_executions_that_coroutines_run() {
    let programs: [(&str, fn()); 9] = [
        ("bluetooth", || bluetooth::run(bluetooth::Version::Published, 2)),
        ("bluetooth, fixed", || bluetooth::run(bluetooth::Version::Fixed, 2)),
        ("queue", || queue::run(queue::Version::LooksBeforeAnnouncing)),
        ("deadlock", || lock_order::transfers(lock_order::Version::AsItComes)),
        ("buffer", || prodcons::run(prodcons::Version::TwoCondvars, 2, 1, 1)),
        ("counter", || counter_racy(3, 2)),
        ("locked counter", || mutex_counter(3, 1)),
        ("deque", || wsq(2)),
        ("stack", || treiber(3)),
    ];
    for (name, program) in programs {
        for max_pending in [Some(0), Some(1), None] {
            let (expected, states) = explored(program, max_pending, false);
            let (found, found_states) = explored(program, max_pending, true);
            let figures = |report: &Report| {
                let bound = &report.bounds[0];
                (bound.executions, bound.given_up, bound.steps, bound.failures)
            };
            assert_eq!(figures(&found), figures(&expected), "{name}, {max_pending:?}");
            assert_eq!(found_states, states, "{name}, {max_pending:?}");
            // In some programs every execution waits for somebody further down, and is given up.
            assert!(figures(&found).2 > 0, "{name}");
        }
    }
}

#[test]
fn the_assertion_of_figure_2_is_found_on_one_stack() {
    let explore = |max_pending| {
        let builder = Builder::new().strategy(Strategy::StackDiscipline).max_pending(max_pending);
        builder.sequential(true).explore(|| bluetooth::run(bluetooth::Version::Published, 1))
    };
    assert_eq!(explore(0).failure, None);
    let failure = explore(1).failure.expect("the published driver is wrong");
    // It has been run again with threads of their own, to be explained.
    assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 1));
    assert!(failure.message.contains("I/O in a stopped driver") && !failure.trace.steps.is_empty());
}

#[test]
#[ignore = "run under valgrind by the test below"]
fn reads_late() {
    Builder::new().check(|| run(Version::ReadsLate));
}

#[test]
#[ignore = "run under valgrind by the test below"]
fn takes_out() {
    Builder::new().check(|| run(Version::TakesOut));
}

/// Runs a test of this file under memcheck; its exit code and what memcheck says. `None` where there is no valgrind.
fn memcheck(test: &str, max_executions: &str) -> Option<(i32, String)> {
    const ERROR: i32 = 99;
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--error-exitcode=99"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--test-threads=1"]);
    for (name, value) in [
        ("ICB_STRATEGY", "kiss"),
        ("ICB_MAX_PENDING", "1"),
        ("ICB_SEQUENTIAL", "1"),
        ("ICB_MAX_EXECUTIONS", max_executions),
        ("ICB_WATCHDOG_SECONDS", "120"),
    ] {
        command.env(name, value);
    }
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap_or(-1);
    assert!(code == 0 || code == ERROR, "{code}\n{said}\n{}", String::from_utf8_lossy(&output.stdout));
    Some((code, said))
}

#[test]
fn valgrind_sees_a_use_after_free_that_needs_an_interleaving() {
    let Some((code, said)) = memcheck("reads_late", "10000") else {
        println!("there is no valgrind here: nothing is tested");
        return;
    };
    assert!(code == 99 && said.contains("Invalid read of size 8"), "{code}: {said}");
    assert!(said.contains("free'd") && said.contains("raw_pointer.rs"), "{said}");
    // In the first execution, without a switch, there is nothing to see; where the owner alone reads, there is in none.
    assert_eq!(memcheck("reads_late", "1").map(|(code, _)| code), Some(0));
    let (code, said) = memcheck("takes_out", "10000").unwrap();
    assert_eq!(code, 0, "{said}");
}
