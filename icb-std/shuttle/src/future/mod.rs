//! `shuttle::future`: tasks. Each is a thread of the model that polls its future, waits for its waker, and polls again; it is
//! polled for no other reason, but for those that somebody else may have to call a waker. A task whose handle was dropped
//! is no failure if it waits for ever: then its future is dropped with the execution.

pub mod batch_semaphore;

use crate::current::{self, TaskId};
use crate::world::{self, Started};
use icb_std::sync::atomic::{AtomicBool, Ordering};
use icb_std::sync::{Mutex, PoisonError};
use icb_std::thread::{self, Thread};
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

/// Wakes the one thread that waits here.
struct Signal {
    is_set: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Signal {
    /// For a thread that is still to come.
    fn new() -> Arc<Signal> {
        Arc::new(Signal { is_set: AtomicBool::new(false), thread: OnceLock::new() })
    }

    /// For the calling thread.
    fn own() -> Arc<Signal> {
        let signal = Signal::new();
        signal.belongs_to(&thread::current());
        signal
    }

    fn belongs_to(&self, thread: &Thread) {
        let _ = self.thread.set(thread.clone());
    }

    #[track_caller]
    fn set(&self) {
        if !self.is_set.swap(true, Ordering::AcqRel)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    #[track_caller]
    fn wait(&self) {
        let mut park_count = 0;
        while !self.is_set.swap(false, Ordering::AcqRel) {
            thread::park();
            park_count += 1;
        }
        // Somebody has unparked the thread for another reason, which must not be lost on it.
        if park_count > 1
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}

/// Mirrors `shuttle::future::block_on`.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let signal = Signal::own();
    let waker = Waker::from(signal.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        signal.wait();
    }
}

/// Mirrors `shuttle::future::yield_now`: other tasks may run before this one goes on.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        thread::yield_now();
        Poll::Pending
    })
    .await;
}

/// What is known of a task, whatever it returns.
pub(crate) struct Control {
    is_aborted: AtomicBool,
    state: Mutex<State>,
    signal: Arc<Signal>,
    id: OnceLock<TaskId>,
}

#[derive(Default)]
struct State {
    is_finished: bool,
    /// Its handle was dropped.
    is_detached: bool,
    /// Who awaits the handle.
    waker: Option<Waker>,
    /// Who waits with the execution's end.
    end: Option<Arc<Signal>>,
}

impl Control {
    #[track_caller]
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the task has finished, or nobody wants it to any more.
    #[track_caller]
    pub(crate) fn wait(&self) {
        let signal = Signal::own();
        let is_over = |state: &mut State| {
            state.end = Some(signal.clone());
            state.is_finished || state.is_detached
        };
        while !self.with(is_over) {
            signal.wait();
        }
    }

    #[track_caller]
    fn finish(&self) {
        let (waker, end) = self.with(|state| {
            state.is_finished = true;
            (state.waker.take(), state.end.take())
        });
        if let Some(waker) = waker {
            waker.wake();
        }
        if let Some(end) = end {
            end.set();
        }
    }

    #[track_caller]
    fn detach(&self) {
        let end = self.with(|state| {
            state.is_detached = true;
            state.waker = None;
            state.end.take()
        });
        if let Some(end) = end {
            end.set();
        }
    }

    #[track_caller]
    fn abort(&self) {
        if !self.is_aborted.swap(true, Ordering::AcqRel) {
            self.signal.set();
        }
    }

    fn task(&self) -> TaskId {
        self.id.get().copied().unwrap_or(TaskId::from(0))
    }
}

/// What never leaves the thread of the system that it is on.
struct Unsent<T>(T);

// SAFETY: what is spawned in an execution runs on the thread of the system that it is spawned on, and outside of one only
// what is `Send` is spawned.
unsafe impl<T> Send for Unsent<T> {}

/// Where a task's result is, for whoever awaits it. The model orders by `Control::state` who comes here when.
type Place<T> = Arc<std::sync::Mutex<Option<Result<T, JoinError>>>>;

#[track_caller]
fn start<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let control = Arc::new(Control {
        is_aborted: AtomicBool::new(false),
        state: Mutex::default(),
        signal: Signal::new(),
        id: OnceLock::new(),
    });
    let place: Place<F::Output> = Arc::default();
    let labels = current::labels_to_inherit();
    let body = Unsent((future, control.clone(), place.clone()));
    let run = move || {
        // The whole of it, not the parts that are used.
        let whole = body;
        let (future, control, place) = whole.0;
        current::inherit(labels, None);
        run(future, &control, &place);
    };
    let started = thread::Builder::new().spawn(run).expect("failed to spawn a task");
    // The task has not begun: nothing has happened here since it was spawned.
    control.signal.belongs_to(started.thread());
    let _ = control.id.set(TaskId::from(world::number_of(started.thread())));
    world::add(Started::Task(control.clone()));
    JoinHandle { control, place, is_joined: false }
}

/// The life of a task.
fn run<F: Future>(future: F, control: &Control, place: &Place<F::Output>) {
    let waker = Waker::from(control.signal.clone());
    let mut context = Context::from_waker(&waker);
    let mut future = Box::pin(future);
    let result = loop {
        if control.is_aborted.load(Ordering::Acquire) {
            break Err(JoinError::Cancelled);
        }
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            break Ok(value);
        }
        control.signal.wait();
    };
    drop(future);
    *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    control.finish();
}

/// Mirrors `shuttle::future::spawn`.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    start(future)
}

/// Mirrors `shuttle::future::spawn_local`.
///
/// # Panics
/// Outside of a check.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    assert!(current::try_get_current_task().is_some(), "a local task is spawned outside of a check");
    start(future)
}

/// Mirrors `shuttle::future::JoinError`.
#[derive(Debug)]
pub enum JoinError {
    /// The task was aborted.
    Cancelled,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("task was cancelled")
    }
}

impl Error for JoinError {}

/// Mirrors `shuttle::future::AbortHandle`.
#[derive(Clone)]
pub struct AbortHandle {
    control: Arc<Control>,
}

impl AbortHandle {
    /// Mirrors `AbortHandle::abort`: the task's future is dropped instead of being polled once more.
    #[track_caller]
    pub fn abort(&self) {
        self.control.abort();
    }

    /// Mirrors `AbortHandle::is_finished`.
    #[track_caller]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.control.with(|state| state.is_finished)
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("task_id", &self.control.task()).finish_non_exhaustive()
    }
}

/// Mirrors `shuttle::future::JoinHandle`. Dropping it lets the task run on.
pub struct JoinHandle<T> {
    control: Arc<Control>,
    place: Place<T>,
    /// The result was handed over.
    is_joined: bool,
}

impl<T> JoinHandle<T> {
    /// Mirrors `JoinHandle::abort`: the task's future is dropped instead of being polled once more.
    #[track_caller]
    pub fn abort(&self) {
        self.control.abort();
    }

    /// Mirrors `JoinHandle::is_finished`.
    #[track_caller]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.control.with(|state| state.is_finished)
    }

    /// Mirrors `JoinHandle::abort_handle`.
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { control: self.control.clone() }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let is_finished = self.control.with(|state| {
            if !state.is_finished {
                state.waker = Some(context.waker().clone());
            }
            state.is_finished
        });
        if !is_finished {
            return Poll::Pending;
        }
        self.is_joined = true;
        match self.place.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if !self.is_joined {
            self.control.detach();
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("task_id", &self.control.task()).finish_non_exhaustive()
    }
}
