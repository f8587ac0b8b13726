//! Random real programs, each a function of its seed.

pub mod dense;
pub mod features;
pub mod more;
pub mod patterns;
pub mod rare;
pub mod themes;

use super::language::{Crowd, Instruction, Kept, OBJECT_COUNT, Order, Pause, Program, Thread, Way};
use Instruction::*;

/// The kinds of operations; a program is made of few of them, so that its threads meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Atomic,
    Mutex,
    RwLock,
    Condvar,
    Channel,
    Once,
    Barrier,
    Park,
    Pause,
    Thread,
    Arc,
    Cell,
    Panic,
}

const FAMILIES: [Family; 13] = [
    Family::Atomic,
    Family::Mutex,
    Family::RwLock,
    Family::Condvar,
    Family::Channel,
    Family::Once,
    Family::Barrier,
    Family::Park,
    Family::Pause,
    Family::Thread,
    Family::Arc,
    Family::Cell,
    Family::Panic,
];

/// The program with the given seed.
#[must_use]
pub fn program(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x9E37_79B9_7F4A_7C15, 0x5DEE_CE66_D1CE_4E5B);
    let thread_count = 2 + random.weighted(&[4, 5, 1]);
    let family_count = 1 + random.below(3);
    let mut families: Vec<Family> = (0..family_count).map(|_| random.pick(&FAMILIES)).collect();
    if random.chance(1, 2) {
        families.push(Family::Atomic);
    }
    let longest = [6, 4, 3][thread_count - 2];
    let mut threads = vec![Thread::default(); thread_count];
    for thread in &mut threads {
        thread.keeps = random.chance(1, 4);
        let goal = 1 + random.below(longest);
        while thread.code.len() < goal {
            let family = random.pick(&families);
            random.instructions(family, &mut thread.code);
        }
    }
    for child in 1..thread_count {
        random.family(&mut threads, child);
    }
    let channels = (0..OBJECT_COUNT)
        .map(|_| (random.pick(&[None, Some(0), Some(1), Some(2)]), random.below(thread_count)));
    let channels = channels.collect();
    let barriers = (0..OBJECT_COUNT).map(|_| 1 + random.below(thread_count)).collect();
    let counted_drop = random.chance(1, 3);
    if seed % 8 == 5 {
        random.goes_round(&mut threads);
    }
    if seed % 16 == 13 {
        wake_themselves(&mut threads);
    }
    if seed % 7 == 3 {
        random.makes_objects(&mut threads);
    }
    let is_woken = seed % 11 == 4;
    if is_woken {
        random.is_woken(&mut threads);
    }
    let chooses = seed % 5 == 2;
    if chooses {
        random.goes_different_ways(&mut threads);
    }
    // Sets of objects and threads have a word for the first 64 of them, and there are short ways for up to eight threads.
    let crowd = match seed % 25 {
        9 => Crowd { objects: 56 + random.below(8), threads: 0 },
        14 => Crowd { objects: 0, threads: 4 + random.below(4) },
        19 if seed.is_multiple_of(3) => Crowd { objects: 0, threads: 60 + random.below(4) },
        _ => Crowd::default(),
    };
    let is_acquainted = chooses || is_woken || seed.is_multiple_of(3);
    Program { seed, threads, channels, barriers, counted_drop, is_acquainted, crowd }
}

/// A small generator (SplitMix64).
#[derive(Debug)]
struct Random(u64);

impl Random {
    /// Numbers for the program with this seed; `factor` and `mask` are others for other kinds of programs.
    fn begin(seed: u64, factor: u64, mask: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(factor) ^ mask);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 11) as usize % n
    }

    fn chance(&mut self, m: usize, n: usize) -> bool {
        self.below(n) < m
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|&weight| {
                let here = rest < weight;
                rest = rest.wrapping_sub(weight);
                here
            })
            .unwrap_or(0)
    }

    fn object(&mut self) -> usize {
        usize::from(self.chance(1, 3))
    }

    fn order(&mut self) -> Order {
        self.pick(&[Order::Relaxed, Order::Synchronizing, Order::Sequential])
    }

    /// Where the thread is spawned, and what its parent has to do with it later.
    fn family(&mut self, threads: &mut [Thread], child: usize) {
        let parent = if self.chance(1, 4) { self.below(child) } else { 0 };
        let code = &mut threads[parent].code;
        // A thread that fails before it has spawned its children would leave them out.
        let safe = code.iter().position(|&i| may_panic(i)).unwrap_or(code.len());
        let position = if self.chance(2, 3) { spawns(code) } else { self.below(safe + 1).max(spawns(code)) };
        code.insert(position.min(safe.max(spawns(code))), Spawn(child));
        match self.below(6) {
            0..3 => code.push(Join(child)),
            3 => {
                let position = position + 1 + self.below(code.len() - position);
                code.insert(position, Join(child));
            }
            4 => {
                let position = position + 1 + self.below(code.len() - position);
                code.insert(position, Detach(child));
            }
            _ => {}
        }
    }

    /// Some place after the spawns with which the code of some thread begins.
    fn place<'t>(&mut self, threads: &'t mut [Thread]) -> (&'t mut Vec<Instruction>, usize) {
        let code = &mut threads[self.below(threads.len())].code;
        let position = spawns(code) + self.below(code.len() + 1 - spawns(code));
        (code, position)
    }

    /// One thread goes round until another, if it does, changes a variable.
    fn goes_round(&mut self, threads: &mut [Thread]) {
        let variable = self.object();
        for _ in 0..1 + self.below(2) {
            let way = self.pick(&[Way::Counts, Way::PutsBack, Way::HoldsLock]);
            let (code, position) = self.place(threads);
            code.insert(position, GoRound { variable, way });
        }
        let (code, position) = self.place(threads);
        code.insert(position, Store(variable, 1, Order::Synchronizing));
        if self.chance(1, 2) {
            code.splice(
                position..=position,
                [Lock(variable), Store(variable, 1, Order::Relaxed), Unlock(variable)],
            );
        }
    }

    /// Threads make objects, and find those that others have made.
    fn makes_objects(&mut self, threads: &mut [Thread]) {
        for _ in 0..2 + self.below(3) {
            let (slot, order) = (usize::from(self.chance(1, 4)), self.order());
            let uses = UsePublished(slot, order);
            let instruction =
                self.pick(&[Publish(slot, order), Publish(slot, order), uses, uses, Retract(slot, order)]);
            let (code, position) = self.place(threads);
            code.insert(position, instruction);
        }
    }

    /// A thread waits, one wakes it, and one does something else to it, which both depend on each other.
    fn is_woken(&mut self, threads: &mut [Thread]) {
        let (object, variable, order) = (self.object(), self.object(), self.order());
        let waiter = 1 + self.below(threads.len() - 1);
        let wait = self.pick(&[Wait(object), WaitTimeout(object)]);
        let end = threads[waiter].code.len();
        threads[waiter].code.splice(end..end, [Lock(object), wait, Unlock(object)]);
        let notify = self.pick(&[NotifyOne(object), NotifyAll(object)]);
        let does = self.pick(&[IsFinished(waiter), IsFinished(waiter), Unpark(waiter)]);
        let sees = self.pick(&[Add(variable, order), Load(variable, order)]);
        for instructions in [&[notify][..], &[does, sees]] {
            let (code, position) = self.place(threads);
            code.splice(position..position, instructions.iter().copied());
        }
    }

    /// What threads do depends on what they choose, and on what they see.
    fn goes_different_ways(&mut self, threads: &mut [Thread]) {
        for _ in 0..1 + self.below(2) {
            let (variable, order) = (self.object(), self.order());
            let way = self.pick(&[Choose(2), Choose(2), SkipIfZero(variable, order)]);
            let (code, position) = self.place(threads);
            code.insert(position, way);
        }
    }

    fn instructions(&mut self, family: Family, code: &mut Vec<Instruction>) {
        let object = self.object();
        let variable = self.object();
        let value = 1 + self.below(2) as u64;
        let order = self.order();
        match family {
            Family::Atomic => code.push(match self.below(12) {
                0..3 => Load(object, order),
                3..6 => Store(object, value, order),
                6..8 => Add(object, order),
                8 => Swap(object, value, order),
                9 => Fence(order),
                n => {
                    let expected = self.below(2) as u64;
                    Exchange { variable: object, expected, new: value, weak: n == 11 }
                }
            }),
            Family::Mutex => match self.below(6) {
                0 => code.push(TryLock(object)),
                1 => code.push(Lock(object)),
                2 => code.push(Unlock(object)),
                3 => code.push(IsPoisoned(object)),
                _ => self.around(Lock(object), Unlock(object), code),
            },
            Family::RwLock => match self.below(9) {
                0 => code.push(TryRead(object)),
                1 => code.push(TryWrite(object)),
                2 => code.push(Read(object)),
                3 => code.push(Write(object)),
                4 => code.push(ReadUnlock(object)),
                5 => code.push(WriteUnlock(object)),
                6 => code.extend([Write(object), Downgrade(object)]),
                7 => self.around(Read(object), ReadUnlock(object), code),
                _ => self.around(Write(object), WriteUnlock(object), code),
            },
            Family::Condvar => match self.below(7) {
                0..2 => code.extend([Lock(object), Wait(object), Unlock(object)]),
                2 => code.extend([Lock(object), WaitTimeout(object), Unlock(object)]),
                3 => code.extend([Lock(object), NotifyOne(object), Unlock(object)]),
                4 => code.push(NotifyAll(object)),
                _ => code.push(NotifyOne(object)),
            },
            Family::Channel => code.push(match self.below(12) {
                0..3 => Send(object),
                3 => TrySend(object),
                4..6 => Receive(object),
                6 => TryReceive(object),
                7 => ReceiveTimeout(object),
                8..10 => DropSender(object),
                10 => DropReceiver(object),
                _ => TrySend(object),
            }),
            Family::Once => code.push(match self.below(7) {
                0..2 => CallOnce { once: object, variable, panics: self.chance(1, 5) },
                2 => OnceIsCompleted(object),
                3 => OnceGet(object),
                4 => OnceSet(object),
                _ => OnceGetOrInit { once: object, variable },
            }),
            Family::Barrier => code.push(Arrive(object)),
            Family::Park => code.push(match self.below(5) {
                0..2 => Park,
                2 => ParkTimeout,
                _ => Unpark(self.below(4)),
            }),
            Family::Pause => code.push(match self.below(8) {
                0..3 => Yield,
                3 => Sleep,
                4 if self.chance(1, 2) => GiveUpWaiting {
                    variable,
                    turns: 1 + self.below(5),
                    kept: self.pick(&[Kept::Heap, Kept::Shared, Kept::Local, Kept::Pauses]),
                    pause: Pause::Spin,
                },
                4..6 => SpinWhileZero {
                    variable,
                    turns: 1 + self.below(3),
                    pause: Pause::hint(self.chance(1, 2)),
                },
                6 => Store(variable, value, order),
                _ if self.chance(1, 3) => AwaitNonZero { variable, pause: Pause::hint(self.chance(1, 2)) },
                _ => Load(variable, order),
            }),
            Family::Thread => code.push(match self.below(4) {
                0 => Load(variable, order),
                1 => Add(variable, order),
                _ => IsFinished(1 + self.below(3)),
            }),
            Family::Arc => code.push(self.pick(&[
                ArcClone,
                ArcDrop,
                ArcDrop,
                ArcCount,
                ArcGetMut,
                ArcTryUnwrap,
                ArcDowngrade,
                WeakUpgrade,
                WeakDrop,
            ])),
            Family::Cell => code.push(match self.below(7) {
                0..2 => CellRead(object),
                2..4 => CellWrite(object),
                4 => Choose(2 + self.below(2)),
                5 => Load(variable, order),
                _ => Store(variable, value, order),
            }),
            Family::Panic => code.push(match self.below(8) {
                0..3 => Defer(variable),
                3 => Panic,
                4 => Assert(variable),
                5 => Lock(object),
                6 => Load(variable, order),
                _ => Store(variable, value, order),
            }),
        }
    }

    /// Something simple between two others.
    fn around(&mut self, before: Instruction, after: Instruction, code: &mut Vec<Instruction>) {
        code.push(before);
        if self.chance(1, 2) {
            let family = self.pick(&[Family::Atomic, Family::Cell]);
            self.instructions(family, code);
        }
        code.push(after);
    }
}

/// Those that go round do so by waking themselves.
fn wake_themselves(threads: &mut [Thread]) {
    for instruction in threads.iter_mut().flat_map(|thread| &mut thread.code) {
        if let GoRound { way, .. } = instruction {
            *way = Way::WakesItself;
        }
    }
}

/// Length of the row of spawns with which the code begins.
fn spawns(code: &[Instruction]) -> usize {
    code.iter().take_while(|i| matches!(i, Spawn(_))).count()
}

fn may_panic(instruction: Instruction) -> bool {
    matches!(instruction, Panic | Assert(_) | CallOnce { .. } | OnceGetOrInit { .. })
}
