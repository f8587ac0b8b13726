//! `thread::scope`. In an execution the threads that the scope's own thread has not joined are joined, one by one, when the closure has
//! returned or panicked; on real threads they are counted as in `std`. What the thread-locals of these threads do when they are dropped is not
//! waited for, and where a handle is forgotten (`mem::forget`) the scope never ends, as in `std`. That `std` parks the thread meanwhile, which
//! may cost it a token, is known to the runtime.

use super::packet::{JoinInner, Outcome};
use super::{Builder, Result, Thread, current};
use crate::door;
use crate::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use ::std::fmt;
use ::std::marker::PhantomData;
use ::std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use ::std::sync::{Arc, Mutex, PoisonError};

/// Mirrors `std::thread::Scope`.
pub struct Scope<'scope, 'env: 'scope> {
    data: Arc<ScopeData>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Mirrors `std::thread::ScopedJoinHandle`.
pub struct ScopedJoinHandle<'scope, T>(JoinInner<'scope, T>);

pub(super) struct ScopeData {
    num_running_threads: AtomicUsize,
    a_thread_panicked: AtomicBool,
    main_thread: Thread,
    /// Threads of the execution that have been spawned here and not been joined by the scope's end.
    spawned: Mutex<Vec<(door::ThreadId, Arc<Outcome>)>>,
}

impl ScopeData {
    pub(super) fn increment_num_running_threads(&self) {
        if self.num_running_threads.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            self.decrement_num_running_threads(false);
            panic!("too many running threads in thread scope");
        }
    }

    pub(super) fn decrement_num_running_threads(&self, panic: bool) {
        if panic {
            self.a_thread_panicked.store(true, Ordering::Relaxed);
        }
        if self.num_running_threads.fetch_sub(1, Ordering::Release) == 1 {
            self.main_thread.wake();
        }
    }

    /// A thread of the execution was spawned.
    pub(super) fn add(&self, thread: door::ThreadId, outcome: Arc<Outcome>) {
        self.spawned.lock().unwrap_or_else(PoisonError::into_inner).push((thread, outcome));
    }

    fn take_spawned(&self) -> Vec<(door::ThreadId, Arc<Outcome>)> {
        ::std::mem::take(&mut self.spawned.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for every thread of the execution that was spawned here, also by one another.
    #[track_caller]
    fn join_spawned(&self) {
        let mut borrowers = Borrowers { data: self, threads: Vec::new() };
        let mut joined = 0;
        loop {
            borrowers.threads.append(&mut self.take_spawned());
            // Each after its parent, and before what younger siblings of that have spawned here: an order that does not depend on which of
            // them was quicker.
            let left = &mut borrowers.threads[joined..];
            left.sort_by_cached_key(|(thread, _)| door::thread_path(*thread));
            let Some((thread, outcome)) = left.first() else { break };
            // Whether others have joined it by now is not asked: that would be known in some order of the two only.
            if outcome.joined_by() != door::current() {
                door::join_parking(*thread, door::epoch());
            }
            joined += 1;
        }
        borrowers.check();
        // A handle that is forgotten keeps what its thread is counted by.
        if !door::giving_up() && borrowers.threads.iter().any(|(_, outcome)| !outcome.gone()) {
            door::current().inspect(|me| door::join(*me, door::epoch()));
        }
        // All who could have joined one of them have ended.
        for (thread, outcome) in &borrowers.threads {
            if outcome.joined_by().is_none() && outcome.panicked() {
                door::panic_handled(*thread);
                self.a_thread_panicked.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// The threads that still use what the scope's caller owns. An execution that is given up unwinds its threads in
/// some order; the caller must not be unwound past the scope before them.
struct Borrowers<'a> {
    data: &'a ScopeData,
    threads: Vec<(door::ThreadId, Arc<Outcome>)>,
}

impl Borrowers<'_> {
    fn check(&self) {
        if self.threads.iter().any(|(_, outcome)| !outcome.over()) {
            door::abandon("a scoped thread has not ended");
        }
    }
}

impl Drop for Borrowers<'_> {
    fn drop(&mut self) {
        self.threads.append(&mut self.data.take_spawned());
        self.check();
    }
}

/// Mirrors `std::thread::scope`.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        data: Arc::new(ScopeData {
            num_running_threads: AtomicUsize::new(0),
            a_thread_panicked: AtomicBool::new(false),
            main_thread: current::current(),
            spawned: Mutex::new(Vec::new()),
        }),
        env: PhantomData,
        scope: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if door::active() {
        scope.data.join_spawned();
    } else {
        while scope.data.num_running_threads.load(Ordering::Acquire) != 0 {
            ::std::thread::park();
        }
    }
    match result {
        Err(panic) => resume_unwind(panic),
        Ok(_) if scope.data.a_thread_panicked.load(Ordering::Relaxed) => {
            panic!("a scoped thread panicked")
        }
        Ok(result) => result,
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    pub(super) fn data(&self) -> &Arc<ScopeData> {
        &self.data
    }

    /// Mirrors `std::thread::Scope::spawn`.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new().spawn_scoped(self, f).expect("failed to spawn thread")
    }
}

impl<'scope, T> ScopedJoinHandle<'scope, T> {
    pub(super) fn new(inner: JoinInner<'scope, T>) -> Self {
        ScopedJoinHandle(inner)
    }

    /// Mirrors `std::thread::ScopedJoinHandle::thread`.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        self.0.thread()
    }

    /// Mirrors `std::thread::ScopedJoinHandle::join`.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Mirrors `std::thread::ScopedJoinHandle::is_finished`.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("num_running_threads", &self.data.num_running_threads.load(Ordering::Relaxed))
            .field("a_thread_panicked", &self.data.a_thread_panicked.load(Ordering::Relaxed))
            .field("main_thread", &self.data.main_thread)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
