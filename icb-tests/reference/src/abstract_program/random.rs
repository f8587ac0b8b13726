//! Random small programs, each a function of its seed, with the brute-force answers to compare with.
//!
//! The programs are of the kind that can be run for real ([`Lifecycle::MainLikeStd`], any waiter may be woken):
//! a main thread spawns one to three others in order and joins all or some of them. What a thread does is a
//! row of blocks, so that locks are balanced and every loop ends; the rest is left to chance, deadlocks and
//! races included. Programs with too many executions are thrown away, not simplified, and
//! so are most of those that have but one outcome.

use super::brute_force::{Enumeration, enumerate};
use super::interpreter::Granularity;
use super::language::{Comparison, Lifecycle, NotifyOrder, Op, OpClass, Program, REGISTER_COUNT, Value};
use super::shorthand::{lock, lock_and_wait_while, unlock, when, when_locked};
use std::sync::atomic::Ordering;

/// The largest bound for which answers are given.
pub const MAX_BOUND: usize = 3;
/// Programs have no more executions than this up to [`MAX_BOUND`], at either granularity.
pub const MAX_EXECUTIONS: u64 = 2_500;
const MIN_STEPS: usize = 6;
const MAX_STEPS: usize = 14;

const VARIABLE_COUNT: usize = 2;
/// Cell `i` is the one that mutex `i` protects, as far as anybody keeps to it.
const MUTEX_COUNT: usize = 2;
/// The variable that waiters wait for and notifiers set.
const READY: usize = 0;
/// The register that conditions are on; its value is part of the outcome like any other.
const CONDITION: usize = REGISTER_COUNT - 1;

/// A random program and what is true of it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The program.
    pub program: Program,
    /// Its executions with scheduling points at synchronization only, up to [`MAX_BOUND`].
    pub sync_only: Enumeration,
    /// Its executions with scheduling points at every access, up to [`MAX_BOUND`].
    pub every_access: Enumeration,
}

/// The case with the given seed.
#[must_use]
pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    loop {
        let program = random_program(&mut random, format!("random program, seed {seed}"));
        let steps = program.threads.iter().flatten().filter(|op| op.class() != OpClass::Local).count();
        if !(MIN_STEPS..=MAX_STEPS).contains(&steps) {
            continue;
        }
        let answer = |granularity| enumerate(&program, granularity, MAX_BOUND, MAX_EXECUTIONS);
        let answers = (answer(Granularity::SyncOnly), answer(Granularity::EveryAccess));
        if let (Ok(sync_only), Ok(every_access)) = answers {
            let dull = every_access.outcomes(MAX_BOUND).len() == 1;
            if dull && random.chance(3, 4) {
                continue;
            }
            return Case { program, sync_only, every_access };
        }
    }
}

/// A small generator of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The generator with the given seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        let below = self.bits() % limit as u64;
        usize::try_from(below).expect("it is less than a usize")
    }

    /// True in `wins` of `of` cases.
    pub fn chance(&mut self, wins: usize, of: usize) -> bool {
        self.below(of) < wins
    }

    /// One of the given values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// What a program is mainly about; each favours some blocks.
#[derive(Clone, Copy)]
enum Theme {
    Atomics,
    Locks,
    Waiting,
    Data,
    Everything,
}

#[derive(Clone, Copy)]
enum Block {
    Atomic,
    ConditionalAtomic,
    Section,
    NestedSections,
    TrySection,
    AwaitReady,
    BareWait,
    Notify,
    SetReadyAndNotify,
    UnprotectedAccess,
    Publish,
    Consume,
    Window,
    Yield,
}

impl Theme {
    fn blocks(self) -> &'static [Block] {
        use Block::{
            Atomic, AwaitReady, BareWait, ConditionalAtomic, Consume, NestedSections, Notify, Publish,
            Section, SetReadyAndNotify, TrySection, UnprotectedAccess, Window, Yield,
        };
        match self {
            Theme::Atomics => &[Atomic, Atomic, Atomic, ConditionalAtomic, Yield],
            Theme::Locks => &[Section, Section, NestedSections, TrySection, Atomic],
            Theme::Waiting => &[AwaitReady, BareWait, Notify, SetReadyAndNotify, SetReadyAndNotify, Atomic],
            Theme::Data => &[Section, UnprotectedAccess, Publish, Consume, Window, Window, TrySection],
            Theme::Everything => &[
                Atomic,
                ConditionalAtomic,
                Section,
                NestedSections,
                TrySection,
                AwaitReady,
                BareWait,
                Notify,
                SetReadyAndNotify,
                UnprotectedAccess,
                Publish,
                Consume,
                Window,
                Yield,
            ],
        }
    }
}

fn random_program(random: &mut Random, name: String) -> Program {
    use Theme::{Atomics, Data, Everything, Locks, Waiting};
    let theme = random.pick(&[Atomics, Locks, Waiting, Data, Everything]);
    let child_count = random.pick(&[1, 1, 2, 2, 2, 3]);
    let mut writer = Writer { random, theme, next_value: 1, may_yield: true };
    let mut threads = vec![writer.main_thread(child_count)];
    for _ in 0..child_count {
        writer.may_yield = true;
        let block_count =
            if child_count == 1 { 1 + writer.random.below(3) } else { 1 + writer.random.below(2) };
        threads.push(writer.blocks(block_count));
    }
    Program { name, threads, lifecycle: Lifecycle::MainLikeStd, notify: NotifyOrder::Any }
}

/// Writes the code of one thread after the other.
struct Writer<'r> {
    random: &'r mut Random,
    theme: Theme,
    /// Values written differ, so that outcomes tell who wrote.
    next_value: usize,
    /// A thread yields at most once: yielding again with nothing read in between would be waiting for nothing.
    may_yield: bool,
}

impl Writer<'_> {
    fn main_thread(&mut self, child_count: usize) -> Vec<Op> {
        let mut code = Vec::new();
        for thread in 1..=child_count {
            let block_count = usize::from(self.random.chance(1, 4));
            code.extend(self.blocks(block_count));
            code.push(Op::Spawn { thread });
        }
        let least = usize::from(child_count == 1);
        let block_count = least + self.random.below(2);
        code.extend(self.blocks(block_count));
        let mut children: Vec<usize> = (1..=child_count).collect();
        if self.random.chance(1, 3) {
            children.reverse();
        }
        children.retain(|_| self.random.chance(2, 3));
        code.extend(children.into_iter().map(|thread| Op::Join { thread }));
        let block_count = usize::from(self.random.chance(1, 4));
        code.extend(self.blocks(block_count));
        code
    }

    fn blocks(&mut self, count: usize) -> Vec<Op> {
        (0..count).flat_map(|_| self.block()).collect()
    }

    fn block(&mut self) -> Vec<Op> {
        let mutex = self.random.below(MUTEX_COUNT);
        match self.random.pick(self.theme.blocks()) {
            Block::Atomic => vec![self.atomic()],
            Block::ConditionalAtomic => {
                let variable = self.random.below(VARIABLE_COUNT);
                let load = self.load(CONDITION, variable);
                let body = [self.atomic()];
                [vec![load], self.when_condition(&body)].concat()
            }
            Block::Section => [vec![lock(mutex)], self.body(mutex, 2), vec![unlock(mutex)]].concat(),
            Block::NestedSections => {
                let inner = (mutex + 1) % MUTEX_COUNT;
                let body = self.body(inner, 1);
                [&[lock(mutex), lock(inner)], &body[..], &[unlock(inner), unlock(mutex)]].concat()
            }
            Block::TrySection => {
                let body = self.body(mutex, 1);
                when_locked(CONDITION, mutex, &body)
            }
            Block::AwaitReady => {
                let wait = lock_and_wait_while(CONDITION, 0, 0, READY, 0);
                [wait, self.body(0, 1), vec![unlock(0)]].concat()
            }
            Block::BareWait => vec![lock(0), Op::Wait { condvar: 0, mutex: 0 }, unlock(0)],
            Block::Notify => vec![self.notify()],
            Block::SetReadyAndNotify => {
                let (set, notify) = (self.store(READY), self.notify());
                match self.random.below(3) {
                    0 => vec![lock(0), set, unlock(0), notify],
                    1 => vec![lock(0), set, notify, unlock(0)],
                    _ => vec![set, notify],
                }
            }
            Block::UnprotectedAccess => vec![self.access(mutex)],
            Block::Publish => vec![self.write(mutex), self.store(READY)],
            Block::Consume => {
                let (load, access) = (self.load(CONDITION, READY), self.access(mutex));
                [vec![load], when(CONDITION, Comparison::NotEqual, 0, &[access])].concat()
            }
            // Ready for a moment: others see it only if they preempt this thread, mostly.
            Block::Window => {
                let not_ready =
                    Op::Store { variable: READY, value: Value::Constant(0), ordering: Ordering::Relaxed };
                let access = self.random.chance(1, 2).then(|| self.access(mutex));
                [vec![self.store(READY), not_ready], access.into_iter().collect()].concat()
            }
            Block::Yield if std::mem::take(&mut self.may_yield) => vec![Op::Yield],
            Block::Yield => vec![self.atomic()],
        }
    }

    /// What is done while a mutex is held: accesses to its cell, and now and then an atomic.
    fn body(&mut self, mutex: usize, max_len: usize) -> Vec<Op> {
        let len = self.random.below(max_len + 1);
        (0..len).map(|_| if self.random.chance(3, 4) { self.access(mutex) } else { self.atomic() }).collect()
    }

    fn when_condition(&mut self, body: &[Op]) -> Vec<Op> {
        let is = self.random.pick(&[Comparison::Equal, Comparison::NotEqual]);
        when(CONDITION, is, 0, body)
    }

    fn value(&mut self) -> Value {
        let value = self.next_value;
        self.next_value += 1;
        Value::Constant(value)
    }

    fn register(&mut self) -> usize {
        self.random.below(CONDITION)
    }

    fn access(&mut self, cell: usize) -> Op {
        if self.random.chance(1, 2) { self.write(cell) } else { Op::CellRead { to: self.register(), cell } }
    }

    fn write(&mut self, cell: usize) -> Op {
        Op::CellWrite { cell, value: self.value() }
    }

    fn notify(&mut self) -> Op {
        if self.random.chance(2, 3) { Op::NotifyOne { condvar: 0 } } else { Op::NotifyAll { condvar: 0 } }
    }

    /// Half of the accesses are sequentially consistent, the others anything that fits.
    fn ordering(&mut self, others: &[Ordering]) -> Ordering {
        if self.random.chance(1, 2) { Ordering::SeqCst } else { self.random.pick(others) }
    }

    fn load(&mut self, to: usize, variable: usize) -> Op {
        let ordering = self.ordering(&[Ordering::Relaxed, Ordering::Acquire]);
        Op::Load { to, variable, ordering }
    }

    fn store(&mut self, variable: usize) -> Op {
        let ordering = self.ordering(&[Ordering::Relaxed, Ordering::Release]);
        Op::Store { variable, value: self.value(), ordering }
    }

    fn atomic(&mut self) -> Op {
        let variable = self.random.below(VARIABLE_COUNT);
        let update = [Ordering::Relaxed, Ordering::Acquire, Ordering::Release, Ordering::AcqRel];
        let to = self.register();
        match self.random.below(8) {
            0..=2 => self.load(to, variable),
            3..=4 => self.store(variable),
            5 => Op::FetchAdd { to, variable, amount: 1, ordering: self.ordering(&update) },
            6 => Op::Swap { to, variable, value: self.value(), ordering: self.ordering(&update) },
            _ => {
                let expected = self.random.pick(&[Value::Constant(0), Value::Register(to)]);
                let (new, ordering) = (self.value(), self.ordering(&update));
                Op::CompareExchange { success: to, variable, expected, new, ordering }
            }
        }
    }
}
