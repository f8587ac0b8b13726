//! What belongs to one execution: its stream of random numbers, the threads and tasks that it has to wait for, and their
//! labels. All threads of an execution take turns on one thread of the system, so this lies there.

use crate::current::{Labels, TaskId};
use crate::future::Control;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

pub(crate) use door::{number_of, thread_key};

/// Streams of random numbers that a check is explored with, if it draws any.
pub(crate) const STREAM_COUNT: usize = 16;

/// Executions of this process.
static EXECUTION_COUNT: AtomicUsize = AtomicUsize::new(0);

#[derive(Default)]
struct World {
    stream: u64,
    started: VecDeque<Started>,
    labels: BTreeMap<TaskId, Labels>,
}

/// What has to end before an execution may.
pub(crate) enum Started {
    /// A thread, until it has been joined.
    Thread(icb_std::thread::Thread, Arc<AtomicBool>),
    /// A task, until its handle is dropped.
    Task(Arc<Control>),
}

std::thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

/// Puts an execution's things away, when it ends or is given up.
struct Tidy;

impl Drop for Tidy {
    fn drop(&mut self) {
        drop(WORLD.take());
    }
}

/// One execution of `f`. It has ended when all threads have, and all tasks whose handles have not been dropped.
#[track_caller]
pub(crate) fn run(f: &dyn Fn(), seed: u64, stream_count: usize) {
    EXECUTION_COUNT.fetch_add(1, Ordering::Relaxed);
    let stream = icb_std::model::choose(stream_count) as u64;
    drop(WORLD.take());
    WORLD.with_borrow_mut(|world| world.stream = seed.wrapping_mul(STREAM_COUNT as u64).wrapping_add(stream));
    let _tidy = Tidy;
    f();
    while let Some(started) = WORLD.with_borrow_mut(|world| world.started.pop_front()) {
        match started {
            Started::Thread(_, joined) if joined.load(Ordering::Relaxed) => {}
            Started::Thread(thread, _) => door::wait(&thread),
            Started::Task(task) => task.wait(),
        }
    }
}

/// Whether somebody draws a random number meanwhile.
pub(crate) fn draws(f: impl FnOnce()) -> bool {
    crate::rand::DRAWN.store(false, Ordering::Relaxed);
    f();
    crate::rand::DRAWN.load(Ordering::Relaxed)
}

pub(crate) fn execution_count() -> usize {
    EXECUTION_COUNT.load(Ordering::Relaxed)
}

/// What random numbers depend on, in the running execution.
pub(crate) fn stream() -> u64 {
    WORLD.with_borrow(|world| world.stream)
}

/// The execution does not end before this has.
pub(crate) fn add(started: Started) {
    if crate::current::try_get_current_task().is_some() {
        WORLD.with_borrow_mut(|world| world.started.push_back(started));
    }
}

/// The labels of a task.
pub(crate) fn with_labels<R>(task: TaskId, f: impl FnOnce(&mut Labels) -> R) -> R {
    WORLD.with_borrow_mut(|world| f(world.labels.entry(task).or_default()))
}

/// A copy of a task's labels, if it has any.
pub(crate) fn labels(task: TaskId) -> Option<Labels> {
    WORLD.with_borrow(|world| world.labels.get(&task).cloned())
}

/// What `icb_std` offers to nobody else.
#[cfg(icb)]
mod door {
    use icb_std::thread::Thread;

    pub(crate) use icb_std::__private::thread_key;

    /// Its place in the order of spawns.
    pub(crate) fn number_of(thread: &Thread) -> usize {
        thread.__number().unwrap_or(0)
    }

    #[track_caller]
    pub(super) fn wait(thread: &Thread) {
        thread.__wait();
    }
}

/// Where nothing is explored, a check runs its closure once, and waits for nothing.
#[cfg(not(icb))]
mod door {
    use icb_std::thread::Thread;

    pub(crate) fn thread_key() -> u64 {
        0
    }

    pub(crate) fn number_of(_: &Thread) -> usize {
        0
    }

    pub(super) fn wait(_: &Thread) {}
}
