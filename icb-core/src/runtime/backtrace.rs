//! Backtraces, taken only while a failure is being replayed.

use crate::trace::{Frame, SourceLocation};

/// The calling thread's stack, innermost frame first, down to where the coroutine begins.
pub(crate) fn capture() -> Vec<Frame> {
    let mut frames = Vec::new();
    backtrace::trace(|frame| {
        backtrace::resolve_frame(frame, |symbol| {
            let function = symbol.name().map_or_else(|| "<unknown>".to_owned(), |name| name.to_string());
            let location = symbol.filename().map(|file| SourceLocation {
                file: file.display().to_string(),
                line: symbol.lineno().unwrap_or(0),
                column: symbol.colno().unwrap_or(0),
            });
            frames.push(Frame { function, location });
        });
        frames.len() < 400
    });
    frames
}
