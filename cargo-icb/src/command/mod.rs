//! The subcommands: each turns arguments into an exit code.

mod coverage;
mod debug;
mod diff;
mod list;
mod merge;
mod replay;
mod show;
mod test;
mod timeline;

use crate::cargo::build::Build;
use crate::cargo::metadata::Workspace;
use crate::cargo::stand_in;
use crate::cargo::tests::{self, Test};
use crate::cli::{BuildArgs, Command, FilterArgs};
use crate::exit_code::{Error, Exit};

/// Does what is asked for.
pub(crate) fn run(command: Command) -> Result<Exit, Error> {
    match command {
        Command::Test(arguments) => test::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Coverage(arguments) => coverage::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Timeline(arguments) => timeline::run(&arguments),
    }
}

/// The tests of a build that are meant. Where there are none, what lets those appear that are written for another tool.
fn select<'b>(
    workspace: &Workspace,
    build: &'b Build,
    options: &BuildArgs,
    filters: &[String],
    filter: &FilterArgs,
) -> Result<Vec<Test<'b>>, Error> {
    tests::select(build, filters, filter).map_err(|error| stand_in::no_tests(error, workspace, options))
}
