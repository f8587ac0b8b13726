//! The flight recorder of a test process that died.

use icb_core::trace::flight::Flight;
use std::fs::File;
use std::path::Path;

/// Reads the recording of a model, if the process has left one.
pub(crate) fn read(directory: &Path, model: u32) -> Option<Flight> {
    Flight::read(&mut File::open(directory.join(format!("flight-{model}"))).ok()?)
}
