//! `cargo icb`: runs a crate's tests under every interleaving, fewest preemptions first; explains what it finds
//! and says what it has proved.
//!
//! `cli` reads the command line, `command` does what it asks for; `cargo` talks to cargo and rustc, `worker` to
//! the test processes, `store` keeps failures, and `report` alone writes to the terminal. Of the engine only the
//! plain data of `icb_core::trace` is known here: the searching happens in the test processes.

mod cargo;
mod cli;
mod command;
mod environment;
mod event;
mod exit_code;
mod interrupt;
mod kind;
mod nearest;
mod report;
mod resume;
mod runs;
mod settings;
mod shard;
mod store;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    if cargo::wrapper::is_called() {
        return cargo::wrapper::run();
    }
    let cli = match cli::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    match cli.color {
        cli::Color::Auto => {}
        cli::Color::Always => console::set_colors_enabled(true),
        cli::Color::Never => console::set_colors_enabled(false),
    }
    if let Some(subcommand) = cli.command.runs_tests() {
        let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
        environment::warnings(subcommand, names).iter().for_each(report::notice::say);
    }
    match command::run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            report::notice::say(format_args!("error: {error}"));
            error.exit().into()
        }
    }
}
