//! The way of one operation: announce, decide, perhaps suspend, apply.

use super::execution::{Execution, GiveUp, Next};
use super::object::Effect;
use super::running::Running;
use super::thread_main::execution_is_unwinding;
use super::threads::{Life, Readiness, Thread};
use crate::program::Place;
use crate::trace::{Action, ObjectId, Operation, ThreadId};
use std::panic::Location;
use std::time::Duration;

/// Whether a loop around the operation, without a hint, could be waiting for something.
#[inline]
const fn may_be_spun_on(action: Action) -> bool {
    matches!(
        action,
        Action::Load(_)
            | Action::CompareExchange { .. }
            | Action::ReadModifyWrite(_)
            | Action::Lock
            | Action::TryLock
            | Action::ReadLock
            | Action::TryReadLock
            | Action::WriteLock
            | Action::TryWriteLock
            | Action::TryReceive
            | Action::OnceCheck
            | Action::CountRead
            | Action::IsPoisoned
    )
}

/// Announces an operation and returns when its thread has been chosen to take it.
#[inline(never)]
pub(super) fn enter(running: &Running, operation: Operation, place: Place) {
    enter_here(running, || operation, place);
}

/// [`enter`], compiled anew for the caller, who knows the action: it makes the operation wherever that is asked for, so that what depends on
/// the action alone is decided when this is compiled.
#[inline(always)]
pub(super) fn enter_here(running: &Running, operation: impl Fn() -> Operation, place: Place) {
    if running.quickly(|e| e.attention) {
        return enter_attentively(running, operation(), place);
    }
    enter_usually(running, operation(), place);
}

/// The way of nearly every operation.
#[inline(always)]
fn enter_usually(running: &Running, operation: Operation, place: Place) {
    // SAFETY: what is called with it neither leads back here nor switches; it is not used after the decision.
    let e = unsafe { running.get() };
    running.at_work.set(true);
    let me = e.current;
    e.announce(operation, place);
    if may_be_spun_on(operation.action) {
        e.recognise_spinning();
    }
    let next = e.decide();
    if next == Next::Suspend {
        e.stand_back(me, operation.action);
    }
    running.at_work.set(false);
    if next == Next::Suspend {
        suspend(running, me);
    }
}

/// [`enter`], where something is not as usual.
#[inline(never)]
fn enter_attentively(running: &Running, operation: Operation, place: Place) {
    if running.with(|e| !e.wants_more || e.only_tells_now()) {
        return enter_usually(running, operation, place);
    }
    if running.quickly(|e| e.giving_up) {
        return count_while_giving_up(running);
    }
    if running.with(Execution::is_beyond_stack) {
        running.with(Execution::fail_by_overflow);
        return halt(running);
    }
    if running.with(|e| e.freed.is_some() && e.must_give_way(operation, place)) {
        give_way(running, place);
    }
    if running.with(|e| e.must_pause(operation)) {
        pause_in_loop(running, place);
    }
    let (next, me) = running.with(|e| {
        let me = e.current;
        if e.end.is_some() {
            // The operation's object is gone, or something was freed twice.
            return (Next::Suspend, Some(me));
        }
        e.announce(operation, place);
        if e.threads.mine().spins.has_secrets() {
            e.keep_or_tell_secrets(operation.action);
        }
        if may_be_spun_on(operation.action) {
            e.recognise_spinning();
        }
        // What is noted of it may be from when it waited.
        if e.threads[me].unwinding && execution_is_unwinding(e) {
            if e.readiness(me) == Readiness::Ready {
                e.take_undecided();
                return (Next::Stay, None);
            }
            // Had what it waits for come before its last step, this would be a part of that, and nobody could come in between.
            for object in [operation.object, operation.other] {
                if object.is_some() {
                    e.tell_looked_at(object);
                }
            }
        }
        match e.decide() {
            Next::Stay => (Next::Stay, None),
            Next::Suspend => {
                e.stand_back(me, operation.action);
                if e.observer.is_some() {
                    // `current` is the one who goes on.
                    e.note_stack(me);
                }
                (Next::Suspend, Some(me))
            }
        }
    });
    if next == Next::Suspend {
        if let Some(me) = me {
            suspend(running, me);
        } else {
            resumed(running);
        }
    }
}

/// The running thread pauses before its operation, because it is going round and others can go on.
#[cold]
fn give_way(running: &Running, place: Place) {
    running.with(Execution::begin_giving_way);
    pause_unasked(running, Action::Yield, place);
}

/// The running thread has come round in a loop that does not pause by itself: it does now.
#[cold]
pub(super) fn pause_in_loop(running: &Running, place: Place) {
    let pause = running.with(|e| {
        e.begin_sleep(Action::Yield, Duration::ZERO).unwrap_or_else(|| {
            e.recognise_awaiting(None);
            Action::Yield
        })
    });
    pause_unasked(running, pause, place);
}

/// The running thread pauses before its operation, although the program does not say so.
#[cold]
fn pause_unasked(running: &Running, action: Action, place: Place) {
    let pause = Operation::new(action, ObjectId::NONE);
    enter_attentively(running, pause, place);
    running.with(|e| {
        if !e.giving_up {
            e.apply(pause, false);
        }
    });
}

/// The thread runs again: it has been chosen, or the execution is being given up.
#[inline]
fn resumed(running: &Running) {
    if running.quickly(|e| e.giving_up) {
        resumed_to_end(running);
    }
}

#[cold]
fn resumed_to_end(running: &Running) {
    if running.with(|e| e.threads[e.current].in_hook) {
        // The hook returns, and the thread unwinds at its next operation.
        running.with(|e| e.threads[e.current].unwinds_late = true);
    } else {
        give_up(running);
    }
}

/// The execution has ended at this step: the thread does not go on.
#[cold]
pub(super) fn halt(running: &Running) {
    suspend(running, running.quickly(|e| e.current));
}

/// The thread `me`, which is the one that calls, does not go on until it is chosen. A part of the caller: each function that returns
/// after a switch returns to where the processor does not expect it.
#[inline(always)]
pub(super) fn suspend(running: &Running, me: usize) {
    let marker = 0u8;
    running.quickly(|e| e.threads[me].stack_top = (&raw const marker).addr());
    if running.quickly(|e| e.settings.sequential) {
        super::sequential::wait(running, me);
    } else {
        running.quickly(|e| e.threads[me].suspension).suspend();
    }
    resumed(running);
}

/// Unwinds the calling thread, whose execution is given up. If it is unwinding already, returns: it goes on doing so,
/// and its operations are answered at once.
#[cold]
pub(super) fn give_up(running: &Running) {
    // Asked of the thread itself: `std::thread::panicking` is one flag for all that share this OS thread.
    if !running.with(|e| execution_is_unwinding(e) || unwinds_unnoticed(e)) {
        std::panic::resume_unwind(Box::new(GiveUp));
    }
}

/// Whether the calling thread unwinds although no panic was seen to begin: it has resumed one. Some thread unwinds, and
/// none of those that are known to.
fn unwinds_unnoticed(e: &Execution) -> bool {
    let known = |thread: &Thread| thread.unwinding && thread.life == Life::Live;
    std::thread::panicking() && !e.threads.iter().take(e.thread_count).any(known)
}

/// Counts an operation of a thread that is on its way to its end because the execution is given up. One that was in the middle of a panic of its
/// own, has caught that and gone on is unwound after a while. A loop among its destructors would never end: then its stack is given up as it is.
#[cold]
fn count_while_giving_up(running: &Running) {
    /// More operations than come after most panics.
    const MAX_ON_ITS_WAY: u32 = 10_000;
    /// More than any destructor needs.
    const MAX_STEPS: u32 = 100_000;
    let (unwinds, steps) = running.with(|e| {
        e.give_up_steps += 1;
        (std::mem::take(&mut e.threads[e.current].unwinds_late), e.give_up_steps)
    });
    if unwinds || steps == MAX_ON_ITS_WAY {
        give_up(running);
    }
    if steps > MAX_STEPS && !running.with(|e| e.settings.sequential) {
        stay(running);
    }
}

/// The calling thread, whose execution is given up, goes no further, and its stack stays as it is.
#[cold]
pub(super) fn stay(running: &Running) -> ! {
    running.with(|e| {
        // It may be in the middle of a panic, which it never catches: this is not taken for one of those that are unwound after it.
        if std::thread::panicking() {
            e.left_panicking = true;
            e.threads[e.current].unwinding = true;
        }
    });
    loop {
        running.with(|e| e.threads[e.current].suspension).suspend();
    }
}

/// Performs an operation whose effect is the runtime's alone.
#[inline(never)]
pub(super) fn perform(
    running: &Running,
    operation: Operation,
    location: &'static Location<'static>,
    changed: bool,
) -> Effect {
    perform_here(running, || operation, location, changed)
}

/// [`perform`], compiled anew for the caller, who knows the action.
#[inline(always)]
pub(super) fn perform_here(
    running: &Running,
    operation: impl Fn() -> Operation,
    location: &'static Location<'static>,
    changed: bool,
) -> Effect {
    if running.quickly(|e| e.attention && e.giving_up) {
        return while_giving_up(running, operation().action);
    }
    enter_here(running, &operation, location.into());
    let operation = operation();
    if running.quickly(|e| e.attention && e.giving_up) {
        return while_giving_up(running, operation.action);
    }
    // SAFETY: the effects of operations neither lead back here nor switch.
    let e = unsafe { running.get() };
    running.at_work.set(true);
    let done = match operation.action {
        Action::Lock => e.lock_shortly(operation.object),
        Action::Unlock => e.unlock_shortly(operation.object, changed),
        Action::Wait { .. } => e.wait_shortly(operation.object, operation.other),
        Action::Reacquire { .. } => e.reacquire_shortly(operation.object, operation.other),
        Action::NotifyOne => e.notify_shortly(operation.object, false),
        Action::NotifyAll => e.notify_shortly(operation.object, true),
        Action::ReadLock => e.read_lock_shortly(operation.object),
        Action::ReadUnlock => e.read_unlock_shortly(operation.object),
        Action::WriteLock => e.write_lock_shortly(operation.object),
        Action::WriteUnlock => e.write_unlock_shortly(operation.object, changed),
        _ => false,
    };
    let effect = if done { Effect::Done } else { e.apply(operation, changed) };
    running.at_work.set(false);
    effect
}

/// [`perform`] for a join.
#[inline(always)]
pub(super) fn perform_join(running: &Running, thread: ThreadId, location: &'static Location<'static>) {
    let object = running.quickly(|e| e.threads[thread.index()].object);
    let operation = || Operation::new(Action::Join, object);
    if running.quickly(|e| e.attention && e.giving_up) {
        return count_while_giving_up(running);
    }
    enter_here(running, operation, location.into());
    if running.quickly(|e| e.attention && e.giving_up) {
        return count_while_giving_up(running);
    }
    if !running.with(|e| e.join_shortly(thread.index(), object)) {
        running.with(|e| e.join(operation()));
    }
}

/// Operations that a thread performs while it is being unwound because the execution is given up: answered at once,
/// in the way that lets it come to its end. Nothing is taken for initialised that may not be.
#[cold]
fn while_giving_up(running: &Running, action: Action) -> Effect {
    count_while_giving_up(running);
    match action {
        Action::OnceCheck | Action::TryLock | Action::TryReadLock | Action::TryWriteLock => Effect::Refused,
        Action::OnceEnter => Effect::Run,
        Action::Send
        | Action::TrySend
        | Action::SendFinish
        | Action::ReceiveBegin
        | Action::Receive { .. }
        | Action::TryReceive => Effect::Disconnected,
        _ => Effect::Done,
    }
}
