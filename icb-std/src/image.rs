//! Static objects and their initial values: the one rule by which a mirrored object that lives in a `static` is put
//! back when an execution ends. The copy of the program's image, taken before `main`, is the runtime's.
//!
//! Every mirrored type that owns data and can be built by a constant expression carries a [`Restore`] pointer. If
//! the *image* holds the same pointer at the object's place, the object is a `static` that was built at compile
//! time, and the image holds its initial bytes. An object that was built at run time and then moved into static
//! memory (the value of a lazily initialised static of some other crate) is told apart by that and left to whoever
//! built it. An object that was used outside an execution is left alone too: its value belongs to the outside.
//! The variables of `sync::atomic` carry nothing and are restored by the runtime.

use crate::door::{self, OwnLock};
use ::std::mem::needs_drop;
use ::std::ptr;
use ::std::sync::atomic::{AtomicU8, Ordering};

/// Statics whose values' destructors wait for threads that are gone, or begin something anew. `std` never calls them.
static WAIT_IN_VAIN: OwnLock<Vec<usize>> = OwnLock::new(Vec::new());

/// Called at the object's first use in an execution, with its address. `None` in zeroed memory.
pub(crate) type Restore = Option<unsafe fn(*const ())>;

/// Bit of an object's flags: it has been used outside an execution.
pub(crate) const ESCAPED: u8 = 0x80;

/// Asks for a static object to be put back when the running execution ends: drops its value in place and writes the
/// initial bytes. Its value may be made once, by an initialiser that says so ([`door::value_is_made`]). Does nothing for an object that is not a static built at compile time, or has escaped.
///
/// # Safety
/// The pointers lead to the value, the flags and the [`Restore`] pointer of one object of static lifetime or of an
/// object that is not in the image. Nothing else touches the object when the execution has ended.
pub(crate) unsafe fn restore_at_end<V>(
    value: *mut V,
    is_made_once: bool,
    flags: *const AtomicU8,
    restore: *const Restore,
) {
    if !door::enter_static(flags.cast()) {
        return;
    }
    // SAFETY: the object is alive, says the caller.
    let (current, escaped) = unsafe { (*restore, (*flags).load(Ordering::Relaxed) & ESCAPED != 0) };
    let word = current.map_or(0, |function| function as usize);
    let in_image = door::initial_bytes(restore as usize, size_of::<usize>());
    if escaped || word == 0 || in_image != Some(&word.to_ne_bytes()[..]) {
        return;
    }
    let Some(initial) = door::initial_bytes(value as usize, size_of::<V>()) else { return };
    door::leave_value(value.cast(), size_of::<V>());
    let drop = needs_drop::<V>().then_some(drop_value::<V> as unsafe fn(*mut ()));
    let object = Object { value: value.cast(), flags, initial, drop };
    door::put_back_at_end(value.cast(), is_made_once, Box::new(move || object.put_back()));
}

/// A static object that is to be put back.
struct Object {
    value: *mut (),
    flags: *const AtomicU8,
    initial: &'static [u8],
    /// `None`: there is nothing to drop.
    drop: Option<unsafe fn(*mut ())>,
}

impl Object {
    fn put_back(self) {
        // A destructor that panics, or waits for ever, must not keep the rest from being restored.
        let mut in_vain = WAIT_IN_VAIN.lock();
        let Object { value, drop, .. } = self;
        if let Some(drop) = drop.filter(|_| !in_vain.contains(&value.addr())) {
            // SAFETY: the object is a static, hence alive, and the execution that used it has ended. A value that was
            // dropped here is overwritten at once.
            if !door::apart(Box::new(move || unsafe { drop(value) })) {
                in_vain.push(value.addr());
            }
        }
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
