//! What instrumented code calls in a program that the mirrored library is not linked into, because nothing in it names it:
//! the hooks, which do nothing here. Compiled by `probe`, and linked last, so that it is not taken where there are others.

#![no_std]

macro_rules! nothing {
    ($($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )* };
}

nothing! {
    __tsan_init
    __tsan_read1 __tsan_read2 __tsan_read4 __tsan_read8 __tsan_read16
    __tsan_unaligned_read2 __tsan_unaligned_read4 __tsan_unaligned_read8 __tsan_unaligned_read16
    __tsan_volatile_read1 __tsan_volatile_read2 __tsan_volatile_read4 __tsan_volatile_read8 __tsan_volatile_read16
    __tsan_write1 __tsan_write2 __tsan_write4 __tsan_write8 __tsan_write16
    __tsan_unaligned_write2 __tsan_unaligned_write4 __tsan_unaligned_write8 __tsan_unaligned_write16
    __tsan_volatile_write1 __tsan_volatile_write2 __tsan_volatile_write4 __tsan_volatile_write8 __tsan_volatile_write16
}

unsafe extern "C" {
    fn memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8;
    fn memset(to: *mut u8, byte: i32, size: usize) -> *mut u8;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: the promise of whoever copies.
    unsafe { memmove(to, from, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { memmove(to, from, size) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tsan_memset(to: *mut u8, byte: i32, size: usize) -> *mut u8 {
    // SAFETY: as above.
    unsafe { memset(to, byte, size) }
}
