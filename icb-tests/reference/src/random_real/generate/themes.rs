//! More random programs of few words, as in [`dense`](super::dense), each of one theme that the subjects there only touch: futexes, memory that is
//! freed too early or never, panics that leave locks and initialisers behind, cells that are guarded by atomics of every order, channels
//! without room, and ends of threads.

use super::Random;
use super::dense::{Word, of_words};
use crate::random_real::language::Instruction::{self, *};
use crate::random_real::language::{Farewell, Order, Pause, Program, Span};

/// Everything that can be done with two futexes.
const FUTEXES: &[Word] = &[
    &[FutexWait(0, 0)],
    &[FutexWait(0, 1)],
    &[FutexWait(0, 2)],
    &[FutexWait(1, 0)],
    &[FutexWaitTimeout(0, 0)],
    &[FutexWaitTimeout(0, 1)],
    &[FutexWaitTimeout(1, 0)],
    &[FutexWaitBits(0, 0, 1)],
    &[FutexWaitBits(0, 0, 2)],
    &[FutexWaitBits(0, 0, u32::MAX)],
    &[FutexWaitBits(0, 1, 3)],
    &[FutexWaitBitsTimeout(0, 0, 1)],
    &[FutexWaitBitsTimeout(0, 0, 2)],
    &[FutexWaitTimeout(0, 0), FutexWait(0, 0)],
    &[FutexWaitTimeout(0, 0), SkipIfFailed, FutexWake(0, 1)],
    &[FutexWait(0, 0), SkipIfFailed, FutexAdd(0)],
    &[FutexWaitBits(0, 0, 1), FutexWakeBits(0, 1, 2)],
    &[FutexAdd(0), FutexWait(0, 1)],
    &[FutexAdd(0), SkipIfEven, FutexWait(0, 2)],
];

/// What ends such waits.
const WAKES: &[Word] = &[
    &[FutexWake(0, 0)],
    &[FutexWake(0, 1)],
    &[FutexWake(0, 2)],
    &[FutexWake(0, u32::MAX >> 1)],
    &[FutexWake(1, 1)],
    &[FutexWakeBits(0, 1, 1)],
    &[FutexWakeBits(0, 1, 2)],
    &[FutexWakeBits(0, 2, 3)],
    &[FutexWakeBits(0, u32::MAX >> 1, u32::MAX)],
    &[FutexStore(0, 1)],
    &[FutexStore(0, 0)],
    &[FutexStore(1, 1)],
    &[FutexAdd(0)],
    &[FutexAdd(0), FutexWake(0, 1)],
    &[FutexStore(0, 1), FutexWake(0, 1)],
    &[FutexStore(0, 0), FutexWake(0, 2)],
    &[FutexWake(0, 1), SkipIfEven, FutexWake(0, 1)],
    &[FutexWake(0, 1), SkipIfEven, FutexStore(0, 1)],
];

/// What goes with them.
const BESIDE_FUTEXES: &[Word] = &[
    &[Lock(0)],
    &[Unlock(0)],
    &[TryLock(0)],
    &[Load(0, Order::Relaxed), SkipIfEven, FutexWake(0, 1)],
    &[Add(0, Order::Relaxed)],
    &[Yield],
    &[Join(1)],
    &[IsFinished(1)],
    &[Park],
    &[UnparkMain],
    &[ParkTimeout],
    &[Choose(2)],
    &[Panic],
];

/// Memory that is handed on by plain pointers.
const BOXES: &[Word] = &[
    &[BoxPut(0)],
    &[BoxPut(0), BoxPut(0)],
    &[BoxUse(0)],
    &[BoxUse(0), BoxUse(0)],
    &[BoxUseTwice(0)],
    &[BoxFree(0)],
    &[BoxFree(0), BoxUse(0)],
    &[BoxFreeAnyway(0)],
    &[BoxForget(0)],
    &[BoxPut(0), BoxFree(0)],
    &[BoxPut(1)],
    &[BoxUse(1)],
    &[BoxFree(1)],
    &[BoxUse(0), SkipIfEven, BoxFree(0)],
    &[BoxUse(0), SkipIfEven, BoxFreeAnyway(0)],
    &[Lock(0), BoxUse(0), Unlock(0)],
    &[Lock(0), BoxFree(0), Unlock(0)],
    &[Lock(0), BoxPut(0), Unlock(0)],
    &[TryLock(0), SkipIfFailed, BoxFreeAnyway(0)],
    &[Load(0, Order::Relaxed), SkipIfEven, BoxFreeAnyway(0)],
    &[Add(0, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Join(1)],
    &[Yield],
    &[ArcClone],
    &[ArcDrop],
    &[ArcPut],
    &[ArcTake],
    &[ArcDowngrade, ArcDrop],
    &[WeakUpgrade],
    &[ParkTimeout],
    &[UnparkMain],
];

/// Locks, initialisers and values that panics leave behind.
const POISONS: &[Word] = &[
    &[PoisonMutex(0)],
    &[PoisonRwLock(0)],
    &[Within(2), Lock(0), Panic],
    &[Within(2), Write(0), Panic],
    &[Within(2), Read(0), Panic],
    &[Within(2), TryLock(0), Assert(0)],
    &[Within(2), TryWrite(0), Assert(0)],
    &[Within(3), Write(0), Downgrade(0), Panic],
    &[Within(3), Lock(0), WaitTimeout(0), Assert(0)],
    &[Within(3), Lock(0), Wait(0), Panic],
    &[Within(3), Lock(0), CallOnceForce { once: 0, variable: 0, panics: true }, Panic],
    &[OnceAround { once: 0, count: 1 }, Panic],
    &[OnceAround { once: 0, count: 1 }, Assert(0)],
    &[OnceAround { once: 0, count: 2 }, Lock(0), Panic],
    &[OnceAround { once: 0, count: 2 }, Lock(0), Assert(0)],
    &[OnceAround { once: 0, count: 1 }, PoisonMutex(0)],
    &[InitAround { once: 0, count: 1 }, Assert(0)],
    &[InitAround { once: 0, count: 2 }, Write(0), Panic],
    &[CallOnce { once: 0, variable: 0, panics: true }],
    &[CallOnceForce { once: 0, variable: 0, panics: true }],
    &[OnceTryInit { once: 0, variable: 0 }],
    &[LazyForce(1)],
    &[LazyForce(1), LazyForce(1)],
    &[Lock(0), LazyForce(1)],
    &[Lock(0), Panic],
    &[Write(0), Assert(0)],
    &[Catch(2), Lock(0), Panic],
    &[Catch(2), TryWrite(0), Panic],
    &[AtEnd(Farewell::Locks(0)), Panic],
    &[AtEnd(Farewell::Initialises(0)), Panic],
    &[Within(2), AtEnd(Farewell::Initialises(0)), Panic],
    &[Within(2), AtEnd(Farewell::Writes(0)), Panic],
    &[Leave(Farewell::Locks(0)), Panic],
    &[PanicWith(Farewell::Locks(0))],
    &[Within(1), PanicWith(Farewell::Initialises(0))],
    &[ArcPoison],
];

/// Who finds them so, and heals them.
const HEALS: &[Word] = &[
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0)],
    &[TryLock(0), SkipIfEven, ClearPoison(0)],
    &[IsPoisoned(0)],
    &[IsPoisoned(0), SkipIfEven, ClearPoison(0)],
    &[ClearPoison(0)],
    &[Lock(0), ClearPoison(0), Unlock(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[Lock(0), Wait(0), Unlock(0)],
    &[NotifyOne(0)],
    &[IsRwPoisoned(0)],
    &[IsRwPoisoned(0), SkipIfEven, ClearRwPoison(0)],
    &[ClearRwPoison(0)],
    &[Read(0), ReadUnlock(0)],
    &[Write(0)],
    &[TryRead(0)],
    &[CallOnceForce { once: 0, variable: 0, panics: false }],
    &[CallOnce { once: 0, variable: 0, panics: false }],
    &[OnceWait(0)],
    &[OnceWaitForce(0)],
    &[OnceIsCompleted(0)],
    &[OnceGet(0)],
    &[OnceSet(0)],
    &[LazyGet(1)],
    &[LazyForce(1)],
    &[Store(0, 1, Order::Relaxed)],
    &[Store(1, 1, Order::Relaxed)],
    &[Join(1)],
    &[IsFinished(1)],
    &[ArcLock],
    &[ArcIntoLocked],
];

/// Cells, and atomics of all orders, that guard them or do not. (No cell is accessed around other steps: when it becomes a scheduling point, that
/// is where the access begins, and when in between it changes is not known.)
const ORDERS: &[Word] = &[
    &[CellWrite(0)],
    &[CellRead(0)],
    &[CellWrite(1)],
    &[CellRead(1)],
    &[CellWrite(0), Store(0, 1, Order::Relaxed)],
    &[CellWrite(0), Store(0, 1, Order::Synchronizing)],
    &[CellWrite(0), Fence(Order::Synchronizing), Store(0, 1, Order::Relaxed)],
    &[CellWrite(0), Add(0, Order::Synchronizing)],
    &[SkipIfZero(0, Order::Relaxed), CellRead(0)],
    &[SkipIfZero(0, Order::Synchronizing), CellRead(0)],
    &[SkipIfZero(0, Order::Sequential), CellWrite(0)],
    &[Load(0, Order::Relaxed), Fence(Order::Relaxed), CellRead(0)],
    &[Store(0, 1, Order::Sequential), Load(1, Order::Sequential), SkipIfEven, CellWrite(0)],
    &[Store(1, 1, Order::Sequential), Load(0, Order::Sequential), SkipIfEven, CellWrite(0)],
    &[Store(0, 1, Order::Relaxed), Fence(Order::Sequential), Load(1, Order::Relaxed)],
    &[Store(1, 1, Order::Relaxed), Fence(Order::Sequential), Load(0, Order::Relaxed)],
    &[Exchange { variable: 0, expected: 0, new: 1, weak: true }, CellWrite(0)],
    &[Exchange { variable: 0, expected: 1, new: 0, weak: false }],
    &[Swap(0, 1, Order::Relaxed)],
    &[Swap(0, 2, Order::Synchronizing), CellRead(0)],
    &[Update(0, Order::Synchronizing)],
    &[Store(0, 2, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Load(0, Order::Synchronizing)],
    &[Fence(Order::Sequential)],
    &[Fence(Order::Synchronizing)],
    &[Fence(Order::Relaxed)],
    &[Lock(0), CellWrite(0), Unlock(0)],
    &[Lock(0), CellRead(0), Unlock(0)],
    &[TryLock(0), SkipIfFailed, CellRead(0)],
    &[Join(1), CellRead(0)],
    &[ByteAdd(0)],
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }],
];

/// Who hands over a message, and who may have it, if they meet.
const MEETINGS: &[Word] = &[
    &[TrySend(0)],
    &[TrySend(0), TrySend(0)],
    &[TrySend(0), SkipIfFailed, TrySend(0)],
    &[TrySend(0), SkipIfFailed, Add(0, Order::Relaxed)],
    &[Send(0)],
    &[CloneSender(0), DropSender(0)],
    &[DropSender(0)],
    &[DropClonedSender(0)],
    &[TrySendParcel(0)],
    &[SendParcel(0)],
    &[DropParcelSender(0)],
    &[Leave(Farewell::Sends(0))],
    &[Lock(0), TrySend(0), Unlock(0)],
    &[TryLock(0), TrySend(0)],
    &[Load(0, Order::Relaxed), SkipIfEven, TrySend(0)],
    &[ParkTimeout, TrySend(0)],
    &[Park, TrySend(0)],
    &[Join(2), TrySend(0)],
];

const RECEIVERS: &[Word] = &[
    &[ReceiveTimeout(0)],
    &[ReceiveTimeout(0), ReceiveTimeout(0)],
    &[ReceiveTimeout(0), TryReceive(0)],
    &[ReceiveTimeout(0), SkipIfFailed, ReceiveTimeout(0)],
    &[ReceiveTimeout(0), DropReceiver(0)],
    &[ReceiveFor(0, Span::Zero)],
    &[ReceiveFor(0, Span::Zero), ReceiveFor(0, Span::Zero)],
    &[ReceiveFor(0, Span::Long)],
    &[ReceiveFor(0, Span::Ever)],
    &[ReceiveParcelTimeout(0)],
    &[ReceiveParcelTimeout(0), TryReceiveParcel(0)],
    &[Receive(0)],
    &[TryReceive(0)],
    &[TryReceiveAll(0)],
    &[Lock(0), ReceiveTimeout(0), Unlock(0)],
    &[ReceiveTimeout(0), Add(0, Order::Relaxed)],
    &[ReceiveTimeout(0), Unpark(1)],
    &[ReceiveTimeout(0), UnparkMain],
    &[ReceiverPut(0)],
    &[ReceiverTake(0), ReceiveTimeout(0)],
    &[Leave(Farewell::Deafens(0))],
];

/// Ends of threads and what happens there, tokens, and all who arrive at a barrier.
const ENDINGS: &[Word] = &[
    &[Leave(Farewell::Locks(0))],
    &[Leave(Farewell::Sends(0))],
    &[Leave(Farewell::Unparks)],
    &[Leave(Farewell::Parks)],
    &[Leave(Farewell::Waits(0))],
    &[Leave(Farewell::Notifies(0))],
    &[Leave(Farewell::Initialises(0))],
    &[Leave(Farewell::Tries(0))],
    &[Leave(Farewell::Adds(0)), Leave(Farewell::Locks(0))],
    &[Leave(Farewell::Sends(0)), Panic],
    &[Leave(Farewell::Joins(2))],
    &[Leave(Farewell::Spawns(2))],
    &[Return(Farewell::Locks(0))],
    &[ParkTimeout],
    &[ParkTimeout, Park],
    &[ParkFor(Span::Zero), ParkTimeout],
    &[Park],
    &[Arrive(0)],
    &[Arrive(0), Arrive(0)],
    &[Arrive(0), Add(0, Order::Relaxed), Arrive(0)],
    &[Arrive(0), SkipIfEven, UnparkMain],
    &[Lock(0), Arrive(0)],
    &[Lock(0), WaitTimeoutWhile(0, 2)],
    &[Lock(0), WaitTimeoutWhile(0, 3), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitWhile(0, 3), Unlock(0)],
];

const MEETS_ENDINGS: &[Word] = &[
    &[Unpark(1)],
    &[Unpark(2)],
    &[Unpark(0)],
    &[UnparkMain],
    &[UnparkSibling(1)],
    &[Receive(0)],
    &[ReceiveTimeout(0)],
    &[TryReceive(0)],
    &[DropReceiver(0)],
    &[Send(0)],
    &[TrySend(0)],
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0)],
    &[Unlock(0)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[Lock(0), NotifyOne(0), Unlock(0)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[Join(1)],
    &[Join(2)],
    &[Detach(1)],
    &[IsFinished(1)],
    &[IsFinished(1), SkipIfEven, Lock(0)],
    &[AwaitEnd(1, Pause::Yield)],
    &[Add(0, Order::Relaxed)],
    &[OnceWait(0)],
    &[OnceIsCompleted(0)],
    &[HandlePut(1)],
    &[HandleJoin],
    &[Choose(2)],
    &[Yield],
];

/// A few words of each table.
fn of_tables(seed: u64, mut random: Random, tables: &[&[Word]], most: usize) -> Program {
    let mut vocabulary: Vec<&[Instruction]> = Vec::new();
    for table in tables {
        for _ in 0..1 + random.below(most) {
            vocabulary.push(random.pick(table));
        }
    }
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of futexes.
#[must_use]
pub fn of_futexes(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x8CB9_2BA7_2F3D_8DD7, 0x1F83_D9AB_FB41_BD6B);
    let besides: &[&[Word]] = if random.chance(1, 3) { &[BESIDE_FUTEXES] } else { &[] };
    of_tables(seed, random, &[&[FUTEXES, WAKES], besides].concat(), 2)
}

/// The program with the given seed, of memory that is freed, by one or by several, or forgotten.
#[must_use]
pub fn of_boxes(seed: u64) -> Program {
    let random = Random::begin(seed, 0xC3A5_C85C_97CB_3127, 0x5BE0_CD19_137E_2179);
    let first: &[Word] = &[&[BoxPut(0)], &[BoxUse(0)], &[BoxUseTwice(0)]];
    of_tables(seed, random, &[first, BOXES], 3)
}

/// The program with the given seed, of panics that leave something behind, and of who finds it.
#[must_use]
pub fn of_poison(seed: u64) -> Program {
    let random = Random::begin(seed, 0xB492_B66F_BE98_F273, 0x9B05_688C_2B3E_6C1F);
    of_tables(seed, random, &[POISONS, HEALS], 2)
}

/// The program with the given seed, of cells and of atomics of all orders.
#[must_use]
pub fn of_orders(seed: u64) -> Program {
    let random = Random::begin(seed, 0x9AE1_6A3B_2F90_404F, 0xA54F_F53A_5F1D_36F1);
    of_tables(seed, random, &[&[&[CellWrite(0)], &[CellRead(0)]], ORDERS], 3)
}

/// The program with the given seed, of channels where nobody leaves anything.
#[must_use]
pub fn of_meetings(seed: u64) -> Program {
    let random = Random::begin(seed, 0xCC9E_2D51_1B87_3593, 0x3C6E_F372_FE94_F82B);
    let mut program = of_tables(seed, random, &[MEETINGS, RECEIVERS], 2);
    program.channels.iter_mut().for_each(|(capacity, _)| *capacity = Some(0));
    program
}

/// The program with the given seed, of what happens when threads end, and of tokens and barriers.
#[must_use]
pub fn of_endings(seed: u64) -> Program {
    let random = Random::begin(seed, 0xE654_6B64_85EB_CA6B, 0xBB67_AE85_84CA_A73B);
    of_tables(seed, random, &[ENDINGS, MEETS_ENDINGS], 2)
}
