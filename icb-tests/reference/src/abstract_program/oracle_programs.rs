//! The oracle programs: small programs whose exact numbers are known. Some are classics; those named `k-…` were
//! found because each of them exposes ("kills") one particular mistake in a reduction or a state cache.
//!
//! The numbers stand in [`oracles`](super::oracles).

use super::language::{Comparison, Lifecycle, Op, Program, Value};
use super::shorthand::{
    exchange, increment, load, lock, lock_and_wait_while, read, repeat, store, unlock, when, when_locked,
    while_equal,
};
use std::sync::atomic::Ordering::SeqCst;

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;
const M: usize = 0;
const A: usize = 0;
const B: usize = 1;
const C: usize = 0;
/// The register for the success of a `try_lock`.
const LOCKED: usize = 3;

/// All of them, in order.
#[must_use]
pub fn programs() -> Vec<Program> {
    let mut programs = classics();
    programs.extend(classics_with_conditions());
    programs.extend(killers());
    programs.extend(more_killers());
    programs
}

fn program(name: &str, threads: impl Into<Vec<Vec<Op>>>) -> Program {
    Program::new(name, threads.into())
}

fn classics() -> Vec<Program> {
    let section = |mutex| [lock(mutex), unlock(mutex)];
    let nested = |outer, inner| vec![lock(outer), lock(inner), unlock(inner), unlock(outer)];
    let reader = vec![read(Y), read(X)];
    vec![
        program("O1 indep-2x3", [vec![store(X, 1); 3], vec![store(Y, 1); 3]]),
        program("O2 ww-2x3", [vec![store(X, 1); 3], vec![store(X, 2); 3]]),
        program("O3 rmw-3x2", vec![vec![increment(X); 2]; 3]),
        program("O4 tr-fig1", [vec![store(X, 1), store(Y, 1)], vec![store(Y, 2)]]),
        program("O5 SB", [vec![store(X, 1), read(Y)], vec![store(Y, 1), read(X)]]),
        program("O6 MP+2r", [vec![store(X, 1), store(Y, 1)], reader.clone(), reader]),
        program("O7 mutex-2x2", vec![repeat(2, &section(M)); 2]),
        program("O8 mutex-3x1+data", vec![vec![lock(M), read(X), store(X, 1), unlock(M)]; 3]),
        program("O9 abba", [nested(A, B), nested(B, A)]),
        program(
            "O10 block-free-switch",
            [
                [&section(A)[..], &[increment(X)], &section(B)].concat(),
                [vec![read(X)], nested(A, B)].concat(),
            ],
        ),
    ]
}

fn classics_with_conditions() -> Vec<Program> {
    let try_then_add = [when_locked(LOCKED, M, &[store(X, 1)]), vec![increment(X)]].concat();
    let conditional = [vec![load(0, X)], when(0, Comparison::NotEqual, 0, &[store(Y, 1)])].concat();
    let consumer = [lock_and_wait_while(0, M, C, X, 0), vec![unlock(M)]].concat();
    let notify_all = Op::NotifyAll { condvar: C };
    let philosopher = |left, right| vec![lock(left), lock(right), unlock(right), unlock(left)];
    let mostly_private = |private| [vec![increment(private); 4], vec![increment(X)]].concat();
    let new_is_old_plus_one =
        [Op::Set { to: 1, value: Value::Register(0) }, Op::Add { to: 1, value: Value::Constant(1) }];
    let (expected, new) = (Value::Register(0), Value::Register(1));
    let exchange_it = Op::CompareExchange { success: 2, variable: X, expected, new, ordering: SeqCst };
    let attempt = [&[load(0, X)], &new_is_old_plus_one[..], &[exchange_it]].concat();
    let optimistic = while_equal(&attempt, 2, 0, &[]);
    let mut spawn_join = program(
        "O15 spawn-join",
        [
            vec![
                Op::Spawn { thread: 1 },
                Op::Spawn { thread: 2 },
                increment(X),
                Op::Join { thread: 1 },
                Op::Join { thread: 2 },
                read(X),
            ],
            vec![increment(X), Op::Exit],
            vec![increment(X), Op::Exit],
        ],
    );
    spawn_join.lifecycle = Lifecycle::MainWithExitSteps;
    vec![
        program("O11 trylock", [try_then_add, vec![increment(X), store(X, 1), lock(M), read(X), unlock(M)]]),
        program(
            "O12 cond-prog",
            [
                [conditional, vec![store(Z, 1)]].concat(),
                vec![store(X, 1), read(Y)],
                vec![store(Z, 2), store(X, 2)],
            ],
        ),
        program(
            "O13 condvar",
            [consumer.clone(), consumer, vec![lock(M), store(X, 1), notify_all, unlock(M)]],
        ),
        program(
            "O14 lost-wakeup",
            [
                vec![lock(M), Op::Wait { condvar: C, mutex: M }, unlock(M)],
                vec![Op::NotifyOne { condvar: C }],
                vec![lock(M), unlock(M)],
            ],
        ),
        spawn_join,
        program("O16 philo-3", [philosopher(0, 1), philosopher(1, 2), philosopher(2, 0)]),
        program("O17 fg-indep-heavy", [mostly_private(1), mostly_private(2), mostly_private(3)]),
        program("O18 cas-2x1", vec![optimistic; 2]),
        program(
            "O19 yield",
            [vec![store(X, 1), Op::Yield, store(X, 2)], vec![store(X, 3), store(Y, 1)], vec![read(X)]],
        ),
        program("O20 2x10-rmw", vec![vec![increment(X); 10]; 2]),
    ]
}

fn killers() -> Vec<Program> {
    let try_then_lock = [vec![increment(X)], when_locked(LOCKED, M, &[store(X, 2)]), vec![lock(M)]].concat();
    vec![
        program("O21 k-cache-hb", [vec![read(X), read(Y)], vec![store(Y, 1), store(Y, 2)]]),
        program(
            "O22 k-cache-last",
            [vec![Op::Nop, store(X, 1), store(X, 2)], vec![store(X, 1), store(X, 2)]],
        ),
        program(
            "O23 k-unlock-lock",
            [vec![exchange(X, 0, 2), lock(M), unlock(M), increment(X)], vec![read(X), lock(M), increment(X)]],
        ),
        program("O24 k-at-exec", [try_then_lock, vec![increment(X), lock(M), unlock(M)]]),
        program(
            "O25 k-por-all+sleep",
            [vec![increment(X)], vec![lock(M), read(X), unlock(M)], vec![read(X)]],
        ),
        program("O26 k-pending-deadlock", [vec![lock(M)], vec![lock(M)]]),
        program(
            "O27 k-sleepblocked-pending",
            [
                vec![store(X, 2)],
                vec![lock(M)],
                vec![lock(M), Op::Nop, unlock(M)],
                vec![lock(M), store(Y, 2), store(X, 2)],
            ],
        ),
    ]
}

fn more_killers() -> Vec<Program> {
    let conditional_read = [vec![load(0, Z)], when(0, Comparison::NotEqual, 0, &[read(X)])].concat();
    let section = |mutex| vec![lock(mutex), unlock(mutex)];
    let final_reads = [vec![load(0, X)], when(0, Comparison::NotEqual, 1, &[load(1, X)])].concat();
    vec![
        program(
            "O28 k-bounded-por-all",
            [conditional_read, vec![read(Z), store(X, 1)], vec![store(Z, 2), read(X)]],
        ),
        program(
            "O29 k-block-sleep",
            [vec![store(Z, 2), read(Y)], vec![read(Y), store(Z, 2), read(X), store(Y, 1)], vec![store(Y, 2)]],
        ),
        program(
            "O30 k-one-initial",
            [vec![read(X), increment(X)], vec![read(X), increment(Y), read(X)], vec![Op::Nop, store(Y, 2)]],
        ),
        program(
            "O31 k-dominated-sleep",
            [vec![lock(M), store(X, 2)], vec![increment(X), exchange(X, 1, 1), lock(M), unlock(M)]],
        ),
        program("O32 k-last-access-only", [vec![read(X)], vec![read(X), increment(X)]]),
        program(
            "O33 k-no-fallback",
            [
                vec![lock(B), read(X), store(X, 1), read(X), unlock(B)],
                [when_locked(LOCKED, A, &[store(X, 1)]), vec![store(X, 1)], section(A)].concat(),
                [when_locked(LOCKED, B, &[store(X, 2)]), section(A), final_reads].concat(),
            ],
        ),
    ]
}
