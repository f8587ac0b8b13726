//! What cannot be asked for together: refused before anything is built.

use crate::cli::TestArgs;
use crate::exit_code::Error;

/// Refuses contradicting options.
///
/// # Errors
/// In one sentence.
pub(super) fn check(arguments: &TestArgs) -> Result<(), Error> {
    arguments.habits.check()?;
    arguments.search.check()?;
    arguments.output.check()?;
    if arguments.at_once && !arguments.search.strategy().is_by_preemptions() {
        let what = "--at-once searches the last bound at once, and only the default strategy goes by bounds";
        return Err(Error::Usage(format!("{what}; leave out --strategy, or --at-once")));
    }
    if let (Some(shard), Some(option)) = (arguments.shard, arguments.search.searched_alone()) {
        return Err(Error::Usage(format!(
            "--shard {shard}: only the default search is divided into shards, and {option} asks for another; leave out one of them"
        )));
    }
    Ok(())
}
