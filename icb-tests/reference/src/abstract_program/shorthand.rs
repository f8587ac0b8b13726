//! Short names for writing programs by hand: sequentially consistent accesses, and structured control flow.

use super::language::{Comparison, Op, Value};
use std::sync::atomic::Ordering::SeqCst;

/// Load of a variable into a register.
#[must_use]
pub fn load(to: usize, variable: usize) -> Op {
    Op::Load { to, variable, ordering: SeqCst }
}

/// Load of a variable, the value being of no interest.
#[must_use]
pub fn read(variable: usize) -> Op {
    load(0, variable)
}

/// Store of a constant.
#[must_use]
pub fn store(variable: usize, value: usize) -> Op {
    Op::Store { variable, value: Value::Constant(value), ordering: SeqCst }
}

/// Increment of a variable, the old value being of no interest.
#[must_use]
pub fn increment(variable: usize) -> Op {
    Op::FetchAdd { to: 0, variable, amount: 1, ordering: SeqCst }
}

/// Compare and exchange of constants, its success being of no interest.
#[must_use]
pub fn exchange(variable: usize, expected: usize, new: usize) -> Op {
    let (expected, new) = (Value::Constant(expected), Value::Constant(new));
    Op::CompareExchange { success: 0, variable, expected, new, ordering: SeqCst }
}

/// Lock of a mutex.
#[must_use]
pub fn lock(mutex: usize) -> Op {
    Op::Lock { mutex }
}

/// Unlock of a mutex.
#[must_use]
pub fn unlock(mutex: usize) -> Op {
    Op::Unlock { mutex }
}

/// `body`, `count` times.
#[must_use]
pub fn repeat(count: usize, body: &[Op]) -> Vec<Op> {
    body.repeat(count)
}

/// `if register <is> value { body }`.
#[must_use]
pub fn when(register: usize, is: Comparison, value: usize, body: &[Op]) -> Vec<Op> {
    let skip_unless = match is {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
    };
    let value = Value::Constant(value);
    let skip = Op::SkipIf { register, is: skip_unless, value, count: body.len() };
    [&[skip], body].concat()
}

/// `if try_lock mutex { body; unlock mutex }`, with `register` for the success.
#[must_use]
pub fn when_locked(register: usize, mutex: usize, body: &[Op]) -> Vec<Op> {
    let section = [body, &[unlock(mutex)]].concat();
    let mut code = vec![Op::TryLock { success: register, mutex }];
    code.extend(when(register, Comparison::NotEqual, 0, &section));
    code
}

/// `loop { head; if register == value { body } else { break } }`, where `head` sets the register.
#[must_use]
pub fn while_equal(head: &[Op], register: usize, value: usize, body: &[Op]) -> Vec<Op> {
    let mut code = head.to_vec();
    let back = Op::Back { count: head.len() + 1 + body.len() };
    code.extend(when(register, Comparison::Equal, value, &[body, &[back]].concat()));
    code
}

/// `lock mutex; while variable == value { wait }`, the mutex being held afterwards; uses `register`.
#[must_use]
pub fn lock_and_wait_while(
    register: usize,
    mutex: usize,
    condvar: usize,
    variable: usize,
    value: usize,
) -> Vec<Op> {
    let wait = Op::Wait { condvar, mutex };
    let mut code = vec![lock(mutex)];
    code.extend(while_equal(&[load(register, variable)], register, value, &[wait]));
    code
}
