//! What instrumented code calls in a program that the mirrored library is not linked into, because nothing in it names it:
//! the hooks, which do nothing here. Compiled by `probe`, and linked last, so that it is not taken where there are others.

#![no_std]

use core::sync::atomic::{self, Ordering::SeqCst};

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

macro_rules! atomics {
    ($($value:ty, $atomic:ident, $load:ident $store:ident $exchange:ident: $($name:ident $change:ident),*;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(at: *mut $value, _: i32) -> $value {
            // SAFETY: the instrumented crate does this to the variable itself.
            unsafe { atomic::$atomic::from_ptr(at) }.load(SeqCst)
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(at: *mut $value, value: $value, _: i32) {
            // SAFETY: as above.
            unsafe { atomic::$atomic::from_ptr(at) }.store(value, SeqCst);
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $exchange(at: *mut $value, old: $value, new: $value, _: i32, _: i32) -> $value {
            // SAFETY: as above.
            match unsafe { atomic::$atomic::from_ptr(at) }.compare_exchange(old, new, SeqCst, SeqCst) {
                Ok(value) | Err(value) => value,
            }
        }

        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(at: *mut $value, operand: $value, _: i32) -> $value {
                // SAFETY: as above.
                unsafe { atomic::$atomic::from_ptr(at) }.$change(operand, SeqCst)
            }
        )*
    )* };
}

atomics! {
    u8, AtomicU8, __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_compare_exchange_val:
        __tsan_atomic8_exchange swap, __tsan_atomic8_fetch_add fetch_add, __tsan_atomic8_fetch_sub fetch_sub, __tsan_atomic8_fetch_and fetch_and, __tsan_atomic8_fetch_or fetch_or, __tsan_atomic8_fetch_xor fetch_xor, __tsan_atomic8_fetch_nand fetch_nand;
    u16, AtomicU16, __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_compare_exchange_val:
        __tsan_atomic16_exchange swap, __tsan_atomic16_fetch_add fetch_add, __tsan_atomic16_fetch_sub fetch_sub, __tsan_atomic16_fetch_and fetch_and, __tsan_atomic16_fetch_or fetch_or, __tsan_atomic16_fetch_xor fetch_xor, __tsan_atomic16_fetch_nand fetch_nand;
    u32, AtomicU32, __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_compare_exchange_val:
        __tsan_atomic32_exchange swap, __tsan_atomic32_fetch_add fetch_add, __tsan_atomic32_fetch_sub fetch_sub, __tsan_atomic32_fetch_and fetch_and, __tsan_atomic32_fetch_or fetch_or, __tsan_atomic32_fetch_xor fetch_xor, __tsan_atomic32_fetch_nand fetch_nand;
    u64, AtomicU64, __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_compare_exchange_val:
        __tsan_atomic64_exchange swap, __tsan_atomic64_fetch_add fetch_add, __tsan_atomic64_fetch_sub fetch_sub, __tsan_atomic64_fetch_and fetch_and, __tsan_atomic64_fetch_or fetch_or, __tsan_atomic64_fetch_xor fetch_xor, __tsan_atomic64_fetch_nand fetch_nand;
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(_: i32) {
    atomic::fence(SeqCst);
}

#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_: i32) {}
