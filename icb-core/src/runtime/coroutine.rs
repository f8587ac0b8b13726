//! Coroutines and their stacks. The only file that knows the crate `generator`.
//!
//! A coroutine loops over jobs instead of finishing, so that its stack, guard page included, is used again by later
//! executions without any call into the kernel.

use super::allocator::aside;
use generator::{Generator, Gn, Scope};
use std::cell::{Cell, UnsafeCell};
use std::panic::AssertUnwindSafe;

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

/// Shared by a coroutine's body and its owner.
struct Slot<J> {
    job: UnsafeCell<Option<J>>,
    control: Control,
}

/// The part of a slot that does not depend on the job.
struct Control {
    /// The body's scope while the body runs; leads back to whoever resumed it.
    suspender: Cell<*mut Suspender>,
    quit: Cell<bool>,
}

/// A stack with a body that runs jobs.
pub(crate) struct Coroutine<J> {
    generator: Generator<'static, (), ()>,
    slot: Box<Slot<J>>,
    /// In bytes.
    pub(crate) stack_size: usize,
}

/// Why a coroutine came back to its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// It suspended, or its job is done.
    Suspended,
    /// Its stack overflowed; it can never run again.
    Overflow,
}

struct SendPointer<J>(*const Slot<J>);
// SAFETY: the pointer is used only by the coroutine's body, which runs on the thread that owns the coroutine;
// `Coroutine` itself never leaves that thread (it lives in a `Pool` that is neither `Send` nor shared).
unsafe impl<J> Send for SendPointer<J> {}

impl<J: Job> Coroutine<J> {
    fn new(stack_size: usize) -> Self {
        let slot: Box<Slot<J>> = Box::new(Slot {
            job: UnsafeCell::new(None),
            control: Control { suspender: Cell::new(std::ptr::null_mut()), quit: Cell::new(false) },
        });
        let pointer = SendPointer(&raw const *slot);
        let words = stack_size.div_ceil(size_of::<usize>());
        // An odd number of words would make the crate fill the stack to measure its use.
        let words = (words + 1) & !1;
        let generator = Gn::<()>::new_scoped_opt(words, move |mut scope: Scope<'_, 'static, (), ()>| {
            let pointer = pointer;
            // SAFETY: the slot is boxed and outlives the generator: `Coroutine` drops or leaks both together.
            let slot = unsafe { &*pointer.0 };
            slot.control.suspender.set((&raw mut scope).cast());
            while !slot.control.quit.get() {
                // SAFETY: the owner writes the job only while this body is suspended.
                if let Some(job) = unsafe { (*slot.job.get()).take() } {
                    job.run();
                }
                slot.control.suspend();
            }
        });
        Coroutine { generator, slot, stack_size }
    }

    /// One that has been resumed once, without a job: what the crate waits for at that, it does not wait for in an
    /// execution.
    fn started(stack_size: usize) -> Self {
        let mut coroutine = Self::new(stack_size);
        coroutine.resume();
        coroutine
    }

    /// Gives it a job; it begins with the next [`resume`](Self::resume).
    pub(crate) fn assign(&mut self, job: J) {
        // SAFETY: the body is suspended (it runs only inside `resume`, which borrows `self`).
        unsafe { *self.slot.job.get() = Some(job) };
    }

    /// Takes back a job that has not begun.
    pub(crate) fn unassign(&mut self) {
        // SAFETY: as in `assign`.
        drop(unsafe { (*self.slot.job.get()).take() });
    }

    /// Runs it until it suspends.
    #[inline]
    pub(crate) fn resume(&mut self) -> Return {
        let resumed = std::panic::catch_unwind(AssertUnwindSafe(|| self.generator.resume()));
        if resumed.is_ok() { Return::Suspended } else { Return::Overflow }
    }

    /// A way to suspend it from inside.
    pub(crate) fn suspension(&self) -> Suspension {
        Suspension(&raw const self.slot.control)
    }

    /// Gives the stack up for ever, with whatever stands on it, without running its destructors.
    pub(crate) fn leak(self) {
        std::mem::forget(self);
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
        let mut coroutine = match stack_size {
            Some(size) if size > self.stack_size => {
                let fits = self.large.iter().position(|coroutine| coroutine.stack_size >= size);
                fits.map_or_else(|| aside(|| Coroutine::started(size)), |index| self.large.swap_remove(index))
            }
            _ => self.idle.pop().unwrap_or_else(|| aside(|| Coroutine::started(self.stack_size))),
        };
        coroutine.assign(job);
        coroutine
    }

    /// Takes back a coroutine whose job is done.
    pub(crate) fn put(&mut self, coroutine: Coroutine<J>) {
        let list = if coroutine.stack_size > self.stack_size { &mut self.large } else { &mut self.idle };
        list.push(coroutine);
    }
}

impl<J: Job> Drop for Pool<J> {
    fn drop(&mut self) {
        for mut coroutine in self.idle.drain(..).chain(self.large.drain(..)) {
            coroutine.slot.control.quit.set(true);
            coroutine.resume();
        }
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
            let mut coroutine = pool.take(Box::new(|| {}), None);
            let suspension = coroutine.suspension();
            let inner = log.clone();
            coroutine.assign(Box::new(move || {
                inner.borrow_mut().push((round, 'a'));
                suspension.suspend();
                inner.borrow_mut().push((round, 'b'));
            }));
            assert_eq!(coroutine.resume(), Return::Suspended);
            log.borrow_mut().push((round, '-'));
            assert_eq!(coroutine.resume(), Return::Suspended);
            pool.put(coroutine);
        }
        assert_eq!(pool.idle.len(), 1);
        assert_eq!(log.borrow()[..4], [(0, 'a'), (0, '-'), (0, 'b'), (1, 'a')]);
    }

    #[test]
    fn large_stacks_are_used_again_and_not_for_others() {
        let mut pool: Pool<Box<dyn FnOnce()>> = Pool::new(64 * 1024);
        for _ in 0..3 {
            let mut large = pool.take(Box::new(|| {}), Some(256 * 1024));
            let mut ordinary = pool.take(Box::new(|| {}), None);
            assert_eq!((large.stack_size, ordinary.stack_size), (256 * 1024, 64 * 1024));
            assert_eq!((large.resume(), ordinary.resume()), (Return::Suspended, Return::Suspended));
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
        let mut coroutine = pool.take(
            Box::new(|| {
                std::hint::black_box(deep(0));
            }),
            None,
        );
        assert_eq!(coroutine.resume(), Return::Overflow);
        coroutine.leak();
    }
}
