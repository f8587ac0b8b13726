//! The conventions of the reference semantics that the oracle table does not touch, each on a program small
//! enough to count by hand.

use icb_tests::abstract_program::brute_force::{Enumeration, enumerate};
use icb_tests::abstract_program::execution::Outcome;
use icb_tests::abstract_program::interpreter::Granularity::{self, EveryAccess, SyncOnly};
use icb_tests::abstract_program::language::{Lifecycle, NotifyOrder, Op, Program, Value};
use icb_tests::abstract_program::shorthand::{increment, lock, lock_and_wait_while, store, unlock};

fn like_std(threads: Vec<Vec<Op>>) -> Program {
    Program { lifecycle: Lifecycle::MainLikeStd, notify: NotifyOrder::Any, ..Program::new("", threads) }
}

fn all(program: &Program, granularity: Granularity) -> Enumeration {
    enumerate(program, granularity, 3, 1_000).unwrap()
}

fn counts(all: &Enumeration) -> [u64; 4] {
    std::array::from_fn(|preemptions| all.execution_count(preemptions))
}

fn write(value: usize) -> Op {
    Op::CellWrite { cell: 0, value: Value::Constant(value) }
}

const SPAWN: Op = Op::Spawn { thread: 1 };
const JOIN: Op = Op::Join { thread: 1 };

/// Steps: begin T0, spawn, x:=1 | begin T1, x:=2. After the spawn, T1 may preempt, and be preempted in between.
#[test]
fn begin_is_a_step_and_end_is_none() {
    let program = like_std(vec![vec![SPAWN, store(0, 1)], vec![store(0, 2)]]);
    assert_eq!(counts(&all(&program, SyncOnly)), [1, 1, 1, 0]);
}

/// The end of a thread lets its joiner go on at once. Until then the joiner is blocked, so there is one execution.
#[test]
fn join_waits_for_the_last_step() {
    let program = like_std(vec![vec![SPAWN, JOIN, increment(0)], vec![increment(0)]]);
    let all = all(&program, SyncOnly);
    assert_eq!(counts(&all), [1, 0, 0, 0]);
    let finished =
        Outcome::Finished { variables: vec![2], cells: vec![], registers: vec![[1, 0, 0, 0], [0, 0, 0, 0]] };
    assert_eq!(all.outcomes(0), [finished].into());
}

/// Two waiters and a notification, no preemption. In the order waiter, waiter, notifier, either may be woken.
#[test]
fn notify_one_wakes_any_waiter_for_free() {
    let waiter = vec![lock(0), Op::Wait { condvar: 0, mutex: 0 }, unlock(0)];
    let mut program = Program::new("", vec![waiter.clone(), waiter, vec![Op::NotifyOne { condvar: 0 }]]);
    assert_eq!(all(&program, SyncOnly).execution_count(0), 8);
    program.notify = NotifyOrder::Any;
    let any = all(&program, SyncOnly);
    assert_eq!(any.execution_count(0), 10);
    assert_eq!(any.terminals(0).len(), 10, "no two of these executions are equivalent");
    let blocked = |blocked: &[usize]| Outcome::Deadlock { blocked: blocked.to_vec() };
    assert_eq!(any.outcomes(0), [blocked(&[0]), blocked(&[1]), blocked(&[0, 1])].into());
}

/// A waiter re-checks its condition under the mutex; nothing wakes it but a notification.
#[test]
fn waiting_for_a_condition_ends_only_when_notified() {
    let consumer = [lock_and_wait_while(0, 0, 0, 0, 0), vec![unlock(0)]].concat();
    let notify = Op::NotifyAll { condvar: 0 };
    let with_mutex = vec![SPAWN, lock(0), store(0, 1), unlock(0), notify, JOIN];
    let program = like_std(vec![with_mutex, consumer.clone()]);
    assert_eq!(all(&program, SyncOnly).first_failing_bound(), None);
    // Without the mutex the notification may fall between the check and the wait: T1 has to be started before
    // the store (one preemption) and left before its wait (another one).
    let without_mutex = like_std(vec![vec![SPAWN, store(0, 1), notify, JOIN], consumer]);
    let all = all(&without_mutex, SyncOnly);
    assert_eq!(all.first_failing_bound(), Some(2));
    assert!(all.outcomes(2).contains(&Outcome::Deadlock { blocked: vec![0, 1] }));
}

/// Leaving a thread is free after its yield, not before it.
#[test]
fn a_yield_is_left_for_free() {
    let program = like_std(vec![vec![SPAWN, Op::Yield, store(0, 1)], vec![store(0, 2)]]);
    // Free: T0 goes on, or T1 runs after the yield (to its end, or preempted in between). Preempted before the
    // yield: T1 to its end; or T1 is left after its begin and the yield gives back control, or does not.
    assert_eq!(counts(&all(&program, SyncOnly)), [2, 2, 2, 0]);
}

/// An unordered access ends the execution, wherever it is noticed; an ordered one does not.
#[test]
fn a_race_ends_the_execution() {
    let racy = like_std(vec![vec![SPAWN, write(1), JOIN, store(0, 1)], vec![write(2)]]);
    for granularity in [SyncOnly, EveryAccess] {
        let all = all(&racy, granularity);
        assert_eq!(all.outcomes(3), [Outcome::Race].into());
    }
    // Data accesses belong to the step before them: after its spawn and write T0 is blocked, T1 begins and writes.
    assert_eq!(counts(&all(&racy, SyncOnly)), [1, 0, 0, 0]);
    // T0 may also be preempted before its write, and T1 then before its own.
    assert_eq!(counts(&all(&racy, EveryAccess)), [1, 1, 1, 0]);
    let ordered = like_std(vec![vec![SPAWN, JOIN, write(1)], vec![write(2)]]);
    assert_eq!(all(&ordered, EveryAccess).first_failing_bound(), None);
}
