//! What the engine looks up while an execution runs: which function an address belongs to, how a static is called. The libraries that know keep something of it
//! in statics of their own (their caches, what the processor can do), and each answer is asked for once in a process. So a turn of a loop in which something is looked
//! up would have changed statics in the first execution that comes there, and not in those after it. What changes meanwhile is none of the program's doing: it does not count.

use super::allocator::aside;
use super::arena::Range;
use super::idle::{IdleTurns, append_bytes};
use super::image;

/// Looks something up while a thread runs, of whose turns this is known.
pub(super) fn look_up<R>(turns: &mut IdleTurns, look: impl FnOnce() -> R) -> R {
    aside(|| {
        if !turns.known {
            return look();
        }
        let before: Vec<Vec<u8>> = image::writable().iter().map(|&place| bytes_at(place)).collect();
        let result = look();
        for (&place, before) in image::writable().iter().zip(&before) {
            turns.disregard(place, before, &bytes_at(place));
        }
        result
    })
}

/// The bytes of a part of the program's statics.
fn bytes_at(place: Range) -> Vec<u8> {
    let mut bytes = Vec::new();
    // SAFETY: it is writable memory of the program's image, as `image` has found it, which is never unmapped; no thread of the model runs meanwhile.
    unsafe { append_bytes(place, &mut bytes) };
    bytes
}
