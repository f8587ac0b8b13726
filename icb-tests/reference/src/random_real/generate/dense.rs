//! Random programs of few words, each a short row of instructions on the same few objects: what is rare where operations are drawn from
//! everything is frequent here. A vocabulary is chosen from one subject, or from all of them.

use super::Random;
use super::features::only_one;
use crate::random_real::language::Instruction::{self, *};
use crate::random_real::language::{
    Crowd, Farewell, Handle, Kept, OBJECT_COUNT, Order, Pause, Program, Span, Thread, Way,
};

pub(super) type Word = &'static [Instruction];

/// Readers, writers and those who wait for a time, with panics that are caught.
const LOCKS: &[Word] = &[
    &[Read(0)],
    &[Read(0), ReadUnlock(0)],
    &[TryRead(0)],
    &[Write(0)],
    &[Write(0), WriteUnlock(0)],
    &[TryWrite(0)],
    &[TryWrite(0), WriteUnlock(0)],
    &[Write(0), Downgrade(0)],
    &[Write(0), Downgrade(0), ReadUnlock(0)],
    &[WriteUnlock(0)],
    &[ReadUnlock(0)],
    &[Downgrade(0)],
    &[PoisonRwLock(0)],
    &[ClearRwPoison(0)],
    &[IsRwPoisoned(0)],
    &[Catch(2), Write(0), Panic],
    &[Read(1), ReadUnlock(1)],
    &[Write(1)],
    &[TryRead(1)],
];

/// Mutexes, two of them, and waits with either condvar.
const WAITS: &[Word] = &[
    &[Lock(0)],
    &[Unlock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0)],
    &[TryLock(0), Unlock(0)],
    &[Lock(1)],
    &[TryLock(1)],
    &[Lock(1), Unlock(1)],
    &[Unlock(1)],
    &[Lock(0), Wait(0)],
    &[Lock(0), Wait(0), Unlock(0)],
    &[Lock(0), WaitTimeout(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[TryLock(0), Wait(0), Unlock(0)],
    &[TryLock(0), WaitTimeout(0)],
    &[Lock(1), WaitTimeout(1), Unlock(1)],
    &[Lock(1), Wait(1), Unlock(1)],
    &[Lock(1), WaitElsewhere(1), Unlock(1)],
    &[Lock(0), WaitElsewhere(0), Unlock(0)],
    &[Lock(0), WaitWhile(0, 2), Unlock(0)],
    &[Lock(0), WaitWhile(0, 3), Unlock(0)],
    &[Lock(0), WaitTimeoutWhile(0, 2), Unlock(0)],
    &[Lock(0), WaitTimeoutWhile(0, 3)],
    &[Lock(0), WaitFor(0, Span::Zero)],
    &[Lock(0), WaitFor(0, Span::Long), Unlock(0)],
    &[Lock(0), WaitFor(0, Span::Ever), Unlock(0)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[NotifyOne(1)],
    &[NotifyAll(1)],
    &[Lock(0), NotifyOne(0), Unlock(0)],
    &[Lock(0), NotifyAll(0)],
    &[PoisonMutex(0)],
    &[ClearPoison(0)],
    &[IsPoisoned(0)],
    &[Catch(3), Lock(0), Wait(0), Panic],
    &[Catch(3), Lock(0), WaitTimeout(0), Panic],
];

/// Channels of little room.
const CHANNELS: &[Word] = &[
    &[Send(0)],
    &[Send(0), Send(0)],
    &[TrySend(0)],
    &[Receive(0)],
    &[TryReceive(0)],
    &[ReceiveTimeout(0)],
    &[ReceiveFor(0, Span::Zero)],
    &[ReceiveFor(0, Span::Long)],
    &[ReceiveFor(0, Span::Ever)],
    &[ReceiveSome(0, 2)],
    &[TryReceiveAll(0)],
    &[DropSender(0)],
    &[DropReceiver(0)],
    &[CloneSender(0)],
    &[CloneSender(0), DropSender(0)],
    &[DropClonedSender(0)],
    &[SendParcel(0)],
    &[TrySendParcel(0)],
    &[ReceiveParcel(0)],
    &[TryReceiveParcel(0)],
    &[ReceiveParcelTimeout(0)],
    &[DropParcelSender(0)],
    &[DropParcelReceiver(0)],
    &[Send(1)],
    &[Receive(1)],
    &[ReceiveTimeout(1)],
];

/// What is done once, and what all wait for.
const INITIALISERS: &[Word] = &[
    &[CallOnce { once: 0, variable: 0, panics: false }],
    &[CallOnceForce { once: 0, variable: 0, panics: false }],
    &[CallOnceForce { once: 0, variable: 0, panics: true }],
    &[OnceIsCompleted(0)],
    &[OnceWait(0)],
    &[OnceWaitForce(0)],
    &[OnceGet(0)],
    &[OnceSet(0)],
    &[OnceGetOrInit { once: 0, variable: 0 }],
    &[OnceTryInit { once: 0, variable: 0 }],
    &[OnceLockWait(0)],
    &[LazyForce(0)],
    &[LazyForce(1)],
    &[LazyGet(1)],
    &[Arrive(0)],
    &[Arrive(0), Arrive(0)],
    &[Store(0, 1, Order::Relaxed)],
    &[Store(0, 0, Order::Relaxed)],
];

/// Initialisers that do something else meanwhile.
const AROUND: &[Word] = &[
    &[OnceAround { once: 0, count: 1 }, Spawn(1)],
    &[OnceAround { once: 0, count: 1 }, Join(1)],
    &[OnceAround { once: 0, count: 1 }, Panic],
    &[OnceAround { once: 0, count: 1 }, Assert(0)],
    &[OnceAround { once: 0, count: 1 }, TryLock(0)],
    &[OnceAround { once: 0, count: 1 }, Park],
    &[OnceAround { once: 0, count: 1 }, ParkTimeout],
    &[OnceAround { once: 0, count: 1 }, Unpark(1)],
    &[OnceAround { once: 0, count: 2 }, Lock(0), WaitTimeout(0)],
    &[OnceAround { once: 0, count: 1 }, InitAround { once: 0, count: 1 }],
    &[OnceAround { once: 0, count: 1 }, CallOnceForce { once: 1, variable: 0, panics: true }],
    &[OnceAround { once: 1, count: 1 }, OnceWaitForce(0)],
    &[OnceAround { once: 0, count: 1 }, PanicWith(Farewell::Initialises(0))],
    &[OnceAround { once: 0, count: 1 }, AtEnd(Farewell::Initialises(0))],
    &[InitAround { once: 0, count: 1 }, Join(1)],
    &[InitAround { once: 0, count: 1 }, Panic],
    &[InitAround { once: 0, count: 1 }, Assert(0)],
    &[InitAround { once: 0, count: 1 }, TryLock(0)],
    &[InitAround { once: 0, count: 1 }, OnceWait(0)],
    &[InitAround { once: 0, count: 1 }, OnceIsCompleted(0)],
    &[InitAround { once: 0, count: 1 }, Unpark(1)],
    &[Lock(0)],
    &[Unlock(0)],
    &[NotifyOne(0)],
    &[OnceWait(0)],
    &[OnceWaitForce(0)],
    &[OnceIsCompleted(0)],
    &[OnceGet(0)],
    &[OnceSet(0)],
    &[OnceLockWait(0)],
    &[CallOnceForce { once: 0, variable: 0, panics: false }],
    &[CallOnceForce { once: 0, variable: 0, panics: true }],
    &[AtEnd(Farewell::Initialises(0))],
    &[Leave(Farewell::Initialises(0))],
    &[Park],
    &[UnparkMain],
    &[Store(0, 1, Order::Relaxed)],
];

/// What is done by what is dropped, wherever that is.
const PARTINGS: &[Farewell] = &[
    Farewell::Adds(0),
    Farewell::Locks(0),
    Farewell::Unparks,
    Farewell::Notifies(0),
    Farewell::NotifiesAll(0),
    Farewell::Drops,
    Farewell::Tries(0),
    Farewell::Waits(0),
    Farewell::Parks,
    Farewell::Writes(0),
    Farewell::Initialises(0),
    Farewell::Sends(0),
    Farewell::Deafens(0),
    Farewell::Joins(1),
    Farewell::Joins(2),
    Farewell::LetsGo(1),
    Farewell::LetsGo(2),
    Farewell::Spawns(1),
    Farewell::Spawns(2),
];

/// Where that may happen, and who meets it.
const DROPS: &[Word] = &[
    &[Detach(1)],
    &[Detach(2)],
    &[Join(1)],
    &[Join(2)],
    &[IsFinished(1)],
    &[ArcDrop],
    &[ArcClone],
    &[ArcPut],
    &[ArcTake],
    &[ArcDowngrade, ArcDrop],
    &[WeakUpgrade],
    &[ReceiveParcel(0)],
    &[TryReceiveParcel(0)],
    &[ReceiveParcelTimeout(0)],
    &[DropParcelReceiver(0)],
    &[DropParcelSender(0)],
    &[Panic],
    &[Catch(1), Panic],
    &[HandlePut(1)],
    &[HandlePut(2)],
    &[HandleJoin],
    &[HandleDrop],
    &[HandleAsk],
];

/// Who meets what is done there.
const MEETS: &[Word] = &[
    &[Load(0, Order::Relaxed)],
    &[Lock(0)],
    &[Unlock(0)],
    &[TryLock(0)],
    &[Lock(0), Wait(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[NotifyOne(0)],
    &[Park],
    &[ParkTimeout],
    &[TryRead(0)],
    &[Write(0)],
    &[OnceWait(0)],
    &[OnceIsCompleted(0)],
    &[Receive(0)],
    &[TryReceive(0)],
    &[ReceiveTimeout(0)],
    &[Send(0)],
    &[ArcCount],
    &[Yield],
];

/// What is handed on: handles, ends of channels, mutexes within something that is counted.
const HANDED: &[Word] = &[
    &[HandlePut(1)],
    &[HandlePut(2)],
    &[HandleJoin],
    &[HandleDrop],
    &[HandleAsk],
    &[IsFinished(1)],
    &[Join(1)],
    &[SenderPut(0)],
    &[SenderTake(0)],
    &[ReceiverPut(0)],
    &[ReceiverTake(0)],
    &[ReceiverPut(0), ReceiverTake(0)],
    &[DropReceiver(0)],
    &[DropSender(0)],
    &[Send(0)],
    &[TrySend(0)],
    &[Receive(0)],
    &[ReceiveTimeout(0)],
    &[TryReceive(0)],
    &[ArcLock],
    &[ArcPoison],
    &[ArcGetMutLocked],
    &[ArcIntoLocked],
    &[ArcIntoLocked],
    &[ArcDrop],
    &[ArcClone],
    &[ArcDowngrade, ArcDrop],
    &[WeakUpgrade],
    &[ArcPut],
    &[ArcTake],
    &[ArcMakeMut],
];

/// Several who wait for a time or are told, and what is chosen.
const CHOICES: &[Word] = &[
    &[Choose(2)],
    &[Choose(2), NotifyOne(0)],
    &[Choose(2), Unlock(0)],
    &[Choose(3)],
    &[Lock(0), WaitTimeout(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[Lock(0), Wait(0), Unlock(0)],
    &[Lock(0), WaitWhileZero(0, 0)],
    &[Lock(0), WaitWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitFor(0, Span::Long)],
    &[NotifyOne(0)],
    &[NotifyOne(0), NotifyOne(0)],
    &[NotifyAll(0)],
    &[Store(0, 1, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[Store(0, 0, Order::Relaxed)],
    &[ParkTimeout],
    &[Unpark(1)],
    &[UnparkMain],
    &[ReceiveTimeout(0)],
    &[Send(0)],
    &[TrySend(0)],
    &[Sleep],
];

/// Loops that wait for others, and what they wait for.
const LOOPS: &[Word] = &[
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }],
    &[AwaitNonZero { variable: 0, pause: Pause::Spin }],
    &[AwaitNonZero { variable: 0, pause: Pause::None }],
    &[AwaitEither(Pause::Yield)],
    &[SpinWhileZero { variable: 0, turns: 2, pause: Pause::Yield }],
    &[SpinWhileZero { variable: 0, turns: 3, pause: Pause::Spin }],
    &[GiveUpWaiting { variable: 0, turns: 1, kept: Kept::Heap, pause: Pause::Yield }],
    &[GiveUpWaiting { variable: 0, turns: 2, kept: Kept::Local, pause: Pause::Spin }],
    &[GiveUpWaiting { variable: 0, turns: 2, kept: Kept::Shared, pause: Pause::None }],
    &[GiveUpWaiting { variable: 0, turns: 2, kept: Kept::Pauses, pause: Pause::Yield }],
    &[AwaitLock { object: 0, writes: false, pause: Pause::Yield }],
    &[AwaitLock { object: 0, writes: true, pause: Pause::Spin }],
    &[AwaitLock { object: 0, writes: false, pause: Pause::None }],
    &[PollLocked { object: 0, reads: false, turns: 0, kept: Kept::Heap, pause: Pause::Yield }],
    &[PollLocked { object: 0, reads: false, turns: 2, kept: Kept::Heap, pause: Pause::Yield }],
    &[PollLocked { object: 0, reads: true, turns: 2, kept: Kept::Local, pause: Pause::Spin }],
    &[SpinLock { variable: 0, swaps: false, pause: Pause::Yield }],
    &[SpinLock { variable: 0, swaps: true, pause: Pause::Spin }],
    &[GoRound { variable: 0, way: Way::Counts }],
    &[GoRound { variable: 0, way: Way::WakesItself }],
    &[GoRound { variable: 0, way: Way::HoldsLock }],
    &[Lock(0), WaitWhileZero(0, 0), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0)],
    &[BlockOn { variable: 0, turns: 2 }],
];

/// What ends them.
const ENDS_LOOPS: &[Word] = &[
    &[Store(0, 1, Order::Synchronizing)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[Store(0, 0, Order::Relaxed)],
    &[Store(1, 1, Order::Relaxed)],
    &[Add(0, Order::Synchronizing)],
    &[Swap(0, 1, Order::Sequential)],
    &[Exchange { variable: 0, expected: 0, new: 1, weak: true }],
    &[Wake(0)],
    &[TurnLocked { object: 0, reads: false, times: 1, turns: 1, pause: Pause::Yield }],
    &[TurnLocked { object: 0, reads: true, times: 1, turns: 1, pause: Pause::Yield }],
    &[TurnLocked { object: 0, reads: false, times: 2, turns: 1, pause: Pause::Yield }],
    &[TurnLocked { object: 0, reads: false, times: 1, turns: 3, pause: Pause::Spin }],
    &[Leave(Farewell::Adds(0))],
    &[AtEnd(Farewell::Adds(0))],
    &[Unlock(0)],
];

/// Panics that are caught, or not, and what is let go on the way.
const UNWINDS: &[Word] = &[
    &[Within(2), Lock(0), Panic],
    &[Within(2), Lock(1), Panic],
    &[Within(2), TryLock(0), Panic],
    &[Within(2), Lock(0), Assert(0)],
    &[Within(3), Lock(0), Lock(1), Panic],
    &[Within(3), Lock(1), Lock(0), Panic],
    &[Within(3), Lock(1), TryLock(0), Panic],
    &[Within(3), Lock(0), Lock(1), Assert(0)],
    &[Within(3), Lock(0), Wait(0), Panic],
    &[Within(3), Lock(0), WaitTimeout(0), Panic],
    &[Within(3), Lock(0), WaitElsewhere(0), Panic],
    &[Within(3), Lock(1), Lock(0), WaitTimeout(0)],
    &[Within(2), Read(0), Panic],
    &[Within(2), TryRead(0), Panic],
    &[Within(2), Write(0), Panic],
    &[Within(2), TryWrite(0), Panic],
    &[Within(3), Write(0), Downgrade(0), Panic],
    &[Within(3), Lock(0), Write(0), Panic],
    &[Within(3), Read(0), Lock(0), Panic],
    &[Within(3), Read(0), Write(1), Panic],
    &[Within(2), AtEnd(Farewell::Notifies(0)), Panic],
    &[Within(2), AtEnd(Farewell::NotifiesAll(0)), Panic],
    &[Within(2), AtEnd(Farewell::Unparks), Panic],
    &[Within(2), AtEnd(Farewell::Locks(0)), Panic],
    &[Within(2), AtEnd(Farewell::Tries(0)), Panic],
    &[Within(2), AtEnd(Farewell::Sends(0)), Panic],
    &[Within(2), AtEnd(Farewell::Deafens(0)), Panic],
    &[Within(2), AtEnd(Farewell::Drops), Panic],
    &[Within(2), AtEnd(Farewell::Joins(1)), Panic],
    &[Within(2), AtEnd(Farewell::LetsGo(1)), Panic],
    &[Within(2), AtEnd(Farewell::Spawns(1)), Panic],
    &[Within(2), AtEnd(Farewell::Waits(0)), Panic],
    &[Within(2), AtEnd(Farewell::Parks), Panic],
    &[Within(3), Lock(0), AtEnd(Farewell::Notifies(0)), Panic],
    &[Within(3), Lock(0), AtEnd(Farewell::Locks(1)), Panic],
    &[Within(3), Write(0), AtEnd(Farewell::Tries(0)), Panic],
    &[Within(3), Defer(0), Lock(0), Panic],
    &[OnceAround { once: 0, count: 2 }, Lock(0), Panic],
    &[OnceAround { once: 0, count: 1 }, Within(2), Lock(0), Panic],
    &[Within(2), OnceAround { once: 0, count: 1 }, Panic],
    &[InitAround { once: 0, count: 1 }, Within(2), Lock(0), Panic],
    &[Lock(0), Panic],
    &[Lock(0), Lock(1), Panic],
    &[Lock(0), Assert(0)],
    &[Write(0), Panic],
    &[Read(0), Panic],
    &[PanicWith(Farewell::Locks(0))],
    &[Catch(1), PanicWith(Farewell::Tries(0))],
];

/// Who meets that.
const MEETS_PANICS: &[Word] = &[
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[Lock(1)],
    &[Lock(1), Unlock(1)],
    &[Unlock(0)],
    &[TryLock(0)],
    &[TryLock(1)],
    &[TryLock(0), Unlock(0)],
    &[Lock(0), Lock(1)],
    &[IsPoisoned(0)],
    &[ClearPoison(0)],
    &[ClearRwPoison(0)],
    &[IsRwPoisoned(0)],
    &[Lock(0), Wait(0)],
    &[Lock(0), Wait(0), Unlock(0)],
    &[Lock(0), WaitTimeout(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[Read(0)],
    &[Read(0), ReadUnlock(0)],
    &[TryRead(0)],
    &[Write(0)],
    &[Write(0), WriteUnlock(0)],
    &[TryWrite(0)],
    &[Park],
    &[ParkTimeout],
    &[Receive(0)],
    &[TryReceive(0)],
    &[Send(0)],
    &[TrySend(0)],
    &[OnceIsCompleted(0)],
    &[OnceWaitForce(0)],
    &[CallOnceForce { once: 0, variable: 0, panics: false }],
    &[IsFinished(1)],
    &[Join(1)],
    &[Store(0, 1, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Add(0, Order::Relaxed)],
    &[Yield],
    &[ArcCount],
    &[ArcDrop],
];

/// Waits that end by themselves.
const TIMES: &[Word] = &[
    &[ParkTimeout],
    &[ParkFor(Span::Long)],
    &[ParkFor(Span::Zero)],
    &[ReceiveTimeout(0)],
    &[ReceiveTimeout(1)],
    &[ReceiveFor(0, Span::Long)],
    &[ReceiveParcelTimeout(0)],
    &[Lock(0), WaitTimeout(0)],
    &[Lock(0), WaitTimeout(0), Unlock(0)],
    &[Lock(1), WaitTimeout(1), Unlock(1)],
    &[Lock(0), WaitFor(0, Span::Long), Unlock(0)],
    &[Lock(0), WaitFor(0, Span::Zero), Unlock(0)],
    &[Lock(0), WaitTimeoutWhile(0, 3), Unlock(0)],
    &[Lock(0), WaitTimeoutWhileZero(0, 0), Unlock(0)],
    &[TryLock(0), WaitTimeout(0), Unlock(0)],
    &[Lock(0), ParkTimeout],
    &[Lock(0), ParkTimeout, Unlock(0)],
    &[Lock(0), ReceiveTimeout(0), Unlock(0)],
    &[Read(0), ParkTimeout, ReadUnlock(0)],
    &[Write(0), ParkTimeout, WriteUnlock(0)],
    &[OnceAround { once: 0, count: 1 }, ParkTimeout],
    &[OnceAround { once: 0, count: 2 }, Lock(0), WaitTimeout(0)],
    &[Leave(Farewell::Waits(0))],
    &[Leave(Farewell::Parks)],
    &[AtEnd(Farewell::Waits(0))],
    &[Catch(3), Lock(0), WaitTimeout(0), Panic],
    &[Lock(0), WaitTimeout(0), Panic],
];

/// What ends them sooner.
const ENDS_THEM: &[Word] = &[
    &[Unpark(1)],
    &[UnparkMain],
    &[UnparkSibling(1)],
    &[Unpark(0)],
    &[Send(0)],
    &[TrySend(0)],
    &[Send(1)],
    &[SendParcel(0)],
    &[DropSender(0)],
    &[DropParcelSender(0)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[NotifyOne(1)],
    &[Store(0, 1, Order::Relaxed), NotifyOne(0)],
    &[Lock(0), NotifyOne(0), Unlock(0)],
    &[Leave(Farewell::Notifies(0))],
    &[Leave(Farewell::Unparks)],
    &[Leave(Farewell::Sends(0))],
    &[AtEnd(Farewell::Unparks)],
    &[Return(Farewell::Notifies(0))],
];

/// What is in their way, or comes in between.
const BETWEEN: &[Word] = &[
    &[Lock(0)],
    &[Lock(0), Unlock(0)],
    &[TryLock(0)],
    &[Unlock(0)],
    &[ClearPoison(0)],
    &[PoisonMutex(0)],
    &[IsPoisoned(0)],
    &[IsFinished(1)],
    &[IsFinished(2)],
    &[Join(1)],
    &[Join(2)],
    &[Detach(1)],
    &[Park],
    &[Receive(0)],
    &[TryReceive(0)],
    &[DropReceiver(0)],
    &[Lock(0), Wait(0), Unlock(0)],
    &[Lock(0), Wait(0)],
    &[TryRead(0)],
    &[Write(0)],
    &[Write(0), Downgrade(0)],
    &[OnceWait(0)],
    &[OnceIsCompleted(0)],
    &[CallOnceForce { once: 0, variable: 0, panics: false }],
    &[Yield],
    &[Sleep],
    &[Choose(2)],
    &[SkipIfZero(0, Order::Relaxed)],
    &[Add(0, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Panic],
    &[Arrive(0)],
    &[HandlePut(1)],
    &[HandleDrop],
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }],
    &[SpinWhileZero { variable: 0, turns: 2, pause: Pause::Spin }],
];

/// Tokens, ends of threads, what thread-locals do then, scopes.
const ENDS: &[Word] = &[
    &[Park],
    &[ParkTimeout],
    &[ParkFor(Span::Zero)],
    &[ParkFor(Span::Ever)],
    &[Unpark(1)],
    &[Unpark(0)],
    &[UnparkMain],
    &[UnparkSibling(1)],
    &[IsFinished(1)],
    &[IsFinished(2)],
    &[Join(1)],
    &[Join(2)],
    &[Detach(1)],
    &[BlockOn { variable: 0, turns: 2 }],
    &[Wake(0)],
    &[Leave(Farewell::Adds(0))],
    &[Leave(Farewell::Locks(0))],
    &[Leave(Farewell::Unparks)],
    &[Leave(Farewell::Notifies(0))],
    &[Leave(Farewell::Drops)],
    &[Defer(0)],
    &[Panic],
    &[Assert(0)],
    &[Catch(1), Panic],
];

const COUNTS: &[Word] = &[
    &[ArcClone],
    &[ArcDrop],
    &[ArcCount],
    &[ArcWeakCount],
    &[ArcGetMut],
    &[ArcTryUnwrap],
    &[ArcDowngrade],
    &[ArcDowngrade, ArcDrop],
    &[ArcDowngrade, ArcDrop, WeakUpgrade],
    &[WeakUpgrade],
    &[WeakUpgrade, ArcDrop],
    &[WeakDrop],
    &[WeakClone],
    &[WeakCounts],
    &[ArcMakeMut],
    &[ArcIntoInner],
    &[ArcUnwrapOrClone],
    &[ArcCountUp],
    &[ArcPut],
    &[ArcTake],
    &[ArcPeek],
];

/// Variables in every order, and loops of few turns.
const VARIABLES: &[Word] = &[
    &[Load(0, Order::Relaxed)],
    &[Load(0, Order::Synchronizing)],
    &[Load(0, Order::Sequential)],
    &[Load(1, Order::Relaxed)],
    &[Load(1, Order::Sequential)],
    &[Store(0, 1, Order::Relaxed)],
    &[Store(0, 2, Order::Synchronizing)],
    &[Store(0, 1, Order::Sequential)],
    &[Store(1, 1, Order::Relaxed)],
    &[Store(1, 1, Order::Sequential)],
    &[Add(0, Order::Relaxed)],
    &[Add(0, Order::Sequential)],
    &[Swap(0, 2, Order::Synchronizing)],
    &[Fence(Order::Relaxed)],
    &[Fence(Order::Synchronizing)],
    &[Fence(Order::Sequential)],
    &[Exchange { variable: 0, expected: 0, new: 1, weak: true }],
    &[Exchange { variable: 0, expected: 1, new: 2, weak: false }],
    &[Exchange { variable: 1, expected: 0, new: 1, weak: true }],
    &[Update(0, Order::Relaxed)],
    &[Update(0, Order::Sequential)],
    &[ExchangeLoop(0)],
    &[SkipIfZero(0, Order::Relaxed)],
    &[SkipIfZero(1, Order::Synchronizing)],
    &[SpinWhileZero { variable: 0, turns: 1, pause: Pause::Yield }],
    &[SpinWhileZero { variable: 0, turns: 2, pause: Pause::Spin }],
    &[AwaitNonZero { variable: 0, pause: Pause::Yield }],
    &[AwaitNonZero { variable: 1, pause: Pause::Spin }],
    &[GiveUpWaiting { variable: 0, turns: 1, kept: Kept::Heap, pause: Pause::Yield }],
    &[AwaitLock { object: 0, writes: false, pause: Pause::Yield }],
    &[SpinLock { variable: 0, swaps: false, pause: Pause::Yield }],
    &[ByteAdd(0)],
    &[ByteStore(1, 1)],
    &[ByteLoad(0)],
    &[CellWrite(0)],
    &[CellRead(0)],
];

/// Owners and readers that come and go, which commute, and who looks at how many there are.
const COMMUTING: &[Word] = &[
    &[ArcDrop],
    &[ArcClone],
    &[ArcClone, ArcDrop],
    &[AwaitOwner(Pause::Yield)],
    &[AwaitOwner(Pause::Spin)],
    &[AwaitOwner(Pause::None)],
    &[ArcGetMut],
    &[ArcCount],
    &[ArcTryUnwrap],
    &[ArcDowngrade],
    &[WeakUpgrade],
    &[WeakDrop],
    &[ArcWeakCount],
    &[Read(0)],
    &[Read(0), ReadUnlock(0)],
    &[TryRead(0)],
    &[Write(0)],
    &[Write(0), Downgrade(0)],
    &[TryWrite(0)],
    &[TryWrite(0), SkipIfFailed, Add(0, Order::Relaxed)],
    &[AwaitLock { object: 0, writes: true, pause: Pause::Yield }],
    &[AwaitLock { object: 0, writes: true, pause: Pause::None }],
    &[PollLocked { object: 0, reads: true, turns: 2, kept: Kept::Heap, pause: Pause::Yield }],
    &[TurnLocked { object: 0, reads: true, times: 1, turns: 1, pause: Pause::Yield }],
    &[Add(0, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Load(0, Order::Relaxed), SkipIfEven, ArcDrop],
    &[Yield],
];

/// What is locked, and what is done if that fails.
const TRIES: &[Word] = &[
    &[TryLock(0), SkipIfFailed, TryLock(1)],
    &[TryLock(0), SkipIfFailed, Unlock(0)],
    &[TryLock(0), SkipIfFailed, Lock(1)],
    &[TryLock(1), SkipIfFailed, Lock(0)],
    &[Lock(0), TryLock(1), SkipIfFailed, Unlock(0)],
    &[Lock(0), SkipIfEven, Lock(1)],
    &[Lock(0), SkipIfEven, Unlock(0)],
    &[Lock(0), Choose(2), Unlock(0)],
    &[Lock(0), Choose(2), Lock(1)],
    &[Lock(0), Choose(3), Lock(1), Unlock(0)],
    &[Lock(0), WaitTimeout(0), SkipIfFailed, Unlock(0)],
    &[Lock(0), WaitTimeout(0), SkipIfFailed, NotifyOne(0)],
    &[Lock(0), WaitTimeout(0), SkipIfEven, WaitTimeout(0)],
    &[Lock(0), Wait(0), SkipIfEven, Wait(0)],
    &[TryRead(0), SkipIfFailed, Read(1)],
    &[TryWrite(0), SkipIfFailed, Downgrade(0)],
    &[TryWrite(0), SkipIfFailed, WriteUnlock(0)],
    &[Read(0), SkipIfEven, ReadUnlock(0)],
    &[Read(0), SkipIfEven, TryLock(0)],
    &[Write(0), SkipIfEven, Downgrade(0)],
    &[Write(0), Downgrade(0)],
    &[Write(0), SkipIfEven, WriteUnlock(0)],
    &[Read(0)],
    &[Lock(0)],
    &[Lock(1)],
    &[Unlock(0)],
    &[Unlock(1)],
    &[NotifyOne(0)],
    &[NotifyAll(0)],
    &[IsPoisoned(0), SkipIfEven, ClearPoison(0)],
    &[PoisonMutex(0)],
    &[Lock(0), SkipIfEven, Panic],
    &[Catch(3), Lock(0), SkipIfEven, Panic],
    &[Yield],
];

/// Tokens, and what is done with one or without.
const TOKENS: &[Word] = &[
    &[Park],
    &[ParkTimeout],
    &[ParkTimeout, ParkTimeout],
    &[ParkFor(Span::Long)],
    &[ParkFor(Span::Zero)],
    &[Unpark(1)],
    &[Unpark(2)],
    &[Unpark(0)],
    &[UnparkMain],
    &[UnparkSibling(1)],
    &[UnparkMain, UnparkMain],
    &[Load(0, Order::Relaxed), SkipIfEven, Park],
    &[Load(0, Order::Relaxed), SkipIfEven, ParkTimeout],
    &[Add(0, Order::Relaxed)],
    &[Add(0, Order::Relaxed), SkipIfEven, UnparkMain],
    &[IsFinished(1), SkipIfEven, Park],
    &[Leave(Farewell::Unparks)],
    &[Leave(Farewell::Parks)],
    &[AtEnd(Farewell::Unparks)],
    &[Join(1)],
    &[Lock(0), ParkTimeout, Unlock(0)],
    &[TryLock(0), SkipIfFailed, Park],
    &[AwaitEnd(1, Pause::Yield)],
    &[Choose(2), Park],
    &[Choose(2), UnparkMain],
];

/// Loops that wait for the end of a thread, a message, other owners.
const MORE_LOOPS: &[Word] = &[
    &[AwaitBoth(Pause::Yield)],
    &[AwaitBoth(Pause::None)],
    &[AwaitEither(Pause::Spin)],
    &[AwaitEnd(1, Pause::Yield)],
    &[AwaitEnd(2, Pause::Spin)],
    &[AwaitEnd(1, Pause::None)],
    &[AwaitMessage(0, Pause::Yield)],
    &[AwaitMessage(0, Pause::Spin)],
    &[AwaitMessage(0, Pause::None)],
    &[AwaitOwner(Pause::Yield)],
    &[AwaitOwner(Pause::None)],
    &[AwaitNonZero { variable: 0, pause: Pause::Spin }],
    &[AwaitNonZero { variable: 1, pause: Pause::Yield }],
    &[SpinLock { variable: 0, swaps: true, pause: Pause::Yield }],
    &[SpinLock { variable: 0, swaps: false, pause: Pause::Spin }, Store(0, 0, Order::Synchronizing)],
    &[AwaitLock { object: 0, writes: false, pause: Pause::Yield }],
];

/// What ends them.
const MORE_ENDS: &[Word] = &[
    &[Send(0)],
    &[TrySend(0)],
    &[DropSender(0)],
    &[ArcDrop],
    &[ArcClone],
    &[ArcTryUnwrap],
    &[ArcGetMut],
    &[Store(0, 1, Order::Synchronizing)],
    &[Store(1, 1, Order::Relaxed)],
    &[Store(0, 0, Order::Synchronizing)],
    &[Touch(0, Order::Relaxed)],
    &[Touch(0, Order::Sequential)],
    &[Swap(0, 1, Order::Relaxed)],
    &[Exchange { variable: 0, expected: 1, new: 1, weak: false }],
    &[Exchange { variable: 0, expected: 0, new: 1, weak: true }],
    &[Yield],
    &[Lock(0)],
    &[Unlock(0)],
    &[IsFinished(1)],
    &[Leave(Farewell::Adds(0))],
    &[Leave(Farewell::Drops)],
    &[Leave(Farewell::Sends(0))],
    &[Panic],
];

/// What goes with everything.
const BESIDES: &[Word] = &[
    &[Choose(2)],
    &[Choose(3)],
    &[Yield],
    &[Sleep],
    &[SkipIfZero(0, Order::Relaxed)],
    &[Load(0, Order::Relaxed)],
    &[Store(0, 1, Order::Relaxed)],
    &[Add(0, Order::Relaxed)],
];

/// What a vocabulary is chosen from.
pub const SUBJECTS: &[&[Word]] =
    &[LOCKS, WAITS, CHANNELS, INITIALISERS, AROUND, ENDS, COUNTS, HANDED, CHOICES, VARIABLES, BESIDES];

/// The program with the given seed, of one subject and little else.
#[must_use]
pub fn of_one_subject(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xE703_7ED1_A0B4_28DB, 0x8EBC_6AF0_9C88_C6E3);
    let subject = SUBJECTS[seed as usize % (SUBJECTS.len() - 1)];
    let words = 2 + random.below(3);
    let mut word = || {
        let from = if random.chance(1, 6) { BESIDES } else { subject };
        random.pick(from)
    };
    let vocabulary: Vec<Word> = (0..words).map(|_| word()).collect();
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of words of all subjects.
#[must_use]
pub fn of_all_subjects(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x5895_65D2_2C12_A6B1, 0x1D8E_4E27_C47D_124F);
    let subjects: Vec<&[Word]> = (0..2 + random.below(2)).map(|_| random.pick(SUBJECTS)).collect();
    let words = 3 + random.below(3);
    let mut word = || {
        let from = random.pick(&subjects);
        random.pick(from)
    };
    let vocabulary: Vec<Word> = (0..words).map(|_| word()).collect();
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, in which things do something when they are dropped.
#[must_use]
pub fn of_partings(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x9FB2_1C65_1E98_DF25, 0xC2B2_AE3D_27D4_EB4F);
    let mut vocabulary: Vec<Vec<Instruction>> = Vec::new();
    for _ in 0..1 + random.below(2) {
        let farewell = random.pick(PARTINGS);
        for _ in 0..1 + random.below(2) {
            vocabulary.push(match random.below(8) {
                0..2 => vec![Leave(farewell)],
                2 => vec![AtEnd(farewell)],
                3 => vec![PanicWith(farewell)],
                4 => vec![Catch(1), PanicWith(farewell)],
                5 => vec![Return(farewell)],
                6 => vec![ArcBurden(farewell)],
                _ => vec![SendBurden(0, farewell)],
            });
        }
    }
    for _ in 0..1 + random.below(2) {
        vocabulary.push(random.pick(DROPS).to_vec());
        vocabulary.push(random.pick(MEETS).to_vec());
    }
    let vocabulary: Vec<&[Instruction]> = vocabulary.iter().map(Vec::as_slice).collect();
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of waits that end by themselves.
#[must_use]
pub fn of_times(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xA24B_AED4_963E_E407, 0x2127_599B_F432_5C37);
    let mut vocabulary: Vec<&[Instruction]> = Vec::new();
    for words in [TIMES, ENDS_THEM, BETWEEN] {
        for _ in 0..1 + random.below(2) {
            vocabulary.push(random.pick(words));
        }
    }
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of panics, and of what is let go on the way.
#[must_use]
pub fn of_panics(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB);
    let mut vocabulary: Vec<Vec<Instruction>> = Vec::new();
    for _ in 0..1 + random.below(2) {
        let (first, second) = (AtEnd(random.pick(PARTINGS)), AtEnd(random.pick(PARTINGS)));
        vocabulary.push(match random.below(6) {
            0..2 => vec![Within(2), first, Panic],
            2 => vec![Within(3), first, second, Panic],
            _ => random.pick(UNWINDS).to_vec(),
        });
        vocabulary.push(random.pick(MEETS_PANICS).to_vec());
    }
    vocabulary.push(random.pick(MEETS_PANICS).to_vec());
    let vocabulary: Vec<&[Instruction]> = vocabulary.iter().map(Vec::as_slice).collect();
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of loops that wait and little else.
#[must_use]
pub fn of_loops(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0xD1B5_4A32_D192_ED03, 0xABC9_8388_FB8F_AC03);
    let mut vocabulary: Vec<&[Instruction]> = vec![random.pick(LOOPS), random.pick(ENDS_LOOPS)];
    for _ in 0..1 + random.below(2) {
        let words = random.pick(&[LOOPS, ENDS_LOOPS, TIMES, ENDS_THEM, BETWEEN, BETWEEN]);
        vocabulary.push(random.pick(words));
    }
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of threads that park, and are unparked.
#[must_use]
pub fn of_tokens(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x9E6C_63D0_876A_68EE, 0xE220_A839_7B1D_CDAF);
    let mut vocabulary: Vec<&[Instruction]> = vec![random.pick(&[&[Park], &[Park, Park]])];
    for _ in 0..2 + random.below(3) {
        let words = random.pick(&[TOKENS, TOKENS, TOKENS, TOKENS, TOKENS, ENDS, WAITS, BESIDES]);
        vocabulary.push(random.pick(words));
    }
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of accesses to variables.
#[must_use]
pub fn of_variables(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x9E6C_63D0_9759_27CD, 0x58F3_8DED_3D0C_3B71);
    let mut vocabulary: Vec<&[Instruction]> =
        (0..3 + random.below(3)).map(|_| random.pick(VARIABLES)).collect();
    if random.chance(1, 2) {
        let words = random.pick(SUBJECTS);
        vocabulary.push(random.pick(words));
    }
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of what commutes, and of who looks at it.
#[must_use]
pub fn of_commuting(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x6C62_272E_07BB_0142, 0x62B8_2175_6295_C58D);
    let vocabulary: Vec<Word> = (0..2 + random.below(3)).map(|_| random.pick(COMMUTING)).collect();
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, in which what a thread does depends on what it has seen.
#[must_use]
pub fn of_tries(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x2D35_8DCC_AA6C_78A5, 0x8BB8_4B93_962E_ACC9);
    let mut vocabulary: Vec<&[Instruction]> = Vec::new();
    for _ in 0..2 + random.below(3) {
        let words = random.pick(&[TRIES, TRIES, TOKENS, BESIDES]);
        vocabulary.push(random.pick(words));
    }
    vocabulary.push(random.pick(&[&[SkipIfFailed], &[SkipIfEven]]));
    of_words(seed, random, &vocabulary)
}

/// The program with the given seed, of loops that wait for other things than variables and locks.
#[must_use]
pub fn of_other_loops(seed: u64) -> Program {
    let mut random = Random::begin(seed, 0x4B33_A62E_D433_D4A3, 0x4D5A_2DA5_1DE1_AA47);
    let mut vocabulary: Vec<&[Instruction]> = vec![random.pick(MORE_LOOPS), random.pick(MORE_ENDS)];
    vocabulary.push(random.pick(MORE_ENDS));
    of_words(seed, random, &vocabulary)
}

pub(super) fn of_words(seed: u64, mut random: Random, vocabulary: &[&[Instruction]]) -> Program {
    let thread_count = 2 + random.weighted(&[3, 5, 1]);
    let longest = [4, 3, 3][thread_count - 2];
    let mut threads = vec![Thread::default(); thread_count];
    for thread in &mut threads {
        thread.keeps = random.chance(1, 12);
        for _ in 0..random.below(longest) {
            thread.code.extend(random.pick(vocabulary));
        }
    }
    for child in 1..thread_count {
        only_one(&mut threads, |instruction| spawns(instruction, child));
    }
    let spawned = |child| {
        threads.iter().any(|thread| thread.code.iter().any(|&instruction| spawns(instruction, child)))
    };
    let left: Vec<usize> = (1..thread_count).filter(|&child| !spawned(child)).collect();
    if random.chance(1, 8) && left.len() + 1 == thread_count {
        let handle = random.pick(&[Handle::Dropped, Handle::Joined, Handle::PassedOn, Handle::Asked]);
        let inner = random.below(threads[0].code.len() + 1);
        threads[0].code.insert(0, Scope { first: 1, count: thread_count - 1, inner, handle });
        if thread_count > 2 && random.chance(1, 2) {
            // One within the other.
            threads[0].code[0] = Scope { first: 1, count: 1, inner, handle };
            let inner = random.below(threads[1].code.len() + 1);
            threads[1].code.insert(0, Scope { first: 2, count: thread_count - 2, inner, handle });
        }
    } else {
        left.into_iter().for_each(|child| random.family(&mut threads, child));
    }
    let channels = (0..OBJECT_COUNT)
        .map(|_| (random.pick(&[None, Some(0), Some(0), Some(1)]), random.below(thread_count)));
    let channels = channels.collect();
    let barriers = vec![2 + random.below(2); OBJECT_COUNT];
    let counted_drop = random.chance(1, 2);
    let is_acquainted = random.chance(2, 3);
    // Sets of objects and threads have a word for the first 64 of them, and there are short ways for up to eight threads.
    let crowd = match random.below(60) {
        0..3 => Crowd { objects: 56 + random.below(8), threads: 0 },
        3 => Crowd { objects: 0, threads: 4 + random.below(4) },
        4 => Crowd { objects: 0, threads: 60 + random.below(4) },
        _ => Crowd::default(),
    };
    Program { seed, threads, channels, barriers, counted_drop, is_acquainted, crowd }
}

/// Whether the instruction spawns the thread, or what it makes does so when it is dropped.
fn spawns(instruction: Instruction, child: usize) -> bool {
    instruction == Spawn(child)
        || matches!(instruction.farewell(), Some(Farewell::Spawns(spawned) | Farewell::Scopes(spawned)) if spawned == child)
}
