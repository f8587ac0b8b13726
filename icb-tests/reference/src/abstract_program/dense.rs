//! Random programs in which nearly everything conflicts, each a function of its seed: two to five threads of bare
//! operations on few objects, exchanges in loops, channels, locks that may never be released, started by a main thread or all at once. Larger than
//! those of [`random`](super::random), with fewer words to them: what a reduction loses shows here first.

use super::language::{Comparison, Lifecycle, NotifyOrder, Op, Program, Value};
use super::random::Random;
use super::shorthand::{
    exchange, increment, load, lock, read, store, unlock, when, when_locked, while_equal,
};
use std::sync::atomic::Ordering::SeqCst;

/// The register that conditions are on.
const CONDITION: usize = 3;

/// What a program is about.
#[derive(Clone, Copy)]
struct Taste {
    variables: usize,
    mutexes: usize,
    /// Of 8 operations so many are on locks.
    locks: usize,
    condvars: bool,
    channels: bool,
    loops: bool,
    yields: bool,
    nops: bool,
}

/// The program with the given seed.
#[must_use]
pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed ^ 0x5EED_0F00_DE45_E000);
    let thread_count = random.pick(&[2, 2, 2, 3, 3, 3, 3, 4, 4, 5]);
    let taste = Taste {
        variables: 1 + random.below(3),
        mutexes: 1 + random.below(2),
        locks: random.pick(&[0, 2, 3, 5]),
        condvars: random.chance(1, 4),
        channels: random.chance(1, 4),
        loops: random.chance(1, 3),
        yields: random.chance(1, 5),
        nops: random.chance(1, 3),
    };
    let longest = match thread_count {
        2 => 8,
        3 => 5,
        4 => 3,
        _ => 2,
    };
    let mut threads: Vec<Vec<Op>> = Vec::new();
    for _ in 0..thread_count {
        let length = 1 + random.below(longest);
        threads.push(thread(&mut random, taste, length));
    }
    let mut program = Program::new(format!("dense program, seed {seed}"), threads);
    program.notify = random.pick(&[NotifyOrder::Fifo, NotifyOrder::Any]);
    match random.below(8) {
        0..=3 => program,
        4 => program.under_main(Lifecycle::MainLikeStd),
        5 => program.under_main(Lifecycle::MainWithExitSteps),
        _ => with_busy_main(&mut random, program),
    }
}

/// The first thread spawns the others on its way, and joins some of them.
fn with_busy_main(random: &mut Random, mut program: Program) -> Program {
    let own = std::mem::take(&mut program.threads[0]);
    let children = 1..program.threads.len();
    let mut main: Vec<Op> = children.clone().map(|thread| Op::Spawn { thread }).collect();
    // Local jumps stay whole: what is put in between stands before or after the thread's own operations, or is the
    // first of them.
    if !matches!(own.first(), None | Some(Op::TryLock { .. } | Op::Lock { .. })) && random.chance(1, 2) {
        main.insert(main.len() - 1, increment(0));
    }
    main.extend(own);
    let joins = children.filter(|_| random.chance(1, 2)).map(|thread| Op::Join { thread });
    main.extend(joins.collect::<Vec<_>>());
    if random.chance(1, 2) {
        main.push(read(0));
    }
    program.threads[0] = main;
    program.lifecycle = Lifecycle::MainLikeStd;
    program
}

fn thread(random: &mut Random, taste: Taste, length: usize) -> Vec<Op> {
    let mut code = Vec::new();
    let mut held: Vec<usize> = Vec::new();
    let mut may_yield = taste.yields;
    for _ in 0..length {
        if random.chance(taste.locks, 8) {
            code.extend(on_locks(random, taste, &mut held));
        } else if taste.channels && random.chance(1, 3) {
            code.push(on_channel(random));
        } else if taste.loops && random.chance(1, 6) {
            code.extend(exchange_loop(random.below(taste.variables)));
        } else if taste.nops && random.chance(1, 8) {
            code.push(Op::Nop);
        } else if may_yield && random.chance(1, 6) {
            may_yield = false;
            code.push(Op::Yield);
        } else if random.chance(1, 6) {
            let is = random.pick(&[Comparison::Equal, Comparison::NotEqual]);
            code.push(load(CONDITION, random.below(taste.variables)));
            let body = [on_variable(random, taste)];
            code.extend(when(CONDITION, is, 0, &body));
        } else {
            code.push(on_variable(random, taste));
        }
    }
    // Most locks are released in the end, in some order.
    while let Some(mutex) = held.pop() {
        if random.chance(5, 6) {
            code.push(unlock(mutex));
        }
    }
    code
}

fn on_variable(random: &mut Random, taste: Taste) -> Op {
    let variable = random.below(taste.variables);
    match random.below(8) {
        0..=2 => read(variable),
        3..=4 => store(variable, 1 + random.below(2)),
        5..=6 => increment(variable),
        _ => exchange(variable, random.below(2), 1 + random.below(2)),
    }
}

fn on_channel(random: &mut Random) -> Op {
    let channel = random.below(2);
    let value = Value::Constant(1 + random.below(2));
    match random.below(6) {
        0..=1 => Op::Send { channel, value },
        2..=3 => Op::Receive { to: CONDITION, channel },
        4 => Op::TrySend { success: CONDITION, channel, value },
        _ => Op::TryReceive { success: CONDITION, channel },
    }
}

/// An increment by compare and exchange, tried until it succeeds. Each failure is somebody else's success, so that it ends.
fn exchange_loop(variable: usize) -> Vec<Op> {
    const SEEN: usize = 1;
    const NEXT: usize = 2;
    let attempt = [
        load(SEEN, variable),
        Op::Set { to: NEXT, value: Value::Register(SEEN) },
        Op::Add { to: NEXT, value: Value::Constant(1) },
        Op::CompareExchange {
            success: CONDITION,
            variable,
            expected: Value::Register(SEEN),
            new: Value::Register(NEXT),
            ordering: SeqCst,
        },
    ];
    while_equal(&attempt, CONDITION, 0, &[])
}

fn on_locks(random: &mut Random, taste: Taste, held: &mut Vec<usize>) -> Vec<Op> {
    let mutex = random.below(taste.mutexes);
    if taste.condvars && random.chance(1, 3) {
        return match held.contains(&0) {
            true if random.chance(1, 2) => vec![Op::Wait { condvar: 0, mutex: 0 }],
            _ if random.chance(1, 2) => vec![Op::NotifyOne { condvar: 0 }],
            _ => vec![Op::NotifyAll { condvar: 0 }],
        };
    }
    if let Some(at) = held.iter().position(|&held| held == mutex) {
        held.remove(at);
        return vec![unlock(mutex)];
    }
    if random.chance(1, 3) {
        let body: Vec<Op> = (0..random.below(2)).map(|_| on_variable(random, taste)).collect();
        return when_locked(CONDITION, mutex, &body);
    }
    held.push(mutex);
    vec![lock(mutex)]
}
