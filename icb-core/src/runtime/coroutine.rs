//! Coroutines and their stacks. Only this file and `overflow` below it know the crate `corosensei`.
//!
//! A coroutine loops over jobs instead of finishing, so that its stack, guard page included, is used again by later
//! executions without any call into the kernel.

mod overflow;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(super) use overflow::answer_first;
pub use overflow::running_stack;
pub(super) use overflow::{Fault, Trap, leave_at_faults, take_fault};

use super::allocator::aside;
use super::errno;
use super::panics::refuse;
use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine as Routine, CoroutineResult, Yielder};
use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::io;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// What a coroutine does between two visits to the pool.
pub(crate) trait Job: 'static {
    /// Does it, on the coroutine's stack. It must not unwind.
    fn run(self);
}

impl Job for Box<dyn FnOnce()> {
    fn run(self) {
        self();
    }
}

/// Whether the system gives a stack of so many bytes.
///
/// # Errors
/// What it says if it does not.
pub fn try_stack(stack_size: usize) -> io::Result<()> {
    DefaultStack::new(stack_size).map(drop)
}

type Suspender = Yielder<(), ()>;

/// A stack with a body that runs jobs. It stays where it is for as long as it lives, since whoever resumes it does so
/// through a pointer while its owner may be moved.
struct Inner<J> {
    routine: Routine<(), (), (), DefaultStack>,
    job: UnsafeCell<Option<J>>,
    control: Control,
    /// What there is to know of it while it runs.
    guard: overflow::Guard,
    /// In bytes.
    stack_size: usize,
}

/// The part that does not depend on the job.
struct Control {
    /// Leads from the body back to whoever resumed it; set as long as the body is not over.
    suspender: Cell<*const Suspender>,
    /// A job has begun and is not done.
    busy: Cell<bool>,
    quit: Cell<bool>,
}

/// A stack with a body that runs jobs.
pub(crate) struct Coroutine<J>(NonNull<Inner<J>>);

/// Why a coroutine came back to its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// It suspended, or its job is done.
    Suspended,
    /// Its stack overflowed, or it has accessed memory that is not there; it can never run again.
    Trapped,
}

impl<J: Job> Coroutine<J> {
    fn new(stack_size: usize, reserve: usize) -> Self {
        overflow::prepare();
        let stack = match DefaultStack::new(stack_size + reserve) {
            Ok(stack) => stack,
            Err(error) => refuse(&format!("no memory for a thread's stack of {stack_size} bytes: {error}")),
        };
        let addresses = stack.limit().get()..stack.base().get();
        let inner = NonNull::from(Box::leak(Box::<Inner<J>>::new_uninit())).cast::<Inner<J>>();
        let routine = Routine::with_stack(stack, move |suspender: &Suspender, ()| {
            // SAFETY: what is pointed to outlives the routine in it, and the fields that are referred to are cells, and not
            // the routine itself.
            let (job, control) = unsafe { (&(*inner.as_ptr()).job, &(*inner.as_ptr()).control) };
            control.suspender.set(suspender);
            while !control.quit.get() {
                // SAFETY: the owner writes the job only while this body is suspended.
                if let Some(job) = unsafe { (*job.get()).take() } {
                    control.busy.set(true);
                    job.run();
                    control.busy.set(false);
                }
                control.suspend();
            }
        });
        let control = Control {
            suspender: Cell::new(std::ptr::null()),
            busy: Cell::new(false),
            quit: Cell::new(false),
        };
        let guard = overflow::Guard::new(addresses, routine.trap_handler());
        let whole = Inner { routine, job: UnsafeCell::new(None), control, guard, stack_size };
        // SAFETY: allocated above for just this, and nobody has looked at it: the body has not begun.
        unsafe { inner.write(whole) };
        Coroutine(inner)
    }

    /// One that has been resumed once, without a job: what takes time at that does not take it in an execution.
    fn started(stack_size: usize, reserve: usize) -> Self {
        let coroutine = Self::new(stack_size, reserve);
        coroutine.resumption().resume();
        coroutine
    }

    fn control(&self) -> &Control {
        // SAFETY: valid until `self` is dropped; all of it is cells.
        unsafe { &(*self.0.as_ptr()).control }
    }

    /// In bytes.
    #[inline]
    pub(crate) fn stack_size(&self) -> usize {
        // SAFETY: as in `control`; never written.
        unsafe { (*self.0.as_ptr()).stack_size }
    }

    /// Gives it a job; it begins with the next [`resume`](Resumption::resume).
    #[inline]
    pub(crate) fn assign(&self, job: J) {
        // SAFETY: the body is suspended, since whoever owns it calls this; it has taken the job before.
        unsafe { (*self.0.as_ptr()).job.get().write(Some(job)) };
    }

    /// A way to resume it while its owner may be moved.
    #[inline]
    pub(crate) fn resumption(&self) -> Resumption<J> {
        Resumption(self.0)
    }

    /// A way to suspend it from inside.
    #[inline]
    pub(crate) fn suspension(&self) -> Suspension {
        Suspension(self.control())
    }

    /// Whether its job has begun and is not done.
    pub(crate) fn is_busy(&self) -> bool {
        self.control().busy.get()
    }
}

impl<J> Coroutine<J> {
    /// Gives the stack up with whatever stands on it, whose destructors are never run. Nobody may know of it any more, but something may: the stack
    /// stays what it is until many others have been given up.
    pub(crate) fn leak(self) {
        let inner = ManuallyDrop::new(self).0;
        let given_up = GivenUp { inner: inner.cast(), free: free::<J> };
        let oldest = {
            let mut all = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
            aside(|| all.push_back(given_up));
            if all.len() > MAX_GIVEN_UP { all.pop_front() } else { None }
        };
        if let Some(GivenUp { inner, free }) = oldest {
            // SAFETY: it was given up; nobody has resumed it since, or will.
            aside(|| unsafe { free(inner) });
        }
    }
}

/// Stacks that were given up and are kept, each two mappings of memory of which a process has 65,530.
const MAX_GIVEN_UP: usize = 8_000;

static GIVEN_UP: Mutex<VecDeque<GivenUp>> = Mutex::new(VecDeque::new());

struct GivenUp {
    inner: NonNull<()>,
    free: unsafe fn(NonNull<()>),
}

// SAFETY: nobody has it but this, and what it is made of (memory, and what the crate knows of it) belongs to no thread of the system.
unsafe impl Send for GivenUp {}

/// # Safety
/// It is an `Inner<J>`, and is never resumed again.
unsafe fn free<J>(inner: NonNull<()>) {
    // SAFETY: it came from a box, and nobody else has a pointer to it.
    let mut inner = unsafe { Box::from_raw(inner.cast::<Inner<J>>().as_ptr()) };
    // SAFETY: what stands on the stack is not dropped, as was said when it was given up.
    unsafe { inner.routine.force_reset() };
}

impl<J> Drop for Coroutine<J> {
    fn drop(&mut self) {
        // SAFETY: valid; all of it is cells.
        let control = unsafe { &(*self.0.as_ptr()).control };
        if control.busy.get() {
            // Half-way in a job: its stack is given up as it is.
            Coroutine(self.0).leak();
            return;
        }
        control.quit.set(true);
        // The body comes to its end.
        Resumption(self.0).resume();
        // SAFETY: it came from a box, and nobody else has a pointer to it any more: the body is over.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Resumes a coroutine. To be used while its owner has it, and not by itself.
pub(crate) struct Resumption<J>(NonNull<Inner<J>>);

impl<J> Resumption<J> {
    /// Runs it until it suspends.
    #[inline]
    pub(crate) fn resume(self) -> Return {
        // SAFETY: the owner keeps it alive, and a coroutine that is suspended is resumed by one caller only; the body does not
        // touch these fields.
        let (routine, guard) = unsafe { (&mut (*self.0.as_ptr()).routine, &(*self.0.as_ptr()).guard) };
        let before = overflow::enter(guard);
        let result = routine.resume(());
        overflow::leave(before);
        match result {
            CoroutineResult::Yield(()) => Return::Suspended,
            // It is over, or a signal has ended it.
            CoroutineResult::Return(()) => Return::Trapped,
        }
    }
}

impl Control {
    #[inline]
    fn suspend(&self) {
        let suspender = self.suspender.get();
        // SAFETY: `suspender` points to what the body was given, which lives as long as the body runs, and only the running body
        // calls this.
        errno::kept(|| unsafe { (*suspender).suspend(()) });
    }
}

/// Suspends the coroutine it belongs to. To be used on that coroutine's own stack only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspension(*const Control);

impl Suspension {
    /// Belongs to no coroutine.
    pub(crate) const NONE: Suspension = Suspension(std::ptr::null());

    /// Goes back to whoever resumed the coroutine; returns when it is resumed again.
    #[inline]
    pub(crate) fn suspend(self) {
        // SAFETY: the slot lives as long as its coroutine, on whose stack the caller runs.
        unsafe { (*self.0).suspend() };
    }
}

/// Coroutines that wait for a job.
pub(crate) struct Pool<J: Job> {
    idle: Vec<Coroutine<J>>,
    /// Those with larger stacks than the others.
    large: Vec<Coroutine<J>>,
    stack_size: usize,
    /// What the stacks have beyond the size that they are said to have.
    reserve: usize,
}

impl<J: Job> std::fmt::Debug for Pool<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("idle", &self.idle.len()).finish()
    }
}

impl<J: Job> Pool<J> {
    /// A pool of stacks of this size in bytes, each with a reserve beyond.
    pub(crate) const fn new(stack_size: usize, reserve: usize) -> Self {
        Pool { idle: Vec::new(), large: Vec::new(), stack_size, reserve }
    }

    /// A coroutine with the given job.
    pub(crate) fn take(&mut self, job: J, stack_size: Option<usize>) -> Coroutine<J> {
        let reserve = self.reserve;
        let coroutine = match stack_size {
            Some(size) if size > self.stack_size => {
                let fits = self.large.iter().position(|coroutine| coroutine.stack_size() >= size);
                fits.map_or_else(
                    || aside(|| Coroutine::started(size, reserve)),
                    |index| self.large.swap_remove(index),
                )
            }
            _ => self.idle.pop().unwrap_or_else(|| aside(|| Coroutine::started(self.stack_size, reserve))),
        };
        coroutine.assign(job);
        coroutine
    }

    /// Whether the coroutine has the stack that a thread gets that does not ask for a larger one.
    #[inline]
    pub(crate) fn is_ordinary(&self, coroutine: &Coroutine<J>) -> bool {
        coroutine.stack_size() <= self.stack_size
    }

    /// Takes back a coroutine whose job is done.
    pub(crate) fn put(&mut self, coroutine: Coroutine<J>) {
        let ordinary = self.is_ordinary(&coroutine);
        let list = if ordinary { &mut self.idle } else { &mut self.large };
        list.push(coroutine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn a_stack_runs_one_job_after_another() {
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024, 0);
        let log = Rc::new(std::cell::RefCell::new(vec![]));
        for round in 0..3 {
            let coroutine = pool.take(Box::new(|| {}), None);
            let suspension = coroutine.suspension();
            let inner = log.clone();
            coroutine.assign(Box::new(move || {
                inner.borrow_mut().push((round, 'a'));
                suspension.suspend();
                inner.borrow_mut().push((round, 'b'));
            }));
            assert_eq!(coroutine.resumption().resume(), Return::Suspended);
            log.borrow_mut().push((round, '-'));
            assert_eq!(coroutine.resumption().resume(), Return::Suspended);
            pool.put(coroutine);
        }
        assert_eq!(pool.idle.len(), 1);
        assert_eq!(log.borrow()[..4], [(0, 'a'), (0, '-'), (0, 'b'), (1, 'a')]);
    }

    /// What stands on a stack that was given up stays there for a while, and not for ever.
    #[test]
    #[cfg(target_os = "linux")]
    fn stacks_that_were_given_up_are_not_kept_for_ever() {
        let mappings = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024, 0);
        let mut give_up = |count| {
            for _ in 0..count {
                let coroutine = pool.take(Box::new(|| {}), None);
                let suspension = coroutine.suspension();
                coroutine.assign(Box::new(move || suspension.suspend()));
                assert_eq!(coroutine.resumption().resume(), Return::Suspended);
                assert!(coroutine.is_busy());
                coroutine.leak();
            }
        };
        give_up(MAX_GIVEN_UP);
        let before = mappings();
        give_up(1_000);
        assert!(mappings() < before + 200, "{before} mappings, and {} now", mappings());
    }

    #[test]
    fn large_stacks_are_used_again_and_not_for_others() {
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024, 0);
        for _ in 0..3 {
            let large = pool.take(Box::new(|| {}), Some(256 * 1024));
            let ordinary = pool.take(Box::new(|| {}), None);
            assert_eq!((large.stack_size(), ordinary.stack_size()), (256 * 1024, 64 * 1024));
            assert_eq!(
                (large.resumption().resume(), ordinary.resumption().resume()),
                (Return::Suspended, Return::Suspended)
            );
            pool.put(large);
            pool.put(ordinary);
        }
        assert_eq!((pool.large.len(), pool.idle.len()), (1, 1));
    }

    #[test]
    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn an_access_to_nothing_is_an_answer() {
        #[inline(never)]
        fn read(address: usize) -> u8 {
            // SAFETY: it is not; the signal is what is tested.
            unsafe { std::hint::black_box(std::ptr::with_exposed_provenance::<u8>(address)).read_volatile() }
        }
        leave_at_faults(|_| true);
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024, 0);
        // AArch64 takes no notice of an address's first byte.
        let beyond = cfg!(target_arch = "x86_64").then_some((1 << 63, None));
        for (address, known) in [(64, Some(64))].into_iter().chain(beyond) {
            let read = move || assert_eq!(read(std::hint::black_box(address)), 0);
            let coroutine = pool.take(Box::new(read), None);
            assert_eq!(coroutine.resumption().resume(), Return::Trapped);
            coroutine.leak();
            let fault = take_fault().unwrap();
            assert_eq!(fault.trap, Trap::Access { signal: "SIGSEGV", address: known });
            assert!(fault.stack().len() > 2, "{:?}", fault.stack());
            assert!(take_fault().is_none());
        }
    }

    #[test]
    fn an_overflow_is_an_answer() {
        #[expect(unconditional_recursion, reason = "it is the point")]
        fn deep(n: u64) -> u64 {
            std::hint::black_box([n; 64])[3] + deep(std::hint::black_box(n + 1))
        }
        leave_at_faults(|_| true);
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024, 0);
        let coroutine = pool.take(
            Box::new(|| {
                std::hint::black_box(deep(0));
            }),
            None,
        );
        assert_eq!(coroutine.resumption().resume(), Return::Trapped);
        coroutine.leak();
        let fault = take_fault().unwrap();
        assert_eq!(fault.trap, Trap::Overflow);
        if cfg!(target_os = "linux") {
            assert!(fault.stack().len() > 2, "{:?}", fault.stack());
        }
    }
}
