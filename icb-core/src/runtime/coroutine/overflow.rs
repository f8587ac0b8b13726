//! Stacks that are too small, and accesses to memory that is not there. Both are signals; their handler makes the coroutine return to whoever
//! has resumed it. It knows nothing of executions.
//!
//! Where no coroutine runs, or the address is no guard page and it was not the program under test that was interrupted, the signal is for
//! whoever handled it before.

use corosensei::trap::CoroutineTrapHandler;
use std::cell::Cell;
use std::ops::Range;
use std::ptr;

/// A coroutine as the handler knows it.
pub(super) struct Guard {
    /// The addresses of its stack. It begins with the guard page.
    addresses: Range<usize>,
    #[cfg_attr(not(unix), expect(dead_code, reason = "there are no signals"))]
    way_out: CoroutineTrapHandler<()>,
}

impl Guard {
    pub(super) fn new(addresses: Range<usize>, way_out: CoroutineTrapHandler<()>) -> Self {
        Guard { addresses, way_out }
    }
}

/// Why a coroutine can never run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trap {
    /// Its stack overflowed.
    Overflow,
    /// It has accessed memory that is not there.
    Access {
        /// The signal's name.
        signal: &'static str,
        /// Of what was accessed, if it is one that the processor has.
        address: Option<usize>,
    },
}

/// What is known of the end of a coroutine that can never run again.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) trap: Trap,
    frames: [usize; MAX_FRAMES],
    count: usize,
}

/// Return addresses kept of a fault.
const MAX_FRAMES: usize = 64;

impl Fault {
    /// The return addresses on the stack, innermost first; none where memory was accessed by something else than the program under test.
    pub(crate) fn stack(&self) -> &[usize] {
        &self.frames[..self.count]
    }
}

thread_local! {
    /// Of the coroutine that was ended last.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
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

/// Why a coroutine has returned that was not over.
pub(in super::super) fn take_fault() -> Option<Fault> {
    FAULT.take()
}

/// The addresses of the stack of the coroutine that runs on this thread of the operating system.
#[must_use]
pub fn running_stack() -> Option<Range<usize>> {
    // SAFETY: set only while the coroutine runs, which lives on meanwhile.
    unsafe { RUNNING.get().as_ref() }.map(|guard| guard.addresses.clone())
}

#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod handler {
    use super::{FAULT, Fault, Guard, MAX_FRAMES, RUNNING, Trap};
    use corosensei::trap::TrapHandlerRegs;
    use std::cell::Cell;
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::OnceLock;

    /// The signals of an access to memory that is not there, and who handled them before.
    const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
    static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

    /// Says of an instruction whether the program under test may be left there for good.
    static MAY_LEAVE: OnceLock<fn(usize) -> bool> = OnceLock::new();

    /// Answers a signal that is neither.
    type Answer = unsafe fn(&libc::siginfo_t, &mut libc::ucontext_t) -> bool;
    static ANSWER: OnceLock<Answer> = OnceLock::new();

    /// Bytes that the handler gets: it takes a backtrace, and `std` gives it hardly more than the registers take.
    const SIGNAL_STACK: usize = 64 * 1024;

    thread_local! {
        static HAS_SIGNAL_STACK: Cell<bool> = const { Cell::new(false) };
    }

    /// From now on overflows are answered.
    pub(in super::super) fn prepare() {
        BEFORE.get_or_init(|| SIGNALS.map(install));
        if !HAS_SIGNAL_STACK.replace(true) {
            // Whoever ends the thread turns its signal stack off, without looking whose it is. It stays as long as the process.
            let memory = Box::leak(Box::new([0_u8; SIGNAL_STACK]));
            let stack =
                libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: SIGNAL_STACK };
            // SAFETY: the memory is nobody else's, and no handler runs on this thread.
            unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
        }
    }

    /// From now on accesses to memory that is not there end the coroutine that makes them, if this says so of the instruction.
    pub(in super::super::super) fn leave_at_faults(may_leave: fn(usize) -> bool) {
        MAY_LEAVE.get_or_init(|| may_leave);
    }

    /// From now on the signals are shown to `answer` first, with what has been interrupted. It says whether that can go on.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(in super::super::super) fn answer_first(answer: Answer) {
        prepare();
        ANSWER.get_or_init(|| answer);
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
            let context = &mut *context.cast::<libc::ucontext_t>();
            if ANSWER.get().is_some_and(|answer| answer(&*info, context)) {
                return;
            }
            let Some(guard) = RUNNING.get().as_ref() else { return give_back(signal) };
            let interrupted = instruction(context);
            let at = interrupted.filter(|&at| MAY_LEAVE.get().is_some_and(|may_leave| may_leave(at)));
            let trap = if address.wrapping_sub(guard.addresses.start) < page_size() {
                Trap::Overflow
            } else if at.is_some() {
                let signal = if signal == libc::SIGBUS { "SIGBUS" } else { "SIGSEGV" };
                Trap::Access { signal, address: ((*info).si_code != KERNEL).then_some(address) }
            } else {
                return give_back(signal);
            };
            // Who has used up the stack stands there too where it was the engine that needed more of it.
            let at = if trap == Trap::Overflow { interrupted } else { at };
            FAULT.set(Some(fault(trap, at, guard)));
            set(context, guard.way_out.setup_trap_handler(|| ()));
        }
    }

    /// Where a signal comes from whose address is none that memory can have.
    const KERNEL: libc::c_int = 0x80;

    /// What is known of a fault at this instruction. It allocates nothing.
    fn fault(trap: Trap, at: Option<usize>, guard: &Guard) -> Fault {
        let Some(at) = at else { return Fault { trap, frames: [0; MAX_FRAMES], count: 0 } };
        // As a return address would be: behind the instruction's beginning.
        let mut fault = Fault { trap, frames: [at + 1; MAX_FRAMES], count: 1 };
        let mut is_interrupted = false;
        // SAFETY: nobody else takes backtraces now: this thread was not doing so, unless its stack has overflowed meanwhile, and then it does not go on with that; and
        // others do not in a test process but to die.
        unsafe {
            backtrace::trace_unsynchronized(|frame| {
                let is_own = guard.addresses.contains(&frame.sp().addr());
                if is_interrupted && is_own {
                    fault.frames[fault.count] = frame.ip().addr();
                    fault.count += 1;
                }
                // On AArch64 this one is said to lie where the system has kept its registers: on the signal's stack.
                let is_here = !is_interrupted && frame.ip().addr() == at;
                is_interrupted |= is_here;
                (is_own || is_here || !is_interrupted) && fault.count < MAX_FRAMES
            });
        }
        fault
    }

    /// The instruction that was interrupted, where it is known how to find it.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn instruction(context: &libc::ucontext_t) -> Option<usize> {
        Some(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize)
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    fn instruction(context: &libc::ucontext_t) -> Option<usize> {
        Some(context.uc_mcontext.pc as usize)
    }

    #[cfg(not(target_os = "linux"))]
    fn instruction(_: &libc::ucontext_t) -> Option<usize> {
        None
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

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(in super::super) use handler::answer_first;
#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(in super::super) use handler::leave_at_faults;
#[cfg(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(super) use handler::prepare;

/// Elsewhere an overflow ends the process.
#[cfg(not(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(super) fn prepare() {}

#[cfg(not(all(
    any(target_os = "linux", target_os = "macos"),
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(in super::super) fn leave_at_faults(_: fn(usize) -> bool) {}
