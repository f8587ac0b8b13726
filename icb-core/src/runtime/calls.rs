//! The door for threads, pauses, choices, time, statics and thread-locals.

use super::execution::Execution;
use super::perform::{enter, enter_here, give_up, halt, pause_in_loop, perform, perform_join, stay};
use super::registers::Registers;
use super::running::{Running, running};
use super::thread_main::execution_is_unwinding;
use super::threads::Local;
use crate::trace::{Action, Failure, FailureKind, ObjectId, Operation, ThreadId};
use std::any::Any;
use std::mem::ManuallyDrop;
use std::num::NonZero;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// What can be done with a thread's closure, in memory that it shares with whoever joins the thread. One of the two is done, once,
/// and lets go of that memory. Neither unwinds.
#[derive(Debug)]
pub struct ThreadBody {
    /// Runs it.
    pub run: unsafe fn(NonNull<()>) -> ThreadEnd,
    /// Drops it: it will never run.
    pub discard: unsafe fn(NonNull<()>),
}

/// What a thread is going to do; dropped, it will never do it.
#[derive(Debug)]
pub struct ThreadMain {
    closure: NonNull<()>,
    body: &'static ThreadBody,
}

impl ThreadMain {
    /// To run this closure.
    ///
    /// # Safety
    /// The functions of `body` can be called with `closure` as long as one of them has not been called, on this thread of the operating system.
    #[must_use]
    #[inline]
    pub unsafe fn new(closure: NonNull<()>, body: &'static ThreadBody) -> Self {
        ThreadMain { closure, body }
    }

    #[inline]
    pub(super) fn call(self) -> ThreadEnd {
        let ThreadMain { closure, body } = *ManuallyDrop::new(self);
        // SAFETY: `new` has been promised that; nothing is left to drop.
        unsafe { (body.run)(closure) }
    }
}

impl Drop for ThreadMain {
    fn drop(&mut self) {
        // SAFETY: `new` has been promised that; whoever runs it does not drop it.
        unsafe { (self.body.discard)(self.closure) };
    }
}

/// How a thread ended.
#[derive(Debug)]
pub enum ThreadEnd {
    /// It returned.
    Returned,
    /// It panicked. What with, unless that is kept for whoever joins.
    Panicked(Option<Box<dyn Any + Send>>),
}

/// `thread::spawn`: the new thread will run `main`. The caller must make sure that what `main` borrows outlives
/// the thread (`thread::scope` does). `stack_size` in bytes. The answer is the thread and the [`epoch`] of the execution; `None`
/// outside one.
#[track_caller]
pub fn spawn(
    name: Option<Arc<str>>,
    stack_size: Option<usize>,
    main: ThreadMain,
) -> Option<(ThreadId, NonZero<u32>)> {
    let running = running()?;
    let location = Location::caller();
    let epoch = NonZero::new(running.quickly(|e| e.epoch))?;
    if running.quickly(|e| e.attention && e.giving_up) {
        // The execution is being given up: the thread never begins.
        return Some((running.with(|e| ThreadId::new(e.current)), epoch));
    }
    // The thread does not exist yet: its object is known only when the spawn takes effect.
    enter_here(running, || Operation::new(Action::Spawn, ObjectId::NONE), location.into());
    if running.quickly(|e| e.attention && e.giving_up) {
        return Some((running.with(|e| ThreadId::new(e.current)), epoch));
    }
    let mut job = main;
    if name.is_none() && stack_size.is_none() {
        match running.with(|e| e.spawn_shortly(location.into(), job)) {
            Ok(child) => return Some((child, epoch)),
            Err(same) => job = same,
        }
    }
    Some((create(running, name, stack_size, location, job), epoch))
}

/// A spawn's effect.
#[inline(never)]
fn create(
    running: &Running,
    name: Option<Arc<str>>,
    stack_size: Option<usize>,
    location: &'static Location<'static>,
    job: ThreadMain,
) -> ThreadId {
    if running.with(|e| e.thread_count) > crate::recording::MAX_THREADS {
        super::panics::refuse(&format!(
            "one execution has more than {} threads",
            crate::recording::MAX_THREADS
        ));
    }
    running.with(|e| {
        let child = e.create_thread(name, stack_size, Some(location.into()), job);
        e.finish_spawn(child);
        child
    })
}

/// Blocks until the thread of the execution with this epoch has ended. Its panic, if it had one, counts as handled.
#[track_caller]
pub fn join(thread: ThreadId, epoch: u32) {
    let Some(running) = running() else { return };
    if running.quickly(|e| e.epoch) != epoch {
        return;
    }
    perform_join(running, thread, Location::caller());
}

/// [`join`] by the end of a scope, which parks the calling thread until others have ended, but for their thread-locals.
#[track_caller]
pub fn join_parking(thread: ThreadId, epoch: u32) {
    let Some(running) = running() else { return };
    if running.quickly(|e| e.epoch) != epoch {
        return;
    }
    let known = running.with(|e| {
        e.threads[e.current].joins_left = true;
        e.threads[e.current].clock.clock.get(thread.index())
    });
    perform_join(running, thread, Location::caller());
    running.with(|e| {
        e.threads[e.current].joins_left = false;
        if e.threads[thread.index()].shared_clock().get(thread.index()) > known {
            e.note_parked_within();
        }
    });
}

/// Whether the thread has ended (`JoinHandle::is_finished`), a read of the thread. Where the caller cannot know it yet, it may also find
/// that the end of the thread, which is no step, is still to come, at a cost of 1.
#[track_caller]
#[must_use]
pub fn is_finished(thread: ThreadId) -> bool {
    look_at(thread, Execution::finish_is_finished)
}

/// A read of the thread, which depends on whether it has ended.
#[track_caller]
pub fn look_at_end(thread: ThreadId) {
    look_at(thread, Execution::finish_look_at_end);
}

#[track_caller]
fn look_at(thread: ThreadId, finish: impl FnOnce(&mut Execution, Operation) -> bool) -> bool {
    let Some(running) = running() else { return true };
    let location = Location::caller();
    let object = running.with(|e| e.threads[thread.index()].object);
    if running.quickly(|e| e.giving_up) {
        return true;
    }
    // Not a join: it never blocks, so it is announced as a plain read of the thread.
    let operation = Operation::new(Action::CountRead, object);
    enter(running, operation, location.into());
    if running.quickly(|e| e.giving_up) {
        return true;
    }
    running.with(|e| finish(e, operation))
}

/// The calling thread has found out, by means that are no step, that the thread has left it what it shared with it: what
/// the thread has done so far happens before what the caller does from now on. If it is the thread itself, its handle has been given up
/// before ([`let_go`]), and what it does next depends on that, and comes after it.
pub fn take_over(thread: ThreadId) {
    if let Some(running) = running() {
        running.with(|e| {
            if e.current == thread.index() {
                e.tell_freed(e.threads[thread.index()].object);
            }
            e.take_over(thread.index());
        });
    }
}

/// The calling thread is about to let go of what it shares with whoever joins it. If its thread-locals have something to do after that, this
/// is not part of its end, and whoever gives up the handle ([`let_go`]) finds out.
pub fn leave() {
    if let Some(running) = running() {
        running.with(|e| {
            let thread = &e.threads[e.current];
            if thread.locals.iter().any(|local| local.needs_drop) {
                e.tell_freed(thread.object);
            }
        });
    }
}

/// The calling thread has let go of what it shares with whoever joins it, and only its thread-locals have something to do yet: a scope does
/// not wait for that, and its handle says that it has finished.
pub fn has_left() {
    if let Some(running) = running() {
        running.with(|e| {
            if !e.giving_up && e.threads[e.current].locals.iter().any(|local| local.needs_drop) {
                e.leave_thread();
            }
        });
    }
}

/// The calling thread gives up its handle of a thread that it has not joined. Whether that has ended decides who frees what
/// they shared, and so what is ordered.
pub fn let_go(thread: ThreadId) {
    if let Some(running) = running() {
        running.with(|e| {
            if !e.giving_up && thread.index() < e.thread_count {
                e.give_up_handle(thread.index());
            }
        });
    }
}

/// Somebody has taken note of the thread's panic (a scope passes it on): it is not reported on its own.
pub fn panic_handled(thread: ThreadId) {
    if let Some(running) = running() {
        running.with(|e| e.threads[thread.index()].panic_handled = true);
    }
}

/// The calling thread. `None` outside an execution.
#[must_use]
pub fn current() -> Option<ThreadId> {
    running().map(|running| running.with(|e| ThreadId::new(e.current)))
}

/// The name that the calling thread was given when it was spawned.
#[must_use]
pub fn thread_name() -> Option<Arc<str>> {
    running()?.with(|e| e.threads[e.current].name.clone())
}

/// What the random numbers of the calling thread begin with: the same in every execution with the same seed.
#[must_use]
pub fn random_key() -> u64 {
    let seed = running().map_or(0, |running| {
        running.with(|e| {
            e.threads.mine().idle.spoil();
            e.settings.random_seed
        })
    });
    thread_key() ^ crate::mixing::mixed(seed)
}

/// A number that says which thread the caller is, by its parents and their spawns: the same in every execution. 0 outside
/// an execution.
#[must_use]
pub fn thread_key() -> u64 {
    let Some(running) = running() else { return 0 };
    running.with(|e| {
        let (mut key, mut thread) = (1_u64, e.current);
        while let Some(parent) = e.threads[thread].parent {
            key = key.rotate_left(5).wrapping_add(e.threads[thread].spawn_index + 1).wrapping_mul(KEY_FACTOR);
            thread = parent;
        }
        key
    })
}

/// Which thread it is, in every execution: the index of its spawn among those of its parent, after that of its parent, and so on up to the
/// main thread.
#[must_use]
pub fn thread_path(thread: ThreadId) -> Vec<u64> {
    let mut path = Vec::new();
    let Some(running) = running() else { return path };
    running.with(|e| {
        let mut thread = thread.index();
        while let Some(parent) = e.threads[thread].parent {
            path.push(e.threads[thread].spawn_index);
            thread = parent;
        }
    });
    path.reverse();
    path
}

/// Odd, and its bits are spread; any such number would do.
const KEY_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether the calling thread is unwinding. `None` outside an execution.
#[must_use]
pub fn panicking() -> Option<bool> {
    running().map(|running| running.with(execution_is_unwinding))
}

/// The calling thread has caught a panic; whether it was unwinding already when what panicked began.
pub fn caught(unwinding: bool) {
    if let Some(running) = running() {
        running.with(|e| e.threads[e.current].unwinding = unwinding);
    }
}

/// Runs `f`, which code calls that must not be unwound (it takes what calls `f` for a function of C). A thread that waits in
/// it when its execution is given up is left as it is, and so is its stack.
pub fn without_unwinding<R>(f: impl FnOnce() -> R) -> R {
    let Some(running) = running() else { return f() };
    let before = running.with(|e| std::mem::replace(&mut e.threads[e.current].in_foreign, true));
    let result = f();
    running.with(|e| e.threads[e.current].in_foreign = before);
    result
}

/// Whether the running execution is being given up.
#[must_use]
pub fn giving_up() -> bool {
    running().is_some_and(|running| running.quickly(|e| e.giving_up))
}

/// The calling thread, whose execution is given up, is unwound if it `can_unwind` and does not do so already; else it stays where it is,
/// with its stack. Returns if the execution is not given up, or the thread's stack is that of all threads.
pub fn go_no_further(can_unwind: bool) {
    let Some(running) = running().filter(|running| running.with(|e| e.giving_up)) else { return };
    if can_unwind {
        give_up(running);
    }
    if !running.with(|e| e.settings.sequential) {
        stay(running);
    }
}

/// What asks for as much time, 136 years, waits for ever: programs ask for `Duration::MAX`, which no clock can show.
pub(super) const FOR_EVER: Duration = Duration::from_secs(1 << 32);

/// The time after which a timed wait is over, if it ever is.
#[must_use]
pub fn limited(timeout: Option<Duration>) -> Option<Duration> {
    timeout.filter(|&timeout| timeout < FOR_EVER)
}

/// `thread::park` and `park_timeout`. `false` outside an execution.
#[track_caller]
pub fn park(timeout: Option<Duration>) -> bool {
    let Some(running) = running() else { return false };
    let timeout = limited(timeout);
    let operation = running.with(|e| {
        let me = e.current;
        e.set_timeout(timeout.unwrap_or_default());
        Operation::new(Action::Park { timed: timeout.is_some() }, e.token(me))
    });
    // Refused: there was a token, but it is gone.
    while perform(running, operation, Location::caller(), false) == super::object::Effect::Refused {}
    true
}

/// `Thread::unpark`.
#[track_caller]
pub fn unpark(thread: ThreadId) {
    let Some(running) = running() else { return };
    let object = running.with(|e| e.token(thread.index()));
    perform(running, Operation::new(Action::Unpark, object), Location::caller(), false);
}

/// `yield_now`, `spin_loop` and `sleep` (with its duration). `false` outside an execution.
/// `registers`: the caller's.
#[track_caller]
pub fn pause_with(action: Action, duration: Duration, registers: &Registers) -> bool {
    let Some(running) = running() else { return false };
    let action = running.with(|e| {
        e.threads.mine().comes_round = false;
        e.begin_sleep(action, duration).unwrap_or_else(|| {
            e.recognise_awaiting(Some(registers));
            action
        })
    });
    perform(running, Operation::new(action, ObjectId::NONE), Location::caller(), false);
    true
}

/// The program asks for something that no model has: the execution ends here. Returns outside an execution, and where the
/// thread unwinds.
#[track_caller]
pub fn outside(what: &str) {
    let Some(running) = running() else { return };
    if running.quickly(|e| e.giving_up) {
        return;
    }
    running.with(|e| {
        let mut failure = Failure::new(FailureKind::Blocked, format!("the test leaves the model: {what}"));
        failure.location = Some(Location::caller().into());
        e.fail(failure);
    });
    halt(running);
}

/// Tag of the first choice in the fingerprint, above those of all steps.
const CHOSEN: u64 = 1 << 32;

/// What a single choice may have: a larger one is made of several, digit by digit.
const DIGIT: u64 = 1 << 16;

/// `model::choose(n)`: every value below `n` is tried, at no cost. Outside an execution: 0.
#[track_caller]
#[must_use]
pub fn choose(n: usize) -> usize {
    let Some(running) = running() else { return 0 };
    let place = Location::caller().into();
    running.with(|e| {
        let chosen = e.choose_below(n as u64);
        e.observe_choice(n as u64, chosen, place);
        chosen as usize
    })
}

impl Execution {
    fn choose_below(&mut self, n: u64) -> u64 {
        if n < 2 || self.giving_up {
            return 0;
        }
        if n > DIGIT {
            let (last, rest) = ((n - 1) / DIGIT, (n - 1) % DIGIT);
            let high = self.choose_below(last + 1);
            return high * DIGIT + self.choose_below(if high == last { rest + 1 } else { DIGIT });
        }
        let index = self.branch(Operation::new(Action::Choose, ObjectId::NONE), n as u32, false);
        // Nothing else tells apart what the thread does with one number from what it does with another.
        self.threads.mine().hash.begin_step(CHOSEN + u64::from(index));
        u64::from(index)
    }
}

/// The date at which every execution begins, since the epoch of Unix: 1 January 2024.
pub const BEGIN_DATE: Duration = Duration::from_secs(1_704_067_200);

/// The virtual clock: time since the execution began. `None` outside an execution.
///
/// A thread that does nothing but read it, again and again, pauses now and then: else no time would ever pass.
#[must_use]
#[track_caller]
pub fn now() -> Option<Duration> {
    let running = running()?;
    if running.with(Execution::reads_clock_in_vain) {
        pause_in_loop(running, Location::caller().into());
    }
    Some(running.quickly(|e| {
        e.clock_read |= e.thread_count > 1;
        e.now
    }))
}

/// The virtual clock where time passes only when nobody can go on, so that it is known when: read by what waits for a time and is woken in vain. `None`
/// elsewhere.
#[must_use]
pub fn patient_now() -> Option<Duration> {
    running()?.quickly(|e| e.settings.auto_advance.then_some(e.now))
}

/// What the clocks that tell no date show when an execution begins.
pub const BEGIN_UPTIME: Duration = Duration::from_secs(1_000);

/// A number that is different in every execution of this process and never zero, to recognise state left over
/// from another one. Zero outside an execution.
#[must_use]
pub fn epoch() -> u32 {
    running().map_or(0, |running| running.quickly(|e| e.epoch))
}

/// Whether an object that is used in the running execution lies in static memory. The variable that it is a part of is
/// put back when the execution has ended.
#[must_use]
pub fn enter_static(address: *const ()) -> bool {
    let is_static = super::image::contains(address);
    if is_static && let Some(running) = running() {
        running.with(|e| e.statics.keep_variable(address));
    }
    is_static
}

/// Says that the value at this address is put back by the static object that it is in, with everything that an execution has
/// made inside. Does nothing outside an execution.
pub fn leave_value(address: *const (), size: usize) {
    if let Some(running) = running() {
        running.with(|e| e.statics.leave_value(address, size));
    }
}

/// Runs `action` when the running execution has ended and none of its threads runs any more; the place to put a
/// static object back to its initial value. Does nothing outside an execution.
pub fn on_execution_end(action: Box<dyn FnOnce()>) {
    if let Some(running) = running() {
        running.with(|e| e.at_end.push(None, action));
    }
}

/// The same for a static object with a value that is dropped then. Values that come and go while the program runs go first, since they may refer to
/// those that are made once, and stay (`is_made_once`); of these, those that were made last.
pub fn put_back_at_end(value: *const (), is_made_once: bool, action: Box<dyn FnOnce()>) {
    if let Some(running) = running() {
        running.with(|e| match is_made_once {
            true => e.at_end.push(Some(value.addr()), action),
            false => e.at_end.push_first(action),
        });
    }
}

/// The value of a static object is made, once and for all.
pub fn value_is_made(value: *const ()) {
    if let Some(running) = running() {
        running.with(|e| e.at_end.renew(value.addr()));
    }
}

/// The calling thread's value for a thread-local key (its address), if it has been set. `None` outside an
/// execution or when unset.
#[must_use]
pub fn local(key: *const ()) -> Option<*mut ()> {
    running()?.with(|e| {
        let locals = &e.threads[e.current].locals;
        locals.iter().find(|local| local.key == key && !local.gone).map(|local| local.value)
    })
}

/// Sets the calling thread's value for a key. `drop` is called with the value at the end of the thread or, for a thread
/// that never ends, never: values that need it are dropped the latest first, each unset before, as `std` does on Linux;
/// then those go whose destructors do nothing. `false` outside an execution.
pub fn set_local(key: *const (), value: *mut (), drop: unsafe fn(*mut ()), needs_drop: bool) -> bool {
    let Some(running) = running() else { return false };
    running.with(|e| {
        let current = e.current;
        e.threads[current].locals.push(Local { key, value, drop, needs_drop, gone: false });
    });
    true
}

/// Whether the calling thread's values are being dropped or gone (`LocalKey::try_with` fails for this key).
#[must_use]
pub fn local_destroyed(key: *const ()) -> bool {
    let Some(running) = running() else { return false };
    running.with(|e| e.threads[e.current].locals.iter().any(|local| local.key == key && local.gone))
}
