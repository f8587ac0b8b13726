//! The functions that instrumented code calls: they only find out from where, and hand on to `accesses.rs`.

use super::accesses::{Hooked, accessed, is_private, set_instrumented};

/// The bit that tells a write, beside the size.
const WRITE: usize = 0x100;

/// # Safety
/// Called by the trampolines only.
unsafe extern "C" fn hook(address: usize, place: usize, what: usize) {
    if !is_private(address) {
        report(address, place, what);
    }
}

/// Apart from the hook, which saves no registers where an access is private: nearly all are.
#[inline(never)]
fn report(address: usize, place: usize, what: usize) {
    accessed(Hooked { address, size: what & 0xFF, write: what & WRITE != 0, place });
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

/// Called once by every instrumented crate, before `main`.
#[doc(hidden)]
#[unsafe(no_mangle)]
pub extern "C" fn __tsan_init() {
    set_instrumented();
}

/// # Safety
/// As for `memcpy`; called by the trampoline only.
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, size: usize, place: usize) -> *mut u8 {
    if size > 0 && !is_private(from.addr()) {
        accessed(Hooked { address: from.addr(), size, write: false, place });
    }
    if size > 0 && !is_private(to.addr()) {
        accessed(Hooked { address: to.addr(), size, write: true, place });
    }
    // SAFETY: the caller's promise; `copy` allows what `memcpy` does not.
    unsafe { std::ptr::copy(from, to, size) };
    to
}

/// # Safety
/// As for `memset`; called by the trampoline only.
unsafe extern "C" fn set(to: *mut u8, byte: i32, size: usize, place: usize) -> *mut u8 {
    if size > 0 && !is_private(to.addr()) {
        accessed(Hooked { address: to.addr(), size, write: true, place });
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
