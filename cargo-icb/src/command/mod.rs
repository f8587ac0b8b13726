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

use crate::cli::Command;
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
