//! The program's image: which addresses are statics, which variable lies where, how they are called, and what their
//! bytes were before `main`.

use object::{Object, ObjectSymbol, SymbolKind};
use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A part of the program's writable image, as it was before `main`.
struct Region {
    start: usize,
    bytes: Vec<u8>,
}

static IMAGE: OnceLock<Vec<Region>> = OnceLock::new();

#[cfg(target_os = "linux")]
#[used]
// SAFETY: `.init_array` holds pointers to functions of this type, which the C runtime calls before `main`.
#[unsafe(link_section = ".init_array")]
static TAKE_IMAGE: extern "C" fn() = take_image;

#[cfg(target_os = "linux")]
extern "C" fn take_image() {
    let _ = std::panic::catch_unwind(|| IMAGE.get_or_init(|| writable_regions().unwrap_or_default()));
}

/// The mapped writable parts of the executable: initialised data, and the zeroed memory that follows it.
#[cfg(target_os = "linux")]
fn writable_regions() -> Option<Vec<Region>> {
    let program = fs::read_link("/proc/self/exe").ok()?;
    let program = program.to_str()?;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let mut mappings = Vec::new();
    let mut end_of_image = 0;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (range, permissions) = (fields.next()?, fields.next()?);
        let path = line.find('/').map_or("", |at| &line[at..]);
        let (start, end) = range.split_once('-')?;
        let (start, end) = (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
        let anonymous = fields.nth(3).is_none();
        let in_image = path == program || (anonymous && start == end_of_image);
        if in_image {
            end_of_image = end;
            if permissions.starts_with("rw") {
                mappings.push((start, end, anonymous));
                // A variable may begin in one mapping and end in the next.
                match ranges.last_mut() {
                    Some((_, before)) if *before == start => *before = end,
                    _ => ranges.push((start, end)),
                }
            }
        }
    }
    let pages = fs::File::open("/proc/self/pagemap").ok().filter(tells_of_this_process);
    let take = |&(start, end): &(usize, usize)| {
        let mut region = Region { start, bytes: vec![0; end - start] };
        let inside = mappings.iter().filter(|(first, ..)| (start..end).contains(first));
        for &(first, end, anonymous) in inside {
            let used = pages.as_ref().filter(|_| anonymous).and_then(|pages| used_pages(pages, first, end));
            match used {
                Some(used) => used.into_iter().for_each(|(first, end)| region.take(first, end)),
                None => region.take(first, end),
            }
        }
        region
    };
    Some(ranges.iter().map(take).collect())
}

#[cfg(target_os = "linux")]
impl Region {
    /// Takes the bytes from here up to there, which are a part of it.
    fn take(&mut self, first: usize, end: usize) {
        let bytes = &mut self.bytes[first - self.start..end - self.start];
        // SAFETY: the range is mapped, readable memory of this process, no other thread runs before `main`, and
        // the copy is a part of a fresh block, as long.
        unsafe { std::ptr::copy_nonoverlapping(first as *const u8, bytes.as_mut_ptr(), bytes.len()) };
    }
}

/// Whether a page that is in use counts as such: an emulator may pass on what the system says of its own addresses.
#[cfg(target_os = "linux")]
fn tells_of_this_process(pages: &fs::File) -> bool {
    let here = std::hint::black_box(0u8);
    let here = (&raw const here).addr();
    used_pages(pages, here & !0xfff, here | 0xfff).is_some_and(|used| !used.is_empty())
}

/// The pages of anonymous memory that have been touched, each from here up to there: all others are zero, and take no memory as long as they are not looked
/// at. `None` if the system does not say.
#[cfg(target_os = "linux")]
fn used_pages(pages: &fs::File, start: usize, end: usize) -> Option<Vec<(usize, usize)>> {
    /// In the word of a page: it is in memory, or has been swapped out.
    const USED: u64 = 0b11 << 62;
    /// Words that are read at a time.
    const BATCH: usize = 4_096;
    // SAFETY: it has no preconditions.
    let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|&size| size > 0)?;
    let mut used = Vec::new();
    let mut words = [0; BATCH * size_of::<u64>()];
    for first in (start..end).step_by(BATCH * size) {
        let words = &mut words[..(end - first).div_ceil(size).min(BATCH) * size_of::<u64>()];
        pages.read_exact_at(words, (first / size * size_of::<u64>()) as u64).ok()?;
        let each = words.chunks_exact(size_of::<u64>()).zip((first..end).step_by(size));
        let is_used = |word: &[u8]| word.try_into().is_ok_and(|word| u64::from_ne_bytes(word) & USED != 0);
        used.extend(each.filter(|(word, _)| is_used(word)).map(|(_, page)| (page, end.min(page + size))));
    }
    Some(used)
}

/// The bytes that the image held at an address before `main`, if it lies in the image.
#[must_use]
pub fn initial_bytes(address: usize, len: usize) -> Option<&'static [u8]> {
    let region =
        |region: &&Region| address >= region.start && address + len <= region.start + region.bytes.len();
    let region = IMAGE.get()?.iter().find(region)?;
    Some(&region.bytes[address - region.start..][..len])
}

/// A variable of the executable.
#[derive(Debug)]
struct Variable {
    start: usize,
    size: usize,
    /// As the linker knows it.
    name: Box<[u8]>,
}

/// Variables in the order of their addresses, from the symbol table of the executable. Without one there are none.
fn variables() -> &'static [Variable] {
    static VARIABLES: OnceLock<Vec<Variable>> = OnceLock::new();
    VARIABLES.get_or_init(|| read_variables().unwrap_or_default())
}

fn read_variables() -> Option<Vec<Variable>> {
    let file = fs::File::open("/proc/self/exe").ok()?;
    // SAFETY: the executable of a running process is not written to.
    let bytes = unsafe { memmap2::Mmap::map(&file).ok()? };
    let file = object::File::parse(&*bytes).ok()?;
    let base = SEGMENTS.get_or_init(segments).first().map_or(0, |segment| segment.base);
    let of_data = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0);
    let mut found: Vec<Variable> = of_data
        .map(|symbol| Variable {
            start: base + symbol.address() as usize,
            size: symbol.size() as usize,
            name: symbol.name_bytes().unwrap_or_default().into(),
        })
        .collect();
    found.sort_unstable_by_key(|variable| (variable.start, variable.size));
    Some(found)
}

fn variable_at(address: usize) -> Option<&'static Variable> {
    let next = variables().partition_point(|variable| variable.start <= address);
    let variable = variables().get(next.checked_sub(1)?)?;
    (address < variable.start + variable.size).then_some(variable)
}

/// The variable around an address: where it starts, and its size.
pub(super) fn variable(address: usize) -> Option<(usize, usize)> {
    variable_at(address).map(|variable| (variable.start, variable.size))
}

/// Whether more than one variable has bytes from `start` up to `end`.
pub(super) fn holds_several(start: usize, end: usize) -> bool {
    let next = variables().partition_point(|variable| variable.start < end);
    let last = variables()[..next].iter().rev().take(2);
    last.filter(|variable| variable.start + variable.size > start).count() == 2
}

#[derive(Debug)]
struct Segment {
    /// How far the object that it belongs to was moved when it was loaded; that of the program itself comes first.
    base: usize,
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
            segments.push(Segment {
                base: info.dlpi_addr as usize,
                start,
                end: start + header.p_memsz as usize,
            });
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

/// The part of the calling thread's thread-local memory that belongs to the program, whole words of it.
#[cfg(target_os = "linux")]
pub(super) fn thread_local_memory() -> Option<NonNull<[u8]>> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        size: usize,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        if size < size_of::<libc::dl_phdr_info>() {
            return 1;
        }
        // SAFETY: `dl_iterate_phdr` passes a valid description of a loaded object and our own pointer.
        let (info, memory) = unsafe { (&*info, &mut *data.cast::<Option<NonNull<[u8]>>>()) };
        // SAFETY: the headers are valid for as long as the object is loaded, `dlpi_phnum` of them.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        if let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_TLS)
            && let Some(start) = NonNull::new(info.dlpi_tls_data.cast::<u8>())
            && start.cast::<u64>().is_aligned()
        {
            *memory = Some(NonNull::slice_from_raw_parts(start, header.p_memsz as usize));
        }
        // The first object is the program itself, which `std` is a part of.
        1
    }
    let mut memory: Option<NonNull<[u8]>> = None;
    // SAFETY: the callback has the right signature and `memory` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut memory).cast()) };
    memory
}

#[cfg(not(target_os = "linux"))]
pub(super) fn thread_local_memory() -> Option<NonNull<[u8]>> {
    None
}

/// The part of the program that nobody can write once it has been loaded: code, constants, tables of methods. Empty if it is
/// not known.
#[cfg(target_os = "linux")]
pub(super) fn constants() -> (usize, usize) {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _: usize,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid description of a loaded object and our own pointer.
        let (info, part) = unsafe { (&*info, &mut *data.cast::<(usize, usize)>()) };
        // SAFETY: the headers are valid for as long as the object is loaded, `dlpi_phnum` of them.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let places = headers.iter().map(|header| {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            (header.p_type, header.p_flags & libc::PF_W != 0, start, start + header.p_memsz as usize)
        });
        let (mut first, mut end, mut closed) = (usize::MAX, usize::MAX, (0, 0));
        for (kind, writable, start, stop) in places {
            match kind {
                libc::PT_LOAD => {
                    first = first.min(start);
                    end = if writable { end.min(start) } else { end };
                }
                libc::PT_GNU_RELRO => closed = (start, stop),
                _ => {}
            }
        }
        if end == usize::MAX {
            return 1;
        }
        // What is written while the program is loaded, and closed then, comes first in the writable part.
        let end = if closed.0 == end { closed.1 } else { end };
        *part = (first, end);
        // The first object is the program itself.
        1
    }
    let mut part = (0, 0);
    // SAFETY: the callback has the right signature and `part` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut part).cast()) };
    part
}

#[cfg(not(target_os = "linux"))]
pub(super) fn constants() -> (usize, usize) {
    (0, 0)
}

/// The distance of an address of the image from a fixed place in it: the same in every process of one binary, wherever
/// it is loaded.
#[inline]
pub(super) fn relative(address: usize) -> usize {
    address.wrapping_sub((&raw const SEGMENTS).addr())
}

/// The address at this distance.
pub(super) fn absolute(relative: usize) -> usize {
    relative.wrapping_add((&raw const SEGMENTS).addr())
}

/// Finds out where the image is, before an execution asks: what the engine waits for is no step of a program.
pub(super) fn prepare() {
    writable();
}

/// Whether the address lies in writable memory of the program's image.
pub(super) fn contains(address: *const ()) -> bool {
    let address = address.addr();
    SEGMENTS.get_or_init(segments).iter().any(|s| (s.start..s.end).contains(&address))
}

/// The segments of the program itself.
fn own_segments() -> impl Iterator<Item = &'static Segment> {
    let segments = SEGMENTS.get_or_init(segments);
    let base = segments.first().map(|segment| segment.base);
    segments.iter().filter(move |segment| Some(segment.base) == base)
}

/// Where the statics of the program itself lie, those of the calling thread too: first address, and bytes.
pub(super) fn statics() -> Vec<(usize, usize)> {
    let mut places: Vec<_> =
        own_segments().map(|segment| (segment.start, segment.end - segment.start)).collect();
    places.extend(thread_local_memory().map(|memory| (memory.cast::<u8>().addr().get(), memory.len())));
    places
}

/// Where the statics of the program itself lie that can be written: from, and up to. Not the threads' own.
pub(super) fn writable() -> &'static [(usize, usize)] {
    static WRITABLE: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    WRITABLE.get_or_init(|| {
        let (_, closed) = constants();
        let open = own_segments().map(|segment| (segment.start.max(closed), segment.end));
        open.filter(|(start, end)| start < end).collect()
    })
}

/// The name of the static around this address, where the symbol table knows it, and how far behind its beginning the address is.
pub(super) fn symbol(address: *const ()) -> Option<(String, usize)> {
    if address.is_null() || !contains(address) {
        return None;
    }
    let variable = variable_at(address.addr())?;
    // Without the hash that the compiler has put behind it.
    Some((format!("{:#}", backtrace::SymbolName::new(&variable.name)), address.addr() - variable.start))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    static HERE: AtomicU32 = AtomicU32::new(1);

    #[test]
    fn a_variable_is_found_by_any_address_in_it() {
        static PAIR: [AtomicU32; 2] = [AtomicU32::new(1), AtomicU32::new(2)];
        let expected = ((&raw const PAIR).addr(), size_of_val(&PAIR));
        assert_eq!(variable((&raw const PAIR[0]).addr()), Some(expected));
        assert_eq!(variable((&raw const PAIR[1]).addr()), Some(expected));
        assert!(!holds_several(expected.0, expected.0 + expected.1));
        assert!(holds_several(expected.0 - 64, expected.0 + 64));
        let initial = initial_bytes(expected.0, expected.1).unwrap();
        assert_eq!(initial, [1, 0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn regions_end_where_nothing_begins() {
        // Whatever is zero begins in a page of what is not, and ends in pages of its own.
        static ZEROS: [AtomicU32; 65_536] = [const { AtomicU32::new(0) }; 65_536];
        let size = size_of_val(&ZEROS);
        assert!(initial_bytes((&raw const ZEROS).addr(), size).is_some_and(|bytes| bytes == vec![0; size]));
        let regions = IMAGE.get().unwrap();
        let ends: Vec<usize> = regions.iter().map(|region| region.start + region.bytes.len()).collect();
        assert!(regions.iter().all(|region| !ends.contains(&region.start)), "{ends:x?}");
    }

    #[test]
    fn a_variable_is_known_by_its_name() {
        static PAIR: [AtomicU32; 2] = [AtomicU32::new(1), AtomicU32::new(2)];
        let (name, offset) = symbol((&raw const PAIR[1]).cast()).unwrap();
        assert!(name.ends_with("::a_variable_is_known_by_its_name::PAIR"), "{name}");
        assert_eq!(offset, 4);
        assert_eq!(symbol((&raw const *Box::new(1)).cast()), None);
    }

    #[test]
    fn what_nobody_can_write_is_told_apart() {
        static CONSTANT: [u32; 3] = [1, 2, 3];
        static VARIABLE: AtomicU32 = AtomicU32::new(1);
        static METHODS: &(dyn std::fmt::Debug + Sync) = &5u8;
        let (start, end) = constants();
        let closed = |address: usize| (start..end).contains(&address);
        assert!(closed((&raw const CONSTANT).addr()) && closed((&raw const METHODS).addr()));
        assert!(closed(constants as *const () as usize));
        assert!(!closed((&raw const VARIABLE).addr()) && !closed((&raw const SEGMENTS).addr()));
        assert!(!closed((&raw const *Box::new(1)).addr()) && !closed((&raw const start).addr()));
    }

    #[test]
    fn statics_are_in_the_image_and_others_are_not() {
        let local = AtomicU32::new(0);
        let heap = Box::new(AtomicU32::new(0));
        assert!(contains((&raw const HERE).cast()));
        assert!(!contains((&raw const local).cast()) && !contains((&raw const *heap).cast()));
    }
}
