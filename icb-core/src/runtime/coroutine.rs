//! Coroutines and their stacks. The only file that knows the crate `generator`.
//!
//! A coroutine loops over jobs instead of finishing, so that its stack, guard page included, is used again by later
//! executions without any call into the kernel.

use super::allocator::aside;
use generator::{Generator, Gn, Scope};
use std::cell::{Cell, UnsafeCell};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;

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

type Suspender = Scope<'static, 'static, (), ()>;

/// A stack with a body that runs jobs. It stays where it is for as long as it lives, since whoever resumes it does so
/// through a pointer while its owner may be moved.
struct Inner<J> {
    generator: Generator<'static, (), ()>,
    job: UnsafeCell<Option<J>>,
    control: Control,
    /// In bytes.
    stack_size: usize,
}

/// The part that does not depend on the job.
struct Control {
    /// The body's scope while the body runs; leads back to whoever resumed it.
    suspender: Cell<*mut Suspender>,
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
    /// Its stack overflowed; it can never run again.
    Overflow,
}

struct SendPointer<J>(NonNull<Inner<J>>);
// SAFETY: the pointer is used only by the coroutine's body, which runs on the thread that owns the coroutine;
// `Coroutine` itself never leaves that thread (it lives in an execution that is neither `Send` nor shared).
unsafe impl<J> Send for SendPointer<J> {}

impl<J: Job> Coroutine<J> {
    fn new(stack_size: usize) -> Self {
        let words = stack_size.div_ceil(size_of::<usize>());
        // An odd number of words would make the crate fill the stack to measure its use.
        let words = (words + 1) & !1;
        let inner = NonNull::from(Box::leak(Box::<Inner<J>>::new_uninit())).cast::<Inner<J>>();
        let pointer = SendPointer(inner);
        let generator = Gn::<()>::new_scoped_opt(words, move |mut scope: Scope<'_, 'static, (), ()>| {
            let whole = pointer;
            let inner = whole.0;
            // SAFETY: what is pointed to outlives the generator in it, and the fields that are referred to are cells, and not
            // the generator itself.
            let (job, control) = unsafe { (&(*inner.as_ptr()).job, &(*inner.as_ptr()).control) };
            control.suspender.set((&raw mut scope).cast());
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
            suspender: Cell::new(std::ptr::null_mut()),
            busy: Cell::new(false),
            quit: Cell::new(false),
        };
        let whole = Inner { generator, job: UnsafeCell::new(None), control, stack_size };
        // SAFETY: allocated above for just this, and nobody has looked at it: the body has not begun.
        unsafe { inner.write(whole) };
        Coroutine(inner)
    }

    /// One that has been resumed once, without a job: what the crate waits for at that, it does not wait for in an
    /// execution.
    fn started(stack_size: usize) -> Self {
        let coroutine = Self::new(stack_size);
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

    /// Takes back a job that has not begun.
    pub(crate) fn unassign(&self) {
        // SAFETY: as in `assign`.
        drop(unsafe { (*(*self.0.as_ptr()).job.get()).take() });
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

    /// Gives the stack up for ever, with whatever stands on it, without running its destructors.
    pub(crate) fn leak(self) {
        std::mem::forget(self);
    }
}

impl<J> Drop for Coroutine<J> {
    fn drop(&mut self) {
        // SAFETY: valid; the body is suspended.
        let (control, generator) =
            unsafe { (&(*self.0.as_ptr()).control, &mut (*self.0.as_ptr()).generator) };
        if control.busy.get() {
            // Half-way in a job: its stack is given up as it is.
            return;
        }
        control.quit.set(true);
        generator.resume();
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
        // touch this field.
        let generator = unsafe { &mut (*self.0.as_ptr()).generator };
        let resumed = std::panic::catch_unwind(AssertUnwindSafe(|| generator.resume()));
        if resumed.is_ok() { Return::Suspended } else { Return::Overflow }
    }
}

impl Control {
    #[inline]
    fn suspend(&self) {
        let suspender = self.suspender.get();
        // SAFETY: `suspender` points to the body's scope, which lives as long as the body runs, and only the running
        // body calls this. The reference is made afresh for each suspension, and the scope is used for nothing else.
        unsafe { (*suspender).yield_with(()) };
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
}

impl<J: Job> std::fmt::Debug for Pool<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("idle", &self.idle.len()).finish()
    }
}

impl<J: Job> Pool<J> {
    /// A pool of stacks of this size in bytes.
    pub(crate) fn new(stack_size: usize) -> Self {
        Pool { idle: Vec::new(), large: Vec::new(), stack_size }
    }

    /// A coroutine with the given job.
    pub(crate) fn take(&mut self, job: J, stack_size: Option<usize>) -> Coroutine<J> {
        let coroutine = match stack_size {
            Some(size) if size > self.stack_size => {
                let fits = self.large.iter().position(|coroutine| coroutine.stack_size() >= size);
                fits.map_or_else(|| aside(|| Coroutine::started(size)), |index| self.large.swap_remove(index))
            }
            _ => self.idle.pop().unwrap_or_else(|| aside(|| Coroutine::started(self.stack_size))),
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
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024);
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

    #[test]
    fn large_stacks_are_used_again_and_not_for_others() {
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024);
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
    fn an_overflow_is_an_answer() {
        #[expect(unconditional_recursion, reason = "it is the point")]
        fn deep(n: u64) -> u64 {
            std::hint::black_box([n; 64])[3] + deep(std::hint::black_box(n + 1))
        }
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024);
        let coroutine = pool.take(
            Box::new(|| {
                std::hint::black_box(deep(0));
            }),
            None,
        );
        assert_eq!(coroutine.resumption().resume(), Return::Overflow);
        coroutine.leak();
    }
}
