//! `cargo icb list`: tests, and failures that are stored.

use super::select;
use crate::cargo::build;
use crate::cargo::metadata::Workspace;
use crate::cargo::tests::{is_named, quoted};
use crate::cli::ListArgs;
use crate::exit_code::{Error, Exit};
use crate::report::console::Console;
use crate::store::Store;
use icb_core::trace::table::costs;

/// Runs the command.
pub(crate) fn run(arguments: &ListArgs) -> Result<Exit, Error> {
    let workspace = Workspace::load(&arguments.build)?;
    let mut console = Console::new(Vec::new());
    if !arguments.failures {
        let _lock = workspace.lock()?;
        let build = build::build(&workspace, &arguments.targets, &arguments.build)?;
        for target in &build.skipped {
            console.line(&format!("{target}: skipped, it has a test harness of its own"));
        }
        let tests = select(&workspace, &build, &arguments.build, &arguments.filters, &arguments.filter)?;
        for test in tests {
            console.line(&format!("{}{}", test.id, if test.ignored { " (ignored)" } else { "" }));
        }
    }
    let store = Store::new(&workspace.directory);
    let mut stored = store.all();
    let is_empty = stored.is_empty();
    // What cannot be read may be any test's.
    stored.retain(|(_, stored)| match stored {
        Ok(stored) => is_named(&stored.id(), &arguments.filters, &arguments.filter),
        Err(_) => true,
    });
    if arguments.failures && stored.is_empty() {
        console.line(&match arguments.filters.as_slice() {
            filters if !is_empty && !filters.is_empty() => {
                format!("no failure is stored of a test that matches {}", quoted(filters))
            }
            _ if !is_empty => "no failure is stored but of the tests that --skip leaves out".to_owned(),
            _ => "no failure is stored".to_owned(),
        });
    } else if !stored.is_empty() && !arguments.failures {
        console.line("");
        console.line("Stored failures:");
    }
    let mut exit = Exit::Passed;
    for (_, stored) in stored {
        match stored {
            Ok(stored) => console.line(&format!(
                "{}: {}: {} ({})",
                stored.id(),
                stored.kind,
                stored.message.lines().next().unwrap_or_default(),
                costs(&stored.schedule, &store.trace_of(&stored)),
            )),
            Err(error) => {
                exit = error.exit();
                console.line(&format!("error: {error}"));
            }
        }
    }
    console.finish(exit)
}
