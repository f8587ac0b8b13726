//! More random programs of few words, as in [`dense`](super::dense) and [`rare`](super::rare): of what is static, of values that the system keeps for each
//! thread, of barriers and initialisers that are used again after panics, locks that are downgraded while others wait,
//! scopes within scopes, handles that others join, senders that go while somebody waits for a time, and futexes among what is dropped.

use super::Random;
use super::dense::{Word, of_words};
use super::rare::of_tables;
use crate::random_real::language::Instruction::{self, *};
use crate::random_real::language::{Farewell, Handle, Order, Pause, Program, Use};

/// Objects that are there before each execution.
const STATICS: &[Word] = &[
    &[UseStatic(Use::Load)],
    &[UseStatic(Use::Add)],
    &[UseStatic(Use::Add), UseStatic(Use::Load)],
    &[UseStatic(Use::Await)],
    &[UseStatic(Use::Lock)],
    &[UseStatic(Use::Lock), SkipIfEven, UseStatic(Use::Add)],
    &[UseStatic(Use::Poison)],
    &[UseStatic(Use::WaitTimeout)],
    &[UseStatic(Use::Notify)],
    &[UseStatic(Use::CallOnce)],
    &[UseStatic(Use::OnceWait)],
];

/// What the system keeps for each thread until that ends.
const KEYS: &[Word] = &[
    &[KeySet(Farewell::Adds(0))],
    &[KeySet(Farewell::Adds(0)), KeySet(Farewell::Loads(0))],
    &[KeySet(Farewell::SetsKey(0))],
    &[KeySet(Farewell::Leaves(0))],
    &[KeySet(Farewell::Locks(0))],
    &[KeySet(Farewell::Tries(0))],
    &[KeySet(Farewell::Unparks)],
    &[KeySet(Farewell::Exchanges(0))],
    &[KeySet(Farewell::Waits(0))],
    &[KeySet(Farewell::Panics(0))],
    &[KeySet(Farewell::Spawns(2))],
    &[KeySet(Farewell::Sends(0))],
    &[KeySet(Farewell::Pauses(Pause::Yield))],
    &[Leave(Farewell::SetsKey(0))],
    &[AtEnd(Farewell::SetsKey(0)), Panic],
    &[Return(Farewell::SetsKey(0))],
    &[Leave(Farewell::Adds(0)), KeySet(Farewell::Adds(0))],
];

/// Who sees that.
const SEES: &[Word] = &[
    &[Load(0, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Add(0, Order::Synchronizing)],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0), SkipIfFailed, Unlock(0)],
    &[Join(1)],
    &[IsFinished(1)],
    &[Detach(1)],
    &[Park],
    &[ParkTimeout],
    &[UnparkMain],
    &[NotifyOne(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[Receive(0)],
    &[Yield],
    &[Choose(2)],
    &[Panic],
    &[Catch(1), Panic],
];

/// Barriers, initialisers and locks that are used again.
const AGAIN: &[Word] = &[
    &[Arrive(0)],
    &[Arrive(0), Arrive(0)],
    &[Arrive(0), Panic],
    &[Catch(2), Arrive(0), Panic],
    &[Within(3), Lock(0), Arrive(0), Panic],
    &[AtEnd(Farewell::Arrives(0)), Panic],
    &[Leave(Farewell::Arrives(0))],
    &[Within(2), AtEnd(Farewell::Arrives(0)), Panic],
    &[Arrive(0), SkipIfEven, Arrive(0)],
    &[OnceAround { once: 0, count: 1 }, Panic],
    &[OnceAround { once: 0, count: 1 }, CallOnceForce { once: 0, variable: 0, panics: false }],
    &[OnceAround { once: 0, count: 1 }, OnceIsCompleted(0)],
    &[OnceAround { once: 0, count: 2 }, OnceAround { once: 1, count: 1 }, Panic],
    &[OnceAround { once: 1, count: 2 }, OnceAround { once: 0, count: 1 }, Panic],
    &[OnceAround { once: 0, count: 1 }, OnceWait(1)],
    &[OnceAround { once: 0, count: 1 }, Arrive(0)],
    &[OnceAround { once: 0, count: 1 }, AtEnd(Farewell::Panics(0))],
    &[InitAround { once: 0, count: 1 }, Panic],
    &[InitAround { once: 0, count: 1 }, Arrive(0)],
    &[InitAround { once: 0, count: 1 }, OnceSet(0)],
    &[InitAround { once: 0, count: 1 }, OnceGet(0)],
    &[CallOnceForce { once: 0, variable: 0, panics: true }],
    &[CallOnceForce { once: 0, variable: 0, panics: false }],
    &[Catch(1), CallOnce { once: 0, variable: 0, panics: true }],
    &[OnceWait(0)],
    &[OnceWaitForce(0)],
    &[OnceLockWait(0)],
    &[LazyForce(1)],
    &[LazyForce(0)],
    &[LazyGet(1)],
];

/// Locks that are downgraded while others wait.
const DOWNGRADES: &[Word] = &[
    &[Write(0), Downgrade(0)],
    &[Write(0), Downgrade(0), ReadUnlock(0)],
    &[Write(0), Store(0, 1, Order::Relaxed), Downgrade(0)],
    &[Write(0), Downgrade(0), Panic],
    &[Within(3), Write(0), Downgrade(0), Panic],
    &[Write(0), AtEnd(Farewell::Reads(0)), Downgrade(0)],
    &[TryWrite(0), SkipIfFailed, Downgrade(0)],
    &[Write(0), Choose(2), Downgrade(0)],
    &[Write(0), CellWrite(0), Downgrade(0), CellRead(0)],
    &[Read(0)],
    &[Read(0), CellRead(0), ReadUnlock(0)],
    &[Read(0), ReadUnlock(0), Read(0)],
    &[Read(0), Load(0, Order::Relaxed)],
    &[TryRead(0)],
    &[TryRead(0), SkipIfFailed, ReadUnlock(0)],
    &[Write(0)],
    &[Write(0), WriteUnlock(0)],
    &[TryWrite(0)],
    &[PoisonRwLock(0)],
    &[IsRwPoisoned(0)],
    &[ClearRwPoison(0)],
    &[Leave(Farewell::Writes(0))],
    &[Leave(Farewell::Reads(0))],
    &[AwaitLock { object: 0, writes: true, pause: Pause::Yield }],
    &[ReadUnlock(0)],
    &[WriteUnlock(0)],
];

/// What the threads of scopes within scopes do.
const NESTED: &[Word] = &[
    &[Panic],
    &[Assert(0)],
    &[Catch(1), Panic],
    &[PanicWith(Farewell::Adds(0))],
    &[PanicWith(Farewell::Unparks)],
    &[AtEnd(Farewell::Adds(0)), Panic],
    &[AtEnd(Farewell::Locks(0)), Panic],
    &[AtEnd(Farewell::Scopes(4))],
    &[Leave(Farewell::Adds(0))],
    &[Leave(Farewell::Unparks)],
    &[Leave(Farewell::Locks(0))],
    &[Return(Farewell::Adds(0))],
    &[Park],
    &[ParkTimeout],
    &[ParkTimeout, ParkTimeout],
    &[UnparkMain],
    &[UnparkMain, UnparkMain],
    &[Unpark(0)],
    &[Unpark(1)],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[Lock(0), WaitTimeout(0)],
    &[NotifyOne(0)],
    &[Load(0, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Yield],
    &[Choose(2)],
    &[CellWrite(0)],
];

/// Handles that others have, and owners that come and go with cells.
const HANDED_ON: &[Word] = &[
    &[HandlePut(1)],
    &[HandlePut(1), HandleJoin],
    &[HandlePut(2)],
    &[HandleJoin],
    &[HandleJoin, CellRead(0)],
    &[HandleJoin, Load(0, Order::Relaxed)],
    &[HandleAsk],
    &[HandleAsk, SkipIfEven, HandleJoin],
    &[HandleDrop],
    &[CellWrite(0)],
    &[Return(Farewell::Adds(0))],
    &[Return(Farewell::Changes(0))],
    &[Return(Farewell::Spawns(2))],
    &[Return(Farewell::Joins(2))],
    &[Leave(Farewell::Adds(0))],
    &[Leave(Farewell::Spawns(2))],
    &[Leave(Farewell::Scopes(2))],
    &[AtEnd(Farewell::Spawns(2)), Panic],
    &[AtEnd(Farewell::Joins(2))],
    &[PanicWith(Farewell::Spawns(2))],
    &[Panic],
];

/// Owners that come and go, and cells.
const OWNERS: &[Word] = &[
    &[ArcDowngrade, ArcDrop],
    &[ArcDowngrade, ArcDrop, WeakUpgrade],
    &[ArcDowngrade],
    &[WeakUpgrade],
    &[WeakUpgrade, SkipIfFailed, CellRead(0)],
    &[WeakUpgrade, SkipIfFailed, CellWrite(0)],
    &[WeakUpgrade, ArcDrop],
    &[CellWrite(0), ArcDrop],
    &[ArcDrop],
    &[ArcDrop, CellRead(0)],
    &[ArcBurden(Farewell::Changes(0)), ArcDrop],
    &[ArcBurden(Farewell::LooksAt(0)), ArcDrop],
    &[ArcBurden(Farewell::Adds(0))],
    &[ArcPut],
    &[ArcTake],
    &[ArcPeek],
    &[ArcCount, SkipIfEven, CellWrite(0)],
    &[ArcGetMut, SkipIfFailed, CellWrite(0)],
    &[ArcTryUnwrap, SkipIfFailed, CellWrite(0)],
    &[ArcIntoInner, SkipIfFailed, CellRead(0)],
    &[AwaitOwner(Pause::Yield), CellWrite(0)],
    &[WeakDrop],
];

/// Who waits for a time while others go away.
const DISCONNECTS: &[Word] = &[
    &[ReceiveTimeout(0)],
    &[ReceiveTimeout(0), ReceiveTimeout(0)],
    &[ReceiveTimeout(0), SkipIfFailed, Receive(0)],
    &[ReceiveAgain(0, 1)],
    &[ReceiveAgain(0, 0)],
    &[ReceiveParcelTimeout(0)],
    &[DropSender(0)],
    &[DropReceiver(0)],
    &[CloneSender(0), DropSender(0)],
    &[DropClonedSender(0)],
    &[Send(0), Panic],
    &[Send(0)],
    &[TrySend(0)],
    &[SendParcel(0)],
    &[SendParcel(0), Panic],
    &[Leave(Farewell::Sends(0))],
    &[AtEnd(Farewell::Sends(0)), Panic],
    &[AtEnd(Farewell::Deafens(0)), Panic],
    &[Within(2), AtEnd(Farewell::Sends(0)), Panic],
    &[Catch(2), ReceiveTimeout(0), Panic],
    &[SenderPut(0)],
    &[SenderTake(0)],
    &[Panic],
    &[Lock(0), WaitTimeoutWhile(0, 2), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0), Panic],
    &[Lock(0), WaitAgain { mutex: 0, variable: 0, turns: 1 }, Unlock(0)],
    &[Lock(0), WaitAgain { mutex: 0, variable: 0, turns: 2 }, SkipIfEven, NotifyOne(0)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[PoisonMutex(0)],
];

/// Futexes among what is dropped.
const FUTEXES: &[Word] = &[
    &[FutexWait(0, 0)],
    &[FutexWaitTimeout(0, 0)],
    &[FutexStore(0, 1)],
    &[FutexStore(0, 1), FutexWake(0, 1)],
    &[FutexAdd(0)],
    &[FutexAdd(0), FutexWake(0, 2)],
    &[FutexWake(0, 1)],
    &[FutexWaitBitsTimeout(0, 0, 1)],
    &[FutexWakeBits(0, 1, 1)],
    &[AtEnd(Farewell::Adds(0)), FutexWaitTimeout(0, 0)],
    &[AtEnd(Farewell::Adds(0)), FutexWait(0, 0), Panic],
    &[Within(2), AtEnd(Farewell::Unparks), Panic],
    &[Within(3), Lock(0), FutexWaitTimeout(0, 0), Panic],
    &[Lock(0), FutexWaitTimeout(0, 0), Unlock(0)],
    &[Leave(Farewell::Adds(0))],
    &[Leave(Farewell::Locks(0))],
    &[Return(Farewell::Adds(0))],
    &[KeySet(Farewell::Adds(0))],
];

fn of(seed: u64, keys: [u64; 2], tables: &[&[Word]], most: usize) -> Program {
    let (random, vocabulary) = of_tables(Random::begin(seed, keys[0], keys[1]), tables, most);
    of_words(seed, random, &vocabulary)
}

/// Of two kinds of words, with something beside them for two of three programs.
fn beside(seed: u64, tables: &[&[Word]], most: usize, keys: [u64; 2]) -> Program {
    if seed.is_multiple_of(3) {
        return of(seed, keys, tables, most);
    }
    of(seed, keys, &[tables, &[SEES]].concat(), most)
}

/// The program with the given seed, of objects that are static.
#[must_use]
pub fn of_statics(seed: u64) -> Program {
    beside(seed, &[STATICS], 3, [0x83DA_61C7_9B1E_5F05, 0x2E91_70B4_6D8F_A3C9])
}

/// The program with the given seed, of values that the system keeps for each thread.
#[must_use]
pub fn of_keys(seed: u64) -> Program {
    of(seed, [0xB492_B66F_BE98_F273, 0x9AE1_6A3B_2F90_404F], &[KEYS, SEES], 3)
}

/// The program with the given seed, of barriers and initialisers that are used again, also after panics.
#[must_use]
pub fn of_again(seed: u64) -> Program {
    beside(seed, &[AGAIN], 3, [0xFF51_AFD7_ED55_8CCD, 0x6A09_E667_F3BC_C909])
}

/// The program with the given seed, of locks that are downgraded.
#[must_use]
pub fn of_downgrades(seed: u64) -> Program {
    of(seed, [0xC4CE_B9FE_1A85_EC53, 0x3C6E_F372_FE94_F82B], &[DOWNGRADES], 4)
}

/// The program with the given seed, of handles that others join, and of threads that what is dropped spawns.
#[must_use]
pub fn of_handed_on(seed: u64) -> Program {
    beside(seed, &[HANDED_ON], 3, [0xA54F_F53A_5F1D_36F1, 0x510E_527F_ADE6_82D1])
}

/// The program with the given seed, of owners that come and go, and cells.
#[must_use]
pub fn of_owners(seed: u64) -> Program {
    of(seed, [0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B], &[OWNERS], 4)
}

/// The program with the given seed, of waits for a time while others go away.
#[must_use]
pub fn of_disconnects(seed: u64) -> Program {
    beside(seed, &[DISCONNECTS], 3, [0x5BE0_CD19_137E_2179, 0x428A_2F98_D728_AE22])
}

/// The program with the given seed, of futexes, and of what is dropped.
#[must_use]
pub fn of_futex_partings(seed: u64) -> Program {
    beside(seed, &[FUTEXES], 3, [0x3956_C25B_F348_B538, 0x59F1_11F1_B605_D019])
}

/// The program with the given seed, of a scope within a scope, whose threads panic, park and are unparked.
#[must_use]
pub fn of_nested_scopes(seed: u64) -> Program {
    let random = Random::begin(seed, 0x923F_82A4_AF19_4F9B, 0xAB1C_5ED5_DA6D_8118);
    let (mut random, vocabulary) = of_tables(random, &[NESTED], 4);
    let mut program = of_words(seed, Random::begin(seed, 0x243_185BE4, 0x550C_7DC3), &vocabulary);
    let count = 3 + random.below(2);
    let mut threads = vec![crate::random_real::language::Thread::default(); count];
    for thread in &mut threads {
        for _ in 0..random.below(if count == 3 { 4 } else { 3 }) {
            thread.code.extend(random.pick(&vocabulary));
        }
        thread.code.retain(|i| i.farewell() != Some(Farewell::Scopes(4)) || count > 4);
    }
    let handles = [Handle::Dropped, Handle::Joined, Handle::PassedOn, Handle::Asked];
    let first = 1 + random.below(count - 2);
    // The last of the outer scope's threads, or the scope's own one, opens the inner one.
    let opener = if random.chance(1, 3) { 0 } else { first };
    let mut open = |code: &mut Vec<Instruction>, from: usize, first: usize, count: usize| -> usize {
        let at = from + random.below(code.len() - from + 1);
        let inner = random.below(code.len() - at + 1);
        code.insert(at, Scope { first, count, inner, handle: random.pick(&handles) });
        at + 1
    };
    let within = open(&mut threads[0].code, 0, 1, first);
    let from = if opener == 0 { within } else { 0 };
    open(&mut threads[opener].code, from, first + 1, count - 1 - first);
    program.threads = threads;
    program
}
