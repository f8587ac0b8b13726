//! More random programs of few words, as in `dense`, of what programs make of std's parts: work that is given to whoever takes it,
//! panics that are handed on, thread-locals that are made when they are first used, locks that are made of atomic variables, locks that
//! are taken twice, and many who wait at one condvar. And the programs of all other themes.

use super::Random;
use super::dense::{self, Word, of_words};
use super::rare::{self, of_tables};
use super::{features, more, themes};
use crate::random_real::language::Instruction::{self, *};
use crate::random_real::language::{Crowd, Farewell, Order, Patience, Pause, Program, Thread};

const fn take(patience: Patience, keeps: bool) -> Instruction {
    TakeWork { patience, keeps }
}

/// Work that is given to others, and those who do it.
const WORK: &[Word] = &[
    &[Give(Farewell::Adds(0))],
    &[Give(Farewell::Adds(0)), Give(Farewell::Adds(0))],
    &[Give(Farewell::Locks(0))],
    &[Give(Farewell::Bursts)],
    &[Give(Farewell::Unparks)],
    &[Give(Farewell::Sends(0))],
    &[Give(Farewell::Exchanges(0))],
    &[Give(Farewell::Drops)],
    &[Give(Farewell::Spawns(2))],
    &[Give(Farewell::Notifies(0))],
    &[Give(Farewell::Pauses(Pause::Yield))],
    &[Give(Farewell::Waits(0))],
    &[Give(Farewell::Leaves(0))],
    &[Give(Farewell::Adds(0)), CloseWork],
    &[Give(Farewell::Loads(0)), RefuseWork],
    &[CloseWork],
    &[RefuseWork],
];

const WORKERS: &[Word] = &[
    &[take(Patience::Endless, false)],
    &[take(Patience::Endless, true)],
    &[take(Patience::Endless, false), take(Patience::Endless, false)],
    &[take(Patience::Endless, false), SkipIfEven, take(Patience::Endless, false)],
    &[take(Patience::None, false)],
    &[take(Patience::None, true)],
    &[take(Patience::Timed, false)],
    &[take(Patience::Timed, true)],
    &[take(Patience::Timed, false), SkipIfFailed, take(Patience::None, false)],
    &[Catch(1), take(Patience::Endless, true)],
    &[Catch(1), take(Patience::Timed, false)],
    &[CatchKeep(1), take(Patience::Endless, true)],
];

/// Who sees what others do.
const BESIDE: &[Word] = &[
    &[Load(0, Order::Relaxed)],
    &[Load(1, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Add(0, Order::Synchronizing)],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0), SkipIfFailed, Unlock(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[NotifyOne(0)],
    &[Join(1)],
    &[IsFinished(1)],
    &[Detach(1)],
    &[Park],
    &[ParkTimeout],
    &[UnparkMain],
    &[Receive(0)],
    &[TryReceive(0)],
    &[ArcCount],
    &[Yield],
    &[Choose(2)],
    &[CellWrite(0)],
    &[CellRead(0)],
    &[SkipIfEven],
    &[SkipIfFailed],
];

/// Panics that are caught, handed on and kept, with what they carry.
const HANDED_ON: &[Word] = &[
    &[Panic],
    &[PanicWith(Farewell::Adds(0))],
    &[PanicWith(Farewell::Locks(0))],
    &[PanicWith(Farewell::Unparks)],
    &[PanicWith(Farewell::Sends(0))],
    &[PanicWith(Farewell::Exchanges(0))],
    &[PanicWith(Farewell::Drops)],
    &[PanicWith(Farewell::Notifies(0))],
    &[PanicWith(Farewell::Joins(2))],
    &[PanicWith(Farewell::Waits(0))],
    &[Assert(0)],
    &[Resume(1), PanicWith(Farewell::Adds(0))],
    &[Resume(1), PanicWith(Farewell::Locks(0))],
    &[Resume(1), JoinOn(1)],
    &[Resume(2), Lock(0), Panic],
    &[Resume(1), Assert(0)],
    &[Catch(2), Resume(1), PanicWith(Farewell::Adds(0))],
    &[CatchKeep(1), PanicWith(Farewell::Adds(0))],
    &[CatchKeep(1), PanicWith(Farewell::Unparks)],
    &[CatchKeep(1), JoinOn(1)],
    &[CatchKeep(2), Lock(0), PanicWith(Farewell::Locks(0))],
    &[Catch(1), JoinOn(1)],
    &[Within(2), Lock(0), JoinOn(1)],
    &[JoinOn(1)],
    &[JoinOn(2)],
    &[JoinKeep(1)],
    &[JoinKeep(2)],
    &[AtEnd(Farewell::Bursts)],
    &[AtEnd(Farewell::Bursts), AtEnd(Farewell::Locks(0))],
    &[AtEnd(Farewell::Bursts), Panic],
    &[Within(1), AtEnd(Farewell::Bursts)],
    &[Within(2), AtEnd(Farewell::Bursts), Lock(0)],
    &[Within(2), Write(0), AtEnd(Farewell::Bursts)],
    &[OnceAround { once: 0, count: 1 }, JoinOn(1)],
    &[OnceAround { once: 0, count: 2 }, Resume(1), Assert(0)],
    &[AtEnd(Farewell::Panics(0)), Panic],
];

/// Thread-locals that are made when they are first used.
const OWN: &[Word] = &[
    &[UseOwn(0)],
    &[UseOwn(1)],
    &[UseOwn(2)],
    &[UseOwn(3)],
    &[UseOwn(0), UseOwn(1)],
    &[UseOwn(1), UseOwn(0)],
    &[UseOwn(0), UseOwn(2)],
    &[UseOwn(3), UseOwn(3)],
    &[UseOwn(1), Panic],
    &[Lock(0), UseOwn(1)],
    &[Catch(2), UseOwn(2), Panic],
    &[Leave(Farewell::UsesOwn(0))],
    &[Leave(Farewell::UsesOwn(1))],
    &[Leave(Farewell::UsesOwn(2))],
    &[UseOwn(0), Leave(Farewell::UsesOwn(1))],
    &[Leave(Farewell::UsesOwn(1)), UseOwn(0)],
    &[AtEnd(Farewell::UsesOwn(0)), Panic],
    &[AtEnd(Farewell::UsesOwn(2))],
    &[Within(2), AtEnd(Farewell::UsesOwn(1)), Panic],
    &[PanicWith(Farewell::UsesOwn(0))],
    &[Return(Farewell::UsesOwn(1))],
    &[KeySet(Farewell::UsesOwn(0))],
    &[UseOwn(1), KeySet(Farewell::UsesOwn(1))],
    &[SendBurden(0, Farewell::UsesOwn(0))],
    &[OnceAround { once: 0, count: 1 }, UseOwn(1)],
];

/// What is locked until a thread has ended.
const LOCKED_TO_THE_END: &[Word] = &[
    &[Lock(0), LeaveGuard(0)],
    &[TryLock(0), LeaveGuard(0)],
    &[Lock(0), LeaveGuard(0), Panic],
    &[Lock(0), Leave(Farewell::Adds(0)), LeaveGuard(0)],
    &[Lock(0), LeaveGuard(0), Leave(Farewell::Notifies(0))],
    &[Lock(0), WaitTimeout(0), LeaveGuard(0)],
    &[Lock(0), Wait(0), LeaveGuard(0)],
    &[Lock(0), LeaveGuard(0), Leave(Farewell::Tries(0))],
    &[Lock(0), LeaveGuard(0), UseOwn(0)],
    &[Read(0), LeaveReader(0)],
    &[Read(0), LeaveReader(0), Panic],
    &[TryRead(0), LeaveReader(0), Read(0)],
    &[Write(0), LeaveWriter(0)],
    &[Write(0), LeaveWriter(0), Panic],
    &[Write(0), Downgrade(0), LeaveReader(0)],
    &[TryWrite(0), LeaveWriter(0)],
    &[Lock(0), Read(0), LeaveGuard(0), LeaveReader(0)],
    &[Leave(Farewell::Locks(0))],
    &[Leave(Farewell::Reads(0))],
];

/// Who waits for them.
const WAITS_FOR_THE_END: &[Word] = &[
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0)],
    &[TryLock(0), SkipIfFailed, Store(0, 1, Order::Relaxed)],
    &[IsPoisoned(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[Lock(0), NotifyOne(0), Unlock(0)],
    &[NotifyOne(0)],
    &[Read(0)],
    &[Read(0), ReadUnlock(0)],
    &[TryRead(0)],
    &[Write(0)],
    &[Write(0), WriteUnlock(0)],
    &[TryWrite(0)],
    &[IsRwPoisoned(0)],
    &[Join(1)],
    &[Join(2)],
    &[IsFinished(1)],
    &[IsFinished(1), SkipIfEven, TryLock(0)],
    &[Detach(1)],
    &[AwaitEnd(1, Pause::Yield)],
    &[AwaitLock { object: 0, writes: false, pause: Pause::Yield }],
    &[AwaitLock { object: 0, writes: true, pause: Pause::Yield }],
    &[Load(0, Order::Relaxed)],
    &[Add(0, Order::Relaxed)],
    &[CellWrite(0)],
    &[Yield],
    &[Choose(2)],
];

/// Locks and the like that are made of atomic variables.
const HANDMADE: &[Word] = &[
    &[AwaitValue { variable: 0, value: 2, pause: Pause::Yield }],
    &[AwaitValue { variable: 0, value: 1, pause: Pause::Spin }],
    &[AwaitValue { variable: 1, value: 1, pause: Pause::Yield }],
    &[AwaitValue { variable: 0, value: 0, pause: Pause::Yield }],
    &[AwaitChange(0, Pause::Yield)],
    &[AwaitChange(0, Pause::Spin)],
    &[AwaitChange(1, Pause::Yield)],
    &[TakeTicket(Pause::Yield), Add(1, Order::Synchronizing)],
    &[TakeTicket(Pause::Spin), CellWrite(0), Add(1, Order::Synchronizing)],
    &[TakeTicket(Pause::Yield), CellWrite(0), Add(1, Order::Relaxed)],
    &[TakeTicket(Pause::Sleep)],
    &[ReadVersioned { turns: 2, pause: Pause::Yield }],
    &[ReadVersioned { turns: 0, pause: Pause::Yield }],
    &[ReadVersioned { turns: 0, pause: Pause::Spin }],
    &[WriteVersioned],
    &[SpinWeakly(0, Pause::Yield), Store(0, 0, Order::Synchronizing)],
    &[SpinWeakly(0, Pause::Spin), CellWrite(0), Store(0, 0, Order::Synchronizing)],
    &[SpinWeakly(0, Pause::Yield), CellWrite(0), Store(0, 0, Order::Relaxed)],
    &[SpinWeakly(0, Pause::Yield)],
    &[TakeOne(0, Pause::Yield)],
    &[TakeOne(0, Pause::Spin), CellWrite(0), Add(0, Order::Synchronizing)],
    &[TakeOne(1, Pause::Yield)],
    &[EnterSide(0, Pause::Yield), CellWrite(0), LeaveSide(0)],
    &[EnterSide(1, Pause::Yield), CellWrite(0), LeaveSide(1)],
    &[EnterSide(0, Pause::Spin)],
    &[EnterSide(1, Pause::Spin), LeaveSide(1)],
    &[SpinLock { variable: 0, swaps: true, pause: Pause::Yield }, Store(0, 0, Order::Synchronizing)],
];

/// What such loops wait for.
const MOVES: &[Word] = &[
    &[Add(0, Order::Synchronizing)],
    &[Add(1, Order::Synchronizing)],
    &[Add(0, Order::Relaxed), Add(0, Order::Relaxed)],
    &[Store(0, 0, Order::Relaxed)],
    &[Store(0, 1, Order::Synchronizing)],
    &[Store(1, 1, Order::Relaxed)],
    &[Store(0, 2, Order::Synchronizing)],
    &[Load(0, Order::Relaxed)],
    &[CellRead(0)],
    &[CellWrite(0)],
    &[Yield],
    &[Yield, Store(0, 1, Order::Relaxed)],
    &[Join(1)],
    &[Panic],
    &[Choose(2)],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[Sleep],
    &[Park],
    &[UnparkMain],
    &[LeaveSide(0)],
    &[Leave(Farewell::Adds(0))],
];

/// Locks that their owner takes again, and readers that read again.
const AGAIN: &[Word] = &[
    &[Reenter(0)],
    &[Reenter(0), Reenter(0)],
    &[Reenter(0), Exit(0)],
    &[Reenter(0), Reenter(0), Exit(0), Exit(0)],
    &[Exit(0)],
    &[Reenter(0), WaitTimeout(0)],
    &[Reenter(0), Panic],
    &[ReadAgain(0)],
    &[ReadAgain(0), ReadAgain(0)],
    &[ReadAgain(0), TryReadAgain(0)],
    &[TryReadAgain(0), TryReadAgain(0)],
    &[ReadAgain(0), ReadAgainUnlock],
    &[ReadAgain(0), ReadAgain(0), ReadAgainUnlock],
    &[Read(0), TryReadAgain(0)],
    &[Read(0), ReadAgain(0), ReadUnlock(0)],
    &[ReadAgainUnlock],
    &[TryReadAgain(0), SkipIfFailed, ReadAgainUnlock],
    &[Write(0), Downgrade(0), ReadAgain(0)],
    &[Write(0), Downgrade(0), TryReadAgain(0), ReadUnlock(0)],
    &[Write(0)],
    &[Write(0), WriteUnlock(0)],
    &[TryWrite(0)],
    &[TryWrite(0), SkipIfFailed, WriteUnlock(0)],
    &[Write(0), Panic],
    &[Read(0), Panic],
    &[Leave(Farewell::Reads(0))],
    &[Leave(Farewell::Writes(0))],
    &[AtEnd(Farewell::Writes(0))],
    &[Load(0, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Join(1)],
    &[Yield],
];

/// Objects that are moved.
const THINGS: &[Word] = &[
    &[ThingPut(0)],
    &[ThingPut(1)],
    &[ThingReplace(0)],
    &[ThingUse(0)],
    &[ThingUse(1)],
    &[ThingUse(0), ThingUse(0)],
    &[ThingReset(0)],
    &[ThingReset(0), ThingUse(0)],
    &[ThingTake(0)],
    &[ThingTake(0), ThingUseOwn],
    &[ThingTake(0), ThingUseOwn, ThingGive(0)],
    &[ThingTake(0), ThingGive(1)],
    &[ThingTake(1), ThingGive(0)],
    &[ThingTake(0), ThingDrop],
    &[ThingTake(0), SkipIfEven, ThingPut(0)],
    &[ThingGive(0)],
    &[ThingUseOwn],
    &[ThingDrop],
    &[ThingPut(0), ThingTake(0), ThingUseOwn],
];

/// Those who wait at one condvar.
const WAITERS: &[Word] = &[
    &[Lock(0), Wait(0), Unlock(0)],
    &[Lock(0), Wait(0), NotifyOne(0), Unlock(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[Lock(0), WaitTimeout(0), SkipIfFailed, NotifyOne(0), Unlock(0)],
    &[Lock(0), WaitWhile(0, 3), Unlock(0)],
    &[Lock(0), WaitWhile(0, 4), NotifyAll(0), Unlock(0)],
    &[Lock(0), WaitTimeoutWhile(0, 3), Unlock(0)],
    &[Lock(0), WaitWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitWhileZero(0, 0), Store(0, 0, Order::Relaxed), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitElsewhere(0), Unlock(0)],
    &[Within(3), Lock(0), Wait(0), Panic],
    &[Leave(Farewell::Waits(0))],
];

const TELLERS: &[Word] = &[
    &[NotifyOne(0)],
    &[NotifyOne(0), NotifyOne(0)],
    &[NotifyAll(0)],
    &[NotifyAll(1)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[Store(0, 1, Order::Relaxed), NotifyAll(0)],
    &[Lock(0), Store(0, 1, Order::Relaxed), Unlock(0), NotifyOne(0)],
    &[Lock(0), NotifyOne(0), Unlock(0)],
    &[Lock(0), NotifyOne(0)],
    &[Store(0, 0, Order::Relaxed)],
    &[Leave(Farewell::Notifies(0))],
    &[AtEnd(Farewell::NotifiesAll(0)), Panic],
    &[Lock(0), Unlock(0)],
    &[TryLock(0), SkipIfFailed, NotifyOne(0)],
    &[Join(1)],
];

/// The program of a few words of each table, with something beside for two of three programs.
fn of(seed: u64, keys: [u64; 2], tables: &[&[Word]], beside: &[Word], most: usize) -> Program {
    let tables = if seed.is_multiple_of(3) { tables.to_vec() } else { [tables, &[beside]].concat() };
    let (random, vocabulary) = of_tables(Random::begin(seed, keys[0], keys[1]), &tables, most);
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of work that is given to whoever takes it.
#[must_use]
pub fn of_work(seed: u64) -> Program {
    of(seed, [0xD76A_A478_E8C7_B756, 0x2420_70DB_C1BD_CEEE], &[WORK, WORKERS], BESIDE, 2)
}

/// The program with the given seed, of panics that are handed on.
#[must_use]
pub fn of_handed_on_panics(seed: u64) -> Program {
    of(seed, [0xF57C_0FAF_4787_C62A, 0xA830_4613_FD46_9501], &[HANDED_ON], BESIDE, 3)
}

/// The program with the given seed, of thread-locals that are made when they are first used.
#[must_use]
pub fn of_own(seed: u64) -> Program {
    of(seed, [0x6980_98D8_8B44_F7AF, 0xFFFF_5BB1_895C_D7BE], &[OWN], BESIDE, 3)
}

/// The program with the given seed, of locks that are made of atomic variables.
#[must_use]
pub fn of_handmade(seed: u64) -> Program {
    of(seed, [0x6B90_1122_FD98_7193, 0xA679_438E_49B4_0821], &[HANDMADE], MOVES, 3)
}

/// The program with the given seed, of locks that are taken again.
#[must_use]
pub fn of_taken_again(seed: u64) -> Program {
    let keys = [0xF61E_2562_C040_B340, 0x265E_5A51_E9B6_C7AA];
    let (random, vocabulary) = of_tables(Random::begin(seed, keys[0], keys[1]), &[AGAIN], 4);
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of what is locked until a thread has ended.
#[must_use]
pub fn of_locked_to_the_end(seed: u64) -> Program {
    let random = Random::begin(seed, 0x2441_453D_8A16_C9E5, 0x895C_D7BE_0285_2215);
    let (random, vocabulary) = of_tables(random, &[LOCKED_TO_THE_END, WAITS_FOR_THE_END], 2);
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of threads that do the same again and again.
#[must_use]
pub fn of_long(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xE7D3_FBC8_21E1_CDE6, 0xC337_07D6_F4D5_0D87);
    let tables = [dense::SUBJECTS, &[BESIDE, MOVES, THINGS, AGAIN, WORK, WORKERS]].concat();
    let vocabulary: Vec<Word> = (0..2 + random.below(3))
        .map(|_| {
            let words = random.pick(&tables);
            random.pick(words)
        })
        .collect();
    let mut program = of_words(seed, random, &vocabulary);
    let mut random = Random::begin(seed, 0x455A_14ED_A9E3_E905, 0xFCEF_A3F8_676F_02D9);
    for thread in &mut program.threads {
        let repeats =
            |i: &Instruction| !matches!(i, Spawn(_) | Scope { .. } | Panic) && i.farewell().is_none();
        let again: Vec<Instruction> = thread.code.iter().copied().filter(repeats).collect();
        let times = random.below(if again.len() < 4 { 16 } else { 8 });
        thread.code.extend(again.repeat(times));
    }
    program
}

/// The program with the given seed, of objects that are moved.
#[must_use]
pub fn of_things(seed: u64) -> Program {
    of(seed, [0x0285_2215_1D36_D8D2, 0x49B4_0821_F61E_2562], &[THINGS, THINGS], BESIDE, 2)
}

/// The program with the given seed, of many who wait at one condvar.
#[must_use]
pub fn of_waiters(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xD62F_105D_0244_1453, 0xD8A1_E681_E7D3_FBC8);
    let count = 3 + random.below(3);
    let (mut random, vocabulary) = of_tables(random, &[WAITERS, TELLERS], 2);
    let mut program = of_words(seed, Random::begin(seed, 0x21E1_CDE6, 0xC337_07D6), &vocabulary);
    let mut threads = vec![Thread::default(); count];
    for thread in &mut threads {
        for _ in 0..1 + random.below(if count == 3 { 2 } else { 1 }) {
            thread.code.extend(random.pick(&vocabulary));
        }
    }
    let mut main: Vec<Instruction> = (1..count).map(Spawn).collect();
    let at = random.below(main.len() + 1);
    main.splice(at..at, std::mem::take(&mut threads[0].code));
    if random.chance(1, 3) {
        main.push(Join(1 + random.below(count - 1)));
    }
    threads[0].code = main;
    program.threads = threads;
    program
}

/// What the threads of a family do.
const AT_HOME: &[Word] = &[
    &[Lock(0), Unlock(0)],
    &[Lock(1), Unlock(1)],
    &[Lock(0), Add(0, Order::Relaxed), Unlock(0)],
    &[Lock(0)],
    &[TryLock(0), SkipIfFailed, Unlock(0)],
    &[Lock(0), Lock(1), Unlock(0), Unlock(1)],
    &[Lock(1), Lock(0), Unlock(1), Unlock(0)],
    &[Load(0, Order::Synchronizing)],
    &[Load(1, Order::Synchronizing)],
    &[Store(0, 1, Order::Synchronizing)],
    &[Store(1, 1, Order::Synchronizing)],
    &[Add(0, Order::Synchronizing)],
    &[Add(1, Order::Synchronizing)],
    &[Load(0, Order::Synchronizing), SkipIfEven, Store(1, 1, Order::Synchronizing)],
    &[Load(1, Order::Synchronizing), SkipIfEven, Lock(0), Unlock(0)],
    &[Lock(0), Wait(0), Unlock(0)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[Send(0)],
    &[Receive(0)],
    &[TryReceive(0)],
    &[Park],
    &[UnparkMain],
    &[Yield],
    &[CellWrite(0)],
];

/// The program with the given seed, of threads that spawn others in the midst of what they do.
#[must_use]
pub fn of_families(seed: u64) -> Program {
    let random = Random::begin(seed, 0xA4BE_EA44_4BDE_CFA9, 0xF6BB_4B60_BEBF_BC70);
    let (random, vocabulary) = of_tables(random, &[AT_HOME], 5);
    let mut program = of_words(seed, random, &vocabulary);
    let mut random = Random::begin(seed, 0x289B_7EC6_EAA1_27FA, 0xD4EF_3085_0488_1D05);
    let count = 3 + random.below(4);
    let mut threads = vec![Thread::default(); count];
    for thread in &mut threads {
        for _ in 0..usize::from(random.chance(3, 4)) + usize::from(random.chance(2, count)) {
            thread.code.extend(random.pick(&vocabulary));
        }
    }
    for child in 1..count {
        // Most have one of the older half for a parent.
        let parent = if random.chance(1, 3) { random.below(child) } else { child / 2 };
        let code = &mut threads[parent].code;
        let at = random.below(code.len() + 1);
        code.insert(at, Spawn(child));
        if random.chance(1, 2) {
            let at = at + 1 + random.below(code.len() - at);
            code.insert(at, Join(child));
        }
    }
    program.threads = threads;
    program
}

/// The themes of all other files, and of this one.
const THEMES: &[fn(u64) -> Program] = &[
    super::program,
    features::program,
    features::looping_program,
    features::bare_program,
    features::polling_program,
    features::system_program,
    features::waiting_program,
    features::mixed_program,
    features::reading_program,
    dense::of_one_subject,
    dense::of_all_subjects,
    dense::of_partings,
    dense::of_times,
    dense::of_panics,
    dense::of_loops,
    dense::of_tokens,
    dense::of_variables,
    dense::of_commuting,
    dense::of_tries,
    dense::of_other_loops,
    themes::of_futexes,
    themes::of_boxes,
    themes::of_poison,
    themes::of_orders,
    themes::of_meetings,
    themes::of_endings,
    rare::of_patience,
    rare::of_late,
    rare::of_answers,
    rare::of_tasks,
    rare::of_stacks,
    rare::of_cells,
    rare::of_scopes,
    more::of_statics,
    more::of_keys,
    more::of_again,
    more::of_downgrades,
    more::of_handed_on,
    more::of_owners,
    more::of_disconnects,
    more::of_futex_partings,
    more::of_nested_scopes,
    of_work,
    of_handed_on_panics,
    of_own,
    of_handmade,
    of_taken_again,
    of_things,
    of_waiters,
    of_locked_to_the_end,
    of_families,
];

/// The program with the given seed, of one theme after the other.
#[must_use]
pub fn of_any_theme(seed: u64) -> Program {
    let count = THEMES.len() as u64;
    let program = THEMES[(seed % count) as usize](1_000_000 + seed / count);
    let mut random = Random::begin(seed, 0x676F_02D9_8D2A_4C8A, 0xFFFA_3942_8771_F681);
    let crowd = match random.below(12) {
        0 => Crowd { objects: 60 + random.below(5), threads: 0 },
        1 => Crowd { objects: 0, threads: 5 + random.below(4) },
        2 => Crowd { objects: 0, threads: 61 + random.below(4) },
        _ => program.crowd,
    };
    Program { seed, crowd, ..program }
}
