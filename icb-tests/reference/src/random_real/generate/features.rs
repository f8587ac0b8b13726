//! Random programs of what [`program`](super::program) leaves out: each is about one thing, or two that meet, on one or two objects, so that
//! its few steps get in each other's way.

use super::Random;
use crate::random_real::language::Instruction::{self, *};
use crate::random_real::language::{
    Crowd, Farewell, Handle, Kept, OBJECT_COUNT, Order, Pause, Program, Span, Thread,
};

/// What a program is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    /// Locks that are poisoned, tried, waited with, and healed.
    Poison,
    /// The same of locks for readers and writers.
    RwPoison,
    /// Waits with a condition, or for some time, while others notify, and hold the lock.
    Conditions,
    /// Initialisers that panic, and those who wait for one that does not.
    Once,
    /// The same of values.
    Lazy,
    /// Messages that do something when they are dropped, by whoever that is.
    Parcels,
    /// Receivers that take several, and senders that are cloned.
    Receivers,
    /// Reference counts.
    Counts,
    /// Tokens of threads.
    Tokens,
    /// Tasks that are woken.
    Wakers,
    /// What thread-locals do when a thread ends.
    Locals,
    /// Scopes.
    Scopes,
    /// Loops of exchanges, neighbouring bytes, accesses around others.
    Variables,
    /// Loops that wait, and those that give up waiting.
    Loops,
    /// Loops that wait, most of them without a hint.
    BareLoops,
    /// Loops that look under a lock, and give up.
    Polls,
    /// Waits on a condvar, with few other things: what is notified while somebody has the lock, or without it.
    Waits,
    /// Futexes.
    Futexes,
    /// Counters and sockets that are waited for.
    Events,
}

/// Those that are about std.
pub const THEMES: [Theme; 13] = [
    Theme::Poison,
    Theme::RwPoison,
    Theme::Conditions,
    Theme::Once,
    Theme::Lazy,
    Theme::Parcels,
    Theme::Receivers,
    Theme::Counts,
    Theme::Tokens,
    Theme::Wakers,
    Theme::Locals,
    Theme::Scopes,
    Theme::Variables,
];

/// Those that are about what crates ask the system for. Where an execution is given up, a thread in the middle of such a call is left as it is
/// with its stack, so that a process should not run too many of these programs.
pub const SYSTEM_THEMES: [Theme; 2] = [Theme::Events, Theme::Futexes];

/// The program with the given seed, about std.
#[must_use]
pub fn program(seed: u64) -> Program {
    program_about(seed, THEMES[seed as usize % THEMES.len()])
}

/// The program with the given seed, about loops that wait: small, since how often such a loop goes round makes many executions.
#[must_use]
pub fn looping_program(seed: u64) -> Program {
    program_about(seed, Theme::Loops)
}

/// The program with the given seed, about loops that wait without a hint.
#[must_use]
pub fn bare_program(seed: u64) -> Program {
    program_about(seed, Theme::BareLoops)
}

/// The program with the given seed, with loops that look under locks.
#[must_use]
pub fn polling_program(seed: u64) -> Program {
    program_about(seed, Theme::Polls)
}

/// The program with the given seed, about calls of the system.
#[must_use]
pub fn system_program(seed: u64) -> Program {
    program_about(seed, SYSTEM_THEMES[usize::from(seed % 3 == 2)])
}

/// The program with the given seed, about waits on condvars.
#[must_use]
pub fn waiting_program(seed: u64) -> Program {
    program_about(seed, Theme::Waits)
}

/// The program with the given seed, about two things that meet.
#[must_use]
pub fn mixed_program(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xA076_1D64_78BD_642F, 0x1B87_3593_CC9E_2D51);
    let mut any = || match random.below(THEMES.len() + 3) {
        0 => Theme::Loops,
        1..3 => Theme::Waits,
        n => THEMES[n - 3],
    };
    let themes = [any(), any()];
    program_with(seed, random, &themes)
}

/// The program with the given seed, about nothing but readers and writers of one lock, or of two.
#[must_use]
pub fn reading_program(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x8CB9_2BA7_2F3D_8DD7, 0x369D_EA0F_31A5_3F85);
    let thread_count = 2 + random.weighted(&[2, 5, 2]);
    let most = [3, 2, 1][thread_count - 2];
    let mut threads = vec![Thread::default(); thread_count];
    for thread in &mut threads {
        thread.keeps = random.chance(1, 12);
        for _ in 0..1 + random.below(most) {
            random.turn_at_a_lock(&mut thread.code);
        }
    }
    (1..thread_count).for_each(|child| random.family(&mut threads, child));
    let (channels, barriers) = (vec![(None, 0); OBJECT_COUNT], vec![1; OBJECT_COUNT]);
    let is_acquainted = random.chance(2, 3);
    Program { seed, threads, channels, barriers, is_acquainted, ..Program::default() }
}

fn program_about(seed: u64, theme: Theme) -> Program {
    let mut random = Random::begin(seed, 0xD6E8_FEB8_6659_FD93, 0x2545_F491_4F6C_DD1D);
    let mut themes = vec![theme, theme];
    if random.chance(1, 3) {
        themes.push(random.pick(&THEMES));
    }
    program_with(seed, random, &themes)
}

fn program_with(seed: u64, mut random: Random, themes: &[Theme]) -> Program {
    let thread_count = 2 + random.weighted(&[6, 4, 1]);
    let longest = [4, 3, 2][thread_count - 2];
    let mut threads = vec![Thread::default(); thread_count];
    for thread in &mut threads {
        thread.keeps = random.chance(1, 8);
        let goal = 1 + random.below(longest);
        while thread.code.len() < goal {
            if random.chance(1, 6) {
                let (variable, order) = (random.near(), random.order());
                let loads = [Load(variable, order), Store(variable, 1, order), Add(variable, order), Yield];
                thread.code.push(random.pick(&loads));
                continue;
            }
            let theme = random.pick(themes);
            random.feature(theme, &mut thread.code);
        }
    }
    if random.chance(1, 6) {
        let (code, position) = random.place(&mut threads);
        code.insert(position, Catch(1 + random.below(3)));
        code.insert(position + 1, Panic);
    }
    if themes.contains(&Theme::Scopes) {
        random.scope(&mut threads);
    } else {
        (1..thread_count).for_each(|child| random.family(&mut threads, child));
    }
    if random.chance(1, 8) {
        random.goes_different_ways(&mut threads);
    }
    only_one(&mut threads, |instruction| instruction == SocketClose);
    let receiver = random.below(thread_count);
    let channels = (0..OBJECT_COUNT).map(|_| (random.pick(&[None, Some(0), Some(0), Some(1)]), receiver));
    let channels = channels.collect();
    let counted_drop = random.chance(1, 2);
    let is_acquainted = random.chance(2, 3);
    let barriers = vec![1 + random.below(thread_count); OBJECT_COUNT];
    Program { seed, threads, channels, barriers, counted_drop, is_acquainted, crowd: Crowd::default() }
}

/// Leaves out all but the first of these.
pub(super) fn only_one(threads: &mut [Thread], is_one: impl Fn(Instruction) -> bool) {
    let mut seen = false;
    for thread in threads {
        thread.code.retain(|&instruction| !(is_one(instruction) && std::mem::replace(&mut seen, true)));
    }
}

impl Random {
    /// Nearly always the same object.
    fn near(&mut self) -> usize {
        usize::from(self.chance(1, 6))
    }

    fn span(&mut self) -> Span {
        self.pick(&[Span::Zero, Span::Short, Span::Short, Span::Long, Span::Ever])
    }

    /// The main thread opens a scope for all the others, or for some; those that are left are spawned in the usual way.
    fn scope(&mut self, threads: &mut [Thread]) {
        let count = 1 + self.below(threads.len() - 1);
        let handle =
            self.pick(&[Handle::Dropped, Handle::Joined, Handle::PassedOn, Handle::PassedOn, Handle::Asked]);
        let inner = self.below(threads[0].code.len() + 1);
        threads[0].code.insert(0, Scope { first: 1, count, inner, handle });
        if self.chance(1, 2) {
            let child = 1 + self.below(count);
            let position = self.below(threads[child].code.len() + 1);
            let ends = self.pick(&[Panic, Assert(0)]);
            threads[child].code.insert(position, ends);
        }
        for child in count + 1..threads.len() {
            if self.chance(1, 2) {
                let parent = 1 + self.below(child - 1);
                let position = self.below(threads[parent].code.len() + 1);
                threads[parent].code.insert(position, SpawnInScope(child));
                continue;
            }
            let position = self.below(2);
            threads[0].code.insert(position, Spawn(child));
            if self.chance(1, 2) {
                threads[0].code.push(Join(child));
            }
        }
    }

    /// A lock is taken, most often let go again, and perhaps something is done meanwhile.
    fn turn_at_a_lock(&mut self, code: &mut Vec<Instruction>) {
        let object = self.near();
        let (writes, takes) = match self.weighted(&[5, 5, 2, 2, 1]) {
            0 => (false, Read(object)),
            1 => (true, Write(object)),
            2 => (false, TryRead(object)),
            3 => (true, TryWrite(object)),
            _ => (true, ClearRwPoison(object)),
        };
        code.push(takes);
        if self.chance(1, 4) {
            let (variable, order) = (self.near(), self.order());
            code.push(self.pick(&[
                Load(variable, order),
                Store(variable, 1, order),
                Yield,
                TryRead(1 - object),
            ]));
        }
        let is_reader = !writes
            || self.chance(1, 4) && {
                code.push(Downgrade(object));
                true
            };
        if !self.chance(1, 10) {
            code.push(if is_reader { ReadUnlock(object) } else { WriteUnlock(object) });
        }
    }

    fn feature(&mut self, theme: Theme, code: &mut Vec<Instruction>) {
        let (object, variable) = (self.near(), self.near());
        match theme {
            Theme::Poison => self.poison(object, code),
            Theme::RwPoison => code.push(match self.below(12) {
                0..3 => PoisonRwLock(object),
                3 => ClearRwPoison(object),
                4 => IsRwPoisoned(object),
                5 => TryRead(object),
                6 => TryWrite(object),
                7 => Write(object),
                8 => Downgrade(object),
                9 => ReadUnlock(object),
                10 => WriteUnlock(object),
                _ => Read(object),
            }),
            Theme::Conditions => self.conditions(object, code),
            Theme::Once => code.push(match self.below(9) {
                0..2 => OnceWait(object),
                2 => OnceWaitForce(object),
                3 => OnceIsCompleted(object),
                4 => CallOnce { once: object, variable, panics: false },
                n => CallOnceForce { once: object, variable, panics: n < 7 },
            }),
            Theme::Lazy => code.push(match self.below(9) {
                0..2 => LazyForce(1 - object),
                2 => LazyGet(1 - object),
                3 => OnceLockWait(object),
                4 => OnceGet(object),
                5 => OnceSet(object),
                6 => Store(variable, 1, Order::Relaxed),
                _ => OnceTryInit { once: object, variable },
            }),
            Theme::Parcels => code.push(match self.below(12) {
                0..3 => SendParcel(object),
                3 => TrySendParcel(object),
                4..6 => ReceiveParcel(object),
                6 => TryReceiveParcel(object),
                7 => ReceiveParcelTimeout(object),
                8..10 => DropParcelSender(object),
                10 => Load(object, Order::Relaxed),
                _ => DropParcelReceiver(object),
            }),
            Theme::Receivers => {
                let span = self.span();
                code.push(match self.below(14) {
                    0..3 => Send(object),
                    3 => TrySend(object),
                    4 => ReceiveSome(object, 1 + self.below(3)),
                    5 => TryReceiveAll(object),
                    6..8 => ReceiveFor(object, span),
                    8 => TryReceive(object),
                    9 => CloneSender(object),
                    10 => DropClonedSender(object),
                    11 => DropReceiver(object),
                    12 => Receive(object),
                    _ => DropSender(object),
                });
            }
            Theme::Counts => code.push(self.pick(&[
                ArcClone,
                ArcDrop,
                ArcDrop,
                ArcCount,
                ArcWeakCount,
                ArcGetMut,
                ArcTryUnwrap,
                ArcDowngrade,
                ArcDowngrade,
                WeakUpgrade,
                WeakUpgrade,
                WeakDrop,
                WeakClone,
                WeakCounts,
                ArcMakeMut,
                ArcIntoInner,
                ArcUnwrapOrClone,
                ArcCountUp,
                ArcPut,
                ArcTake,
                ArcPeek,
            ])),
            Theme::Tokens => {
                let span = self.span();
                match self.below(9) {
                    0..2 => code.push(Park),
                    2..4 => code.push(ParkFor(span)),
                    4 => code.push(UnparkSibling(1 + self.below(2))),
                    5 => code.push(Unpark(self.below(3))),
                    6 => code.extend([Lock(object), WaitFor(object, span), Unlock(object)]),
                    7 => code.push(NotifyOne(object)),
                    _ => code.push(UnparkMain),
                }
            }
            Theme::Wakers => code.push(match self.below(6) {
                0..2 => BlockOn { variable, turns: 1 + self.below(2) },
                2..4 => Wake(variable),
                4 => ParkFor(Span::Short),
                _ => self.pick(&[UnparkMain, Unpark(1), Park]),
            }),
            Theme::Locals => self.locals(object, variable, code),
            Theme::Scopes => code.push(match self.below(6) {
                0 => Load(variable, Order::Relaxed),
                1 => Add(variable, Order::Synchronizing),
                2 => UnparkMain,
                3 => Park,
                4 => Assert(variable),
                _ => Lock(object),
            }),
            Theme::Variables => {
                let order = self.order();
                code.push(match self.below(9) {
                    0 => Update(variable, order),
                    1 => ExchangeLoop(variable),
                    2 => ByteLoad(object),
                    3 => ByteStore(object, 1),
                    4 => ByteAdd(self.below(2)),
                    5 => CellAround { cell: object, variable },
                    6 => CellRead(object),
                    7 => CellWrite(object),
                    _ => Exchange { variable, expected: 0, new: 2, weak: true },
                });
            }
            Theme::Loops => {
                let (order, yields) = (self.order(), self.chance(1, 2));
                code.push(match self.below(9) {
                    0..2 => GiveUpWaiting {
                        variable,
                        turns: 1 + self.below(5),
                        kept: self.pick(&[Kept::Heap, Kept::Shared, Kept::Local, Kept::Pauses]),
                        pause: Pause::Spin,
                    },
                    2 => SpinWhileZero { variable, turns: 1 + self.below(5), pause: Pause::hint(yields) },
                    3 => AwaitNonZero { variable, pause: Pause::hint(yields) },
                    4..6 => Store(variable, self.below(2) as u64, order),
                    6 => Exchange { variable, expected: 0, new: 2, weak: yields },
                    7 => Load(1 - variable, order),
                    _ => Store(1 - variable, 1, order),
                });
            }
            Theme::BareLoops => {
                let order = self.order();
                let pause = if self.chance(1, 4) { Pause::hint(self.chance(1, 2)) } else { Pause::None };
                code.push(match self.below(18) {
                    0..2 => GiveUpWaiting {
                        variable,
                        turns: 1 + self.below(7),
                        kept: self.pick(&[Kept::Heap, Kept::Shared, Kept::Local, Kept::Pauses]),
                        pause,
                    },
                    2 => SpinWhileZero { variable, turns: 1 + self.below(7), pause },
                    3..5 => AwaitNonZero { variable, pause },
                    5 => AwaitEither(pause),
                    6..8 => SpinLock { variable, swaps: self.chance(1, 2), pause },
                    8..11 => Store(variable, self.below(2) as u64, order),
                    11 => Load(1 - variable, order),
                    12..14 => Store(1 - variable, self.below(2) as u64, order),
                    14..16 => AwaitLock { object, writes: self.chance(1, 3), pause },
                    16 => Glance { object, reads: self.chance(1, 3) },
                    _ => Lock(object),
                });
            }
            Theme::Polls => {
                let (reads, pause) = (self.chance(1, 3), Pause::hint(self.chance(1, 2)));
                code.push(match self.below(10) {
                    0..4 => PollLocked {
                        object,
                        reads,
                        turns: if self.chance(1, 3) { 0 } else { 1 + self.below(6) },
                        kept: self.pick(&[Kept::Heap, Kept::Shared, Kept::Local, Kept::Pauses]),
                        pause,
                    },
                    4..7 => TurnLocked { object, reads, times: 1 + self.below(2), turns: 1, pause },
                    7 => TurnLocked {
                        object,
                        reads,
                        times: 1 + self.below(2),
                        turns: 2 + self.below(4),
                        pause,
                    },
                    8 => Glance { object, reads },
                    _ => Store(variable, 1, self.order()),
                });
            }
            Theme::Waits => match self.below(12) {
                0..3 => code.extend([Lock(object), Wait(object), Unlock(object)]),
                3 => code.extend([Lock(object), WaitTimeout(object), Unlock(object)]),
                4 => code.extend([Lock(object), Wait(object)]),
                5 => code.extend([Lock(object), NotifyOne(object), Unlock(object)]),
                6 => code.extend([Lock(object), Add(variable, Order::Relaxed), Unlock(object)]),
                7 => code.push(self.pick(&[Lock(object), Unlock(object), TryLock(object)])),
                8 => code.push(NotifyAll(object)),
                _ => code.push(NotifyOne(object)),
            },
            Theme::Futexes => code.push(match self.below(9) {
                0..2 => FutexWait(object, 0),
                2 => FutexWaitTimeout(object, self.below(2) as u32),
                3..5 => FutexWake(object, 1 + self.below(2) as u32),
                5 => FutexAdd(object),
                6 => FutexWake(object, u32::MAX >> 1),
                _ => FutexStore(object, 1),
            }),
            Theme::Events => code.push(match self.below(14) {
                0..3 => EventWrite(object),
                3..5 => EventRead(object),
                5..7 => EventsWait,
                7 => EventsWaitTimeout,
                8..10 => EventsPoll,
                10 => SocketSend,
                11 => SocketReceive,
                12 => SocketClose,
                _ => EventWrite(object),
            }),
        }
    }

    fn poison(&mut self, object: usize, code: &mut Vec<Instruction>) {
        match self.below(10) {
            0..3 => code.push(PoisonMutex(object)),
            3 => code.push(ClearPoison(object)),
            4 => code.push(IsPoisoned(object)),
            5 => code.push(TryLock(object)),
            6 => code.push(Lock(object)),
            7 => code.push(Unlock(object)),
            8 => code.push(NotifyOne(object)),
            _ => code.extend([Lock(object), Wait(object), Unlock(object)]),
        }
    }

    fn conditions(&mut self, object: usize, code: &mut Vec<Instruction>) {
        let span = self.span();
        let least = 2 + self.below(2) as u64;
        let wait = match self.below(14) {
            0..2 => WaitWhile(object, least),
            2..4 => WaitTimeoutWhile(object, least),
            4..6 => WaitFor(object, span),
            6 => WaitElsewhere(object),
            7..9 => return code.push(NotifyOne(object)),
            9 => return code.push(NotifyAll(object)),
            10 => return code.push(TryLock(object)),
            11 => return code.push(Unlock(object)),
            12 => return code.extend([Lock(object), NotifyOne(object), Unlock(object)]),
            _ => return code.extend([Lock(object), Unlock(object)]),
        };
        code.extend([Lock(object), wait]);
        if self.chance(2, 3) {
            code.push(Unlock(object));
        }
    }

    fn locals(&mut self, object: usize, variable: usize, code: &mut Vec<Instruction>) {
        let farewell = self.pick(&[
            Farewell::Adds(variable),
            Farewell::Adds(variable),
            Farewell::Locks(object),
            Farewell::Locks(object),
            Farewell::Unparks,
            Farewell::Notifies(object),
            Farewell::Drops,
        ]);
        match self.below(9) {
            0..4 => code.push(Leave(farewell)),
            4 => code.push(IsFinished(1 + self.below(2))),
            5 => code.push(Load(variable, Order::Synchronizing)),
            6 => code.push(TryLock(object)),
            7 => code.push(self.pick(&[ArcCount, ArcDrop, Park])),
            _ => code.extend([Lock(object), Wait(object), Unlock(object)]),
        }
    }
}
