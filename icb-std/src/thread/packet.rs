//! A thread's start and result: what its closure returned or panicked with, kept for whoever joins. The same packet
//! serves real threads and threads of an execution.

use super::scope::ScopeData;
use super::{Result, Thread};
use crate::door::{self, ThreadBody, ThreadEnd};
use ::std::cell::{Cell, UnsafeCell};
use ::std::ffi::CString;
use ::std::io;
use ::std::marker::PhantomData;
use ::std::mem::MaybeUninit;
use ::std::panic::{AssertUnwindSafe, catch_unwind};
use ::std::sync::Arc;
use ::std::sync::atomic::{AtomicBool, Ordering};

/// What one thread shares with whoever joins it. Handles do not know what its closure `C` is.
struct Packet<'scope, T, C: ?Sized> {
    /// The scope that counts this thread, if it is a real one.
    scope: Option<Arc<ScopeData>>,
    result: UnsafeCell<Option<Result<T>>>,
    /// Present in a scope of an execution.
    outcome: Option<Arc<Outcome>>,
    /// The thread of an execution, and its epoch: written once, by the spawner while it holds the packet.
    modelled: Cell<Option<(door::ThreadId, u32)>>,
    _marker: PhantomData<Option<&'scope ScopeData>>,
    closure: C,
}

// SAFETY: the result is written by the thread before it ends and read after it has been joined, never at once. What is
// said of a thread of an execution is used on the OS thread of that execution.
unsafe impl<T: Send, C: Sync + ?Sized> Sync for Packet<'_, T, C> {}

/// What a thread does: nothing that whoever joins it wants to know.
trait Forgotten {}

/// What a real thread does: it goes with the thread.
impl Forgotten for () {}

/// What a thread of an execution does, until it does it.
struct Closure<F> {
    is_left: Cell<bool>,
    f: UnsafeCell<MaybeUninit<F>>,
}

impl<F> Forgotten for Closure<F> {}

// SAFETY: the closure is taken by the thread that it is for, or by the runtime; both are on the OS thread of the execution.
unsafe impl<F: Send> Sync for Closure<F> {}

impl<F> Closure<F> {
    fn new(f: F) -> Self {
        Closure { is_left: Cell::new(true), f: UnsafeCell::new(MaybeUninit::new(f)) }
    }

    fn take(&self) -> Option<F> {
        // SAFETY: it is there, once: the flag goes down before.
        self.is_left.replace(false).then(|| unsafe { (*self.f.get()).assume_init_read() })
    }
}

impl<T, F: FnOnce() -> T> ThreadBody for Packet<'_, T, Closure<F>> {
    fn run(self: Arc<Self>) -> ThreadEnd {
        // Last to go, after everything that the thread owns.
        let _over = Over(self.outcome.clone());
        let Some(f) = self.closure.take() else { return ThreadEnd::Returned };
        let result = catch_unwind(AssertUnwindSafe(f));
        let panicked = result.is_err();
        if let Some(outcome) = &self.outcome {
            outcome.panicked.store(panicked, Ordering::Relaxed);
        }
        // SAFETY: nobody else reaches the result before this thread has ended; there was none, as the closure is run once.
        unsafe { self.result.get().write(Some(result)) };
        drop(self);
        if panicked { ThreadEnd::Panicked } else { ThreadEnd::Returned }
    }

    fn discard(&self) {
        let _over = Over(self.outcome.clone());
        drop(self.closure.take());
    }
}

/// What a scope of an execution wants to know about a thread.
#[derive(Default)]
pub(super) struct Outcome {
    /// Its closure is gone: it has returned, panicked, or will never be called.
    over: AtomicBool,
    panicked: AtomicBool,
    joined: AtomicBool,
}

impl Outcome {
    pub(super) fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Whether somebody has joined the thread explicitly.
    pub(super) fn joined(&self) -> bool {
        self.joined.load(Ordering::Relaxed)
    }

    pub(super) fn panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }
}

/// Goes with a thread's closure.
struct Over(Option<Arc<Outcome>>);

impl Drop for Over {
    fn drop(&mut self) {
        if let Some(outcome) = &self.0 {
            outcome.over.store(true, Ordering::Relaxed);
        }
    }
}

impl<T, C: ?Sized> Drop for Packet<'_, T, C> {
    #[inline]
    fn drop(&mut self) {
        if self.modelled.get().is_some() {
            take_over(self.modelled.get());
        }
        let unhandled_panic = matches!(self.result.get_mut(), Some(Err(_)));
        if self.result.get_mut().is_some()
            && catch_unwind(AssertUnwindSafe(|| *self.result.get_mut() = None)).is_err()
        {
            eprintln!("fatal runtime error: thread result panicked on drop, aborting");
            ::std::process::abort();
        }
        if let Some(scope) = &self.scope {
            scope.decrement_num_running_threads(unhandled_panic);
        }
    }
}

/// Whoever drops the result of a thread without joining has learnt from the packet's count that it was left to him.
#[inline(never)]
fn take_over(modelled: Option<(door::ThreadId, u32)>) {
    if let Some(thread) = of_this_execution(modelled) {
        door::take_over(thread);
    }
}

/// The thread, if it is one of the execution that runs now.
#[inline]
fn of_this_execution(modelled: Option<(door::ThreadId, u32)>) -> Option<door::ThreadId> {
    modelled.filter(|&(_, epoch)| epoch == door::epoch()).map(|(thread, _)| thread)
}

/// A thread of an execution that nobody has joined; is dropped with its handle.
struct Unjoined(Option<(door::ThreadId, u32)>);

impl Drop for Unjoined {
    #[inline]
    fn drop(&mut self) {
        if let Some(thread) = of_this_execution(self.0) {
            door::let_go(thread);
        }
    }
}

/// A running thread: what `JoinHandle` and `ScopedJoinHandle` hold.
pub(super) struct JoinInner<'scope, T> {
    /// The thread of the operating system, if it is one.
    native: Option<Box<::std::thread::JoinHandle<()>>>,
    thread: Thread,
    /// Dropped before the packet.
    unjoined: Unjoined,
    packet: Arc<Packet<'scope, T, dyn Forgotten + Send + Sync>>,
}

impl<T> JoinInner<'_, T> {
    /// The thread of the operating system.
    ///
    /// # Panics
    /// If it is a thread of an execution: it has none of its own.
    #[cfg(unix)]
    #[track_caller]
    pub(super) fn real(&self) -> &::std::thread::JoinHandle<()> {
        match &self.native {
            Some(thread) => thread,
            None => {
                door::outside(
                    "it asks for the operating system's handle of a thread, which threads of a model have not",
                );
                panic!("a thread of an execution is no thread of the operating system")
            }
        }
    }

    pub(super) fn thread(&self) -> &Thread {
        &self.thread
    }

    #[cfg(unix)]
    #[track_caller]
    pub(super) fn into_real(self) -> ::std::thread::JoinHandle<()> {
        self.real();
        match self.native {
            Some(thread) => *thread,
            None => unreachable!("it has just been seen real"),
        }
    }

    #[track_caller]
    pub(super) fn is_finished(&self) -> bool {
        match of_this_execution(self.thread.modelled_as()) {
            Some(id) => door::is_finished(id),
            None => Arc::strong_count(&self.packet) == 1,
        }
    }

    #[track_caller]
    pub(super) fn join(self) -> Result<T> {
        let JoinInner { native, thread, unjoined, mut packet } = self;
        std::mem::forget(unjoined);
        match native {
            None => join_modelled(&thread, packet.outcome.as_deref()),
            Some(native) => join_real(native),
        }
        let result = Arc::get_mut(&mut packet).and_then(|packet| {
            let result = packet.result.get_mut().take();
            if result.is_some() {
                // It has been joined: there is nothing left to take over.
                packet.modelled.set(None);
            }
            result
        });
        match result {
            Some(Ok(value)) => Ok(value),
            // A destructor would panic at the error, and abort the process.
            Some(Err(payload)) if !door::given_up() => Err(payload),
            // The execution is being given up: the thread has not ended, or not by itself, or was never started.
            _ => door::abandon("threads should not terminate unexpectedly"),
        }
    }
}

/// Waits for the end of a thread of the operating system.
#[cold]
#[expect(clippy::boxed_local, reason = "that is how it is kept")]
fn join_real(thread: Box<::std::thread::JoinHandle<()>>) {
    thread.join().expect("a mirrored thread catches its panic");
}

/// Waits for the end of a thread of an execution.
#[track_caller]
#[inline(never)]
fn join_modelled(thread: &Thread, outcome: Option<&Outcome>) {
    if let Some((id, epoch)) = thread.modelled_as() {
        door::join(id, epoch);
    }
    if let Some(outcome) = outcome {
        outcome.joined.store(true, Ordering::Relaxed);
    }
}

/// Starts a thread of the running execution. Apart from [`spawn_unchecked`], which is compiled anew for each kind of thread,
/// and with the user's flags.
#[track_caller]
#[inline(never)]
fn spawn_modelled(
    name: Option<String>,
    stack_size: Option<usize>,
    scope: Option<&Arc<ScopeData>>,
    outcome: Option<Arc<Outcome>>,
    main: door::ThreadMain,
) -> Thread {
    if let Some(name) = &name {
        CString::new(name.as_str()).expect("thread name may not contain interior null bytes");
    }
    let name: Option<Arc<str>> = name.map(Arc::from);
    let (id, epoch) =
        door::spawn(name.clone(), stack_size, main).expect("the execution has just been seen active");
    if let (Some(scope), Some(outcome)) = (scope, outcome) {
        scope.add(id, outcome);
    }
    Thread::modelled(id, epoch, name)
}

/// Starts a thread, real or of the running execution.
///
/// # Safety
/// What `f` borrows, and the result, outlive the thread.
#[track_caller]
pub(super) unsafe fn spawn_unchecked<'scope, F, T>(
    name: Option<String>,
    stack_size: Option<usize>,
    scope: Option<&Arc<ScopeData>>,
    f: F,
) -> io::Result<JoinInner<'scope, T>>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    if !door::active() {
        // SAFETY: the caller's promise.
        return unsafe { spawn_real(name, stack_size, scope, f) };
    }
    let outcome = scope.map(|_| Arc::new(Outcome::default()));
    let packet = Arc::new(Packet {
        scope: None,
        result: UnsafeCell::new(None),
        outcome: outcome.clone(),
        modelled: Cell::new(None),
        _marker: PhantomData,
        closure: Closure::new(f),
    });
    let body: Arc<dyn ThreadBody + '_> = packet.clone();
    // SAFETY: only the lifetime changes, and the caller promises that what is borrowed outlives the thread.
    let body = unsafe { ::std::mem::transmute::<Arc<dyn ThreadBody + '_>, Arc<dyn ThreadBody>>(body) };
    let thread = spawn_modelled(name, stack_size, scope, outcome, door::ThreadMain::new(body));
    packet.modelled.set(thread.modelled_as());
    let packet: Arc<Packet<'scope, T, dyn Forgotten + Send + Sync + '_>> = packet;
    // SAFETY: only the lifetime of a closure changes that is gone when the thread is over, before the last handle lets go.
    let packet = unsafe {
        ::std::mem::transmute::<
            Arc<Packet<'scope, T, dyn Forgotten + Send + Sync + '_>>,
            Arc<Packet<'scope, T, dyn Forgotten + Send + Sync>>,
        >(packet)
    };
    let unjoined = Unjoined(thread.modelled_as());
    Ok(JoinInner { native: None, thread, unjoined, packet })
}

/// Starts a thread of the operating system.
///
/// # Safety
/// What `f` borrows, and the result, outlive the thread.
#[cold]
unsafe fn spawn_real<'scope, F, T>(
    name: Option<String>,
    stack_size: Option<usize>,
    scope: Option<&Arc<ScopeData>>,
    f: F,
) -> io::Result<JoinInner<'scope, T>>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    if let Some(scope) = scope {
        scope.increment_num_running_threads();
    }
    let packet: Arc<Packet<'scope, T, ()>> = Arc::new(Packet {
        scope: scope.cloned(),
        result: UnsafeCell::new(None),
        outcome: None,
        modelled: Cell::new(None),
        _marker: PhantomData,
        closure: (),
    });
    let theirs = packet.clone();
    let run = move || {
        let result = catch_unwind(AssertUnwindSafe(f));
        // SAFETY: nobody else reaches the result before this thread has ended.
        unsafe { *theirs.result.get() = Some(result) };
        drop(theirs);
    };
    let mut builder = ::std::thread::Builder::new();
    if let Some(name) = name {
        builder = builder.name(name);
    }
    if let Some(size) = stack_size {
        builder = builder.stack_size(size);
    }
    // SAFETY: the caller's promise.
    let native = unsafe { builder.spawn_unchecked(run) }?;
    let thread = Thread::real(native.thread().clone());
    Ok(JoinInner { native: Some(Box::new(native)), thread, unjoined: Unjoined(None), packet })
}
