//! The functions that instrumented code calls: they only find out from where, and hand on to `accesses.rs`.

use super::accesses::{accessed, set_instrumented};
use super::foreign::{Done, fenced, happened};
use super::passing::{passes, passes_wholly};
use std::sync::atomic::{
    self,
    Ordering::{Relaxed, SeqCst},
};

/// The bit that tells a write, beside the size.
const WRITE: usize = 0x100;

/// # Safety
/// Called by the trampolines only.
unsafe extern "C" fn hook(address: usize, place: usize, what: usize) {
    if !passes(address) {
        accessed(address, what & 0xFF, what & WRITE != 0, place);
    }
}

macro_rules! hooks {
    ($($name:ident: $size:literal, $write:literal;)*) => { $(
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[cfg(target_arch = "x86_64")]
        pub extern "C" fn $name() {
            // The address is the first argument already; the return address stands on the stack.
            std::arch::naked_asm!(
                "mov rsi, [rsp]",
                "mov edx, {what}",
                "jmp {hook}",
                what = const if $write { $size | WRITE } else { $size },
                hook = sym hook,
            )
        }

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[cfg(target_arch = "aarch64")]
        pub extern "C" fn $name() {
            std::arch::naked_asm!(
                "mov x1, x30",
                "mov x2, #{what}",
                "b {hook}",
                what = const if $write { $size | WRITE } else { $size },
                hook = sym hook,
            )
        }
    )* };
}

hooks! {
    __tsan_read1: 1, false;
    __tsan_read2: 2, false;
    __tsan_read4: 4, false;
    __tsan_read8: 8, false;
    __tsan_read16: 16, false;
    __tsan_unaligned_read2: 2, false;
    __tsan_unaligned_read4: 4, false;
    __tsan_unaligned_read8: 8, false;
    __tsan_unaligned_read16: 16, false;
    __tsan_volatile_read1: 1, false;
    __tsan_volatile_read2: 2, false;
    __tsan_volatile_read4: 4, false;
    __tsan_volatile_read8: 8, false;
    __tsan_volatile_read16: 16, false;
    __tsan_write1: 1, true;
    __tsan_write2: 2, true;
    __tsan_write4: 4, true;
    __tsan_write8: 8, true;
    __tsan_write16: 16, true;
    __tsan_unaligned_write2: 2, true;
    __tsan_unaligned_write4: 4, true;
    __tsan_unaligned_write8: 8, true;
    __tsan_unaligned_write16: 16, true;
    __tsan_volatile_write1: 1, true;
    __tsan_volatile_write2: 2, true;
    __tsan_volatile_write4: 4, true;
    __tsan_volatile_write8: 8, true;
    __tsan_volatile_write16: 16, true;
}

/// Whoever switches between threads of an execution does so on one OS thread, but there may be others: the strongest ordering does for
/// all that is asked for.
macro_rules! atomics {
    ($($value:ty, $atomic:ident, $load:ident $store:ident $exchange:ident: $($name:ident $change:ident),*;)*) => { $(
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $load(at: *mut $value, order: i32) -> $value {
            // SAFETY: the instrumented crate does this to the variable itself.
            let value = unsafe { atomic::$atomic::from_ptr(at) }.load(SeqCst);
            happened(at, Done::Load, order, value.into(), value.into());
            value
        }

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $store(at: *mut $value, value: $value, order: i32) {
            // SAFETY: as above.
            unsafe { atomic::$atomic::from_ptr(at) }.store(value, SeqCst);
            happened(at, Done::Store, order, value.into(), value.into());
        }

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $exchange(
            at: *mut $value,
            expected: $value,
            new: $value,
            success: i32,
            failure: i32,
        ) -> $value {
            // SAFETY: as above.
            match unsafe { atomic::$atomic::from_ptr(at) }.compare_exchange(expected, new, SeqCst, SeqCst) {
                Ok(value) => {
                    happened(at, Done::Modify, success, value.into(), new.into());
                    value
                }
                Err(value) => {
                    happened(at, Done::Load, failure, value.into(), value.into());
                    value
                }
            }
        }

        $(
            #[doc(hidden)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(at: *mut $value, operand: $value, order: i32) -> $value {
                // SAFETY: as above.
                let variable = unsafe { atomic::$atomic::from_ptr(at) };
                let value = variable.$change(operand, SeqCst);
                let done = Done::modification(stringify!($change), operand.into(), order);
                happened(at, done, order, value.into(), variable.load(Relaxed).into());
                value
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

#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_thread_fence(order: i32) {
    atomic::fence(SeqCst);
    fenced(order);
}

/// A fence for the compiler alone: the call is one.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_atomic_signal_fence(_: i32) {}

/// Called once by every instrumented crate, before `main`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {
    set_instrumented();
}

/// # Safety
/// As for `memcpy`; called by the trampoline only.
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, size: usize, place: usize) -> *mut u8 {
    if passes_wholly(from.addr(), size) && passes_wholly(to.addr(), size) {
        // SAFETY: the caller's promise; `memmove` allows what `memcpy` does not.
        unsafe { copy_untold(to, from, size) };
        to
    } else {
        // SAFETY: the caller's promise.
        unsafe { copy_and_tell(to, from, size, place) }
    }
}

/// Apart from [`copy`], which saves no registers where all passes.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe extern "C" fn copy_and_tell(to: *mut u8, from: *const u8, size: usize, place: usize) -> *mut u8 {
    for (address, write) in [(from.addr(), false), (to.addr(), true)] {
        if size > 0 && !passes_wholly(address, size) {
            accessed(address, size, write, place);
        }
    }
    // SAFETY: as there.
    unsafe { copy_untold(to, from, size) };
    to
}

/// Copies as `memmove` does, and nobody is told.
///
/// # Safety
/// As for `memmove`.
#[inline(always)]
pub(super) unsafe fn copy_untold(to: *mut u8, from: *const u8, size: usize) {
    #[cfg(all(target_os = "linux", not(target_feature = "crt-static")))]
    // SAFETY: the caller's promise.
    unsafe {
        c_functions::copy_untold(to, from, size);
    }
    #[cfg(not(all(target_os = "linux", not(target_feature = "crt-static"))))]
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy(from, to, size);
    }
}

/// # Safety
/// As for `memset`; called by the trampoline only.
unsafe extern "C" fn set(to: *mut u8, byte: i32, size: usize, place: usize) -> *mut u8 {
    if !passes_wholly(to.addr(), size) && size > 0 {
        accessed(to.addr(), size, true, place);
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::write_bytes(to, byte as u8, size) };
    to
}

macro_rules! blocks {
    ($($name:ident: $hook:ident;)*) => { $(
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[cfg(target_arch = "x86_64")]
        pub extern "C" fn $name() {
            std::arch::naked_asm!("mov rcx, [rsp]", "jmp {hook}", hook = sym $hook)
        }

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        #[cfg(target_arch = "aarch64")]
        pub extern "C" fn $name() {
            std::arch::naked_asm!("mov x3, x30", "b {hook}", hook = sym $hook)
        }
    )* };
}

blocks! {
    __tsan_memcpy: copy;
    __tsan_memmove: copy;
    __tsan_memset: set;
}

/// What `std` was compiled to beforehand calls the C library where it copies (`String::clone`, a text that is formatted), and so does everybody who compares bytes
/// (slices of integers, texts): no hook, but these functions, which hand on to the C library's. Where that is linked statically its functions cannot be replaced.
///
/// Of a copy only what is read is told: whoever copies into a buffer of `std`'s own (of the standard output) may hold a lock that nobody sees.
#[cfg(all(target_os = "linux", not(target_feature = "crt-static")))]
#[doc(hidden)]
pub mod c_functions {
    use super::super::accesses::{accessed, running_hooked};
    use super::super::passing::passes_wholly;
    use std::ffi::CStr;
    use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

    blocks! {
        memcmp: compare;
        bcmp: compare;
        memcpy: copy_apart;
        memmove: copy;
    }

    type Compare = unsafe extern "C" fn(*const u8, *const u8, usize) -> i32;
    type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize) -> *mut u8;

    /// The C library's functions; looked for once.
    static COMPARE: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());
    static COPY_APART: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());
    static COPY: AtomicPtr<libc::c_void> = AtomicPtr::new(std::ptr::null_mut());

    /// # Safety
    /// As for `memcmp`; called by the trampolines only.
    unsafe extern "C" fn compare(one: *const u8, other: *const u8, size: usize, place: usize) -> i32 {
        for address in [one.addr(), other.addr()] {
            if !passes_wholly(address, size) && size > 0 {
                read(address, size, place);
            }
        }
        // SAFETY: the type is that of the C library's function of this name.
        let real = unsafe { std::mem::transmute::<*mut libc::c_void, Compare>(real(&COMPARE, c"memcmp")) };
        // SAFETY: the caller's promise.
        unsafe { real(one, other, size) }
    }

    /// # Safety
    /// As for `memcpy`; called by the trampoline only.
    unsafe extern "C" fn copy_apart(to: *mut u8, from: *const u8, size: usize, place: usize) -> *mut u8 {
        if !passes_wholly(from.addr(), size) && size > 0 {
            read(from.addr(), size, place);
        }
        // SAFETY: the type is that of the C library's function of this name.
        let real = unsafe { std::mem::transmute::<*mut libc::c_void, Copy>(real(&COPY_APART, c"memcpy")) };
        // SAFETY: the caller's promise.
        unsafe { real(to, from, size) }
    }

    /// # Safety
    /// As for `memmove`; called by the trampoline only.
    unsafe extern "C" fn copy(to: *mut u8, from: *const u8, size: usize, place: usize) -> *mut u8 {
        if !passes_wholly(from.addr(), size) && size > 0 {
            read(from.addr(), size, place);
        }
        // SAFETY: the caller's promise.
        unsafe { copy_untold(to, from, size) }
    }

    /// # Safety
    /// As for `memmove`.
    #[inline(always)]
    pub(super) unsafe fn copy_untold(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
        // SAFETY: the type is that of the C library's function of this name.
        let real = unsafe { std::mem::transmute::<*mut libc::c_void, Copy>(real(&COPY, c"memmove")) };
        // SAFETY: the caller's promise.
        unsafe { real(to, from, size) }
    }

    #[inline(never)]
    fn read(address: usize, size: usize, place: usize) {
        if running_hooked().is_some() {
            accessed(address, size, false, place);
        }
    }

    /// The C library's function of this name.
    #[inline(always)]
    fn real(known: &AtomicPtr<libc::c_void>, name: &CStr) -> *mut libc::c_void {
        let real = known.load(Relaxed);
        if real.is_null() { look_for(known, name) } else { real }
    }

    /// The next function of the name, after the one here, is the C library's, without which no program runs.
    #[cold]
    fn look_for(known: &AtomicPtr<libc::c_void>, name: &CStr) -> *mut libc::c_void {
        // SAFETY: a C string.
        let real = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        known.store(real, Relaxed);
        real
    }
}
