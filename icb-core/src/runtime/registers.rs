//! What a function that is in the middle of its work keeps in registers and on its stack while it calls another: for
//! [idle turns](super::idle), which are compared.

/// So much of a stack is cleared, in bytes.
const CLEARED: usize = 4096;

/// Those that a call leaves as they are, the stack pointer, and where the call returns to.
#[cfg(all(unix, target_arch = "x86_64"))]
const REGISTERS: usize = 8;
#[cfg(all(unix, target_arch = "aarch64"))]
const REGISTERS: usize = 21;
#[cfg(not(all(unix, any(target_arch = "x86_64", target_arch = "aarch64"))))]
const REGISTERS: usize = 1;

/// Where among them the stack pointer is.
#[cfg(all(unix, target_arch = "x86_64"))]
const STACK_POINTER: usize = 6;
#[cfg(all(unix, target_arch = "aarch64"))]
const STACK_POINTER: usize = 12;
#[cfg(not(all(unix, any(target_arch = "x86_64", target_arch = "aarch64"))))]
const STACK_POINTER: usize = 0;

/// Where among them it is known where the program was.
#[cfg(all(unix, target_arch = "x86_64"))]
const PLACE: usize = 7;
#[cfg(all(unix, target_arch = "aarch64"))]
const PLACE: usize = 11;
#[cfg(not(all(unix, any(target_arch = "x86_64", target_arch = "aarch64"))))]
const PLACE: usize = 0;

/// What a function that is in the middle of its work has in registers while it calls another. Where that is not known for a processor, the stack pointer is
/// zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Registers([usize; REGISTERS]);

impl Registers {
    /// Those of the caller, which should have this compiled into it: what lies below its frame is not its own.
    #[must_use]
    #[inline(always)]
    pub fn here() -> Registers {
        let mut registers = Registers::default();
        registers.read_here();
        registers
    }

    /// [`here`](Self::here), into these.
    #[inline(always)]
    pub(super) fn read_here(&mut self) {
        #[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
        // SAFETY: the function writes just these words.
        unsafe {
            read_registers(&mut self.0);
        }
    }

    /// Where the program was that had them.
    pub(super) const fn place(&self) -> usize {
        self.0[PLACE]
    }

    #[inline(always)]
    pub(super) const fn stack_pointer(&self) -> usize {
        self.0[STACK_POINTER]
    }
}

/// # Safety
/// `to` can be written to.
#[doc(hidden)]
#[unsafe(naked)]
#[cfg(all(unix, target_arch = "x86_64"))]
pub(super) unsafe extern "C" fn read_registers(to: *mut [usize; REGISTERS]) {
    std::arch::naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "lea rax, [rsp + 8]",
        "mov [rdi + 48], rax",
        "mov rax, [rsp]",
        "mov [rdi + 56], rax",
        "ret",
    )
}

/// # Safety
/// `to` can be written to.
#[doc(hidden)]
#[unsafe(naked)]
#[cfg(all(unix, target_arch = "aarch64"))]
pub(super) unsafe extern "C" fn read_registers(to: *mut [usize; REGISTERS]) {
    std::arch::naked_asm!(
        "stp x19, x20, [x0]",
        "stp x21, x22, [x0, #16]",
        "stp x23, x24, [x0, #32]",
        "stp x25, x26, [x0, #48]",
        "stp x27, x28, [x0, #64]",
        "stp x29, x30, [x0, #80]",
        "mov x9, sp",
        "str x9, [x0, #96]",
        "stp d8, d9, [x0, #104]",
        "stp d10, d11, [x0, #120]",
        "stp d12, d13, [x0, #136]",
        "stp d14, d15, [x0, #152]",
        "ret",
    )
}

/// The part of a stack that a thread uses first is zero after this. Where a function has not written yet stands what an earlier execution has left there; whether it is
/// what the function writes later would depend on that execution.
#[inline(never)]
pub(super) fn clear_stack() {
    std::hint::black_box(&mut [0_u8; CLEARED]);
}
