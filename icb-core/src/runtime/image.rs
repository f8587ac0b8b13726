//! The program's image: which addresses are statics, and how they are called.

use std::sync::OnceLock;

#[derive(Debug)]
struct Segment {
    start: usize,
    end: usize,
}

static SEGMENTS: OnceLock<Vec<Segment>> = OnceLock::new();

#[cfg(target_os = "linux")]
fn segments() -> Vec<Segment> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: usize,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid description of a loaded object and our own pointer.
        let (info, segments) = unsafe { (&*info, &mut *data.cast::<Vec<Segment>>()) };
        // SAFETY: the headers are valid for as long as the object is loaded, `dlpi_phnum` of them.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0) {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            segments.push(Segment { start, end: start + header.p_memsz as usize });
        }
        0
    }
    let mut segments: Vec<Segment> = Vec::new();
    // SAFETY: the callback has the right signature and `segments` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut segments).cast()) };
    segments
}

#[cfg(not(target_os = "linux"))]
fn segments() -> Vec<Segment> {
    Vec::new()
}

/// The distance of an address of the image from a fixed place in it: the same in every process of one binary, wherever
/// it is loaded.
#[inline]
pub(super) fn relative(address: usize) -> usize {
    address.wrapping_sub((&raw const SEGMENTS).addr())
}

/// Whether the address lies in writable memory of the program's image.
pub(super) fn contains(address: *const ()) -> bool {
    let address = address.addr();
    SEGMENTS.get_or_init(segments).iter().any(|s| (s.start..s.end).contains(&address))
}

/// The name of the static at this address, where the symbol table knows it.
pub(super) fn symbol(address: *const ()) -> Option<String> {
    if address.is_null() || !contains(address) {
        return None;
    }
    let mut name = None;
    backtrace::resolve(address.cast_mut().cast(), |symbol| {
        let here = symbol.addr().is_some_and(|start| start.addr() == address.addr());
        if here && name.is_none() {
            name = symbol.name().map(|n| n.to_string());
        }
    });
    name
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    static HERE: AtomicU32 = AtomicU32::new(1);

    #[test]
    fn statics_are_in_the_image_and_others_are_not() {
        let local = AtomicU32::new(0);
        let heap = Box::new(AtomicU32::new(0));
        assert!(contains((&raw const HERE).cast()));
        assert!(!contains((&raw const local).cast()) && !contains((&raw const *heap).cast()));
    }
}
