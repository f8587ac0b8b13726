//! What the engine looks up while an execution runs: which function an address belongs to, how a static is called. The libraries that know keep something of it
//! in statics of their own (their caches, what the processor can do), and each answer is asked for once in a process. So a turn of a loop in which something is looked
//! up would have changed statics in the first execution that comes there, and not in those after it. What changes meanwhile is none of the program's doing: it does not count.

use super::allocator::aside;
use super::idle::IdleTurns;
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

/// The bytes of a part of the program's statics, from one address up to another.
fn bytes_at((start, end): (usize, usize)) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(end - start);
    let from: *const u8 = std::ptr::with_exposed_provenance(start);
    // SAFETY: it is writable memory of the program's image, as `image` has found it, which is never unmapped; no thread of the model runs meanwhile. (Statics that
    // others may change are read as they happen to be.) As many bytes are reserved.
    unsafe {
        from.copy_to_nonoverlapping(bytes.as_mut_ptr(), end - start);
        bytes.set_len(end - start);
    }
    bytes
}
