//! `shuttle::current`: which task runs, and labels of tasks. Labels are notes for people: that one task sees what another
//! has written there is nothing that is explored.

use crate::sync::Arc;
use crate::world;
use icb_std::sync::atomic::{AtomicUsize, Ordering};
use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;

/// Mirrors `shuttle::current::TaskId`: the place of a thread or task in the order of spawns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(usize);

impl From<usize> for TaskId {
    fn from(number: usize) -> TaskId {
        TaskId(number)
    }
}

impl From<TaskId> for usize {
    fn from(id: TaskId) -> usize {
        id.0
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match get_name_for_task(*self) {
            Some(name) => write!(f, "{name:?}({})", self.0),
            None => f.debug_tuple("TaskId").field(&self.0).finish(),
        }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Mirrors `shuttle::current::me`.
#[must_use]
pub fn me() -> TaskId {
    TaskId(world::number_of(&icb_std::thread::current()))
}

/// Mirrors `shuttle::current::get_current_task`.
#[must_use]
pub fn get_current_task() -> Option<TaskId> {
    Some(me())
}

/// Mirrors `shuttle::current::try_get_current_task`.
#[must_use]
pub fn try_get_current_task() -> Option<TaskId> {
    is_in_a_model().then(me)
}

#[cfg(icb)]
fn is_in_a_model() -> bool {
    icb_std::__private::active()
}

#[cfg(not(icb))]
fn is_in_a_model() -> bool {
    false
}

static CALL_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Mirrors `shuttle::current::context_switches`: a number that grows from call to call, whoever calls. In which order threads
/// call is explored.
#[track_caller]
pub fn context_switches() -> usize {
    CALL_COUNT.fetch_add(1, Ordering::SeqCst)
}

/// Mirrors `shuttle::current::reset_step_count`. Does nothing.
pub fn reset_step_count() {}

/// A label.
trait Label: Any {
    fn copy(&self) -> Box<dyn Label>;
}

impl<T: Clone + 'static> Label for T {
    fn copy(&self) -> Box<dyn Label> {
        Box::new(self.clone())
    }
}

/// Mirrors `shuttle::current::Labels`: at most one value of each type.
#[derive(Default)]
pub struct Labels {
    values: BTreeMap<TypeId, Box<dyn Label>>,
}

/// What lies under the type's own id.
fn typed<T: 'static>(label: Box<dyn Label>) -> Option<T> {
    (label as Box<dyn Any>).downcast::<T>().ok().map(|value| *value)
}

impl Labels {
    /// Mirrors `Labels::new`.
    #[must_use]
    pub fn new() -> Labels {
        Labels::default()
    }

    /// Mirrors `Labels::insert`.
    pub fn insert<T: Clone + 'static>(&mut self, value: T) -> Option<T> {
        self.values.insert(TypeId::of::<T>(), Box::new(value)).and_then(typed)
    }

    /// Mirrors `Labels::get`.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        (&**self.values.get(&TypeId::of::<T>())? as &dyn Any).downcast_ref()
    }

    /// Mirrors `Labels::get_mut`.
    pub fn get_mut<T: 'static>(&mut self) -> Option<&mut T> {
        (&mut **self.values.get_mut(&TypeId::of::<T>())? as &mut dyn Any).downcast_mut()
    }

    /// Mirrors `Labels::get_or_insert_with`.
    ///
    /// # Panics
    /// Never.
    pub fn get_or_insert_with<T: Clone + 'static, F: FnOnce() -> T>(&mut self, f: F) -> &mut T {
        self.values.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(f()));
        self.get_mut().expect("it has just been put there")
    }

    /// Mirrors `Labels::get_or_insert`.
    pub fn get_or_insert<T: Clone + 'static>(&mut self, value: T) -> &mut T {
        self.get_or_insert_with(|| value)
    }

    /// Mirrors `Labels::get_or_insert_default`.
    pub fn get_or_insert_default<T: Default + Clone + 'static>(&mut self) -> &mut T {
        self.get_or_insert_with(T::default)
    }

    /// Mirrors `Labels::remove`.
    pub fn remove<T: 'static>(&mut self) -> Option<T> {
        self.values.remove(&TypeId::of::<T>()).and_then(typed)
    }

    /// Mirrors `Labels::clear`.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Mirrors `Labels::is_empty`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Mirrors `Labels::len`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Mirrors `Labels::extend`.
    pub fn extend(&mut self, other: Labels) {
        self.values.extend(other.values);
    }
}

impl Clone for Labels {
    fn clone(&self) -> Labels {
        Labels { values: self.values.iter().map(|(id, label)| (*id, (**label).copy())).collect() }
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Labels").finish_non_exhaustive()
    }
}

/// Mirrors `shuttle::current::with_labels_for_task`.
pub fn with_labels_for_task<F, T>(task: TaskId, f: F) -> T
where
    F: FnOnce(&mut Labels) -> T,
{
    world::with_labels(task, f)
}

/// Mirrors `shuttle::current::get_label_for_task`.
#[must_use]
pub fn get_label_for_task<T: Clone + fmt::Debug + 'static>(task: TaskId) -> Option<T> {
    world::labels(task).and_then(|labels| labels.get().cloned())
}

/// Mirrors `shuttle::current::set_label_for_task`.
pub fn set_label_for_task<T: Clone + fmt::Debug + 'static>(task: TaskId, value: T) -> Option<T> {
    world::with_labels(task, |labels| labels.insert(value))
}

/// Mirrors `shuttle::current::remove_label_for_task`.
pub fn remove_label_for_task<T: Clone + fmt::Debug + 'static>(task: TaskId) -> Option<T> {
    world::with_labels(task, Labels::remove)
}

/// Mirrors `shuttle::current::get_name_for_task`.
#[must_use]
pub fn get_name_for_task(task: TaskId) -> Option<TaskName> {
    get_label_for_task(task)
}

/// Mirrors `shuttle::current::set_name_for_task`.
pub fn set_name_for_task(task: TaskId, name: impl Into<TaskName>) -> Option<TaskName> {
    set_label_for_task(task, name.into())
}

/// Mirrors `shuttle::current::TaskName`.
#[derive(Clone, PartialEq, Eq)]
pub struct TaskName(String);

impl From<String> for TaskName {
    fn from(name: String) -> TaskName {
        TaskName(name)
    }
}

impl From<&str> for TaskName {
    fn from(name: &str) -> TaskName {
        TaskName(name.to_owned())
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> String {
        name.0
    }
}

impl<'a> From<&'a TaskName> for &'a String {
    fn from(name: &'a TaskName) -> &'a String {
        &name.0
    }
}

impl fmt::Debug for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Mirrors `shuttle::current::ChildLabelFn`: what becomes of a task's labels in the tasks that it spawns.
#[derive(Clone)]
#[expect(clippy::type_complexity, reason = "that is shuttle's")]
pub struct ChildLabelFn(pub Arc<dyn Fn(TaskId, &mut Labels) + 'static>);

impl fmt::Debug for ChildLabelFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChildLabelFn")
    }
}

/// Labels on their way to a task that is being spawned. All threads of an execution are on one thread of the system.
pub(crate) struct Inherited(Option<Labels>);

// SAFETY: a thread that is spawned in an execution runs on the thread of the system that it is spawned on, and outside of one
// there are no labels: nothing is sent.
unsafe impl Send for Inherited {}

/// What a task that the calling one spawns begins with.
pub(crate) fn labels_to_inherit() -> Inherited {
    Inherited(try_get_current_task().and_then(world::labels))
}

/// A task begins.
pub(crate) fn inherit(parent: Inherited, name: Option<String>) {
    let Some(task) = try_get_current_task().filter(|_| parent.0.is_some() || name.is_some()) else { return };
    let change = parent.0.as_ref().and_then(|labels| labels.get::<ChildLabelFn>().cloned());
    let mut labels = parent.0.unwrap_or_default();
    if let Some(change) = change {
        (change.0)(task, &mut labels);
    }
    if let Some(name) = name {
        labels.insert(TaskName::from(name));
    }
    world::with_labels(task, |own| *own = labels);
}
