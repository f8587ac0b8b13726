//! Being asked to stop: Ctrl-C, or the signal by which schedulers of jobs end what has run for too long. The first lets the run
//! end in order; the second ends it at once. Before the run has begun the first does that too.

use crate::exit_code::Exit;
use crate::report::notice;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Whether somebody has asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where that is not possible, the signals do what they always do.
    pub(crate) fn listen() -> Interrupt {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            let flag = interrupt.0.clone();
            let code = Exit::Interrupted as i32;
            let registered = signal_hook::flag::register_conditional_shutdown(signal, code, flag.clone())
                .and_then(|_| signal_hook::flag::register(signal, flag));
            if registered.is_err() {
                break;
            }
        }
        interrupt
    }

    /// Does what comes before the run, in which nothing has to be brought to an end: whoever asks meanwhile ends the process. (Cargo
    /// hears of Ctrl-C by itself, and then says that it has failed.)
    pub(crate) fn beforehand<R>(&self, work: impl FnOnce() -> R) -> R {
        let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return work() };
        let handle = signals.handle();
        let listener = thread::spawn(move || {
            if signals.forever().next().is_some() {
                end();
            }
        });
        let result = work();
        handle.close();
        // It has nothing to say unless it ends the process.
        let _ = listener.join();
        if self.is_set() {
            end();
        }
        result
    }

    /// Whether somebody has asked.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Ends the process before anything has been explored.
fn end() -> ! {
    notice::say("interrupted while the tests were being built: nothing has been explored");
    std::process::exit(Exit::Interrupted as i32);
}
