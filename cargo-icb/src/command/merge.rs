//! `cargo icb merge`: the results of all shards of a run, told as one run.

use crate::cli::MergeArgs;
use crate::event::{Event, Tally};
use crate::exit_code::{Error, Exit};
use crate::report::output::Output;
use crate::report::plain::count_of;
use crate::shard::merge::merge;

/// Runs the command.
pub(crate) fn run(arguments: &MergeArgs) -> Result<Exit, Error> {
    arguments.output.check()?;
    let merged = merge(&arguments.directory)?;
    let mut output = Output::new(&arguments.output, merged.names.clone(), &merged.root, arguments.full, None);
    output.start(merged.max_bound, merged.not_instrumented);
    let (results, tests) = (merged.file_count as u64, merged.names.len() as u64);
    output.line(&format!("     Merging {} of {}", count_of(results, "result"), count_of(tests, "test")));
    let mut tally = Tally::new(merged.names.len());
    let mut seconds = 0.0;
    for finished in merged.rounds {
        seconds += finished.seconds;
        let event = Event::Finished(Box::new(finished));
        tally.note(&event);
        output.event(&event);
    }
    output.conclude(&tally, seconds, false)
}
