//! What random real programs are made of.

use std::fmt;

/// One operation of a thread, on objects given by their number. What cannot be done where it stands (an unlock of a
/// lock that is not held, a join of a thread that is not a child) does nothing, so that every program that is left
/// after instructions have been taken out is a program too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the operations of std, by their names")]
pub enum Instruction {
    Load(usize, Order),
    Store(usize, u64, Order),
    Add(usize, Order),
    Swap(usize, u64, Order),
    Exchange {
        variable: usize,
        expected: u64,
        new: u64,
        weak: bool,
    },
    Fence(Order),
    Lock(usize),
    TryLock(usize),
    Unlock(usize),
    IsPoisoned(usize),
    Read(usize),
    TryRead(usize),
    Write(usize),
    TryWrite(usize),
    ReadUnlock(usize),
    WriteUnlock(usize),
    Downgrade(usize),
    Wait(usize),
    WaitTimeout(usize),
    NotifyOne(usize),
    NotifyAll(usize),
    Send(usize),
    TrySend(usize),
    Receive(usize),
    TryReceive(usize),
    ReceiveTimeout(usize),
    DropSender(usize),
    DropReceiver(usize),
    /// `call_once`, whose initialiser adds to a variable and, if `panics`, panics then.
    CallOnce {
        once: usize,
        variable: usize,
        panics: bool,
    },
    OnceIsCompleted(usize),
    OnceGet(usize),
    OnceSet(usize),
    OnceGetOrInit {
        once: usize,
        variable: usize,
    },
    Arrive(usize),
    Park,
    ParkTimeout,
    /// Of a child or of the parent.
    Unpark(usize),
    Yield,
    Sleep,
    /// Reads a variable until it is not 0, a bounded number of times, with a pause in between.
    SpinWhileZero {
        variable: usize,
        turns: usize,
        pause: Pause,
    },
    /// The same, with the count of the rounds kept elsewhere than on the stack.
    GiveUpWaiting {
        variable: usize,
        turns: usize,
        kept: Kept,
        pause: Pause,
    },
    /// Reads a variable until it is not 0.
    AwaitNonZero {
        variable: usize,
        pause: Pause,
    },
    /// Reads both variables until one of them is not 0.
    AwaitEither(Pause),
    /// Tries to lock a mutex, or an `RwLock` for writing, until it succeeds; then lets it go.
    AwaitLock {
        object: usize,
        writes: bool,
        pause: Pause,
    },
    /// Looks under a mutex, or an `RwLock`, until what lies there is odd, or for so many turns; 0: for ever.
    PollLocked {
        object: usize,
        reads: bool,
        turns: usize,
        kept: Kept,
        pause: Pause,
    },
    /// So many times in each of so many turns makes odd what lies under a mutex, or an `RwLock`, if it is even, and even if it is odd.
    TurnLocked {
        object: usize,
        reads: bool,
        times: usize,
        turns: usize,
        pause: Pause,
    },
    /// Locks a mutex, or an `RwLock` for reading, and changes nothing.
    Glance {
        object: usize,
        reads: bool,
    },
    /// Changes a variable from 0 to 1, when it is 0, by exchanges or by swaps.
    SpinLock {
        variable: usize,
        swaps: bool,
        pause: Pause,
    },
    /// The same, and changes something each time round.
    GoRound {
        variable: usize,
        way: Way,
    },
    IsFinished(usize),
    Join(usize),
    Detach(usize),
    Spawn(usize),
    ArcClone,
    ArcDrop,
    ArcCount,
    ArcGetMut,
    ArcTryUnwrap,
    ArcDowngrade,
    WeakUpgrade,
    WeakDrop,
    /// One of so many outcomes: the first leaves out all but one as many of the instructions that follow, the last none.
    Choose(usize),
    /// If the variable is 0, so is the next one.
    SkipIfZero(usize, Order),
    /// If what the thread saw last was a failure or the end of a time, it leaves out the next one.
    SkipIfFailed,
    /// If it was even.
    SkipIfEven,
    /// Reads a variable by an operation that writes to it what it holds.
    Touch(usize, Order),
    /// Reads both variables until none of them is 0.
    AwaitBoth(Pause),
    /// Asks whether a child has ended until it has.
    AwaitEnd(usize, Pause),
    /// Tries to receive until there is something, or nobody who could send.
    AwaitMessage(usize, Pause),
    /// Counts owners until there is no other one.
    AwaitOwner(Pause),
    /// Makes an object, uses it, and lets others find it in a slot.
    Publish(usize, Order),
    /// Uses the object in the slot, if there is one.
    UsePublished(usize, Order),
    /// Empties the slot, and gives up the object that was in it.
    Retract(usize, Order),
    CellRead(usize),
    CellWrite(usize),
    /// From here on the end of the thread, or the unwinding of its stack, adds to a variable.
    Defer(usize),
    /// Reads a variable and panics if it is 0.
    Assert(usize),
    Panic,
    /// Whether time has passed since the thread began.
    Clock,
    /// Locks, panics with the lock in hand, and catches that.
    PoisonMutex(usize),
    PoisonRwLock(usize),
    ClearPoison(usize),
    ClearRwPoison(usize),
    IsRwPoisoned(usize),
    /// `wait_while` the mutex holds less than so much.
    WaitWhile(usize, u64),
    WaitTimeoutWhile(usize, u64),
    /// On the other condvar.
    WaitElsewhere(usize),
    WaitFor(usize, Span),
    ReceiveFor(usize, Span),
    ParkFor(Span),
    /// `call_once_force`; as `CallOnce`, but that a panic is caught.
    CallOnceForce {
        once: usize,
        variable: usize,
        panics: bool,
    },
    /// `Once::wait`, if it panics, that is caught.
    OnceWait(usize),
    OnceWaitForce(usize),
    OnceLockWait(usize),
    /// `get_or_init` whose initialiser adds to a variable and panics if it was 0, which is caught.
    OnceTryInit {
        once: usize,
        variable: usize,
    },
    /// A `LazyLock` whose initialiser adds to the variable of the same number; that of number 1 panics if it was 0. That is caught.
    LazyForce(usize),
    LazyGet(usize),
    /// `iter().take(…)`.
    ReceiveSome(usize, usize),
    /// `try_iter()`.
    TryReceiveAll(usize),
    CloneSender(usize),
    DropClonedSender(usize),
    /// A message that adds to a variable when it is dropped; so for all parcels.
    SendParcel(usize),
    TrySendParcel(usize),
    ReceiveParcel(usize),
    TryReceiveParcel(usize),
    ReceiveParcelTimeout(usize),
    DropParcelSender(usize),
    DropParcelReceiver(usize),
    ArcWeakCount,
    WeakClone,
    WeakCounts,
    ArcMakeMut,
    ArcIntoInner,
    ArcUnwrapOrClone,
    /// `increment_strong_count`.
    ArcCountUp,
    /// Puts an `Arc` where others can take it.
    ArcPut,
    ArcTake,
    /// Clones the one that lies there.
    ArcPeek,
    UnparkMain,
    /// A child that the parent had spawned before.
    UnparkSibling(usize),
    /// Leaves its handle in a slot, and waits until the variable is not 0, so many times at most.
    BlockOn {
        variable: usize,
        turns: usize,
    },
    /// Sets the variable, and unparks whoever has left a handle.
    Wake(usize),
    /// Gives a thread-local something that it will do when the thread ends.
    Leave(Farewell),
    /// Spawns threads in a scope, does the next instructions in it, and waits at its end; a panic of the scope is caught.
    Scope {
        first: usize,
        count: usize,
        inner: usize,
        handle: Handle,
    },
    /// Spawns a thread in the scope that this thread was spawned in.
    SpawnInScope(usize),
    /// Does the next instructions and catches their panic.
    Catch(usize),
    /// The same; what they have locked, and what they would do at the end, goes before the panic is caught.
    Within(usize),
    /// Does this when the code of the thread ends, or its stack is unwound.
    AtEnd(Farewell),
    /// Panics with something that does this when it is dropped.
    PanicWith(Farewell),
    /// What the thread returns does this when it is dropped.
    Return(Farewell),
    /// What an `Arc` holds does this too when it is dropped.
    ArcBurden(Farewell),
    /// A parcel that does this too when it is dropped.
    SendBurden(usize, Farewell),
    /// What an `Arc` holds has a mutex: it is locked for a moment, poisoned, or asked for without a lock.
    ArcLock,
    ArcPoison,
    ArcGetMutLocked,
    ArcIntoLocked,
    /// `call_once_force` whose initialiser does the next instructions; a panic is caught.
    OnceAround {
        once: usize,
        count: usize,
    },
    /// `get_or_init` whose initialiser does them.
    InitAround {
        once: usize,
        count: usize,
    },
    /// `wait_while` a variable is 0.
    WaitWhileZero(usize, usize),
    WaitTimeoutWhileZero(usize, usize),
    /// Puts the handle of a child where others can use it: they join the thread, or ask for its end, or let go of it.
    HandlePut(usize),
    HandleJoin,
    HandleAsk,
    HandleDrop,
    /// The same for the ends of channels.
    SenderPut(usize),
    SenderTake(usize),
    ReceiverPut(usize),
    ReceiverTake(usize),
    /// `fetch_update`, which doubles and adds one, and refuses what is larger than 2.
    Update(usize, Order),
    /// A loop of weak exchanges.
    ExchangeLoop(usize),
    /// Bytes that lie next to each other.
    ByteLoad(usize),
    ByteStore(usize, u8),
    ByteAdd(usize),
    /// Reads a variable while it writes to a cell.
    CellAround {
        cell: usize,
        variable: usize,
    },
    /// What crates do that call the system: on a number of 32 bits.
    FutexStore(usize, u32),
    FutexAdd(usize),
    FutexWait(usize, u32),
    FutexWaitTimeout(usize, u32),
    FutexWake(usize, u32),
    /// Only those are woken that wait for one of the bits.
    FutexWaitBits(usize, u32, u32),
    FutexWaitBitsTimeout(usize, u32, u32),
    FutexWakeBits(usize, u32, u32),
    /// Memory that one thread makes and another one frees, by a pointer in a slot: puts new memory there, and frees what was there.
    BoxPut(usize),
    /// Uses what the slot points to, if anything.
    BoxUse(usize),
    /// Uses it twice, by the same pointer.
    BoxUseTwice(usize),
    /// Empties the slot and frees what was there.
    BoxFree(usize),
    /// Frees what the slot points to, which is left as it is.
    BoxFreeAnyway(usize),
    /// Empties the slot and forgets what was there.
    BoxForget(usize),
    /// On event counters, and on a list of all of them.
    EventWrite(usize),
    EventRead(usize),
    /// Which have something, waiting for it.
    EventsWait,
    EventsWaitTimeout,
    /// Which have something now.
    EventsPoll,
    /// On a pair of sockets, which the list knows too.
    SocketSend,
    SocketReceive,
    SocketClose,
    /// Makes a channel, sends its sender to who answers, and receives from it.
    Ask(Patience),
    /// Receives such senders, and answers by each.
    Answer(Patience),
    /// Receives one and lets go of it.
    Refuse,
    /// Gives up the receiver of such senders, or a sender of them.
    DropAnswers,
    DropAsking,
    /// Waits for a variable as a future does, with a waker in a slot, so many times at most.
    Poll {
        variable: usize,
        turns: usize,
    },
    /// Sets the variable and wakes whoever has a waker in the slot, by value or by reference.
    WakeTask {
        variable: usize,
        by_ref: bool,
    },
    DropWaker,
    /// With a guard: waits for a time, again and again, until a variable is not 0, so many times at most; 0: for ever.
    WaitAgain {
        mutex: usize,
        variable: usize,
        turns: usize,
    },
    /// Receives for a time, again and again, so many times at most; 0: for ever.
    ReceiveAgain(usize, usize),
    /// On what lies on the stack of who has opened the scope.
    UseLocal(Use),
    /// `fetch_max`.
    Max(usize, u64, Order),
    /// On what is static.
    UseStatic(Use),
    /// Gives a key of the system's a value that will do this when the thread ends.
    KeySet(Farewell),
    /// Gives work to whoever takes it, by a sender that all who have it own together; what does this is dropped by who takes it.
    Give(Farewell),
    /// Takes work from the receiver that lies under a mutex; `keeps`: has the mutex until the work is done.
    TakeWork {
        patience: Patience,
        keeps: bool,
    },
    /// Gives up its part of the sender.
    CloseWork,
    /// Drops the receiver.
    RefuseWork,
    /// Joins a child and, if that has panicked, goes on panicking with the same.
    JoinOn(usize),
    /// Joins a child, and has what it has panicked with until the end of the code.
    JoinKeep(usize),
    /// Does the next instructions, catches their panic, reads a variable, and goes on panicking with the same.
    Resume(usize),
    /// Does the next instructions, and has what they have panicked with until the end of the code.
    CatchKeep(usize),
    /// Uses a thread-local that does something when it is first used, and when it is dropped.
    UseOwn(usize),
    /// Leaves to a thread-local what the thread has of a mutex, or of an `RwLock`, so that it is given up when the thread ends.
    LeaveGuard(usize),
    LeaveReader(usize),
    LeaveWriter(usize),
    /// Reads a variable until it holds this.
    AwaitValue {
        variable: usize,
        value: u64,
        pause: Pause,
    },
    /// Reads a variable until it holds something else than at first.
    AwaitChange(usize, Pause),
    /// Adds to variable 0, and reads variable 1 until that holds what the other one held.
    TakeTicket(Pause),
    /// Reads variable 1 and cell 0 between two looks at variable 0, until both are the same even number, or for so many turns; 0: for ever.
    ReadVersioned {
        turns: usize,
        pause: Pause,
    },
    /// Changes variable 1 and cell 0 while variable 0 is odd.
    WriteVersioned,
    /// Changes a variable from 0 to 1 by weak exchanges, until it has.
    SpinWeakly(usize, Pause),
    /// Takes one from a variable as soon as it is not 0.
    TakeOne(usize, Pause),
    /// Peterson's algorithm: one of two sides enters, and leaves.
    EnterSide(usize, Pause),
    LeaveSide(usize),
    /// A lock that its owner may take again.
    Reenter(usize),
    Exit(usize),
    /// Reads an `RwLock` once more than it does already.
    ReadAgain(usize),
    TryReadAgain(usize),
    ReadAgainUnlock,
    /// Objects that are moved from one place to another, under a mutex or on the stack: makes one and puts it there, in the place of what was there.
    ThingPut(usize),
    /// The same, without letting go of the mutex in between.
    ThingReplace(usize),
    /// Uses what is there.
    ThingUse(usize),
    /// Changes it as who has it alone does, without a step.
    ThingReset(usize),
    /// Takes it.
    ThingTake(usize),
    /// Puts it back, or into the other place.
    ThingGive(usize),
    /// Uses what the thread has taken last, or drops it.
    ThingUseOwn,
    ThingDrop,
}

impl Instruction {
    /// What it makes something do when that is dropped.
    #[must_use]
    pub const fn farewell(self) -> Option<Farewell> {
        use Instruction::*;
        match self {
            Leave(farewell)
            | AtEnd(farewell)
            | PanicWith(farewell)
            | Return(farewell)
            | ArcBurden(farewell)
            | KeySet(farewell)
            | Give(farewell)
            | SendBurden(_, farewell) => Some(farewell),
            _ => None,
        }
    }
}

/// How somebody waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Patience {
    None,
    Timed,
    Endless,
}

/// What is done with the objects that lie on a stack, or are static.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the operations of std, by their names")]
pub enum Use {
    Load,
    Add,
    Await,
    Lock,
    Poison,
    WaitTimeout,
    Notify,
    CallOnce,
    OnceWait,
}

/// How long a wait lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Span {
    Zero,
    Short,
    Long,
    Ever,
}

/// What is done when a thread ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Farewell {
    /// It adds to a variable.
    Adds(usize),
    /// It takes a lock for a moment, and adds to what the mutex holds.
    Locks(usize),
    /// It unparks the main thread.
    Unparks,
    /// It notifies one.
    Notifies(usize),
    /// It gives up an `Arc`.
    Drops,
    /// It notifies all.
    NotifiesAll(usize),
    /// It tries to lock a mutex.
    Tries(usize),
    /// It waits for a time.
    Waits(usize),
    /// It sleeps for a time, if nobody unparks it.
    Parks,
    /// It locks an `RwLock` for writing, for a moment.
    Writes(usize),
    /// It calls `call_once`.
    Initialises(usize),
    /// It sends on a channel, and gives up the sender.
    Sends(usize),
    /// It gives up a receiver.
    Deafens(usize),
    /// It joins a child.
    Joins(usize),
    /// It lets go of one.
    LetsGo(usize),
    /// It spawns one.
    Spawns(usize),
    /// It reads a variable.
    Loads(usize),
    /// It changes a variable from 0 to 1, if it is 0, and no spurious failure is in the way.
    Exchanges(usize),
    /// One of two outcomes.
    Chooses,
    /// It waits in a loop until a variable is not 0.
    Awaits(usize),
    /// It catches a panic, of something that adds to a variable.
    Panics(usize),
    /// It leaves something to do that for the end of the thread.
    Leaves(usize),
    /// It spawns a thread in a scope.
    Scopes(usize),
    /// It arrives at a barrier.
    Arrives(usize),
    /// It reads an `RwLock` for a moment.
    Reads(usize),
    /// It receives from a channel.
    Hears(usize),
    /// It pauses.
    Pauses(Pause),
    /// It reads a cell.
    LooksAt(usize),
    /// It writes to a cell.
    Changes(usize),
    /// It gives the system's key a value that adds to a variable.
    SetsKey(usize),
    /// It panics, if the thread does not unwind already.
    Bursts,
    /// It uses a thread-local, as [`Instruction::UseOwn`].
    UsesOwn(usize),
}

/// What becomes of the handle of the first thread of a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handle {
    /// It is dropped.
    Dropped,
    /// It is joined within the scope.
    Joined,
    /// It is joined by the second thread, when that has done everything else.
    PassedOn,
    /// It is asked whether the thread has ended.
    Asked,
}

/// What a loop does between two looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// It yields.
    Yield,
    /// It hints that it spins.
    Spin,
    /// Nothing.
    None,
    /// It sleeps.
    Sleep,
    /// It parks for a time.
    Park,
}

impl Pause {
    /// One of the two hints.
    #[must_use]
    pub const fn hint(yields: bool) -> Pause {
        if yields { Pause::Yield } else { Pause::Spin }
    }
}

/// Where a loop that waits keeps the count of its rounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// On the heap.
    Heap,
    /// On the heap of the thread that has begun this one, which waits for it.
    Shared,
    /// In a thread-local.
    Local,
    /// In how many times it pauses in a row, or on the stack if it does not.
    Pauses,
}

/// What a loop that waits changes each time round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It counts, in the other variable.
    Counts,
    /// It changes the other variable and puts it back.
    PutsBack,
    /// It holds a lock while it pauses, and takes it again at once.
    HoldsLock,
    /// As `PutsBack`, without ever pausing.
    NeverPauses,
    /// It changes nothing, and wakes itself before it goes to sleep, as tasks do.
    WakesItself,
}

/// Memory orders, as far as all operations have them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Relaxed.
    Relaxed,
    /// Acquire for reads, release for writes, both for both.
    Synchronizing,
    /// Sequentially consistent.
    Sequential,
}

/// One thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// What it does.
    pub code: Vec<Instruction>,
    /// Whether locks and channel ends that it still has when its code is over are kept for ever.
    pub keeps: bool,
}

/// A program. Thread 0 is the main thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The seed that it is a function of.
    pub seed: u64,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Capacity of each channel and the thread that receives.
    pub channels: Vec<(Option<usize>, usize)>,
    /// How many threads each barrier waits for.
    pub barriers: Vec<usize>,
    /// The last `Arc` adds to variable 0 when it goes.
    pub counted_drop: bool,
    /// The main thread uses every object before it does anything else, so that each is known before there are other threads.
    pub is_acquainted: bool,
    /// So many objects, and so many threads, that nothing else has to do with come before all others, so that these have higher numbers.
    pub crowd: Crowd,
}

/// See [`Program::crowd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Crowd {
    /// Atomic variables.
    pub objects: usize,
    /// Threads that do nothing, and are joined at once.
    pub threads: usize,
}

/// How many objects of each other kind every program has.
pub const OBJECT_COUNT: usize = 2;

impl Program {
    /// Whether it uses what the process has once, so that no two such programs can run at a time.
    #[must_use]
    pub fn uses_system(&self) -> bool {
        self.uses_futexes()
            || self.uses_files()
            || self.uses_keys()
            || self.has(|i| matches!(i, Instruction::UseStatic(_)))
    }

    /// Whether it has a key of the system's.
    #[must_use]
    pub fn uses_keys(&self) -> bool {
        let sets = |i: Instruction| matches!(i.farewell(), Some(Farewell::SetsKey(_)));
        self.has(|i| matches!(i, Instruction::KeySet(_)) || sets(i))
    }

    /// Whether it calls `futex(2)`.
    #[must_use]
    pub fn uses_futexes(&self) -> bool {
        use Instruction::*;
        self.has(|i| {
            matches!(
                i,
                FutexStore(..)
                    | FutexAdd(_)
                    | FutexWait(..)
                    | FutexWaitTimeout(..)
                    | FutexWake(..)
                    | FutexWaitBits(..)
                    | FutexWaitBitsTimeout(..)
                    | FutexWakeBits(..)
            )
        })
    }

    /// Whether it has a pair of sockets.
    #[must_use]
    pub fn uses_sockets(&self) -> bool {
        use Instruction::*;
        self.has(|i| matches!(i, SocketSend | SocketReceive | SocketClose))
    }

    /// Whether it opens files.
    #[must_use]
    pub fn uses_files(&self) -> bool {
        use Instruction::*;
        let uses_events =
            |i| matches!(i, EventWrite(_) | EventRead(_) | EventsWait | EventsWaitTimeout | EventsPoll);
        self.has(uses_events) || self.uses_sockets()
    }

    /// Number of instructions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.threads.iter().map(|thread| thread.code.len()).sum()
    }

    /// Whether there is no instruction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some thread has an instruction like this.
    pub fn has(&self, wanted: impl Fn(Instruction) -> bool) -> bool {
        self.threads.iter().flat_map(|thread| &thread.code).any(|&instruction| wanted(instruction))
    }

    /// The thread whose code spawns this one.
    #[must_use]
    pub fn parent(&self, child: usize) -> Option<usize> {
        let spawns = |instruction: &Instruction| match *instruction {
            Instruction::Spawn(spawned) | Instruction::SpawnInScope(spawned) => spawned == child,
            Instruction::Scope { first, count, .. } => (first..first + count).contains(&child),
            _ => {
                matches!(instruction.farewell(), Some(Farewell::Spawns(spawned) | Farewell::Scopes(spawned)) if spawned == child)
            }
        };
        self.threads.iter().position(|thread| thread.code.iter().any(spawns))
    }

    /// Whether the thread is the main one or is spawned by one that is.
    #[must_use]
    pub fn is_spawned(&self, thread: usize) -> bool {
        let ancestors = std::iter::successors(Some(thread), |&thread| self.parent(thread));
        // Some may be said to spawn each other.
        ancestors.take(1 + self.threads.len()).any(|ancestor| ancestor == 0)
    }

    /// The program without one instruction.
    #[must_use]
    pub fn without(&self, thread: usize, instruction: usize) -> Program {
        let mut program = self.clone();
        program.threads[thread].code.remove(instruction);
        program
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "random real program, seed {}", self.seed)?;
        write!(f, ", channels {:?}, barriers {:?}", self.channels, self.barriers)?;
        write!(f, "{}", if self.counted_drop { ", counted drop" } else { "" })?;
        write!(f, "{}", if self.is_acquainted { ", acquainted" } else { "" })?;
        writeln!(
            f,
            "{}",
            if self.crowd == Crowd::default() { String::new() } else { format!(", {:?}", self.crowd) }
        )?;
        for (index, thread) in self.threads.iter().enumerate() {
            let keeps = if thread.keeps { " (keeps)" } else { "" };
            writeln!(f, "  T{index}{keeps}: {:?}", thread.code)?;
        }
        Ok(())
    }
}
