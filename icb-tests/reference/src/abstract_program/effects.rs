//! What single operations do to a state: local code, atomic variables, data cells, mutexes, notifications.
//!
//! Nothing here knows about scheduling points or about which thread may run.

use super::language::{Op, failure_ordering};
use super::state::{Access, MemoryEffect, Object, Phase, State, Step};

pub(super) fn run_local(state: &mut State, thread: usize, op: Op) {
    let mut counter = state.threads[thread].counter + 1;
    match op {
        Op::Set { to, value } => state.set(thread, to, state.value(thread, value)),
        Op::Add { to, value } => {
            let sum = state.registers(thread)[to].wrapping_add(state.value(thread, value));
            state.set(thread, to, sum);
        }
        Op::SkipIf { register, is, value, count } => {
            if is.holds(state.registers(thread)[register], state.value(thread, value)) {
                counter += count;
            }
        }
        Op::Back { count } => counter -= count + 1,
        _ => unreachable!("{op} is no local operation"),
    }
    state.threads[thread].counter = counter;
}

pub(super) fn access_variable(state: &mut State, thread: usize, op: Op, step: &mut Step) {
    let (variable, effect) = match op {
        Op::Load { to, variable, ordering } => {
            state.set(thread, to, state.variables[variable]);
            (variable, MemoryEffect::AtomicLoad(variable, ordering))
        }
        Op::Store { variable, value, ordering } => {
            state.variables[variable] = state.value(thread, value);
            (variable, MemoryEffect::AtomicStore(variable, ordering))
        }
        Op::FetchAdd { to, variable, amount, ordering } => {
            let old = state.variables[variable];
            state.variables[variable] = old.wrapping_add(amount);
            state.set(thread, to, old);
            (variable, MemoryEffect::AtomicUpdate(variable, ordering))
        }
        Op::Swap { to, variable, value, ordering } => {
            let new = state.value(thread, value);
            let old = std::mem::replace(&mut state.variables[variable], new);
            state.set(thread, to, old);
            (variable, MemoryEffect::AtomicUpdate(variable, ordering))
        }
        Op::CompareExchange { success, variable, expected, new, ordering } => {
            let succeeds = state.variables[variable] == state.value(thread, expected);
            if succeeds {
                state.variables[variable] = state.value(thread, new);
            }
            state.set(thread, success, usize::from(succeeds));
            let failure = failure_ordering(ordering);
            let update = MemoryEffect::AtomicUpdate(variable, ordering);
            (variable, if succeeds { update } else { MemoryEffect::AtomicLoad(variable, failure) })
        }
        _ => unreachable!("{op} is no atomic access"),
    };
    let write = !matches!(effect, MemoryEffect::AtomicLoad(..));
    step.accesses.push(Access { object: Object::Variable(variable), write });
    step.effects.push(effect);
}

pub(super) fn access_cell(state: &mut State, thread: usize, op: Op, step: &mut Step) {
    match op {
        Op::CellRead { to, cell } => {
            state.set(thread, to, state.cells[cell]);
            step.effects.push(MemoryEffect::CellRead(cell));
        }
        Op::CellWrite { cell, value } => {
            state.cells[cell] = state.value(thread, value);
            step.effects.push(MemoryEffect::CellWrite(cell));
        }
        _ => unreachable!("{op} is no data access"),
    }
}

pub(super) fn acquire(state: &mut State, thread: usize, mutex: usize, step: &mut Step) {
    state.owners[mutex] = Some(thread);
    step.write(Object::Mutex(mutex));
    step.effects.push(MemoryEffect::Acquire(mutex));
}

pub(super) fn release(state: &mut State, thread: usize, mutex: usize, step: &mut Step) {
    assert_eq!(
        state.owners[mutex].take(),
        Some(thread),
        "T{thread} unlocks m{mutex}, which it does not hold"
    );
    step.write(Object::Mutex(mutex));
    step.effects.push(MemoryEffect::Release(mutex));
}

/// An operation on a channel, which can take effect unless it is a try.
pub(super) fn access_channel(state: &mut State, thread: usize, op: Op, step: &mut Step) {
    let (channel, takes_effect) = match op {
        Op::Send { channel, value } => {
            let value = state.value(thread, value);
            state.channels[channel].push_back(value);
            (channel, true)
        }
        Op::TrySend { success, channel, value } => {
            let room = state.has_room(channel);
            if room {
                let value = state.value(thread, value);
                state.channels[channel].push_back(value);
            }
            state.set(thread, success, usize::from(room));
            (channel, room)
        }
        Op::Receive { to, channel } => {
            let value = state.channels[channel].pop_front();
            state.set(thread, to, value.unwrap_or_else(|| unreachable!("{op} took effect without a value")));
            (channel, true)
        }
        Op::TryReceive { success, channel } => {
            let value = state.channels[channel].pop_front();
            state.set(thread, success, usize::from(value.is_some()));
            (channel, value.is_some())
        }
        _ => unreachable!("{op} is on no channel"),
    };
    step.accesses.push(Access { object: Object::Channel(channel), write: takes_effect });
}

pub(super) fn wake(state: &mut State, woken: usize, step: &mut Step) {
    step.write(Object::Notification(woken));
    state.threads[woken].phase = Phase::Notified;
}
