//! What a report says of inline assembly: icb does not see what that does, so locks that are made of it seem to race, to wait for
//! what nobody does, and to order nothing of what may be stale.

use icb_core::trace::table;
use icb_core::trace::{Failure, FailureKind, Frame, Step};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The note on a failure that assembly can have brought about, if there is some in a file that it goes through. `roots`: where
/// relative paths may start.
pub(super) fn note<'a>(
    failure: &Failure,
    frames: impl Iterator<Item = &'a Frame>,
    roots: &[PathBuf],
) -> Option<String> {
    let kinds = [FailureKind::DataRace, FailureKind::UseAfterFree, FailureKind::Livelock];
    let stale = failure.trace.steps.iter().any(Step::is_stale);
    if !stale && !kinds.contains(&failure.kind) {
        return None;
    }
    let steps = failure.trace.steps.iter().filter_map(|step| step.location.as_ref());
    let shown = frames.filter_map(|frame| frame.location.as_ref()).chain(steps);
    let files: BTreeSet<&str> = shown.map(|location| location.file.as_str()).collect();
    let of_program = files.into_iter().filter(|file| !table::is_machinery_file(file));
    let uses: Vec<String> = of_program.filter_map(|file| first_use(file, roots)).collect();
    let instead = if stale {
        "Without `--weak-memory` no load reads what is stale."
    } else {
        "`--no-accesses` explores it without looking for races in plain memory."
    };
    (!uses.is_empty()).then(|| {
        format!(
            "icb does not see what inline assembly does, which is at {}: where that synchronizes, the program may be right. {instead}",
            uses.join(" and ")
        )
    })
}

/// The first use of assembly in a file: the file from its package's directory on, and the line.
fn first_use(file: &str, roots: &[PathBuf]) -> Option<String> {
    let path = roots.iter().map(|root| root.join(file)).find(|path| path.is_file())?;
    let line = fs::read_to_string(&path).ok()?.lines().position(has_assembly)?;
    let package = path.ancestors().skip(1).find(|directory| directory.join("Cargo.toml").is_file());
    let from = package.and_then(Path::parent).unwrap_or(Path::new(""));
    Some(format!("{}:{}", path.strip_prefix(from).unwrap_or(&path).display(), line + 1))
}

fn has_assembly(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("asm!").any(|(at, word)| {
        let before = code[..at].trim_end_matches("global_").trim_end_matches("naked_").chars().last();
        let after = code[at + word.len()..].trim_start().chars().next();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            && matches!(after, None | Some('(' | '{' | '['))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::{Action, ObjectId, Operation, Ordering, STALE, SourceLocation, Switch, ThreadId};

    #[test]
    fn lines_with_assembly_are_told_from_others() {
        for line in [
            "core::arch::asm!(",
            "    asm!(\"nop\");",
            "global_asm! {",
            "unsafe { asm!",
            "naked_asm!(\"ret\")",
        ] {
            assert!(has_assembly(line), "{line}");
        }
        for line in
            ["// asm!(", "use core::arch::asm;", "wasm!(x)", "macro_rules! my_asm", "my_asm!(x)", "asm !(x)"]
        {
            assert!(!has_assembly(line), "{line}");
        }
    }

    #[test]
    fn the_files_of_frames_are_looked_through() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("locks-1.0.0");
        fs::create_dir_all(package.join("src/raw")).unwrap();
        fs::write(package.join("Cargo.toml"), "").unwrap();
        fs::write(package.join("src/lib.rs"), "mod raw;\n").unwrap();
        fs::write(package.join("src/raw/x86.rs"), "\nasm!(\"lock bts\")\n").unwrap();
        let frame = |file: &str| {
            let location = SourceLocation { file: file.to_owned(), line: 1, column: 1 };
            Frame { function: "locks::lock".to_owned(), location: Some(location) }
        };
        let said = |kind, file: &str| {
            note(&Failure::new(kind, "x"), std::iter::once(&frame(file)), &[folder.path().to_path_buf()])
        };
        let race = said(FailureKind::DataRace, "locks-1.0.0/src/raw/x86.rs").unwrap();
        assert!(race.contains("at locks-1.0.0/src/raw/x86.rs:2:"), "{race}");
        assert_eq!(said(FailureKind::Panic, "locks-1.0.0/src/raw/x86.rs"), None);
        for other in ["locks-1.0.0/src/lib.rs", "other/src/lib.rs"] {
            assert_eq!(said(FailureKind::DataRace, other), None, "{other}");
        }

        // What has read a stale value may fail in any way.
        let mut deadlock = Failure::new(FailureKind::Deadlock, "x");
        deadlock.trace.steps.push(Step {
            index: 0,
            thread: ThreadId::MAIN,
            switch: Switch::Stay,
            operation: Operation::new(Action::Load(Ordering::Relaxed), ObjectId::new(0)),
            early: false,
            branches: Vec::new(),
            read: None,
            written: None,
            note: Some(format!("{STALE}: T1 stored since")),
            location: None,
            preempted: None,
            preempted_thread: None,
            accesses: Vec::new(),
            backtrace: Vec::new(),
            printed_from: None,
        });
        let frame = frame("locks-1.0.0/src/raw/x86.rs");
        let said = note(&deadlock, std::iter::once(&frame), &[folder.path().to_path_buf()]).unwrap();
        assert!(said.ends_with("Without `--weak-memory` no load reads what is stale."), "{said}");
    }
}
