//! The watchdog: a thread of its own that notices when the program under test blocks, or computes, outside anything
//! the scheduler controls. Such a test cannot go on, and cannot be unwound: the process ends.

use super::beside;
use super::channel::Channel;
use crate::runtime::{Carrier, Heartbeat};
use crate::symbols;
use crate::trace::{COMPUTES, Failure, FailureKind, Frame, Message, table};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Exit code of a process that the watchdog has ended.
const EXIT_BLOCKED: i32 = 101;

/// Watches until it is dropped.
#[derive(Debug)]
pub(super) struct Watchdog {
    over: Arc<AtomicBool>,
    resting: Arc<AtomicBool>,
    /// Without the thread there is no watching; the search itself does not need it.
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Ends the process if no step is taken for `patience`. Zero: never.
    pub(super) fn start(heartbeat: Arc<Heartbeat>, patience: Duration, channel: Channel, model: u32) -> Self {
        Self::start_for(heartbeat, patience, move |failure| {
            if channel.is_open() {
                channel.send(&Message::Failure { model, failure: Box::new(failure) });
            } else {
                // Not with `eprintln`, which the test harness keeps to itself, and the process ends.
                let _ = writeln!(std::io::stderr(), "icb: {failure}");
            }
        })
    }

    /// The same; `tell` is called before the process ends.
    pub(super) fn start_for(
        heartbeat: Arc<Heartbeat>,
        patience: Duration,
        tell: impl FnOnce(Failure) + Send + 'static,
    ) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let resting = Arc::new(AtomicBool::new(false));
        let thread = (!patience.is_zero()).then(|| {
            let (over, resting) = (over.clone(), resting.clone());
            let watched = WatchedThread::current();
            let watch = move || {
                if let Some(failure) = watch(&heartbeat, patience, &watched, &over, &resting) {
                    tell(failure);
                    std::process::exit(EXIT_BLOCKED);
                }
            };
            beside::start("icb-watchdog", watch).ok()
        });
        Watchdog { over, resting, thread: thread.flatten() }
    }

    /// While this is set, nothing is expected to happen.
    pub(super) fn resting(&self) -> Arc<AtomicBool> {
        self.resting.clone()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing to say: if it has found something the process ends.
            let _ = thread.join();
        }
    }
}

/// The thread that runs the executions, as the system sees it.
struct WatchedThread {
    /// Where it says how the thread fares; `None` where it does not.
    stat: Option<String>,
    carrier: Carrier,
}

impl WatchedThread {
    fn current() -> Self {
        #[cfg(target_os = "linux")]
        // SAFETY: it has no preconditions.
        let stat = Some(format!("/proc/self/task/{}/stat", unsafe { libc::gettid() }));
        #[cfg(not(target_os = "linux"))]
        let stat = None;
        WatchedThread { stat, carrier: Carrier::current() }
    }

    /// Whether the thread could go on, or waits for something; and the processor time that it has had, in ticks of the system.
    fn state(&self) -> Option<(bool, u64)> {
        let text = std::fs::read_to_string(self.stat.as_deref()?).ok()?;
        // After the name in brackets: the state, and from there the 11th and the 12th the times.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
        Some((fields.first() == Some(&"R"), ticks(11)? + ticks(12)?))
    }
}

/// Ticks of the system in a second, as Linux tells them to programs.
const TICKS: f64 = 100.0;

/// A thread that computes has had this share of its patience as processor time when it is over, unless the machine is busy.
const BUSY: f64 = 0.8;

/// Waits until no step has been taken for too long: a failure; or until it is over. On a busy machine a thread that only
/// waits for a processor is given more time.
fn watch(
    heartbeat: &Heartbeat,
    patience: Duration,
    watched: &WatchedThread,
    over: &AtomicBool,
    resting: &AtomicBool,
) -> Option<Failure> {
    let mut last = heartbeat.pulse();
    let mut since = Instant::now();
    let mut before = watched.state();
    let nap = (patience / 10).clamp(Duration::from_millis(10), Duration::from_millis(200));
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(nap);
        let pulse = heartbeat.pulse();
        if pulse != last || resting.load(Ordering::Relaxed) {
            (last, since, before) = (pulse, Instant::now(), watched.state());
        } else if since.elapsed() >= patience && !over.load(Ordering::Relaxed) {
            let state = watched.state();
            if let (Some((_, before)), Some((true, now))) = (before, state)
                && (now.saturating_sub(before) as f64) < TICKS * patience.as_secs_f64() * BUSY
            {
                continue;
            }
            let computes = state.is_some_and(|(runs, _)| runs);
            // SAFETY: it has taken no step, and joins this thread before it ends.
            let stack = unsafe { watched.carrier.stack_for_good(PATIENCE_WITH_THREAD) };
            let mut failure = standing(&stack, computes, patience)
                .unwrap_or_else(|| elsewhere(heartbeat, computes, patience));
            failure.execution = pulse.0;
            return Some(failure);
        }
    }
    None
}

/// How long a thread may take to say where it stands.
const PATIENCE_WITH_THREAD: Duration = Duration::from_secs(1);

/// What may be waited for that is not under icb's control.
const OUTSIDE: &str = "a lock of the real std or of C code, a file, a socket, a child process";

const MORE_TIME: &str = "or give more time with ICB_WATCHDOG_SECONDS";

/// The failure of a thread that is known to stand there. What happened is said up to the first colon and blank, and then what may be done.
fn standing(stack: &[usize], computes: bool, patience: Duration) -> Option<Failure> {
    let frames: Vec<Frame> = stack.iter().flat_map(|&address| symbols::frames(address)).collect();
    let place = table::place_in_program(&frames)?.clone();
    let called = table::called_by_program(&frames).map_or(String::new(), |f| format!("in {f}, called "));
    let (does, advice) = match computes {
        true => (COMPUTES, "let it do less there".to_owned()),
        false => (
            "the test blocks ",
            format!("icb does not control what it waits for there ({OUTSIDE}?); use icb_std's type there"),
        ),
    };
    let message = format!(
        "{does}{called}at {place}, and takes no step for {:.1} s: {advice}, {MORE_TIME}",
        patience.as_secs_f64()
    );
    let mut failure = Failure::new(FailureKind::Blocked, message);
    failure.location = Some(place);
    failure.trace.failure_backtrace = frames;
    Some(failure)
}

/// The same, where only the last step is known.
fn elsewhere(heartbeat: &Heartbeat, computes: bool, patience: Duration) -> Failure {
    let place = heartbeat.place();
    let after = place.as_ref().map_or_else(
        || "before its first step".to_owned(),
        |place| format!("after the operation at {place}"),
    );
    let seconds = patience.as_secs_f64();
    let message = match computes {
        true => format!(
            "{COMPUTES}for {seconds:.1} s {after}, and takes no step: let it do less there, {MORE_TIME}"
        ),
        false => format!(
            "the test takes no step for {seconds:.1} s {after}: it computes very long there, or blocks in something that is not under \
             icb's control ({OUTSIDE}); use icb_std's type there, {MORE_TIME}"
        ),
    };
    let mut failure = Failure::new(FailureKind::Blocked, message);
    failure.location = place;
    failure
}
