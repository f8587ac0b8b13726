//! `shuttle::scheduler`: there to be named. Nobody asks a scheduler here, not even one of the test's own; only the seed that
//! one was given has a meaning (see [`rand`](crate::rand)).

use std::fmt::Debug;
use std::io;
use std::path::Path;

pub use crate::current::TaskId;

/// Mirrors `shuttle::scheduler::Task`.
#[derive(Debug)]
pub struct Task {
    id: TaskId,
}

impl Task {
    /// Mirrors `Task::id`.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.id
    }
}

/// Mirrors `shuttle::scheduler::Scheduler`.
pub trait Scheduler {
    /// Mirrors `Scheduler::new_execution`. Never called.
    fn new_execution(&mut self) -> Option<Schedule>;

    /// Mirrors `Scheduler::next_task`. Never called.
    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId>;

    /// Mirrors `Scheduler::next_u64`. Never called.
    fn next_u64(&mut self) -> u64;

    /// What random numbers depend on.
    #[doc(hidden)]
    fn seed(&self) -> u64 {
        0
    }
}

impl Scheduler for Box<dyn Scheduler + Send> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.as_mut().new_execution()
    }

    fn next_task(
        &mut self,
        runnable_tasks: &[&Task],
        current_task: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.as_mut().next_task(runnable_tasks, current_task, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.as_mut().next_u64()
    }

    fn seed(&self) -> u64 {
        self.as_ref().seed()
    }
}

/// Mirrors `shuttle::scheduler::Schedule`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Mirrors `Schedule::seed`.
    pub seed: u64,
    length: usize,
}

impl Schedule {
    /// Mirrors `Schedule::new`.
    #[must_use]
    pub fn new(seed: u64) -> Schedule {
        Schedule { seed, length: 0 }
    }

    /// Mirrors `Schedule::new_from_task_ids`.
    pub fn new_from_task_ids<T>(seed: u64, task_ids: impl IntoIterator<Item = T>) -> Schedule
    where
        T: Into<TaskId>,
    {
        Schedule { seed, length: task_ids.into_iter().count() }
    }

    /// Mirrors `Schedule::push_task`.
    pub fn push_task(&mut self, _task: TaskId) {
        self.length += 1;
    }

    /// Mirrors `Schedule::push_random`.
    pub fn push_random(&mut self) {
        self.length += 1;
    }

    /// Mirrors `Schedule::len`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Mirrors `Schedule::is_empty`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Mirrors `shuttle::scheduler::DataSource`.
pub trait DataSource: Debug {
    /// Mirrors `DataSource::Seed`.
    type Seed: Clone;

    /// Mirrors `DataSource::initialize`.
    fn initialize(seed: Self::Seed) -> Self;

    /// Mirrors `DataSource::reinitialize`.
    fn reinitialize(&mut self) -> Self::Seed;

    /// Mirrors `DataSource::next_u64`.
    fn next_u64(&mut self) -> u64;
}

/// Mirrors `shuttle::scheduler::RandomDataSource`.
#[derive(Debug)]
pub struct RandomDataSource {
    state: u64,
}

impl DataSource for RandomDataSource {
    type Seed = u64;

    fn initialize(seed: u64) -> RandomDataSource {
        RandomDataSource { state: seed }
    }

    fn reinitialize(&mut self) -> u64 {
        self.state
    }

    fn next_u64(&mut self) -> u64 {
        crate::rand::next(&mut self.state)
    }
}

macro_rules! schedulers {
    ($($(#[$attribute:meta])* $name:ident { $($function:ident($($argument:ident: $type:ty),*) => $seed:expr;)* })*) => { $(
        #[doc = concat!("Mirrors `shuttle::scheduler::", stringify!($name), "`.")]
        $(#[$attribute])*
        #[derive(Debug)]
        pub struct $name {
            seed: u64,
        }

        impl $name {
            $(
                #[doc = concat!("Mirrors `", stringify!($name), "::", stringify!($function), "`.")]
                #[must_use]
                pub fn $function($($argument: $type),*) -> $name {
                    $name { seed: $seed }
                }
            )*
        }

        impl Scheduler for $name {
            fn new_execution(&mut self) -> Option<Schedule> {
                None
            }

            fn next_task(&mut self, _: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
                None
            }

            fn next_u64(&mut self) -> u64 {
                crate::rand::next(&mut self.seed)
            }

            fn seed(&self) -> u64 {
                self.seed
            }
        }
    )* };
}

schedulers! {
    RandomScheduler {
        new(_max_iterations: usize) => 0;
        new_from_seed(seed: u64, _max_iterations: usize) => seed;
    }
    UrwRandomScheduler {
        new(_max_iterations: usize) => 0;
        new_from_seed(seed: u64, _max_iterations: usize) => seed;
    }
    PctScheduler {
        new(_max_depth: usize, _max_iterations: usize) => 0;
        new_from_seed(seed: u64, _max_depth: usize, _max_iterations: usize) => seed;
    }
    DfsScheduler {
        new(_max_iterations: Option<usize>, _allow_random_data: bool) => 0;
    }
    RoundRobinScheduler {
        new(_max_iterations: usize) => 0;
    }
    /// Nothing is replayed: schedules of shuttle are not read.
    ReplayScheduler {
        new_from_encoded(_encoded_schedule: &str) => 0;
        new_from_schedule(_schedule: Schedule) => 0;
    }
}

impl ReplayScheduler {
    /// Mirrors `ReplayScheduler::new_from_file`. The file is not read.
    ///
    /// # Errors
    /// None.
    pub fn new_from_file<P: AsRef<Path>>(_path: P) -> io::Result<ReplayScheduler> {
        Ok(ReplayScheduler { seed: 0 })
    }

    /// Mirrors `ReplayScheduler::set_allow_incomplete`.
    pub fn set_allow_incomplete(&mut self) {}
}

macro_rules! wrappers {
    ($($name:ident)*) => { $(
        #[doc = concat!("Mirrors `shuttle::scheduler::", stringify!($name), "`.")]
        #[derive(Debug)]
        pub struct $name<S: ?Sized + Scheduler>(Box<S>);

        impl<S: Scheduler> $name<S> {
            #[doc = concat!("Mirrors `", stringify!($name), "::new`.")]
            pub fn new(inner: S) -> $name<S> {
                $name(Box::new(inner))
            }
        }

        impl<S: Scheduler> Scheduler for $name<S> {
            fn new_execution(&mut self) -> Option<Schedule> {
                self.0.new_execution()
            }

            fn next_task(&mut self, tasks: &[&Task], current: Option<TaskId>, yields: bool) -> Option<TaskId> {
                self.0.next_task(tasks, current, yields)
            }

            fn next_u64(&mut self) -> u64 {
                self.0.next_u64()
            }

            fn seed(&self) -> u64 {
                self.0.seed()
            }
        }
    )* };
}

wrappers! { AnnotationScheduler UncontrolledNondeterminismCheckScheduler }
