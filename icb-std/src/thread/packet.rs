//! A thread's start and result: what its closure returned or panicked with, kept for whoever joins. The same packet
//! serves real threads and threads of an execution.

use super::half::{Half, Shared};
use super::scope::ScopeData;
use super::{Result, Thread};
use crate::door::{self, ThreadBody, ThreadEnd, ThreadMain};
use crate::raw::Known;
use ::std::cell::{Cell, OnceCell, UnsafeCell};
use ::std::ffi::CString;
use ::std::io;
use ::std::marker::PhantomData;
use ::std::mem::{ManuallyDrop, MaybeUninit};
use ::std::panic::{AssertUnwindSafe, catch_unwind};
use ::std::ptr::NonNull;
use ::std::sync::Arc;

/// What one thread shares with whoever joins it. Handles do not know what its closure `C` is.
struct Packet<'scope, T, C: ?Sized> {
    /// Written once, by the spawner while it holds the packet.
    thread: OnceCell<Thread>,
    /// The thread of the operating system, if it is one: its handle's alone.
    native: UnsafeCell<Option<Box<::std::thread::JoinHandle<()>>>>,
    /// The scope that counts this thread, if it is a real one.
    scope: Option<Arc<ScopeData>>,
    result: UnsafeCell<Option<Result<T>>>,
    /// Present in a scope of an execution.
    outcome: Option<Arc<Outcome>>,
    _marker: PhantomData<Option<&'scope ScopeData>>,
    closure: C,
}

// SAFETY: the result is written by the thread before it ends and read after it has been joined, never at once. What stands
// here of the thread itself is used by whoever holds the handle, and by the last of the two.
unsafe impl<T: Send, C: Sync + ?Sized> Sync for Packet<'_, T, C> {}

impl<T, C> Packet<'_, T, C> {
    #[inline]
    fn new(scope: Option<Arc<ScopeData>>, outcome: Option<Arc<Outcome>>, closure: C) -> Self {
        Packet {
            thread: OnceCell::new(),
            native: UnsafeCell::new(None),
            scope,
            result: UnsafeCell::new(None),
            outcome,
            _marker: PhantomData,
            closure,
        }
    }
}

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

impl<T, F: FnOnce() -> T> Packet<'_, T, Closure<F>> {
    const BODY: ThreadBody = ThreadBody { run: Self::run, discard: Self::discard };

    /// What the thread is going to do with its half.
    #[inline]
    fn main(half: Half<Self>) -> ThreadMain {
        // SAFETY: both functions make a half of the pointer, and one of them is called, once. What the closure borrows outlives
        // the thread: `spawn_unchecked` has been promised that.
        unsafe { ThreadMain::new(half.into_shared().cast(), &Self::BODY) }
    }

    /// # Safety
    /// See [`main`](Self::main).
    unsafe fn run(half: NonNull<()>) -> ThreadEnd {
        // SAFETY: the caller's promise.
        let this = unsafe { Half::<Self>::from_shared(half.cast()) };
        // Last to go, after everything that the thread owns.
        let _over = Over(this.outcome.clone());
        let Some(f) = this.closure.take() else { return ThreadEnd::Returned };
        let result = catch_unwind(AssertUnwindSafe(f));
        let panicked = result.is_err();
        if let Some(outcome) = &this.outcome {
            outcome.panicked.set(panicked);
        }
        // SAFETY: nobody else reaches the result before this thread has ended; there was none, as the closure is run once.
        unsafe { this.result.get().write(Some(result)) };
        if panicked {
            // Others may be in the middle of theirs: only they still unwind.
            door::caught(false);
        }
        door::leave();
        drop(this);
        door::has_left();
        if panicked { ThreadEnd::Panicked(None) } else { ThreadEnd::Returned }
    }

    /// # Safety
    /// See [`main`](Self::main).
    unsafe fn discard(half: NonNull<()>) {
        // SAFETY: the caller's promise.
        let this = unsafe { Half::<Self>::from_shared(half.cast()) };
        let _over = Over(this.outcome.clone());
        drop(this.closure.take());
    }
}

/// What a scope of an execution wants to know about a thread.
#[derive(Default)]
pub(super) struct Outcome {
    /// Its closure is gone: it has returned, panicked, or will never be called.
    over: Known<bool>,
    panicked: Known<bool>,
    /// What it shared with its handle is gone.
    gone: Known<bool>,
    /// Who has joined it explicitly: one more than the thread's number.
    joined_by: Known<usize>,
}

impl Outcome {
    pub(super) fn over(&self) -> bool {
        self.over.get()
    }

    /// Who has joined the thread explicitly.
    pub(super) fn joined_by(&self) -> Option<door::ThreadId> {
        self.joined_by.get().checked_sub(1).map(door::ThreadId::new)
    }

    /// Whether the thread and its handle have both let go.
    pub(super) fn gone(&self) -> bool {
        self.gone.get()
    }

    pub(super) fn panicked(&self) -> bool {
        self.panicked.get()
    }
}

/// Goes with a thread's closure.
struct Over(Option<Arc<Outcome>>);

impl Drop for Over {
    fn drop(&mut self) {
        if let Some(outcome) = &self.0 {
            outcome.over.set(true);
        }
    }
}

impl<T, C: ?Sized> Drop for Packet<'_, T, C> {
    #[inline]
    fn drop(&mut self) {
        let result = self.result.get_mut().take();
        let unhandled_panic = matches!(result, Some(Err(_)));
        if result.is_some() {
            self.take_over();
            drop_result(result);
        }
        if let Some(scope) = &self.scope {
            scope.decrement_num_running_threads(unhandled_panic);
        }
        if let Some(outcome) = &self.outcome {
            outcome.gone.set(true);
        }
    }
}

#[inline(never)]
fn drop_result<T>(result: Option<Result<T>>) {
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(result))).is_err();
    // An execution that is given up unwinds whoever comes to a step.
    if panicked && !door::giving_up() {
        eprintln!("fatal runtime error: thread result panicked on drop, aborting");
        ::std::process::abort();
    }
}

impl<T, C: ?Sized> Packet<'_, T, C> {
    /// The thread, if it is one of the execution that runs now.
    #[inline]
    fn of_this_execution(&self) -> Option<door::ThreadId> {
        let modelled = self.thread.get().and_then(Thread::modelled_as);
        modelled.filter(|&(_, epoch)| epoch == door::epoch()).map(|(thread, _)| thread)
    }

    /// Whoever drops the result of a thread without joining has learnt from the packet that it was left to him.
    #[inline(never)]
    fn take_over(&self) {
        if let Some(thread) = self.of_this_execution() {
            door::take_over(thread);
        }
    }

    /// The thread of the operating system, if it is one.
    ///
    /// # Safety
    /// The caller is the handle, and has no other reference to it.
    #[expect(clippy::mut_from_ref, reason = "the cell is in this type")]
    unsafe fn native(&self) -> &mut Option<Box<::std::thread::JoinHandle<()>>> {
        // SAFETY: nobody but the handle looks at it, as long as there is one; the rest is the caller's promise.
        unsafe { &mut *self.native.get() }
    }
}

/// A running thread: what `JoinHandle` and `ScopedJoinHandle` hold.
pub(super) struct JoinInner<'scope, T>(Half<Packet<'scope, T, dyn Forgotten + Send + Sync>>);

impl<T> Drop for JoinInner<'_, T> {
    /// Nobody has joined it. Whether it has ended decides who drops its result, which is a step where that does something.
    #[inline]
    fn drop(&mut self) {
        door::handle_used(self);
        if let Some(thread) = self.0.of_this_execution() {
            if ::std::mem::needs_drop::<T>() {
                door::look_at_end(thread);
            }
            door::let_go(thread);
        }
    }
}

impl<'scope, T> JoinInner<'scope, T> {
    /// The handle's half of a packet.
    ///
    /// # Safety
    /// What the closure borrows outlives the thread, and the closure is gone when the thread is over.
    #[inline]
    unsafe fn new<C: Forgotten + Send + Sync>(packet: Half<Packet<'scope, T, C>>) -> Self {
        let shared: NonNull<Shared<Packet<'scope, T, dyn Forgotten + Send + Sync + '_>>> =
            packet.into_shared();
        // SAFETY: only the lifetime of a closure changes, of which there is nothing left when the last handle lets go.
        let shared = unsafe {
            ::std::mem::transmute::<
                NonNull<Shared<Packet<'scope, T, dyn Forgotten + Send + Sync + '_>>>,
                NonNull<Shared<Packet<'scope, T, dyn Forgotten + Send + Sync>>>,
            >(shared)
        };
        // SAFETY: the same half.
        JoinInner(unsafe { Half::from_shared(shared) })
    }

    /// What it shares with the thread.
    #[inline]
    fn into_packet(self) -> Half<Packet<'scope, T, dyn Forgotten + Send + Sync>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: taken out of what is not used or dropped any more.
        unsafe { ::std::ptr::read(&this.0) }
    }

    /// The thread of the operating system.
    ///
    /// # Panics
    /// If it is a thread of an execution: it has none of its own.
    #[cfg(unix)]
    #[track_caller]
    pub(super) fn real(&self) -> &::std::thread::JoinHandle<()> {
        // SAFETY: this is the handle; shared references only, until it is consumed.
        match unsafe { self.0.native() } {
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
        self.0.thread.get().expect("it is written before there is a handle")
    }

    #[cfg(unix)]
    #[track_caller]
    pub(super) fn into_real(self) -> ::std::thread::JoinHandle<()> {
        self.real();
        let packet = self.into_packet();
        // SAFETY: this was the handle.
        match unsafe { packet.native() }.take() {
            Some(thread) => *thread,
            None => unreachable!("it has just been seen real"),
        }
    }

    #[track_caller]
    pub(super) fn is_finished(&self) -> bool {
        door::note_registers();
        match self.0.of_this_execution() {
            Some(id) => door::is_finished(id),
            None => self.0.is_alone(),
        }
    }

    #[track_caller]
    pub(super) fn join(self) -> Result<T> {
        let mut packet = self.into_packet();
        match packet.thread.get().and_then(Thread::modelled_as) {
            Some((id, epoch)) => join_modelled(id, epoch, packet.outcome.as_deref()),
            // SAFETY: this was the handle.
            None => join_real(unsafe { packet.native() }.take()),
        }
        match packet.get_mut().and_then(|packet| packet.result.get_mut().take()) {
            Some(Ok(value)) => Ok(value),
            // A destructor would panic at the error, and abort the process.
            Some(Err(payload)) if !door::given_up() => Err(payload),
            // The execution is being given up: the thread has not ended, or not by itself, or was never started.
            _ => {
                door::go_no_further(true);
                door::abandon("threads should not terminate unexpectedly")
            }
        }
    }
}

/// Waits for the end of a thread of the operating system.
#[cold]
fn join_real(thread: Option<Box<::std::thread::JoinHandle<()>>>) {
    if let Some(thread) = thread {
        thread.join().expect("a mirrored thread catches its panic");
    }
}

/// Waits for the end of a thread of an execution.
#[track_caller]
#[inline]
fn join_modelled(thread: door::ThreadId, epoch: u32, outcome: Option<&Outcome>) {
    door::join(thread, epoch);
    if let Some(outcome) = outcome {
        let by = door::current().map_or(0, |thread| thread.index() + 1);
        outcome.joined_by.set(by);
    }
}

/// Starts a thread of the running execution, and says in `thread` which it is. Apart from [`spawn_unchecked`], which is compiled anew for each kind of thread,
/// and with the user's flags.
#[track_caller]
#[inline(never)]
fn spawn_modelled(
    name: Option<String>,
    stack_size: Option<usize>,
    scope: Option<&Arc<ScopeData>>,
    outcome: Option<Arc<Outcome>>,
    main: ThreadMain,
    thread: &OnceCell<Thread>,
) {
    if let Some(name) = &name {
        CString::new(name.as_str()).expect("thread name may not contain interior null bytes");
    }
    let name: Option<Arc<str>> = name.map(Arc::from);
    door::know_panic_hook(crate::panic::call);
    crate::surroundings::number_thread();
    let (id, epoch) =
        door::spawn(name.clone(), stack_size, main).expect("the execution has just been seen active");
    if let (Some(scope), Some(outcome)) = (scope, outcome) {
        scope.add(id, outcome);
    }
    let _ = thread.set(Thread::modelled(id, epoch.get(), name));
}

/// No process has more addresses than this, so no thread has such a stack.
const MAX_STACK_SIZE: usize = if usize::BITS < 64 { isize::MAX as usize } else { isize::MAX as usize >> 16 };

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
        // It would go on while the next execution runs.
        door::leave_apart();
        // SAFETY: the caller's promise.
        return unsafe { spawn_real(name, stack_size, scope, f) };
    }
    if stack_size.is_some_and(|size| size > MAX_STACK_SIZE) {
        // As the system says it; the closure is dropped.
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let outcome = scope.map(|_| Arc::new(Outcome::default()));
    let (packet, theirs) = Half::pair(|| Packet::new(None, outcome.clone(), Closure::new(f)));
    spawn_modelled(name, stack_size, scope, outcome, Packet::main(theirs), &packet.thread);
    // SAFETY: the closure is gone when the thread is over.
    Ok(unsafe { JoinInner::new(packet) })
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
    let (packet, theirs): (Half<Packet<'scope, T, ()>>, _) =
        Half::pair(|| Packet::new(scope.cloned(), None, ()));
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
    let _ = packet.thread.set(Thread::real(native.thread().clone()));
    // SAFETY: this becomes the handle.
    *unsafe { packet.native() } = Some(Box::new(native));
    // SAFETY: there is no closure.
    Ok(unsafe { JoinInner::new(packet) })
}
