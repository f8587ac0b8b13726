//! Relaxed loads and stores of what the mirrored types consist of. In crates that are compiled with the instrumentation pass, an atomic operation of `std` is
//! told to the engine as one of the program; these are this crate's own, a part of a step that has been told, and the pass does not see them.

use ::std::cell::UnsafeCell;

/// What these functions are for: plain memory of 1, 2, 4 or 8 bytes, of which every byte counts.
pub(crate) trait Word: Copy {}

macro_rules! words {
    ($($word:ty)*) => { $(impl Word for $word {})* };
}
words!(bool u8 i8 u16 i16 u32 i32 u64 i64 usize isize);
impl<T> Word for *mut T {}

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod arch {
    use super::Word;
    use ::std::arch::asm;
    use ::std::mem::transmute_copy;

    /// By the size of a word in bytes: its bits, the kind of register that they go through, and the instructions.
    macro_rules! sizes {
        ($($bytes:literal: $bits:ty, $register:ident, $load:literal, $store:literal;)*) => {
            #[inline(always)]
            pub(super) unsafe fn load<T: Word>(at: *const T) -> T {
                // SAFETY: the caller's promise; what is read is as large as the word.
                unsafe {
                    match size_of::<T>() {
                        $($bytes => {
                            let value: $bits;
                            asm!($load, value = out($register) value, at = in(reg) at, options(nostack, preserves_flags, readonly));
                            transmute_copy(&value)
                        })*
                        _ => unreachable!("a word has 1, 2, 4 or 8 bytes"),
                    }
                }
            }

            #[inline(always)]
            pub(super) unsafe fn store<T: Word>(at: *mut T, value: T) {
                // SAFETY: the caller's promise; what is written is as large as the word.
                unsafe {
                    match size_of::<T>() {
                        $($bytes => {
                            let value: $bits = transmute_copy(&value);
                            asm!($store, value = in($register) value, at = in(reg) at, options(nostack, preserves_flags));
                        })*
                        _ => unreachable!("a word has 1, 2, 4 or 8 bytes"),
                    }
                }
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    sizes! {
        1: u8, reg_byte, "mov {value}, byte ptr [{at}]", "mov byte ptr [{at}], {value}";
        2: u16, reg, "mov {value:x}, word ptr [{at}]", "mov word ptr [{at}], {value:x}";
        4: u32, reg, "mov {value:e}, dword ptr [{at}]", "mov dword ptr [{at}], {value:e}";
        8: u64, reg, "mov {value}, qword ptr [{at}]", "mov qword ptr [{at}], {value}";
    }

    #[cfg(target_arch = "aarch64")]
    sizes! {
        1: u8, reg, "ldrb {value:w}, [{at}]", "strb {value:w}, [{at}]";
        2: u16, reg, "ldrh {value:w}, [{at}]", "strh {value:w}, [{at}]";
        4: u32, reg, "ldr {value:w}, [{at}]", "str {value:w}, [{at}]";
        8: u64, reg, "ldr {value}, [{at}]", "str {value}, [{at}]";
    }
}

/// Elsewhere the pass is not used.
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod arch {
    use super::Word;
    use ::std::mem::transmute_copy;
    use ::std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

    #[inline]
    pub(super) unsafe fn load<T: Word>(at: *const T) -> T {
        // SAFETY: the caller's promise; an atomic of the size is read as one.
        unsafe {
            match size_of::<T>() {
                1 => transmute_copy(&(*at.cast::<AtomicU8>()).load(Relaxed)),
                2 => transmute_copy(&(*at.cast::<AtomicU16>()).load(Relaxed)),
                4 => transmute_copy(&(*at.cast::<AtomicU32>()).load(Relaxed)),
                _ => transmute_copy(&(*at.cast::<AtomicU64>()).load(Relaxed)),
            }
        }
    }

    #[inline]
    pub(super) unsafe fn store<T: Word>(at: *mut T, value: T) {
        // SAFETY: the caller's promise; an atomic of the size is written as one.
        unsafe {
            match size_of::<T>() {
                1 => (*at.cast::<AtomicU8>()).store(transmute_copy(&value), Relaxed),
                2 => (*at.cast::<AtomicU16>()).store(transmute_copy(&value), Relaxed),
                4 => (*at.cast::<AtomicU32>()).store(transmute_copy(&value), Relaxed),
                _ => (*at.cast::<AtomicU64>()).store(transmute_copy(&value), Relaxed),
            }
        }
    }
}

/// A relaxed load.
///
/// # Safety
/// An atomic variable of this type is at the address, and alive.
#[inline(always)]
pub(crate) unsafe fn load<T: Word>(at: *const T) -> T {
    // SAFETY: as demanded.
    unsafe { arch::load(at) }
}

/// A relaxed store.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub(crate) unsafe fn store<T: Word>(at: *mut T, value: T) {
    // SAFETY: as demanded.
    unsafe { arch::store(at, value) };
}

/// A word that threads share, each of which reads and writes it as if it were atomic, in no particular order.
#[derive(Default)]
pub(crate) struct Known<T>(UnsafeCell<T>);

// SAFETY: it is read and written as a whole, by single instructions, or as an atomic.
unsafe impl<T: Word + Send> Sync for Known<T> {}

impl<T: Word> Known<T> {
    #[inline]
    pub(crate) fn get(&self) -> T {
        // SAFETY: it is borrowed; a word is aligned as the atomic of its size is, or more strictly.
        unsafe { load(self.0.get()) }
    }

    #[inline]
    pub(crate) fn set(&self, value: T) {
        // SAFETY: as above.
        unsafe { store(self.0.get(), value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::std::fmt::Debug;

    fn goes_around<T: Word + PartialEq + Debug>(values: [T; 3]) {
        let mut around = values;
        // SAFETY: the element is there.
        unsafe {
            store(&raw mut around[1], values[2]);
            assert_eq!(load(&raw const around[1]), values[2]);
        }
        assert_eq!(around, [values[0], values[2], values[2]]);
    }

    #[test]
    fn words_of_all_sizes_are_read_and_written_and_nothing_beside_them() {
        goes_around([true, true, false]);
        goes_around([1_u8, 2, 250]);
        goes_around([-1_i16, 300, i16::MIN]);
        goes_around([1_u32, 70_000, u32::MAX]);
        goes_around([1_i64, 1 << 40, i64::MIN]);
        let mut byte = 0_u8;
        goes_around([std::ptr::null_mut(), &raw mut byte, std::ptr::dangling_mut()]);
    }
}
