//! The processor's counter of time stamps, from which some crates tell the time (`quanta`): in a test that knows nothing of icb it shows the
//! model's clock, a tick for a nanosecond. The instructions that read it are made to trap, and the handler of `coroutine/overflow` asks here first.
//!
//! On AArch64 it is the real one: there reading its counter traps on very new systems only.
//! Whoever reads it outside an execution is told the real one. Where the system does not let them trap, they tell it always.

/// From now on, reading the counter on this thread is answered here.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) use trap::prepare;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(super) fn prepare() {}

/// For the mirror, while the calling thread starts another process, which would be told the model's time as well, and could not take it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use trap::{let_go_of_counter, trap_counter};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trap {
    use super::super::running::running;
    use super::super::{BEGIN_UPTIME, allocator, coroutine, execution::Execution};
    use libc::{c_int, siginfo_t, ucontext_t};
    use std::arch::x86_64::_rdtsc;
    use std::cell::Cell;

    const PR_GET_TSC: c_int = 25;
    const PR_SET_TSC: c_int = 26;
    const PR_TSC_ENABLE: c_int = 1;
    const PR_TSC_SIGSEGV: c_int = 2;

    thread_local! {
        static IS_PREPARED: Cell<bool> = const { Cell::new(false) };
    }

    pub(in super::super) fn prepare() {
        if !IS_PREPARED.replace(true) {
            coroutine::answer_first(answer);
            set_counter(PR_TSC_SIGSEGV);
        }
    }

    fn set_counter(mode: c_int) {
        // SAFETY: it concerns the counter alone. Where it is refused, the counter goes on as it was.
        unsafe { libc::prctl(PR_SET_TSC, mode) };
    }

    /// From now on the calling thread, and the processes that it starts, read the processor's counter themselves. Whether they did not before.
    #[must_use]
    pub fn let_go_of_counter() -> bool {
        let mut mode: c_int = PR_TSC_ENABLE;
        // SAFETY: the place is there to be written to. Where it is refused, there is nothing to let go of.
        unsafe { libc::prctl(PR_GET_TSC, &raw mut mode) };
        let is_trapped = mode == PR_TSC_SIGSEGV;
        if is_trapped {
            set_counter(PR_TSC_ENABLE);
        }
        is_trapped
    }

    /// Undoes [`let_go_of_counter`], if that has said so.
    pub fn trap_counter() {
        set_counter(PR_TSC_SIGSEGV);
    }

    /// If the signal was raised by reading the counter: goes on after that, with what it shows.
    ///
    /// # Safety
    /// Both are a signal's.
    unsafe fn answer(info: &siginfo_t, context: &mut ucontext_t) -> bool {
        let registers = &mut context.uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as *const u8;
        // SAFETY: the caller's promise. What comes from the processor itself and names no address was raised by an instruction, which can
        // be read.
        let length = unsafe {
            let is_general = info.si_code == libc::SI_KERNEL && info.si_addr().is_null();
            if is_general { length_at(at) } else { 0 }
        };
        if length == 0 {
            return false;
        }
        let time = time();
        registers[libc::REG_RIP as usize] += length;
        registers[libc::REG_RAX as usize] = (time & u64::from(u32::MAX)) as i64;
        registers[libc::REG_RDX as usize] = (time >> u32::BITS) as i64;
        if length == RDTSCP {
            // The number of the processor.
            registers[libc::REG_RCX as usize] = 0;
        }
        true
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
