//! The crates' own tests, as they are in the published packages: unit tests, and those that were written for loom or shuttle.

use super::run::{Bench, RESOLVER};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A published package, and how its tests are run.
pub(crate) struct Package {
    name: &'static str,
    version: &'static str,
    /// Options that select targets and features.
    options: &'static str,
    /// What its tests were written for, if it is not what everybody's are.
    written_for: Option<Other>,
}

/// Another tool.
#[derive(Clone, Copy)]
struct Other {
    /// The name of its crate, and of the option.
    name: &'static str,
    /// The configuration under which the package uses it.
    cfg: &'static str,
    /// How long a test is explored.
    test_time: &'static str,
}

const fn package(name: &'static str, version: &'static str, options: &'static str) -> Package {
    Package { name, version, options, written_for: None }
}

const fn for_loom(
    name: &'static str,
    version: &'static str,
    options: &'static str,
    cfg: &'static str,
) -> Package {
    Package {
        written_for: Some(Other { name: "loom", cfg, test_time: "60s" }),
        ..package(name, version, options)
    }
}

const fn for_shuttle(name: &'static str, version: &'static str, options: &'static str) -> Package {
    Package {
        written_for: Some(Other { name: "shuttle", cfg: "shuttle", test_time: "10s" }),
        ..package(name, version, options)
    }
}

/// Crates whose packages hold unit tests.
pub(crate) const UNIT_TESTS: [Package; 6] = [
    package("once_cell", "1.21.4", ""),
    package("crossbeam-epoch", "0.9.21", "--lib"),
    package("crossbeam-queue", "0.3.14", "--lib --tests"),
    package("crossbeam-utils", "0.8.23", "--lib --tests"),
    package("parking", "2.2.1", "--lib --tests"),
    package("triomphe", "0.1.17", "--lib"),
];

/// Crates whose packages hold tests for loom.
pub(crate) const LOOM_TESTS: [Package; 24] = [
    for_loom("arcstr", "1.2.0", "--lib", "loom"),
    for_loom("async-event", "0.2.1", "--lib", "async_event_loom"),
    for_loom("boxcar", "0.2.14", "--features loom --test loom --test loom_buckets", "loom"),
    for_loom("bytes", "1.12.1", "--lib", "loom"),
    for_loom("concurrent-queue", "2.5.0", "--features loom --test loom", "loom"),
    for_loom("cordyceps", "0.3.5", "--lib", "loom"),
    for_loom("crossbeam-epoch", "0.9.21", "--features loom --test loom", "crossbeam_loom"),
    for_loom("diatomic-waker", "0.2.3", "--lib", "diatomic_waker_loom"),
    for_loom("event-listener", "5.4.2", "--features loom --test loom", "loom"),
    for_loom("flashmap", "0.2.0", "--features loom --test loom", "loom"),
    for_loom("haphazard", "0.1.8", "--test loom", "loom"),
    for_loom("left-right", "0.11.8", "--test loom", "loom"),
    for_loom("maitake-sync", "0.3.0", "--features alloc,std --lib", "loom"),
    for_loom("multishot", "0.3.2", "--lib", "multishot_loom"),
    for_loom("oneshot", "0.1.13", "--features loom --test loom --test sync", "oneshot_loom"),
    for_loom("parking", "2.2.1", "--features loom --test loom", "loom"),
    for_loom("saa", "5.6.2", "--features loom --lib", "loom"),
    for_loom("sdd", "4.8.11", "--features loom --lib", "loom"),
    for_loom("sharded-slab", "0.1.7", "--lib", "loom"),
    for_loom("swap-buffer-queue", "0.2.1", "--lib", "loom"),
    for_loom("tachyonix", "0.3.1", "--lib", "tachyonix_loom"),
    for_loom("thingbuf", "0.1.6", "--lib", "loom"),
    for_loom("tokio", "1.54.1", "--features full,test-util --lib loom", "loom"),
    for_loom("waitfree-sync", "0.4.1", "", "loom"),
];

/// Crates whose packages hold tests for shuttle, and shuttle's own wrappers of other crates.
pub(crate) const SHUTTLE_TESTS: [Package; 9] = [
    for_shuttle("arcshift", "0.4.10", "--features shuttle --lib"),
    for_shuttle("congee", "0.4.1", "--features shuttle --lib shuttle"),
    for_shuttle(
        "kovan",
        "0.2.0",
        "--features shuttle --test shuttle_flush --test shuttle_magazine --test shuttle_reclaim --test shuttle_recycle",
    ),
    for_shuttle("kovan-channel", "0.2.0", "--features shuttle --test shuttle_channel"),
    for_shuttle(
        "kovan-map",
        "0.2.0",
        "--features shuttle --test shuttle_held_scan --test shuttle_hopscotch --test shuttle_maps --test shuttle_resize",
    ),
    for_shuttle(
        "kovan-queue",
        "0.2.0",
        "--features shuttle --test shuttle_array_queue --test shuttle_seg_queue",
    ),
    for_shuttle("salsa", "0.28.5", "--features shuttle --test parallel"),
    for_shuttle("shuttle-parking_lot-impl", "0.1.3", "--lib"),
    for_shuttle(
        "shuttle-tokio-impl-inner",
        "0.1.6",
        "--test mutex --test oneshot --test semaphore --test rwlock --test notify --test task_abort",
    ),
];

/// How long another tool is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The table of one list. Good if at least five crates ran.
pub(crate) fn table(bench: &Bench, packages: &[Package], wanted: impl Fn(&str) -> bool) -> bool {
    let other = packages.iter().find_map(|package| package.written_for);
    let more = other.map_or(String::new(), |other| format!(" seconds | {} |", other.name));
    println!("| crate | proved | one thread | run once | incomplete | failed | executions |{more} reasons |");
    println!("|---|---:|---:|---:|---:|---:|---:|{}---|", if other.is_some() { "---:|---|" } else { "" });
    let mut ran = 0;
    let mut asked = 0;
    for package in packages.iter().filter(|package| wanted(package.name)) {
        asked += 1;
        let Package { name, version, options, .. } = package;
        let manifest = match fetch(bench, name, version) {
            Ok(manifest) => manifest,
            Err(error) => {
                println!("| {name} {version} | | | | | | | {error} |");
                continue;
            }
        };
        let limits = match package.written_for {
            Some(Other { name, cfg, test_time }) => {
                format!("--{name}={cfg} --max-bound 2 --max-test-time {test_time} --jobs 1")
            }
            None => "--max-bound 2 --max-test-time 5s --max-executions 20000 --watchdog 5".to_owned(),
        };
        let kind = package.written_for.map_or("own", |other| other.name);
        let said = bench.test(&format!("{kind}-{name}"), &manifest, &format!("{options} {limits}"));
        let count = |word: &str| said.summary().filter(|line| line.starts_with(word)).count();
        let listed = |word: &str| {
            let lists = said.summary().filter_map(|line| line.strip_prefix(word));
            lists.filter(|list| !list.contains(": ")).map(|list| list.split(", ").count()).sum::<usize>()
        };
        let reasoned =
            said.summary().filter(|line| line.starts_with("run once ") && line.contains(": ")).count();
        let mut reasons: Vec<String> = said
            .summary()
            .filter(|line| {
                line.starts_with("FAILED ") || (line.starts_with("run once ") && line.contains(": "))
            })
            .filter_map(|line| line.split_once(": ").map(|(_, why)| why.chars().take(60).collect()))
            .collect();
        reasons.sort();
        reasons.dedup();
        let (proved, one) = (count("proved "), listed("one thread "));
        ran += usize::from(proved + one > 0);
        let beside = match package.written_for {
            Some(other) => format!(" {} | {} |", said.seconds(), by_itself(bench, &manifest, package, other)),
            None => String::new(),
        };
        println!(
            "| {name} {version} | {proved} | {one} | {} | {} | {} | {} |{beside} {} |",
            listed("run once ") + reasoned,
            count("incomplete "),
            count("FAILED "),
            said.executions(),
            reasons.join("; ").replace('|', "/"),
        );
    }
    ran >= asked.min(5)
}

/// What the other tool itself makes of the tests, loom with at most two preemptions: seconds, without those for building.
fn by_itself(bench: &Bench, manifest: &Path, package: &Package, other: Other) -> String {
    let command = |last: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["test", "--release", "--quiet", "--manifest-path"]).arg(manifest);
        command.arg("--target-dir").arg(bench.directory.join("target").join(other.name));
        command.args(package.options.split_whitespace()).args(last);
        command.env("RUSTFLAGS", format!("--cfg {}", other.cfg));
        // As tokio's own runs have it, and with the assertions that icb's profile has on.
        command.env("LOOM_MAX_PREEMPTIONS", "2").env("LOOM_MAX_BRANCHES", "10000");
        command.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
        command.env(RESOLVER.0, RESOLVER.1);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own, which is ended as a whole.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    };
    if !command(&["--no-run"]).status().is_ok_and(|status| status.success()) {
        return "not built".to_owned();
    }
    let begin = Instant::now();
    let Ok(mut child) = command(&["--", "--test-threads=1"]).spawn() else { return "not run".to_owned() };
    while begin.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) => {
                let verdict = if status.success() { "" } else { ", failed" };
                return format!("{:.2}{verdict}", begin.elapsed().as_secs_f64());
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(10)),
            Err(error) => return error.to_string(),
        }
    }
    #[cfg(unix)]
    // SAFETY: a plain system call, for the group of a child that has not been waited for.
    unsafe {
        libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL)
    };
    let _ = child.kill();
    let _ = child.wait();
    format!("more than {}", PATIENCE.as_secs())
}

/// A copy of the published package.
fn fetch(bench: &Bench, name: &str, version: &str) -> Result<PathBuf, String> {
    let copy = bench.directory.join("packages").join(format!("{name}-{version}"));
    let manifest = copy.join("Cargo.toml");
    if manifest.exists() {
        return Ok(manifest);
    }
    // A package that depends on it makes cargo fetch it.
    let asking = bench.directory.join("packages").join("fetch");
    let text = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n{name} = \"={version}\"\n"
    );
    let made =
        fs::create_dir_all(asking.join("src")).and_then(|()| fs::write(asking.join("Cargo.toml"), text));
    made.and_then(|()| fs::write(asking.join("src/lib.rs"), "")).map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(asking.join("Cargo.toml"));
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let place = format!("/{name}-{version}/Cargo.toml\"");
    let end = text.find(&place).ok_or("cargo has not fetched it")? + place.len() - 1;
    let start = text[..end].rfind('"').map_or(0, |at| at + 1);
    let source = Path::new(&text[start..end]).parent().ok_or("no directory")?.to_path_buf();
    copy_all(&source, &copy).map_err(|error| error.to_string())?;
    Ok(manifest)
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else if entry.file_name() != "Cargo.lock" {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
