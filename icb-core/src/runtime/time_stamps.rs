//! The processor's counter of time stamps, from which some crates tell the time (`quanta`): in a test that knows nothing of icb it shows the
//! model's clock, a tick for a nanosecond. The instructions that read it are made to trap, and are answered by a signal handler.
//!
//! Whoever reads it outside an execution is told the real one. Where the system does not let them trap, they tell it always.

/// From now on, reading the counter on this thread is answered here.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) use trap::prepare;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn prepare() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trap {
    use super::super::{BEGIN_UPTIME, allocator, execution::Execution, running};
    use libc::{c_int, c_void, siginfo_t, ucontext_t};
    use std::arch::x86_64::_rdtsc;
    use std::cell::Cell;
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;

    const PR_SET_TSC: c_int = 26;
    const PR_TSC_ENABLE: c_int = 1;
    const PR_TSC_SIGSEGV: c_int = 2;

    /// Who handled the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    thread_local! {
        static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
    }

    pub(in super::super) fn prepare() {
        if !IS_PREPARED.replace(true) {
            // Its handler does not ask who else there is before it gives the signal back.
            super::super::coroutine::prepare_for_overflows();
            BEFORE.get_or_init(install);
            set_counter(PR_TSC_SIGSEGV);
        }
    }

    fn install() -> libc::sigaction {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: all zero is an action, and `sigaction` writes the one that there was.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGSEGV, &raw const action, before.as_mut_ptr());
            before.assume_init()
        }
    }

    fn set_counter(mode: c_int) {
        // SAFETY: it concerns the counter alone. Where it is refused, the counter goes on as it was.
        unsafe { libc::prctl(PR_SET_TSC, mode) };
    }

    /// # Safety
    /// Called by the system, with what it passes to a handler.
    unsafe extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: they are the signal's. What comes from the processor itself and names no address was raised by an instruction, which
        // can be read.
        unsafe {
            let registers = &mut (*context.cast::<ucontext_t>()).uc_mcontext.gregs;
            let at = registers[libc::REG_RIP as usize] as *const u8;
            let is_general = (*info).si_code == libc::SI_KERNEL && (*info).si_addr().is_null();
            match if is_general { length_at(at) } else { 0 } {
                0 => give_back(signal, info, context),
                length => {
                    let time = time();
                    registers[libc::REG_RIP as usize] += length;
                    registers[libc::REG_RAX as usize] = (time & u64::from(u32::MAX)) as i64;
                    registers[libc::REG_RDX as usize] = (time >> u32::BITS) as i64;
                    if length == RDTSCP {
                        // The number of the processor.
                        registers[libc::REG_RCX as usize] = 0;
                    }
                }
            }
        }
    }

    const RDTSC: i64 = 2;
    const RDTSCP: i64 = 3;

    /// The length of the instruction, if it reads the counter; else 0.
    ///
    /// # Safety
    /// It can be read.
    unsafe fn length_at(at: *const u8) -> i64 {
        // SAFETY: the caller's promise. Each byte is read only if the instruction goes on after the one before.
        unsafe {
            match at.read() {
                0x0f => match at.add(1).read() {
                    0x31 => RDTSC,
                    0x01 if at.add(2).read() == 0xf9 => RDTSCP,
                    _ => 0,
                },
                _ => 0,
            }
        }
    }

    /// What the counter shows: in an execution nanoseconds, as `CLOCK_MONOTONIC` does.
    fn time() -> u64 {
        let running = running().filter(|_| !allocator::engine_works());
        match running {
            // The program reads it: nobody else has a hold on the execution.
            Some(running) => (BEGIN_UPTIME + running.quickly(Execution::read_counter)).as_nanos() as u64,
            None => {
                set_counter(PR_TSC_ENABLE);
                // SAFETY: the processor has a counter; it has been read already.
                let time = unsafe { _rdtsc() };
                set_counter(PR_TSC_SIGSEGV);
                time
            }
        }
    }

    /// The signal is for whoever handled it before.
    ///
    /// # Safety
    /// The arguments are the handler's.
    unsafe fn give_back(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let before = BEFORE.get().filter(|before| {
            before.sa_flags & libc::SA_SIGINFO != 0
                && ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction)
        });
        // SAFETY: an action with these arguments, which are the handler's; or the default one.
        unsafe {
            match before {
                Some(before) => {
                    let handler: unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                        std::mem::transmute(before.sa_sigaction);
                    handler(signal, info, context);
                }
                None => {
                    let default: libc::sigaction = std::mem::zeroed();
                    libc::sigaction(signal, &raw const default, std::ptr::null_mut());
                }
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn outside_executions_the_counter_is_the_real_one() {
            std::thread::spawn(|| {
                let read = || {
                    // SAFETY: it only reads the counter.
                    unsafe { _rdtsc() }
                };
                let first = read();
                prepare();
                let then = read();
                // Of the C library, which may read it as well.
                let _ = std::time::Instant::now();
                assert!(first < then && then < read());
            })
            .join()
            .unwrap();
        }
    }
}
