//! `cargo icb replay TEST --debugger`: how to run one execution under a debugger. One process, one execution, the same
//! every time; `icb_preemption` is called at each preemption, on the stack of the thread that is preempted.

use super::replay::Ready;
use crate::exit_code::{Error, Exit};
use crate::report::console::Console;
use crate::worker::process::test_arguments;
use std::fmt::Write;
use std::path::Path;

/// Writes what each debugger reads, and says how to start it.
pub(super) fn explain(ready: &Ready<'_>) -> Result<Exit, Error> {
    let executable = &ready.test.executable;
    let mut variables: Vec<(String, String)> = executable
        .environment
        .iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .chain(ready.search.environment().into_iter().map(|(name, value)| (name.to_owned(), value)))
        .collect();
    // One who looks at a stopped program takes more time than a watchdog has patience.
    let set = [
        ("ICB_REPLAY", ready.schedule.to_string()),
        ("ICB_REPLAY_MODEL", ready.model.to_string()),
        ("ICB_WATCHDOG_SECONDS", "0".to_owned()),
    ];
    variables.extend(set.map(|(name, value)| (name.to_owned(), value)));
    let arguments = test_arguments(ready.test).join(" ");
    let directory = executable.directory.display();
    let (mut gdb, mut lldb) = (String::new(), String::new());
    // Writing to a text does not fail.
    let _ = writeln!(
        gdb,
        "set cwd {directory}\nset args {arguments}\nset breakpoint pending on\nset confirm off"
    );
    let _ = writeln!(lldb, "settings set -- target.run-args {arguments}");
    for (name, value) in &variables {
        let _ = writeln!(gdb, "set environment {name} {value}");
        let _ = writeln!(lldb, "settings set -- target.env-vars {name}='{value}'");
    }
    gdb += "break icb_preemption\nbreak rust_panic\n";
    lldb += "breakpoint set --name icb_preemption\nbreakpoint set --name rust_panic\n";
    let folder = ready.workspace.directory.join("work").join(crate::store::test_path(&ready.test.id));
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| Error::unwritable(&path, error))?;
        Ok::<_, Error>(path)
    };
    let (gdb, lldb) = (write("debug.gdb", &gdb)?, write("debug.lldb", &lldb)?);
    let program = for_shell(&executable.path);
    let mut console = Console::new(Vec::new());
    for line in [
        format!("{} can be replayed under a debugger: one process, one execution, the same every time.", ready.test.id),
        "It stops at each preemption (`icb_preemption`, on the stack of the thread that is preempted; `up` leads to".to_owned(),
        "the program) and at a panic.".to_owned(),
        String::new(),
        format!("    gdb -x {} {program}", for_shell(&gdb)),
        format!("    cd {} && lldb --source {} {program}", for_shell(&executable.directory), for_shell(&lldb)),
        String::new(),
        "Then `run`, `backtrace` (lldb: `thread backtrace`), `continue`. The schedule:".to_owned(),
        format!("    {}", ready.schedule),
    ] {
        console.line(&line);
    }
    console.finish(Exit::Passed)
}

/// A path as a shell takes it for one word.
fn for_shell(path: &Path) -> String {
    word_for_shell(&path.display().to_string())
}

/// A text as a shell takes it for one word.
pub(super) fn word_for_shell(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_copied_is_one_word() {
        for (path, expected) in [
            ("/tmp/a-1.b", "/tmp/a-1.b"),
            ("/tmp/with space", "'/tmp/with space'"),
            ("/tmp/it's", r"'/tmp/it'\''s'"),
        ] {
            assert_eq!(for_shell(Path::new(path)), expected);
        }
    }
}
