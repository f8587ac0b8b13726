//! Being asked to stop: Ctrl-C, or the signal by which schedulers of jobs end what has run for too long. The first lets the run
//! end in order; a later one ends it at once. Before the run has begun the first does that too.

use crate::exit_code::Exit;
use crate::report::notice;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A further signal within this time is the same wish: `timeout` tells the process and then its whole group, and so do shells and schedulers.
const SAME: Duration = Duration::from_secs(1);

/// Whether somebody has asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens from now on. Where that is not possible, the signals do what they always do.
    pub(crate) fn listen() -> Interrupt {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            if signal_hook::flag::register(signal, interrupt.0.clone()).is_err() {
                return interrupt;
            }
        }
        if let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) {
            thread::spawn(move || {
                let mut first = None;
                for _ in signals.forever() {
                    if is_another(&mut first, Instant::now()) {
                        signal_hook::low_level::exit(Exit::Interrupted as i32);
                    }
                }
            });
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

/// Whether a signal that comes `now` is a wish of its own, and not the `first` one told again.
fn is_another(first: &mut Option<Instant>, now: Instant) -> bool {
    now.duration_since(*first.get_or_insert(now)) >= SAME
}

/// Ends the process before anything has been explored.
fn end() -> ! {
    notice::say("interrupted while the tests were being built: nothing has been explored");
    std::process::exit(Exit::Interrupted as i32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_come_together_are_one() {
        let (mut first, begin) = (None, Instant::now());
        for (milliseconds, another) in
            [(0, false), (0, false), (40, false), (999, false), (1000, true), (5000, true)]
        {
            let now = begin + Duration::from_millis(milliseconds);
            assert_eq!(is_another(&mut first, now), another, "{milliseconds}");
        }
    }
}
