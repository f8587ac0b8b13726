//! Static objects and their initial values. Owns a copy of the program's writable image, taken before `main`, and
//! the one rule by which a mirrored object that lives in a `static` is put back when an execution ends.
//!
//! Every mirrored type that owns data and can be built by a constant expression carries a [`Restore`] pointer. If
//! the *image* holds the same pointer at the object's place, the object is a `static` that was built at compile
//! time, and the image holds its initial bytes. An object that was built at run time and then moved into static
//! memory (the value of a lazily initialised static of some other crate) is told apart by that and left to whoever
//! built it. An object that was used outside an execution is left alone too: its value belongs to the outside.
//! The variables of `sync::atomic` carry nothing and are restored by the runtime.

use crate::door;
use ::std::fs;
use ::std::panic::{AssertUnwindSafe, catch_unwind};
use ::std::ptr;
use ::std::sync::OnceLock;
use ::std::sync::atomic::{AtomicU8, Ordering};

/// Called at the object's first use in an execution, with its address. `None` in zeroed memory.
pub(crate) type Restore = Option<unsafe fn(*const ())>;

/// Bit of an object's flags: it has been used outside an execution.
pub(crate) const ESCAPED: u8 = 0x80;

/// A part of the program's writable image, as it was before `main`.
struct Region {
    start: usize,
    bytes: Vec<u8>,
}

static IMAGE: OnceLock<Vec<Region>> = OnceLock::new();

/// Images that are larger than this (huge static arrays) are not copied; their statics are not restored.
const MAX_IMAGE_BYTES: usize = 256 << 20;

#[cfg(target_os = "linux")]
#[used]
// SAFETY: `.init_array` holds pointers to functions of this type, which the C runtime calls before `main`.
#[unsafe(link_section = ".init_array")]
static TAKE_IMAGE: extern "C" fn() = take_image;

#[cfg(target_os = "linux")]
extern "C" fn take_image() {
    let _ = catch_unwind(|| IMAGE.get_or_init(|| writable_regions().unwrap_or_default()));
}

/// The mapped writable parts of the executable: initialised data, and the zeroed memory that follows it.
fn writable_regions() -> Option<Vec<Region>> {
    let program = fs::read_link("/proc/self/exe").ok()?;
    let program = program.to_str()?;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
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
                ranges.push((start, end));
            }
        }
    }
    if ranges.iter().map(|(start, end)| end - start).sum::<usize>() > MAX_IMAGE_BYTES {
        return None;
    }
    let copy = |&(start, end): &(usize, usize)| {
        let mut bytes = vec![0; end - start];
        // SAFETY: the range is mapped, readable memory of this process, no other thread runs before `main`, and
        // the copy is a fresh block of the same length.
        unsafe { ptr::copy_nonoverlapping(start as *const u8, bytes.as_mut_ptr(), end - start) };
        Region { start, bytes }
    };
    Some(ranges.iter().map(copy).collect())
}

/// The bytes that the image held at an address, if it lies in the image.
fn initial_bytes(address: usize, len: usize) -> Option<&'static [u8]> {
    let region =
        |region: &&Region| address >= region.start && address + len <= region.start + region.bytes.len();
    let region = IMAGE.get()?.iter().find(region)?;
    Some(&region.bytes[address - region.start..][..len])
}

/// Asks for a static object to be put back when the running execution ends: drops its value in place and writes the
/// initial bytes. Does nothing for an object that is not a static built at compile time, or has escaped.
///
/// # Safety
/// The pointers lead to the value, the flags and the [`Restore`] pointer of one object of static lifetime or of an
/// object that is not in the image. Nothing else touches the object when the execution has ended.
pub(crate) unsafe fn restore_at_end<V>(value: *mut V, flags: *const AtomicU8, restore: *const Restore) {
    if !door::is_static(flags.cast()) {
        return;
    }
    // SAFETY: the object is alive, says the caller.
    let (current, escaped) = unsafe { (*restore, (*flags).load(Ordering::Relaxed) & ESCAPED != 0) };
    let word = current.map_or(0, |function| function as usize);
    let in_image = initial_bytes(restore as usize, size_of::<usize>());
    if escaped || word == 0 || in_image != Some(&word.to_ne_bytes()[..]) {
        return;
    }
    let Some(initial) = initial_bytes(value as usize, size_of::<V>()) else { return };
    let object = Object { value: value.cast(), flags, initial, drop: drop_value::<V> };
    door::on_execution_end(Box::new(move || object.put_back()));
}

/// A static object that is to be put back.
struct Object {
    value: *mut (),
    flags: *const AtomicU8,
    initial: &'static [u8],
    drop: unsafe fn(*mut ()),
}

impl Object {
    fn put_back(self) {
        // A destructor that panics must not keep the rest from being restored.
        // SAFETY: the object is a static, hence alive, and the execution that used it has ended. A value that was
        // dropped here is overwritten at once.
        let _ = catch_unwind(AssertUnwindSafe(|| unsafe { (self.drop)(self.value) }));
        // SAFETY: as above; `initial` are the bytes that this very object had when the program began, and a value
        // made by a constant expression may be copied because its first copy is gone.
        unsafe {
            ptr::copy_nonoverlapping(self.initial.as_ptr(), self.value.cast::<u8>(), self.initial.len());
            (*self.flags).store(0, Ordering::Relaxed);
        }
    }
}

/// # Safety
/// `value` points to a valid `V` that is not used again as such.
unsafe fn drop_value<V>(value: *mut ()) {
    // SAFETY: the caller's promise.
    unsafe { value.cast::<V>().drop_in_place() }
}
