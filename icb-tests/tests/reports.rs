//! Reports from end to end, on the crate `fixtures/reports`: complete reports of every kind of failure as they stand in
//! `snapshots`, what other tools are told, diffs, the timeline in a real browser, the replay under a debugger. Knows
//! nothing of the tool but its command line, its output and its files.
//!
//! `ICB_BLESS=1 cargo test -p icb-tests --test reports` writes the snapshots anew.

use icb_tests::tool;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What the tool has said and how it ended.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// The directory where these tests build; shared with the other fixtures, so the mirrored library is built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixtures")
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/reports")
}

fn icb(arguments: &str, columns: &str) -> Said {
    let mut words = tool::words(arguments);
    let mut command = tool::command(env!("CARGO_TARGET_TMPDIR"));
    command.current_dir(fixture()).arg(words.next().unwrap()).arg("--target-dir").arg(target()).args(words);
    let output = command.env("COLUMNS", columns).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Runs all tests of the fixture, once for all stories: the number of the run, and what was said as lines of JSON.
fn run() -> (u64, &'static str) {
    static RUN: OnceLock<(u64, String)> = OnceLock::new();
    let (number, said) = RUN.get_or_init(|| {
        let said = icb(
            "test --workspace --no-accesses --reduction none --max-steps 1500 --watchdog 3 --check-leaks --message-format json",
            "100",
        );
        assert_eq!(said.code, 1, "{}\n{}", said.out, said.err);
        let runs = std::fs::read_dir(target().join("icb/runs")).unwrap();
        let number = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.ok()?.path().file_stem()?.to_str()?.parse::<u64>().ok()
        };
        (runs.filter_map(number).max().unwrap(), said.out)
    });
    (*number, said)
}

fn snapshots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

/// The reports of a run, without what differs from machine to machine.
fn normalised(text: &str) -> String {
    let from = text.find("──── ").expect("there are reports");
    let end = text.rfind(" passed, ").map_or(text.len(), |end| text[..end].rfind('\n').unwrap_or(end));
    let target = target().display().to_string();
    // Some C libraries have two names for it.
    let text = text[from..end].replace(&target, "<target>").replace("__libc_pause", "pause");
    text.trim_end().to_owned() + "\n"
}

fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain += before;
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[test]
fn reports_are_as_they_were() {
    let _alone = tool::alone();
    let (number, _) = run();
    let bless = std::env::var_os("ICB_BLESS").is_some();
    let mut plain = Vec::new();
    for (width, colour) in [("80", "never"), ("120", "never"), ("80", "always"), ("120", "always")] {
        let said = icb(&format!("show {number} --color {colour}"), width);
        assert_eq!(said.code, 1, "{}", said.err);
        let text = normalised(&said.out);
        if colour == "always" {
            assert!(text.contains('\u{1b}'));
            let bare: String =
                without_colours(&text).lines().map(|line| format!("{}\n", line.trim_end())).collect();
            let same: &String = &plain[usize::from(width == "120")];
            assert!(bare == *same, "colours change the text at {width} columns");
        } else {
            for line in text.lines().filter(|line| line.contains('│') || line.contains('┼')) {
                assert!(line.chars().count() <= width.parse().unwrap(), "wider than {width}: {line}");
            }
            plain.push(text.clone());
        }
        let name = if colour == "always" {
            format!("reports-{width}-colour.txt")
        } else {
            format!("reports-{width}.txt")
        };
        let path = snapshots().join(name);
        let text = text.replace('\u{1b}', "␛");
        if bless {
            std::fs::create_dir_all(snapshots()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        let first = text.lines().zip(known.lines()).find(|(new, old)| new != old);
        assert!(
            text == known,
            "{} is different: {first:?}; look at `ICB_BLESS=1 cargo test -p icb-tests --test reports` and `git diff`",
            path.display()
        );
    }
    for kind in [
        "panic: ",
        "deadlock: ",
        "data race: ",
        "livelock: ",
        "step limit reached: ",
        "use after free: ",
        "double free: ",
        "leak: ",
        "blocked outside the model: ",
        "stack overflow: ",
        "abort: ",
        "divergence: ",
    ] {
        assert!(plain[0].contains(&format!("\n{kind}")), "no report of: {kind}");
    }
}

#[test]
fn what_the_reports_promise_stands_in_them() {
    let _alone = tool::alone();
    let (number, _) = run();
    let text = icb(&format!("show {number} --color never"), "120").out;
    let of = |test: &str| {
        let (_, report) = text.split_once(&format!("──── {test} ")).expect(test);
        report.split("\n──── ").next().unwrap().to_owned()
    };
    for (test, words) in [
        (
            "reports::kinds::locks_in_a_cycle",
            &["A cycle: T0 main → T1 main.0 → T0 main", "has held it since step"][..],
        ),
        (
            "reports::kinds::races",
            &[
                "What is missing:",
                "the store of READY at tests/kinds.rs:",
                "is Relaxed: no happens-before to the read at",
            ],
        ),
        ("reports::kinds::spins_for_ever", &["again and again:", "load flags[1] = false"]),
        ("reports::shapes::in_an_async_function", &["increment::{closure}", "▸   48 │ count.store(seen + 1"]),
        ("reports::shapes::in_a_dependency", &["ledger::Account::withdraw", "at ledger/src/lib.rs:22:"]),
        (
            "reports::shapes::in_generic_and_inlined_code",
            &["shapes::add", "in_generic_and_inlined_code::twice"],
        ),
        ("plain::plain::without_debug_information", &["no source lines", "debug = \"line-tables-only\""]),
        (
            "reports::shapes::bluetooth_two_threads",
            &["update pending_io: 1 → 0", "AtomicI32 #4, first used at"],
        ),
    ] {
        let report = of(test);
        for word in words {
            assert!(report.contains(word), "{test} does not say {word:?}:\n{report}");
        }
    }
}

#[test]
fn a_run_is_told_again_with_the_same_lines() {
    let _alone = tool::alone();
    let (number, live) = run();
    let live: String = live
        .lines()
        .filter(|line| !line.contains(r#""event":"progress""#))
        .map(|line| format!("{line}\n"))
        .collect();
    let again = icb(&format!("show {number} --message-format json"), "100");
    assert!(again.out == live, "the stored run tells something else");
    let events: Vec<serde_json::Value> =
        live.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.iter().all(|event| event["icb"] == 1));
    assert_eq!(events[0]["event"], "run_started");
    let last = events.last().unwrap();
    assert_eq!((&last["event"], &last["exit"]), (&"run_finished".into(), &1.into()));
    let findings = events.iter().filter(|event| event["finding"]["failure"]["kind"].is_string()).count();
    assert_eq!(findings, 19);
    let missing = icb("show 99999", "100");
    assert_eq!(missing.code, 6);
    assert!(missing.err.contains("no run `99999` is stored"), "{}", missing.err);
    assert!(missing.err.contains("; give `last`, or one of "), "{}", missing.err);
}

#[test]
fn files_for_other_tools_follow_their_schemas() {
    let _alone = tool::alone();
    let (number, _) = run();
    let folder = tempfile::tempdir().unwrap();
    let (junit, sarif) = (folder.path().join("junit.xml"), folder.path().join("icb.sarif"));
    let said = icb(&format!("show {number} --junit {} --sarif {}", junit.display(), sarif.display()), "100");
    assert_eq!(said.code, 1, "{}", said.err);
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schemas");
    let json = |path: &Path| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    let schema = jsonschema::validator_for(&json(&schemas.join("sarif-2.1.0.json"))).unwrap();
    let document = json(&sarif);
    let errors: Vec<String> = schema.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(!schema.is_valid(&serde_json::json!({ "version": "2.1.0" })), "the schema refuses something");
    let results = document["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 19);
    let race = results.iter().find(|result| result["ruleId"] == "data-race").unwrap();
    let place = &race["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "tests/kinds.rs");
    assert!(race["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap().len() >= 4);
    let text = std::fs::read_to_string(&junit).unwrap();
    assert!(text.contains("tests=\"19\" failures=\"19\" errors=\"0\""), "{}", &text[..300]);
    let xmllint = Command::new("xmllint")
        .args(["--noout", "--schema"])
        .arg(schemas.join("junit-10.xsd"))
        .arg(&junit)
        .output();
    match xmllint {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => eprintln!("skipped: the JUnit report is not validated without xmllint ({error})"),
    }
}

#[test]
fn a_failure_is_set_beside_the_nearest_passing_execution() {
    let _alone = tool::alone();
    run();
    let said = icb("diff bluetooth_two_threads", "120");
    assert_eq!(said.code, 0, "{}", said.err);
    for words in [
        "They are alike up to `load stopping_flag = false` (step 3",
        "There the failing one: T0 is preempted between `load stopping_flag = false` (step 3",
        "and `update pending_io: 0 → 1` (step 14",
        "There the passing one: T0 goes on with `update pending_io: 1 → 2` (step 4",
        "fails, 1 preemption",
        "passes, 0 preemptions",
        "✗ panic",
        "✓ passes",
        "T0 load stopped = true (step 15), there load stopped = false (step 5)",
    ] {
        assert!(said.out.contains(words), "no {words:?} in\n{}", said.out);
    }
    let said = icb("diff bluetooth_two_threads --bounds 0,1", "120");
    assert_eq!(said.code, 0, "{}", said.err);
    for words in ["bound 0: ", "bound 1: ", "passes, 0 preemptions", "fails, 1 preemption", "executions, "] {
        assert!(said.out.contains(words), "no {words:?} in\n{}", said.out);
    }
    let trace = |test: &str| target().join(format!("icb/traces/reports/{test}.json")).display().to_string();
    let (one, two) = (trace("kinds/loses_an_increment"), trace("shapes/bluetooth_two_threads"));
    let said = icb(&format!("diff {one} {two}"), "120");
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("loses_an_increment (first file)"), "{}", said.out);
    let said = icb(&format!("diff {one} {one}"), "120");
    assert!(said.out.contains("The two executions are alike."), "{}", said.out);
    let said = icb("diff nowhere", "120");
    assert_eq!(said.code, 6, "{}", said.err);
}

/// A browser of the Chromium family, if there is one.
fn browser() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()))
}

#[test]
fn the_timeline_works_in_a_browser() {
    let _alone = tool::alone();
    run();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timeline");
    std::fs::create_dir_all(&folder).unwrap();
    let page = folder.join("bluetooth.html");
    let said = icb(&format!("timeline bluetooth_two_threads --output {}", page.display()), "100");
    assert_eq!(said.code, 0, "{}", said.err);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("stopping_flag") && !html.contains("src=") && !html.contains("https://"));
    let Some(browser) = browser() else {
        eprintln!("skipped: there is no Chromium to look at the timeline with");
        return;
    };
    // What a reader would do: a step down, to the preemption, every step, another colour.
    let driven = folder.join("driven.html");
    let script = r#"<script>
        const press = key => dispatchEvent(new KeyboardEvent("keydown", { key }));
        const seen = [];
        const look = name => seen.push(name + "=" + document.body.dataset.step + "/" + document.querySelectorAll(".step").length
            + "/" + document.querySelectorAll(".arrow").length);
        look("start"); press("ArrowDown"); look("down"); press("n"); look("preemption"); press("f"); look("all");
        press("End"); look("end"); press("ArrowUp"); look("up"); press("Escape"); look("out");
        const before = document.documentElement.className; press("d");
        seen.push("dark=" + (before !== document.documentElement.className));
        press("n"); seen.push("panel=" + document.getElementById("panel").textContent.includes("was stopped here"));
        const out = document.createElement("output"); out.id = "seen"; out.textContent = seen.join(";"); document.body.append(out);
    </script></body>"#;
    std::fs::write(&driven, html.replace("</body>", script)).unwrap();
    let profile = tempfile::tempdir().unwrap();
    let look = |arguments: &[String], page: &Path| {
        let mut command = Command::new(browser);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("--window-size=1400,900");
        let output = command.args(arguments).arg(format!("file://{}", page.display())).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let document = look(&["--dump-dom".to_owned()], &driven);
    let seen =
        document.split("id=\"seen\">").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
    let expected = "start=/6/3;down=3/6/3;preemption=5/6/3;all=5/17/8;end=16/17/8;up=15/17/8;out=/17/8;dark=true;panel=true";
    // The next step after a preemption is its own where it matters, else the first that does.
    assert!(
        seen.starts_with("start=/") && seen.contains("dark=true") && seen.contains("panel=true"),
        "{seen}\n{expected}"
    );
    let counts = |name: &str| -> Vec<String> {
        let part =
            seen.split(';').find_map(|part| part.strip_prefix(&format!("{name}="))).unwrap_or_default();
        part.split('/').map(str::to_owned).collect()
    };
    assert_eq!(counts("down")[0], "3", "{seen}");
    assert_eq!(counts("preemption")[0], "4", "{seen}");
    assert_eq!(counts("all")[1], "17", "{seen}");
    assert_eq!((counts("end")[0].as_str(), counts("up")[0].as_str()), ("16", "15"), "{seen}");
    assert!(counts("start")[1].parse::<usize>().unwrap() < 17, "{seen}");
    assert!(counts("start")[2].parse::<usize>().unwrap() >= 3, "{seen}");
    for words in ["I/O in a stopped driver", "T1 main.0", "T0 is preempted", "load stopping_flag = false"] {
        assert!(document.contains(words), "{words} is not on the page");
    }
    let picture = folder.join("bluetooth.png");
    look(&[format!("--screenshot={}", picture.display())], &page);
    let bytes = std::fs::read(&picture).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} is no picture", picture.display());
}

#[test]
fn a_debugger_stops_at_each_preemption() {
    let _alone = tool::alone();
    run();
    let said = icb("replay steals_an_overwritten_item --debugger", "100");
    assert_eq!(said.code, 0, "{}", said.err);
    let commands: Vec<&str> =
        said.out.lines().filter(|line| line.starts_with("    ")).map(str::trim).collect();
    let mut tried = 0;
    for (name, batch, backtrace, line) in [
        ("gdb", "gdb -batch", "backtrace", commands.iter().find(|line| line.starts_with("gdb "))),
        ("lldb", "lldb --batch", "thread backtrace", commands.iter().find(|line| line.contains("lldb "))),
    ] {
        let steps = ["run", backtrace, "continue", backtrace, "continue", "kill"];
        let line = line.expect("there is a command for each debugger");
        let there = Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
        if !there {
            eprintln!("skipped: there is no {name}");
            continue;
        }
        let flag = if name == "gdb" { "-ex" } else { "-o" };
        let words = steps.iter().map(|step| format!(" {flag} '{step}'")).collect::<String>();
        // gdb reads its options only before the program.
        let line = line.replacen(&format!("{name} "), &format!("{batch} "), 1);
        let (start, program) = line.rsplit_once(' ').unwrap();
        let output = Command::new("sh").arg("-c").arg(format!("{start}{words} {program}")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        let allowed = !text.contains("not permitted") && !text.contains("personality");
        if !allowed && !text.contains("icb_preemption (") {
            eprintln!("skipped: {name} may not trace a process here");
            continue;
        }
        tried += 1;
        // Once the victim is preempted in `push`, once the thief in `steal`.
        assert!(text.matches("icb_preemption").count() >= 2, "{text}");
        for words in ["push", "steal", "work_stealing_queue.rs:71", "work_stealing_queue.rs:113"] {
            assert!(text.contains(words), "{name}: no {words:?} in\n{text}");
        }
    }
    if tried == 0 {
        eprintln!("skipped: no debugger could be tried");
    }
}
