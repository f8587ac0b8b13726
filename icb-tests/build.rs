//! Writes random programs as source: each a function of its number, in the words of a user of std. They are compiled
//! into the test `source_programs`, against the mirror. Besides compiles the accesses of the test `raw_memory` with the
//! instrumentation pass, as `cargo icb test --accesses` compiles a user's crate.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Functions written.
const COUNT: u64 = 300;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % limit
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len() as u64) as usize]
    }
}

/// What a thread does on a variable.
fn on_variable(random: &mut Random, thread: u64) -> String {
    let v = random.below(2);
    let order = random.pick(&["SeqCst", "SeqCst", "Relaxed"]);
    match random.below(6) {
        0 | 1 => format!("log.note({thread}, shared.v[{v}].load({order}));"),
        2 => format!("shared.v[{v}].store({}, {order});", 1 + random.below(3)),
        3 => format!("log.note({thread}, shared.v[{v}].fetch_add(1, {order}));"),
        4 => format!("log.note({thread}, shared.v[{v}].swap({}, {order}));", 4 + random.below(2)),
        _ => format!(
            "log.note({thread}, u64::from(shared.v[{v}].compare_exchange({}, {}, SeqCst, Relaxed).is_ok()));",
            random.below(2),
            1 + random.below(3)
        ),
    }
}

/// One statement, or a few that belong together.
fn statement(random: &mut Random, thread: u64) -> String {
    let m = random.below(2);
    let inner = on_variable(random, thread);
    match random.below(16) {
        0..=4 => inner,
        5 | 6 => format!(
            "{{ let mut guard = shared.m[{m}].lock().unwrap(); {inner} *guard += 1; log.note({thread}, *guard); }}"
        ),
        7 => format!(
            "{{ let _outer = shared.m[{m}].lock().unwrap(); let mut guard = shared.m[{}].lock().unwrap(); *guard += 2; }}",
            1 - m
        ),
        8 => format!(
            "if let Ok(mut guard) = shared.m[{m}].try_lock() {{ *guard += 4; {inner} }} else {{ log.note({thread}, 99); }}"
        ),
        9 => format!(
            "{{ let mut guard = shared.m[0].lock().unwrap(); if *guard == 0 {{ guard = shared.c.wait(guard).unwrap(); }} log.note({thread}, *guard); }}"
        ),
        10 => {
            let which = random.pick(&["notify_one", "notify_all"]);
            format!("{{ *shared.m[0].lock().unwrap() += 8; shared.c.{which}(); }}")
        }
        11 => format!("{{ let guard = shared.rw.read().unwrap(); {inner} log.note({thread}, *guard); }}"),
        12 => "*shared.rw.write().unwrap() += 1;".to_owned(),
        13 => format!("log.note({thread}, *shared.once.get_or_init(|| 1{thread}));"),
        14 => format!("let _ = sender.send({thread});"),
        _ => format!(
            "for _ in 0..2 {{ if shared.v[{}].load(SeqCst) != 0 {{ break; }} thread::yield_now(); }}",
            random.below(2)
        ),
    }
}

fn block(random: &mut Random, thread: u64, longest: u64) -> String {
    let length = 1 + random.below(longest);
    (0..length).map(|_| format!("        {}\n", statement(random, thread))).collect()
}

fn program(number: u64) -> String {
    let mut random = Random(number.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let threads = 1 + random.below(2);
    let longest = 4 - threads;
    let mut text = format!(
        "pub(super) fn p{number}(log: &Arc<Log>) {{\n    let shared = Arc::new(Shared::default());\n"
    );
    text += "    let (sender, receiver) = mpsc::channel::<u64>();\n    let mut children = Vec::new();\n";
    for thread in 1..=threads {
        let body = block(&mut random, thread, longest);
        write!(
            text,
            "    children.push(spawn(Box::new({{\n        let (shared, log, sender) = (shared.clone(), log.clone(), sender.clone());\n        \
             move || {{\n        let _ = (&shared, &log, &sender);\n{body}        }}\n    }})));\n"
        )
        .expect("strings take what is written");
    }
    text += "    {\n";
    text += &block(&mut random, 0, longest);
    text += "    }\n";
    match random.below(3) {
        0 => text += "    log.note(0, receiver.try_recv().unwrap_or(77));\n",
        1 => text += "    drop(sender);\n    log.note(0, receiver.recv().unwrap_or(78));\n",
        _ => text += "    let _ = &receiver;\n",
    }
    text += "    for child in children {\n        let _ = child.join();\n    }\n";
    text += "    log.note(0, shared.v[0].load(SeqCst) + 100 * shared.v[1].load(SeqCst));\n}\n\n";
    text
}

/// The flags of `cargo-icb/src/cargo/probe.rs`.
const ACCESS_FLAGS: [&str; 3] = [
    "-Cno-prepopulate-passes",
    "-Cpasses=forceattrs,function(mem2reg),tsan-module,function(tsan),default<O2>",
    "-Cllvm-args=-force-attribute=sanitize_thread -tsan-instrument-read-before-write=1 \
     -tsan-instrument-func-entry-exit=0 -tsan-instrument-atomics=0",
];

/// Compiles the accesses. Where the compiler cannot, the test that uses them is left out.
fn instrumented_accesses(directory: &Path) {
    const SOURCE: &str = "tests/raw_memory/accesses.rs";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rustc-check-cfg=cfg(raw_accesses)");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let archive = directory.join("libraw_accesses.a");
    let mut compiler = Command::new(variable("RUSTC"));
    compiler.args(["--edition=2024", "--crate-name=raw_accesses", "--crate-type=rlib", "-Copt-level=2"]);
    compiler.args(["-Cpanic=abort", "-Ccodegen-units=1", "-Cdebuginfo=line-tables-only", "--target"]);
    compiler.arg(variable("TARGET")).args(ACCESS_FLAGS).arg(SOURCE).arg("-o").arg(&archive);
    if compiler.status().is_ok_and(|status| status.success()) {
        println!("cargo::rustc-cfg=raw_accesses");
        println!("cargo::rustc-link-search=native={}", directory.display());
    } else {
        println!(
            "cargo::warning=the test raw_memory is left out: {SOURCE} does not compile with instrumentation"
        );
    }
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut text: String = (0..COUNT).map(program).collect();
    let list: Vec<String> = (0..COUNT).map(|number| format!("p{number}")).collect();
    writeln!(text, "pub(super) const ALL: [fn(&Arc<Log>); {COUNT}] = [{}];", list.join(", "))
        .expect("strings take what is written");
    let directory = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&directory).join("programs.rs"), text).expect("the directory can be written to");
    instrumented_accesses(Path::new(&directory));
}
