//! What really happens.

use crate::{DEADLOCK, Outcome};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program is run, if the environment does not say.
const DURATION: Duration = Duration::from_millis(100);
/// How long a run takes that is in a deadlock, if the model knows of one.
pub(crate) const LIMIT: Duration = Duration::from_millis(40);
/// How long a run takes that is in a deadlock, if the model knows of none.
pub(crate) const LONG_LIMIT: Duration = Duration::from_secs(20);

static SEED: AtomicU64 = AtomicU64::new(1);

thread_local!(static STATE: Cell<u64> = const { Cell::new(0) });

fn random() -> u64 {
    let mut x = STATE.get();
    if x == 0 {
        x = SEED.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) | 1;
    }
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    STATE.set(x);
    x.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
}

/// Loses some time, or none.
pub(crate) fn nudge() {
    match random() % 16 {
        0..6 => {}
        6..10 => {
            for _ in 0..random() % 2_000 {
                std::hint::spin_loop();
            }
        }
        10..13 => thread::yield_now(),
        13..15 => thread::sleep(Duration::from_micros(random() % 200)),
        _ => thread::sleep(Duration::from_micros(random() % 3_000)),
    }
}

/// The panics of programs are not printed. Threads of tests have names.
pub(crate) fn be_quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().name().is_some() {
                print(info);
            }
        }));
    });
}

/// How long a program is run, if the environment does not say otherwise.
pub(crate) fn duration(usual: Duration) -> Duration {
    match std::env::var("ICB_REALITY_SECONDS") {
        Ok(text) => {
            Duration::from_secs_f64(text.parse().expect("ICB_REALITY_SECONDS is a number of seconds"))
        }
        Err(_) => usual,
    }
}

/// Runs at a time: they get in each other's way, and those that are in a deadlock are waited for together.
const AT_A_TIME: usize = 8;

/// The outcomes of many runs. Threads of runs that never end are left behind.
pub(crate) fn outcomes(program: fn() -> Outcome, possible: &BTreeSet<Outcome>) -> BTreeSet<Outcome> {
    be_quiet();
    let limit = if possible.contains(DEADLOCK) { LIMIT } else { LONG_LIMIT };
    let mut seen = BTreeSet::new();
    let (begin, duration) = (Instant::now(), duration(DURATION));
    while begin.elapsed() < duration && (possible.contains(DEADLOCK) || !seen.contains(DEADLOCK)) {
        let until = Instant::now() + limit;
        let runs = [(); AT_A_TIME].map(|()| {
            let (sender, receiver) = mpsc::channel();
            thread::spawn(move || drop(sender.send(program())));
            receiver
        });
        seen.extend(runs.into_iter().map(|run| {
            match run.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(outcome) => outcome,
                Err(RecvTimeoutError::Timeout) => DEADLOCK.to_owned(),
                Err(RecvTimeoutError::Disconnected) => "the program panicked".to_owned(),
            }
        }));
    }
    seen
}
