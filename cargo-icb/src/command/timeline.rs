//! `cargo icb timeline`: writes a failing execution as a page to look at in a browser.

use super::replay::with_test;
use crate::cargo::metadata::Workspace;
use crate::cli::{ReplayArgs, TimelineArgs};
use crate::exit_code::{Error, Exit};
use crate::report::console::Console;
use crate::report::timeline::page;
use crate::store::{is_file_name, load_trace};
use crate::worker::replay::Replayed;
use icb_core::trace::Failure;
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(arguments: &TimelineArgs) -> Result<Exit, Error> {
    let path = Path::new(&arguments.test);
    if is_file_name(&arguments.test) {
        let workspace = Workspace::load(&arguments.build)?;
        let stored = load_trace(path)?;
        return write(arguments, &workspace, &stored.test, &stored.failure);
    }
    let replay = ReplayArgs {
        test: arguments.test.clone(),
        schedule: None,
        model: None,
        search: arguments.search.clone(),
        targets: arguments.targets.clone(),
        build: arguments.build.clone(),
        full: false,
        debugger: false,
    };
    with_test(&replay, |ready| {
        let failure = match ready.replay(ready.schedule) {
            Replayed::Fails(failure) | Replayed::Passes(failure) | Replayed::Diverges(failure) => failure,
            Replayed::Refused(message) => return Err(Error::Usage(message)),
            Replayed::Broken(message) => return Err(Error::Internal(message)),
        };
        write(arguments, ready.workspace, &ready.test.id.to_string(), &failure)
    })
}

fn write(
    arguments: &TimelineArgs,
    workspace: &Workspace,
    test: &str,
    failure: &Failure,
) -> Result<Exit, Error> {
    let default = || {
        let name: String =
            test.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '.' }).collect();
        workspace.directory.join("timeline").join(name.replace("..", ".") + ".html")
    };
    let path: PathBuf = arguments.output.clone().unwrap_or_else(default);
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let made = directory.map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(&path, page(test, failure, &workspace.root))).map_err(|error| {
        Error::Usage(format!("cannot write {}: {error}; name another file with --output", path.display()))
    })?;
    let mut console = Console::new(Vec::new());
    console.line(&format!("{} is the timeline of {test}; open it in a browser.", path.display()));
    console.finish(Exit::Passed)
}
