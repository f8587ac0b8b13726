//! From an address in the code to the source: looked up only for reports.

use crate::trace::{Frame, SourceLocation};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an address has been looked up in this process.
static LOOKED_UP: AtomicBool = AtomicBool::new(false);

/// Whether an address has been looked up in this process, or in the one that it is a fork of: the first one takes a hundred times as long as another, until the debug
/// information has been read.
#[must_use]
pub(crate) fn is_ready() -> bool {
    LOOKED_UP.load(Ordering::Relaxed)
}

/// Looks an address up if none has been, so that forks need not read the debug information once more.
pub(crate) fn make_ready() {
    if !is_ready() {
        let _ = frames(make_ready as fn() as usize);
    }
}

/// The functions that the instruction before this return address belongs to, innermost first: more than one where calls
/// were inlined.
#[must_use]
pub(crate) fn frames(address: usize) -> Vec<Frame> {
    LOOKED_UP.store(true, Ordering::Relaxed);
    let mut frames = Vec::new();
    backtrace::resolve(std::ptr::without_provenance_mut(address), |symbol| {
        // Without hashes, which the newer mangling has in the middle of a name (`app[4f2c]::run`), where nobody who looks for a crate expects them.
        let function = symbol.name().map_or_else(|| "<unknown>".to_owned(), |name| format!("{name:#}"));
        let location = symbol.filename().map(|file| SourceLocation {
            file: file.display().to_string(),
            line: symbol.lineno().unwrap_or(0),
            column: symbol.colno().unwrap_or(0),
        });
        frames.push(Frame { function, location });
    });
    frames
}

/// Where in the source the instruction before this return address is: the innermost function that is not of `std`.
#[must_use]
pub(crate) fn location(address: usize) -> Option<SourceLocation> {
    let frames = frames(address);
    let own = frames.iter().find(|frame| !is_library(frame)).or(frames.first());
    own.and_then(|frame| frame.location.clone())
}

/// Whether the frame is of `core`, `alloc` or `std`.
#[must_use]
pub(crate) fn is_library(frame: &Frame) -> bool {
    let in_library =
        |file: &str| file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/");
    frame.location.as_ref().is_some_and(|location| in_library(&location.file))
}
