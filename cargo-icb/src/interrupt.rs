//! Being asked to stop: Ctrl-C, or the signal by which schedulers of jobs end what has run for too long. The first lets the run
//! end in order; the second ends it at once.

use crate::exit_code::Exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody has asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where that is not possible, the signals do what they always do.
    pub(crate) fn listen() -> Interrupt {
        let interrupt = Interrupt::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
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

    /// Whether somebody has asked.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
