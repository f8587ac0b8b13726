//! Where a coroutine stands that does not come back: another thread of the process asks for it by a signal. The process is to end then: who has been
//! asked never goes on.

use std::time::Duration;

/// The thread of the operating system that a coroutine runs on, to be asked from others.
#[derive(Clone, Copy, Debug)]
pub struct Carrier {
    #[cfg(unix)]
    thread: libc::pthread_t,
}

// SAFETY: what the system names a thread by (a pointer, with some C libraries) is handed back to the system only.
unsafe impl Send for Carrier {}

impl Carrier {
    /// The calling thread.
    #[must_use]
    pub fn current() -> Carrier {
        Carrier {
            // SAFETY: it has no preconditions.
            #[cfg(unix)]
            thread: unsafe { libc::pthread_self() },
        }
    }

    /// The return addresses on the stack of the coroutine that runs there, innermost first; none if there is no coroutine, or no answer within
    /// `patience`. The thread never goes on: the caller is to end the process.
    ///
    /// # Safety
    /// The thread must not have ended.
    #[must_use]
    pub unsafe fn stack_for_good(self, patience: Duration) -> Vec<usize> {
        #[cfg(unix)]
        // SAFETY: as the caller promises.
        return unsafe { asked::ask(self.thread, patience) };
        #[cfg(not(unix))]
        {
            let _ = patience;
            Vec::new()
        }
    }
}

#[cfg(unix)]
mod asked {
    use super::super::coroutine::running_stack;
    use super::super::running::running_at_all;
    use std::ptr;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::{Duration, Instant};

    /// Return addresses kept.
    const MAX_FRAMES: usize = 64;
    /// Between two looks whether there is an answer.
    const NAP: Duration = Duration::from_millis(1);

    static FRAMES: [AtomicUsize; MAX_FRAMES] = [const { AtomicUsize::new(0) }; MAX_FRAMES];
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

    /// # Safety
    /// The thread must not have ended.
    pub(super) unsafe fn ask(thread: libc::pthread_t, patience: Duration) -> Vec<usize> {
        // One that nobody waits for: what it does by default is nothing.
        let signal = libc::SIGURG;
        // SAFETY: all zero is an action, and `answer` a handler; the thread is there.
        let is_asked = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = answer as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, ptr::null_mut()) == 0
                && libc::pthread_kill(thread, signal) == 0
        };
        let asked = Instant::now();
        while is_asked && !IS_ANSWERED.load(Ordering::Acquire) && asked.elapsed() < patience {
            std::thread::sleep(NAP);
        }
        let count = if IS_ANSWERED.load(Ordering::Acquire) { COUNT.load(Ordering::Relaxed) } else { 0 };
        FRAMES[..count].iter().map(|frame| frame.load(Ordering::Relaxed)).collect()
    }

    /// Runs on the stack that the thread has for signals.
    extern "C" fn answer(_: libc::c_int) {
        if let Some(running) = running_at_all() {
            // Nothing that is called from here on is the program's.
            running.at_work.set(true);
        }
        if let Some(stack) = running_stack() {
            let mut count = 0;
            // SAFETY: nobody else takes backtraces now: this thread did not, or it would come back, and whoever asks waits.
            unsafe {
                backtrace::trace_unsynchronized(|frame| {
                    let is_own = stack.contains(&frame.sp().addr());
                    if is_own {
                        // As a return address would be: behind the beginning of the instruction that was interrupted.
                        FRAMES[count].store(frame.ip().addr() + usize::from(count == 0), Ordering::Relaxed);
                        count += 1;
                    }
                    (is_own || count == 0) && count < MAX_FRAMES
                });
            }
            COUNT.store(count, Ordering::Relaxed);
        }
        IS_ANSWERED.store(true, Ordering::Release);
        loop {
            // SAFETY: it has no preconditions.
            unsafe { libc::pause() };
        }
    }
}
