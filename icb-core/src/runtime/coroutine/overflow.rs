//! Stacks that are too small. An access to a coroutine's guard page is a signal; its handler makes the coroutine return to whoever has
//! resumed it. It knows nothing of executions.
//!
//! The handler runs on the signal stack that `std` gives to each of its threads. Where no coroutine runs, or the address is no
//! guard page, the signal is for whoever handled it before.

use corosensei::trap::CoroutineTrapHandler;
use std::cell::Cell;
use std::ops::Range;
use std::ptr;

/// A coroutine as the handler knows it.
pub(super) struct Guard {
    /// The addresses of its stack. It begins with the guard page.
    addresses: Range<usize>,
    way_out: CoroutineTrapHandler<()>,
}

impl Guard {
    pub(super) fn new(addresses: Range<usize>, way_out: CoroutineTrapHandler<()>) -> Self {
        Guard { addresses, way_out }
    }
}

thread_local! {
    /// Of the coroutine that runs on this thread of the operating system.
    static RUNNING: Cell<*const Guard> = const { Cell::new(ptr::null()) };
}

/// The coroutine is about to run; what to [`leave`] with.
#[inline]
pub(super) fn enter(guard: &Guard) -> *const Guard {
    RUNNING.replace(guard)
}

/// The coroutine does not run any more.
#[inline]
pub(super) fn leave(before: *const Guard) {
    RUNNING.set(before);
}

/// The addresses of the stack of the coroutine that runs on this thread of the operating system.
pub(crate) fn running_stack() -> Option<Range<usize>> {
    // SAFETY: set only while the coroutine runs, which lives on meanwhile.
    unsafe { RUNNING.get().as_ref() }.map(|guard| guard.addresses.clone())
}

#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod handler {
    use super::RUNNING;
    use corosensei::trap::TrapHandlerRegs;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::OnceLock;

    /// The signals of an access to memory that is not there, and who handled them before.
    const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
    static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

    /// From now on overflows are answered.
    pub(in super::super::super) fn prepare() {
        BEFORE.get_or_init(|| SIGNALS.map(install));
    }

    fn install(signal: libc::c_int) -> libc::sigaction {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: all zero is an action, and `sigaction` writes the one that there was.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, before.as_mut_ptr());
            before.assume_init()
        }
    }

    /// # Safety
    /// Called by the system, with what it passes to a handler.
    unsafe extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: `info` is the signal's; the guard is valid as long as its coroutine runs, which is what has been interrupted. Its
        // stack is not used again, and the registers are those that its way out needs.
        unsafe {
            let address = (*info).si_addr().addr();
            match RUNNING.get().as_ref() {
                Some(guard) if address.wrapping_sub(guard.addresses.start) < page_size() => {
                    let registers = guard.way_out.setup_trap_handler(|| ());
                    set(&mut *context.cast::<libc::ucontext_t>(), registers);
                }
                _ => give_back(signal),
            }
        }
    }

    /// The signal comes again when the handler returns; it is for whoever handled it before.
    fn give_back(signal: libc::c_int) {
        let before = BEFORE.get().zip(SIGNALS.iter().position(|&known| known == signal));
        // SAFETY: an action that the system has given out, or the default one.
        unsafe {
            match before {
                Some((before, index)) => libc::sigaction(signal, &raw const before[index], ptr::null_mut()),
                None => libc::sigaction(signal, &std::mem::zeroed(), ptr::null_mut()),
            };
        }
    }

    fn page_size() -> usize {
        // SAFETY: no more than a question.
        unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn set(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = registers;
        let all = &mut context.uc_mcontext.gregs;
        all[libc::REG_RIP as usize] = rip as i64;
        all[libc::REG_RSP as usize] = rsp as i64;
        all[libc::REG_RBP as usize] = rbp as i64;
        all[libc::REG_RDI as usize] = rdi as i64;
        all[libc::REG_RSI as usize] = rsi as i64;
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    fn set(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = registers;
        let all = &mut context.uc_mcontext;
        (all.pc, all.sp) = (pc, sp);
        (all.regs[0], all.regs[1], all.regs[29], all.regs[30]) = (x0, x1, x29, lr);
    }

    #[cfg(all(target_os = "macos", target_arch = "x86_64"))]
    fn set(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = registers;
        // SAFETY: the system's pointer to the registers of what has been interrupted.
        let all = unsafe { &mut (*context.uc_mcontext).__ss };
        (all.__rip, all.__rsp, all.__rbp, all.__rdi, all.__rsi) = (rip, rsp, rbp, rdi, rsi);
    }

    #[cfg(all(target_os = "macos", target_arch = "aarch64"))]
    fn set(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
        let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = registers;
        // SAFETY: as above.
        let all = unsafe { &mut (*context.uc_mcontext).__ss };
        (all.__pc, all.__sp, all.__fp, all.__lr) = (pc, sp, x29, lr);
        (all.__x[0], all.__x[1]) = (x0, x1);
    }
}

#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(in super::super) use handler::prepare;

/// Elsewhere an overflow ends the process.
#[cfg(not(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(in super::super) fn prepare() {}
