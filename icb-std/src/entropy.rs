//! `getrandom(2)`, which `rand`, `ahash` and others get their seeds from: in an execution it gives each thread the same bytes every time, so that a
//! test stays a function of its schedule. One assignment of random numbers is explored, which the seed of the settings chooses, not all.
//! Elsewhere the C function of this name is the system's.

use crate::door::{self, OwnLock};
use crate::system::{self, answer_of, system};
use ::std::collections::BTreeMap;
use ::std::ffi::{c_uint, c_void};

/// Keeps the function below in every program that is linked with this crate.
#[used]
static KEEP: unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize = getrandom;

/// How many bytes each thread of the running execution has been given, by its key. (A map that hashes would itself ask for keys.)
static GIVEN: OwnLock<Option<BTreeMap<u64, u64>>> = OwnLock::new(None);

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: c_uint) -> isize {
    if door::is_modelled() {
        for (index, byte) in bytes(length).enumerate() {
            // SAFETY: the caller gives room for so many bytes.
            unsafe { buffer.cast::<u8>().add(index).write(byte) };
        }
        return length as isize;
    }
    // SAFETY: the caller's promise.
    answer_of(unsafe {
        system(system::GETRANDOM, buffer.expose_provenance(), length, flags as usize, 0, 0, 0)
    }) as isize
}

/// The next bytes of the calling thread.
fn bytes(length: usize) -> impl Iterator<Item = u8> {
    let key = door::random_key();
    let mut given = GIVEN.lock();
    if given.is_none() {
        door::on_execution_end(Box::new(|| {
            let given = GIVEN.lock().take();
            drop(given);
        }));
    }
    let position = given.get_or_insert_default().entry(key).or_default();
    let first = *position;
    *position += length as u64;
    (first..*position).map(move |position| {
        door::mixed(key ^ (position / 8).wrapping_mul(0x9E37_79B9_7F4A_7C15)).to_le_bytes()
            [position as usize % 8]
    })
}
