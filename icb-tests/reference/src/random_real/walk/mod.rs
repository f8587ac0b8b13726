//! Runs random programs: every thread walks through its code and performs each instruction on objects of `library`, which is `icb_std`; a test
//! compiles this against `std` too.
//!
//! What the walkers share among themselves, and what they note, is kept in `std`'s own types, which add no steps. It is
//! touched right after an operation, before the thread's next scheduling point, and what a walker does never depends
//! on what others noted.

mod boxes;
mod features;
mod partings;
mod patterns;
mod rare;
mod system;

use super::language::{Farewell, Instruction, Kept, OBJECT_COUNT, Order, Pause, Program, Way};
use super::library::cell::UnsafeCell;
use super::library::hint;
use super::library::sync::atomic::{AtomicU64, Ordering, fence};
use super::library::sync::mpsc::{
    self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError,
};
use super::library::sync::{
    Arc, Barrier, Condvar, LockResult, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockReadGuard,
    RwLockWriteGuard, TryLockError, TryLockResult, Weak,
};
use super::library::thread::{self, Thread};
use super::library::time::Instant;
use super::library::{self, nudge};
use features::{Parcel, Shelf};
use icb_core::runtime::giving_up;
use partings::{Child, Goodbye};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::PoisonError;
use std::time::Duration;

library::thread_local! {
    /// Rounds of the loops of the thread.
    static ROUNDS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// What an execution came to, noted while it ran.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Record {
    /// What each thread saw, in its order.
    pub seen: Vec<Vec<u64>>,
    /// What the variables hold.
    pub variables: Vec<u64>,
    /// What was seen by what did something when it was dropped, by the thread that had made it and its number there.
    pub parted: BTreeMap<(usize, usize), u64>,
}

/// Everything that the threads of one execution share. It is kept until the execution is over, so that no thread has
/// to drop it.
pub struct Shared {
    program: std::sync::Arc<Program>,
    variables: Vec<AtomicU64>,
    cells: Vec<Cell>,
    mutexes: Vec<Mutex<u64>>,
    rwlocks: Vec<RwLock<u64>>,
    condvars: Vec<Condvar>,
    onces: Vec<Once>,
    locks: Vec<OnceLock<u64>>,
    barriers: Vec<Barrier>,
    slots: Vec<AtomicU64>,
    crowd: Vec<AtomicU64>,
    /// Of each thread, where it counts the rounds of its loops.
    rounds: Vec<std::sync::atomic::AtomicUsize>,
    made: std::sync::Mutex<BTreeMap<u64, std::sync::Arc<Made>>>,
    hands: std::sync::Mutex<Vec<Option<Hand>>>,
    record: std::sync::Mutex<Record>,
    shelf: Shelf,
}

/// An object that a thread makes while others run.
#[derive(Default)]
struct Made {
    count: AtomicU64,
    lock: Mutex<u64>,
}

impl Made {
    /// Uses one half of it, or the other.
    fn use_once(&self, half: bool, order: Order) -> u64 {
        if half {
            return self.count.fetch_add(1, both(order));
        }
        let mut guard = self.lock.lock().unwrap_or_else(library::sync::PoisonError::into_inner);
        *guard += 1;
        *guard
    }
}

/// A data cell that threads access without any ordering of their own.
struct Cell(UnsafeCell<u64>);

// SAFETY: threads access the cell only through `with` and `with_mut`, one at a time: the tester runs one thread
// at a time and switches at scheduling points only. That two accesses may be unordered is what is being tested.
unsafe impl Sync for Cell {}

impl Shared {
    fn new(program: &std::sync::Arc<Program>, me: &std::sync::Weak<Shared>) -> Self {
        fn make<T>(f: impl Fn() -> T) -> Vec<T> {
            (0..OBJECT_COUNT).map(|_| f()).collect()
        }
        let threads = program.threads.len();
        Shared {
            variables: make(|| AtomicU64::new(0)),
            cells: make(|| Cell(UnsafeCell::new(0))),
            mutexes: make(|| Mutex::new(0)),
            rwlocks: make(|| RwLock::new(0)),
            condvars: make(Condvar::new),
            onces: make(Once::new),
            locks: make(OnceLock::new),
            barriers: program.barriers.iter().map(|&count| Barrier::new(count)).collect(),
            slots: make(|| AtomicU64::new(0)),
            rounds: (0..threads).map(|_| std::sync::atomic::AtomicUsize::new(0)).collect(),
            crowd: (0..program.crowd.objects).map(|_| AtomicU64::new(0)).collect(),
            made: std::sync::Mutex::default(),
            hands: std::sync::Mutex::new((0..threads).map(|_| None).collect()),
            record: std::sync::Mutex::new(Record {
                seen: vec![Vec::new(); threads],
                variables: vec![0; OBJECT_COUNT],
                parted: BTreeMap::new(),
            }),
            program: std::sync::Arc::clone(program),
            shelf: Shelf::new(program, me),
        }
    }

    fn record(&self) -> std::sync::MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread has seen this. Who catches what ends it when the execution is over goes on for a while, and sees nothing any more.
    fn note(&self, thread: usize, value: u64) {
        if !giving_up() {
            self.record().seen[thread].push(value);
        }
    }

    /// Uses every object that the program uses, and leaves it as it is.
    fn use_everything(&self) {
        use Instruction::*;
        let program = &self.program;
        for object in 0..OBJECT_COUNT {
            let is_variable = |instruction| match instruction {
                Load(v, _)
                | Max(v, ..)
                | Store(v, ..)
                | Add(v, _)
                | Swap(v, ..)
                | Assert(v)
                | Defer(v)
                | Touch(v, _)
                | SkipIfZero(v, _)
                | Wake(v)
                | LazyForce(v)
                | Update(v, _)
                | ExchangeLoop(v)
                | SendParcel(v)
                | AwaitChange(v, _)
                | SpinWeakly(v, _)
                | TakeOne(v, _)
                | TrySendParcel(v) => v == object,
                BlockOn { variable, .. }
                | Poll { variable, .. }
                | WakeTask { variable, .. }
                | WaitAgain { variable, .. }
                | CallOnceForce { variable, .. }
                | OnceTryInit { variable, .. }
                | CellAround { variable, .. } => variable == object,
                Exchange { variable, .. }
                | SpinWhileZero { variable, .. }
                | GiveUpWaiting { variable, .. }
                | AwaitNonZero { variable, .. }
                | SpinLock { variable, .. }
                | AwaitValue { variable, .. }
                | GoRound { variable, .. }
                | CallOnce { variable, .. }
                | OnceGetOrInit { variable, .. } => variable == object,
                AwaitEither(_) | AwaitBoth(_) | TakeTicket(_) | ReadVersioned { .. } | WriteVersioned => true,
                _ => false,
            };
            if program.has(is_variable) {
                self.variables[object].load(Ordering::Relaxed);
            }
            let is_mutex = |instruction| matches!(instruction, Lock(m) | TryLock(m) | IsPoisoned(m) | Wait(m) | WaitTimeout(m) | PoisonMutex(m) | WaitFor(m, _) | AwaitLock { object: m, writes: false, .. } | Glance { object: m, reads: false } | Reenter(m) | PollLocked { object: m, reads: false, .. } | TurnLocked { object: m, reads: false, .. } if m == object);
            if program.has(is_mutex) {
                drop(self.mutexes[object].lock());
            }
            let is_rwlock = |instruction| matches!(instruction, ReadAgain(l) | TryReadAgain(l) | Read(l) | TryRead(l) | Write(l) | TryWrite(l) | PoisonRwLock(l) | AwaitLock { object: l, writes: true, .. } | Glance { object: l, reads: true } | PollLocked { object: l, reads: true, .. } | TurnLocked { object: l, reads: true, .. } if l == object);
            if program.has(is_rwlock) {
                drop(self.rwlocks[object].read());
            }
            let is_slot = |instruction| matches!(instruction, Publish(s, _) | UsePublished(s, _) | Retract(s, _) if s == object);
            if program.has(is_slot) {
                self.slots[object].load(Ordering::Relaxed);
            }
            if program.has(|instruction| matches!(instruction, NotifyOne(c) | NotifyAll(c) if c == object)) {
                self.condvars[object].notify_all();
            }
        }
        self.use_shelf();
    }

    /// What each thread has seen until now.
    #[must_use]
    pub fn seen_so_far(&self) -> Vec<Vec<u64>> {
        self.record().seen.clone()
    }

    /// What has been noted, when the execution is over: a thread that never ended may keep all this for ever.
    pub fn take_record(&self) -> Record {
        self.shelf.system.close();
        std::mem::take(&mut *self.record())
    }

    /// An access of a variable whose new value is noted.
    fn change(&self, variable: usize, f: impl FnOnce(&AtomicU64) -> (u64, Option<u64>)) -> u64 {
        let (read, written) = f(&self.variables[variable]);
        if let Some(written) = written
            && !giving_up()
        {
            self.record().variables[variable] = written;
        }
        read
    }

    fn add(&self, variable: usize, amount: u64, order: Ordering) -> u64 {
        self.change(variable, |v| {
            let old = v.fetch_add(amount, order);
            (old, Some(old.wrapping_add(amount)))
        })
    }

    fn hand(&self, thread: usize) -> Hand {
        let mut hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner);
        hands[thread].take().unwrap_or_default()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // What threads that were never spawned would have taken: its end would be an operation.
        let hands = self.hands.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(hands).into_iter().flatten().for_each(std::mem::forget);
    }
}

/// What a thread is given.
#[derive(Default)]
struct Hand {
    senders: Vec<Option<AnySender>>,
    receivers: Vec<Option<Receiver<u64>>>,
    parcel_senders: Vec<Option<AnySender<Parcel>>>,
    parcel_receivers: Vec<Option<Receiver<Parcel>>>,
    arcs: Vec<Arc<Payload>>,
    parent: Option<Thread>,
    main: Option<Thread>,
    /// What the parent had spawned before.
    siblings: Vec<(usize, Thread)>,
    rare: rare::Hand,
    patterns: patterns::Hand,
}

enum AnySender<T = u64> {
    Unbounded(Sender<T>),
    Bounded(SyncSender<T>),
}

impl<T> AnySender<T> {
    fn channel(capacity: Option<usize>) -> (Self, Receiver<T>) {
        match capacity {
            None => {
                let (sender, receiver) = mpsc::channel();
                (AnySender::Unbounded(sender), receiver)
            }
            Some(capacity) => {
                let (sender, receiver) = mpsc::sync_channel(capacity);
                (AnySender::Bounded(sender), receiver)
            }
        }
    }

    /// Whether it was sent; whether there is a receiver.
    fn send(&self, value: T, tries: bool) -> u64 {
        match (self, tries) {
            (AnySender::Unbounded(sender), _) => u64::from(sender.send(value).is_err()),
            (AnySender::Bounded(sender), false) => u64::from(sender.send(value).is_err()),
            (AnySender::Bounded(sender), true) => match sender.try_send(value) {
                Ok(()) => 0,
                Err(TrySendError::Full(_)) => NOTHING,
                Err(TrySendError::Disconnected(_)) => 1,
            },
        }
    }
}

impl<T> Clone for AnySender<T> {
    fn clone(&self) -> Self {
        match self {
            AnySender::Unbounded(sender) => AnySender::Unbounded(sender.clone()),
            AnySender::Bounded(sender) => AnySender::Bounded(sender.clone()),
        }
    }
}

/// What an `Arc` holds.
struct Payload {
    value: u64,
    counts: Option<std::sync::Weak<Shared>>,
    lock: Mutex<u64>,
    /// By who has made it, so that it does not depend on who came first in which order they go.
    burdens: std::sync::Mutex<BTreeMap<(usize, usize), Goodbye>>,
}

impl Payload {
    fn new(value: u64, counts: Option<std::sync::Weak<Shared>>) -> Payload {
        Payload { value, counts, lock: Mutex::new(0), burdens: std::sync::Mutex::default() }
    }
}

impl Clone for Payload {
    fn clone(&self) -> Payload {
        if let Some(shared) = self.counts.as_ref().and_then(std::sync::Weak::upgrade) {
            shared.add(1, 1, Ordering::Relaxed);
        }
        Payload::new(self.value, self.counts.clone())
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        if let Some(shared) = self.counts.as_ref().and_then(std::sync::Weak::upgrade) {
            shared.add(0, 10, Ordering::Relaxed);
        }
    }
}

/// Adds to a variable when it goes.
struct Deferred<'s> {
    shared: &'s Shared,
    variable: usize,
}

impl Drop for Deferred<'_> {
    fn drop(&mut self) {
        self.shared.add(self.variable, 100, Ordering::SeqCst);
    }
}

/// Runs the program once. `keep` is given what the threads share before they begin.
pub fn run(program: &std::sync::Arc<Program>, keep: impl FnOnce(std::sync::Arc<Shared>)) {
    let shared = std::sync::Arc::new_cyclic(|me| Shared::new(program, me));
    keep(std::sync::Arc::clone(&shared));
    (0..program.crowd.threads).for_each(|_| drop(thread::spawn(|| ()).join()));
    shared.crowd.iter().for_each(|variable| variable.store(1, Ordering::Relaxed));
    if program.is_acquainted {
        shared.use_everything();
    }
    let mine = deal(&shared);
    drop(walk(&shared, 0, mine, None));
}

/// The main thread makes the ends of channels and the `Arc`s for everybody.
fn deal(shared: &std::sync::Arc<Shared>) -> Hand {
    use Instruction::*;
    let program = &*shared.program;
    let count = program.threads.len();
    let mut hands: Vec<Hand> = (0..count).map(|_| Hand::default()).collect();
    for (channel, &(capacity, receiving)) in program.channels.iter().enumerate() {
        let uses = |instruction: &Instruction| {
            matches!(*instruction, Send(c) | TrySend(c) | DropSender(c) | CloneSender(c) | SenderPut(c) if c == channel)
                || instruction.farewell() == Some(Farewell::Sends(channel))
        };
        let receives = |instruction: Instruction| {
            matches!(instruction, Receive(c) | TryReceive(c) | AwaitMessage(c, _) | ReceiveTimeout(c) | DropReceiver(c) | ReceiveFor(c, _) | ReceiveSome(c, _) | TryReceiveAll(c) | ReceiverPut(c) | ReceiveAgain(c, _) if c == channel)
                || matches!(instruction.farewell(), Some(Farewell::Deafens(c) | Farewell::Hears(c)) if c == channel)
        };
        let used = program.has(|instruction| uses(&instruction) || receives(instruction));
        let mut ends = used.then(|| AnySender::channel(capacity));
        let sending =
            |thread: &usize| program.is_spawned(*thread) && program.threads[*thread].code.iter().any(uses);
        let mut senders: Vec<usize> = (0..count).filter(sending).collect();
        let last = senders.pop();
        for (thread, hand) in hands.iter_mut().enumerate() {
            let cloned = senders.contains(&thread);
            hand.senders.push(ends.as_ref().filter(|_| cloned).map(|(sender, _)| sender.clone()));
            hand.receivers.push(None);
        }
        if let Some((sender, receiver)) = ends.take() {
            match last {
                Some(last) => hands[last].senders[channel] = Some(sender),
                None => drop(sender),
            }
            if program.is_spawned(receiving) {
                hands[receiving].receivers[channel] = Some(receiver);
            }
        }
    }
    features::deal(program, &mut hands);
    let uses_arc = |instruction: &Instruction| {
        matches!(
            instruction,
            ArcClone
                | ArcDrop
                | ArcCount
                | ArcGetMut
                | ArcTryUnwrap
                | ArcDowngrade
                | WeakUpgrade
                | WeakDrop
                | ArcWeakCount
                | ArcMakeMut
                | ArcIntoInner
                | ArcUnwrapOrClone
                | ArcCountUp
                | ArcPut
                | ArcBurden(_)
                | ArcLock
                | ArcPoison
                | ArcGetMutLocked
                | ArcIntoLocked
                | AwaitOwner(_)
        )
    };
    let owners: Vec<usize> = (0..count)
        .filter(|&thread| program.is_spawned(thread) && program.threads[thread].code.iter().any(uses_arc))
        .collect();
    if let Some((&last, others)) = owners.split_last() {
        let counts = program.counted_drop.then(|| std::sync::Arc::downgrade(shared));
        let arc = Arc::new(Payload::new(0, counts));
        for &owner in others {
            hands[owner].arcs.push(Arc::clone(&arc));
        }
        hands[last].arcs.push(arc);
    }
    rare::deal(program, &mut hands);
    shared.deal_work(&mut hands);
    let mut mine = std::mem::take(&mut hands[0]);
    mine.main = Some(thread::current());
    let mut all = shared.hands.lock().unwrap_or_else(PoisonError::into_inner);
    *all = hands.into_iter().map(Some).collect();
    mine
}

/// Spawns a thread in the scope of another one.
type SpawnInScope<'s> = &'s dyn Fn(usize, Hand);

fn walk(
    shared: &std::sync::Arc<Shared>,
    thread: usize,
    hand: Hand,
    spawn_in_scope: Option<SpawnInScope<'_>>,
) -> Option<Goodbye> {
    let threads = shared.program.threads.len();
    patterns::begin(thread);
    let mut walker = Walker {
        shared,
        thread,
        guards: none_of(),
        readers: none_of(),
        writers: none_of(),
        deferred: Vec::new(),
        hand,
        weak: Vec::new(),
        children: (0..threads).map(|_| None).collect(),
        began: None,
        left_out: 0,
        made_count: 0,
        cloned_senders: none_of(),
        at: 0,
        spawn_in_scope,
        partings: 0,
        goodbyes: Vec::new(),
        returned: None,
        seen_last: std::cell::Cell::new(0),
        kept: patterns::Kept::default(),
    };
    walker.walk_to(usize::MAX);
    let returned = walker.returned.take();
    walker.end();
    returned
}

fn none_of<T>() -> Vec<Option<T>> {
    (0..OBJECT_COUNT).map(|_| None).collect()
}

struct Walker<'s> {
    shared: &'s std::sync::Arc<Shared>,
    thread: usize,
    guards: Vec<Option<MutexGuard<'s, u64>>>,
    readers: Vec<Option<RwLockReadGuard<'s, u64>>>,
    writers: Vec<Option<RwLockWriteGuard<'s, u64>>>,
    deferred: Vec<Deferred<'s>>,
    hand: Hand,
    weak: Vec<Weak<Payload>>,
    children: Vec<Option<Child>>,
    began: Option<Instant>,
    /// So many instructions are left out, unless they spawn.
    left_out: usize,
    /// Objects that the thread has made.
    made_count: u64,
    cloned_senders: Vec<Option<AnySender>>,
    /// The next instruction.
    at: usize,
    spawn_in_scope: Option<SpawnInScope<'s>>,
    /// What the thread has made that does something when it is dropped.
    partings: usize,
    /// What does so when the code ends.
    goodbyes: Vec<Goodbye>,
    /// What the thread will return.
    returned: Option<Goodbye>,
    /// What it has seen last.
    seen_last: std::cell::Cell<u64>,
    kept: patterns::Kept<'s>,
}

const NOTHING: u64 = 900;
const TIMEOUT: Duration = Duration::from_millis(10);

fn load(order: Order) -> Ordering {
    match order {
        Order::Relaxed => Ordering::Relaxed,
        Order::Synchronizing => Ordering::Acquire,
        Order::Sequential => Ordering::SeqCst,
    }
}

fn store(order: Order) -> Ordering {
    match order {
        Order::Relaxed => Ordering::Relaxed,
        Order::Synchronizing => Ordering::Release,
        Order::Sequential => Ordering::SeqCst,
    }
}

fn both(order: Order) -> Ordering {
    match order {
        Order::Relaxed => Ordering::Relaxed,
        Order::Synchronizing => Ordering::AcqRel,
        Order::Sequential => Ordering::SeqCst,
    }
}

/// The guard, and whether the lock is poisoned.
fn locked<G>(result: LockResult<G>) -> (Option<G>, u64) {
    match result {
        Ok(guard) => (Some(guard), 0),
        Err(poisoned) => (Some(poisoned.into_inner()), 50),
    }
}

fn tried<G>(result: TryLockResult<G>) -> (Option<G>, u64) {
    match result {
        Ok(guard) => (Some(guard), 0),
        Err(TryLockError::Poisoned(poisoned)) => (Some(poisoned.into_inner()), 50),
        Err(TryLockError::WouldBlock) => (None, NOTHING),
    }
}

impl<'s> Walker<'s> {
    fn see(&self, value: u64) {
        self.seen_last.set(value);
        self.shared.note(self.thread, value);
    }

    /// Performs the instructions before this one that are left.
    fn walk_to(&mut self, end: usize) {
        let shared = self.shared;
        let code = &shared.program.threads[self.thread].code;
        while self.at < end.min(code.len()) {
            let instruction = code[self.at];
            self.at += 1;
            let spawns = matches!(
                instruction,
                Instruction::Spawn(_) | Instruction::SpawnInScope(_) | Instruction::Scope { .. }
            );
            let is_left_out = self.left_out > 0 && !spawns;
            self.left_out = self.left_out.saturating_sub(1);
            if !is_left_out {
                nudge();
                self.perform(instruction);
            }
        }
    }

    fn perform(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            Load(..) | Store(..) | Add(..) | Swap(..) | Exchange { .. } | Fence(_) | Assert(_) => {
                self.use_variable(instruction);
            }
            Lock(_) | TryLock(_) | Unlock(_) | IsPoisoned(_) | Wait(_) | WaitTimeout(_) | NotifyOne(_)
            | NotifyAll(_) => self.use_mutex(instruction),
            Read(_) | TryRead(_) | Write(_) | TryWrite(_) | ReadUnlock(_) | WriteUnlock(_) | Downgrade(_) => {
                self.use_rwlock(instruction);
            }
            Send(_) | TrySend(_) | Receive(_) | TryReceive(_) | ReceiveTimeout(_) | DropSender(_)
            | DropReceiver(_) => self.use_channel(instruction),
            CallOnce { .. } | OnceIsCompleted(_) | OnceGet(_) | OnceSet(_) | OnceGetOrInit { .. } => {
                self.use_once(instruction);
            }
            ArcClone | ArcDrop | ArcCount | ArcGetMut | ArcTryUnwrap | ArcDowngrade | WeakUpgrade
            | WeakDrop => self.use_arc(instruction),
            Park | ParkTimeout | Unpark(_) | IsFinished(_) | Join(_) | Detach(_) | Spawn(_) => {
                self.use_thread(instruction);
            }
            Yield
            | Sleep
            | SpinWhileZero { .. }
            | GiveUpWaiting { .. }
            | AwaitNonZero { .. }
            | AwaitEither(_)
            | AwaitLock { .. }
            | Glance { .. }
            | PollLocked { .. }
            | TurnLocked { .. }
            | SpinLock { .. }
            | GoRound { .. }
            | AwaitBoth(_)
            | AwaitEnd(..)
            | AwaitMessage(..)
            | AwaitOwner(_) => self.pause(instruction),
            Arrive(barrier) => self.see(u64::from(self.shared.barriers[barrier].wait().is_leader())),
            Choose(n) => {
                let outcome = library::model::choose(n);
                self.see(outcome as u64);
                self.left_out = n - 1 - outcome;
            }
            SkipIfZero(variable, order) => {
                let value = self.shared.variables[variable].load(load(order));
                self.see(value);
                self.left_out = usize::from(value == 0);
            }
            SkipIfFailed => self.left_out = usize::from(self.seen_last.get() >= NOTHING),
            SkipIfEven => self.left_out = usize::from(self.seen_last.get().is_multiple_of(2)),
            Publish(..) | UsePublished(..) | Retract(..) => self.use_slot(instruction),
            // SAFETY: the pointer is valid during the call, and nobody else runs meanwhile; see `Cell`.
            CellRead(cell) => self.see(self.shared.cells[cell].0.with(|value| unsafe { *value })),
            CellWrite(cell) => {
                // SAFETY: as above.
                self.shared.cells[cell].0.with_mut(|value| unsafe { *value += 1 });
            }
            Defer(variable) => self.deferred.push(Deferred { shared: self.shared, variable }),
            Panic => panic!("as the program says"),
            Clock => {
                let began = *self.began.get_or_insert_with(Instant::now);
                self.see(u64::from(began.elapsed() > Duration::ZERO));
            }
            _ => self.use_feature(instruction),
        }
    }

    fn use_slot(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared: &'s Shared = self.shared;
        let made = || shared.made.lock().unwrap_or_else(PoisonError::into_inner);
        match instruction {
            Publish(slot, order) => {
                let number = self.thread as u64 * 100 + self.made_count + 1;
                self.made_count += 1;
                let object = std::sync::Arc::new(Made::default());
                self.see(object.use_once(number.is_multiple_of(2), order));
                made().insert(number, object);
                shared.slots[slot].store(number, store(order));
            }
            UsePublished(slot, order) => {
                let number = shared.slots[slot].load(load(order));
                self.see(number);
                let object = made().get(&number).cloned();
                if let Some(object) = object {
                    self.see(object.use_once(number.is_multiple_of(2), order));
                }
            }
            Retract(slot, order) => {
                let number = shared.slots[slot].swap(0, both(order));
                self.see(number);
                let object = made().remove(&number);
                drop(object);
            }
            _ => unreachable!("{instruction:?} is not about slots"),
        }
    }

    fn use_variable(&self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        match instruction {
            Load(v, order) => self.see(shared.variables[v].load(load(order))),
            Store(v, value, order) => {
                shared.change(v, |v| {
                    v.store(value, store(order));
                    (0, Some(value))
                });
            }
            Add(v, order) => self.see(shared.add(v, 1, both(order))),
            Swap(v, value, order) => {
                self.see(shared.change(v, |v| (v.swap(value, both(order)), Some(value))));
            }
            Exchange { variable, expected, new, weak } => {
                let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
                let mut changed = 0;
                let read = shared.change(variable, |v| {
                    let result = if weak {
                        v.compare_exchange_weak(expected, new, success, failure)
                    } else {
                        v.compare_exchange(expected, new, success, failure)
                    };
                    match result {
                        Ok(read) => {
                            changed = 20;
                            (read, Some(new))
                        }
                        Err(read) => (read, None),
                    }
                });
                self.see(read + changed);
            }
            Fence(Order::Relaxed) => fence(Ordering::Acquire),
            Fence(Order::Synchronizing) => fence(Ordering::Release),
            Fence(Order::Sequential) => fence(Ordering::SeqCst),
            Assert(v) => assert_ne!(shared.variables[v].load(Ordering::Relaxed), 0, "as the program says"),
            _ => unreachable!("{instruction:?} is not about variables"),
        }
    }

    fn use_mutex(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared: &'s Shared = self.shared;
        match instruction {
            Lock(m) | TryLock(m) => {
                if self.guards[m].is_some() {
                    return;
                }
                let (mut guard, how) = match instruction {
                    Lock(_) => locked(shared.mutexes[m].lock()),
                    _ => tried(shared.mutexes[m].try_lock()),
                };
                let value = guard.as_mut().map_or(0, |guard| {
                    **guard += 1;
                    **guard
                });
                self.see(how + value);
                self.guards[m] = guard;
            }
            Unlock(m) => drop(self.guards[m].take()),
            IsPoisoned(m) => self.see(u64::from(shared.mutexes[m].is_poisoned())),
            Wait(m) | WaitTimeout(m) => {
                let Some(guard) = self.guards[m].take() else { return };
                let (guard, how) = if let Wait(_) = instruction {
                    locked(shared.condvars[m].wait(guard))
                } else {
                    let waited = shared.condvars[m].wait_timeout(guard, TIMEOUT);
                    let (pair, how) = locked(waited);
                    let (guard, timeout) = pair.expect("both have it");
                    (Some(guard), how + if timeout.timed_out() { NOTHING } else { 0 })
                };
                self.see(how + guard.as_ref().map_or(0, |guard| **guard));
                self.guards[m] = guard;
            }
            NotifyOne(m) => shared.condvars[m].notify_one(),
            NotifyAll(m) => shared.condvars[m].notify_all(),
            _ => unreachable!("{instruction:?} is not about mutexes"),
        }
    }

    fn use_rwlock(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared: &'s Shared = self.shared;
        match instruction {
            Read(l) | TryRead(l) | Write(l) | TryWrite(l)
                if self.readers[l].is_some() || self.writers[l].is_some() => {}
            Read(l) | TryRead(l) => {
                let (guard, how) = match instruction {
                    Read(_) => locked(shared.rwlocks[l].read()),
                    _ => tried(shared.rwlocks[l].try_read()),
                };
                self.see(how + guard.as_ref().map_or(0, |guard| **guard));
                self.readers[l] = guard;
            }
            Write(l) | TryWrite(l) => {
                let (mut guard, how) = match instruction {
                    Write(_) => locked(shared.rwlocks[l].write()),
                    _ => tried(shared.rwlocks[l].try_write()),
                };
                let value = guard.as_mut().map_or(0, |guard| {
                    **guard += 1;
                    **guard
                });
                self.see(how + value);
                self.writers[l] = guard;
            }
            ReadUnlock(l) => drop(self.readers[l].take()),
            WriteUnlock(l) => drop(self.writers[l].take()),
            Downgrade(l) => self.readers[l] = self.writers[l].take().map(RwLockWriteGuard::downgrade),
            _ => unreachable!("{instruction:?} is not about RwLocks"),
        }
    }

    fn use_channel(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            Send(c) | TrySend(c) => {
                let value = self.thread as u64;
                let Some(Some(sender)) = self.hand.senders.get(c) else { return };
                let tries = matches!(instruction, TrySend(_));
                self.see(sender.send(value, tries));
            }
            Receive(c) | TryReceive(c) | ReceiveTimeout(c) => {
                let Some(Some(receiver)) = self.hand.receivers.get(c) else { return };
                self.see(match instruction {
                    Receive(_) => receiver.recv().unwrap_or(40),
                    TryReceive(_) => match receiver.try_recv() {
                        Ok(value) => value,
                        Err(TryRecvError::Empty) => NOTHING,
                        Err(TryRecvError::Disconnected) => 40,
                    },
                    _ => match receiver.recv_timeout(TIMEOUT) {
                        Ok(value) => value,
                        Err(RecvTimeoutError::Timeout) => NOTHING,
                        Err(RecvTimeoutError::Disconnected) => 40,
                    },
                });
            }
            DropSender(c) => drop(self.hand.senders.get_mut(c).map(Option::take)),
            DropReceiver(c) => drop(self.hand.receivers.get_mut(c).map(Option::take)),
            _ => unreachable!("{instruction:?} is not about channels"),
        }
    }

    fn use_once(&self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        match instruction {
            CallOnce { once, variable, panics } => {
                let mut ran = 0;
                shared.onces[once].call_once(|| {
                    ran = 1 + shared.add(variable, 1, Ordering::Relaxed);
                    assert!(!panics, "as the program says");
                });
                self.see(ran);
            }
            OnceIsCompleted(once) => self.see(u64::from(shared.onces[once].is_completed())),
            OnceGet(once) => self.see(shared.locks[once].get().map_or(NOTHING, |&value| value)),
            OnceSet(once) => self.see(u64::from(shared.locks[once].set(self.thread as u64).is_ok())),
            OnceGetOrInit { once, variable } => {
                let value =
                    shared.locks[once].get_or_init(|| 10 + shared.add(variable, 1, Ordering::Relaxed));
                self.see(*value);
            }
            _ => unreachable!("{instruction:?} is not about Once"),
        }
    }

    fn use_arc(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            WeakUpgrade => {
                let upgraded = self.weak.last().and_then(Weak::upgrade);
                self.see(upgraded.as_ref().map_or(NOTHING, |arc| arc.value));
                self.hand.arcs.extend(upgraded);
            }
            WeakDrop => drop(self.weak.pop()),
            ArcDrop => drop(self.hand.arcs.pop()),
            _ => {
                let Some(mut arc) = self.hand.arcs.pop() else { return };
                match instruction {
                    ArcClone => self.hand.arcs.push(Arc::clone(&arc)),
                    ArcCount => self.see(Arc::strong_count(&arc) as u64),
                    ArcDowngrade => self.weak.push(Arc::downgrade(&arc)),
                    ArcGetMut => self.see(Arc::get_mut(&mut arc).map_or(NOTHING, |payload| {
                        payload.value += 1;
                        payload.value
                    })),
                    _ => {
                        match Arc::try_unwrap(arc) {
                            Ok(payload) => self.see(payload.value),
                            Err(arc) => {
                                self.see(NOTHING);
                                self.hand.arcs.push(arc);
                            }
                        }
                        return;
                    }
                }
                self.hand.arcs.push(arc);
            }
        }
    }

    fn use_thread(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            Park => thread::park(),
            ParkTimeout => thread::park_timeout(TIMEOUT),
            Unpark(other) => {
                let child = self.children.get(other).and_then(Option::as_ref).map(Child::thread);
                let parent = (self.shared.program.parent(self.thread) == Some(other))
                    .then_some(self.hand.parent.as_ref())
                    .flatten();
                if let Some(thread) = child.or(parent) {
                    thread.unpark();
                }
            }
            IsFinished(child) => {
                if let Some(handle) = self.children.get(child).and_then(Option::as_ref) {
                    self.see(u64::from(handle.is_finished()));
                }
            }
            Join(child) => {
                if let Some(handle) = self.children.get_mut(child).and_then(Option::take) {
                    self.see(u64::from(handle.join()));
                }
            }
            Detach(child) => drop(self.children.get_mut(child).map(Option::take)),
            Spawn(child) => {
                if child >= self.children.len() || self.children[child].is_some() {
                    return;
                }
                let shared = std::sync::Arc::clone(self.shared);
                let mut hand = self.hand_of(child);
                hand.rare.local = None;
                self.children[child] = Some(Child::spawn(shared, child, hand));
            }
            _ => unreachable!("{instruction:?} is not about threads"),
        }
    }

    fn pause(&self, instruction: Instruction) {
        use Instruction::*;
        let look = |variable: usize| self.shared.variables[variable].load(Ordering::Acquire);
        match instruction {
            Yield => thread::yield_now(),
            Sleep => thread::sleep(TIMEOUT * (self.thread as u32 % 3 + 1)),
            SpinWhileZero { variable, turns, pause } => {
                let mut value = look(variable);
                for _ in 0..turns {
                    if value != 0 {
                        break;
                    }
                    relax(pause);
                    value = look(variable);
                }
                self.see(value);
            }
            GiveUpWaiting { variable, turns, kept, pause } => {
                self.give_up_waiting(|| look(variable) != 0, turns, kept, pause);
            }
            PollLocked { object, .. } | TurnLocked { object, .. } if self.holds(object) => {}
            PollLocked { object, reads: true, turns, kept, pause } => {
                let is_odd =
                    || locked(self.shared.rwlocks[object].read()).0.is_some_and(|value| *value & 1 == 1);
                self.give_up_waiting(is_odd, turns, kept, pause);
            }
            PollLocked { object, reads: false, turns, kept, pause } => {
                let is_odd =
                    || locked(self.shared.mutexes[object].lock()).0.is_some_and(|value| *value & 1 == 1);
                self.give_up_waiting(is_odd, turns, kept, pause);
            }
            TurnLocked { object, reads, times, turns, pause } => {
                for turn in 0..turns {
                    for _ in 0..times {
                        if !reads && let Some(mut value) = locked(self.shared.mutexes[object].lock()).0 {
                            *value ^= 1;
                        }
                        if reads && let Some(mut value) = locked(self.shared.rwlocks[object].write()).0 {
                            *value ^= 1;
                        }
                    }
                    if turn + 1 < turns {
                        relax(pause);
                    }
                }
            }
            AwaitNonZero { variable, pause } => {
                while look(variable) == 0 {
                    relax(pause);
                }
            }
            AwaitEither(pause) => {
                while look(0) == 0 && look(1) == 0 {
                    relax(pause);
                }
            }
            AwaitLock { object, writes, pause } => {
                let can_be_had = || match writes {
                    true => self.shared.rwlocks[object].try_write().is_ok(),
                    false => self.shared.mutexes[object].try_lock().is_ok(),
                };
                let mut tries = 0;
                while !can_be_had() {
                    tries = 2.min(tries + 1);
                    relax(pause);
                }
                self.see(tries);
            }
            Glance { object, reads: true } => drop(self.shared.rwlocks[object].read()),
            Glance { object, reads: false } => drop(self.shared.mutexes[object].lock()),
            SpinLock { variable, swaps, pause } => {
                let variable = &self.shared.variables[variable];
                let is_taken = || match swaps {
                    true => variable.swap(1, Ordering::AcqRel) != 0,
                    false => variable.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_err(),
                };
                while is_taken() {
                    relax(pause);
                }
            }
            GoRound { variable, way } => self.go_round(variable, way),
            AwaitBoth(pause) => {
                while look(0) == 0 || look(1) == 0 {
                    relax(pause);
                }
            }
            AwaitEnd(child, pause) => {
                if let Some(handle) = self.children.get(child).and_then(Option::as_ref) {
                    while !handle.is_finished() {
                        relax(pause);
                    }
                }
            }
            AwaitMessage(c, pause) => {
                let Some(Some(receiver)) = self.hand.receivers.get(c) else { return };
                self.see(loop {
                    match receiver.try_recv() {
                        Ok(value) => break value,
                        Err(TryRecvError::Empty) => relax(pause),
                        Err(TryRecvError::Disconnected) => break 40,
                    }
                });
            }
            AwaitOwner(pause) => {
                if let Some(arc) = self.hand.arcs.last() {
                    while Arc::strong_count(arc) > 1 {
                        relax(pause);
                    }
                }
            }
            _ => unreachable!("{instruction:?} is not a pause"),
        }
    }

    /// Has one of these locks.
    fn holds(&self, object: usize) -> bool {
        self.guards[object].is_some() || self.readers[object].is_some() || self.writers[object].is_some()
    }

    fn give_up_waiting(&self, is_over: impl Fn() -> bool, turns: usize, kept: Kept, pause: Pause) {
        if turns == 0 {
            while !is_over() {
                relax(pause);
            }
            return self.see(1);
        }
        let heap = black_box(Box::new(std::cell::Cell::new(0)));
        let mut stack = 0;
        let shared = &self.shared.rounds[self.thread];
        let rounds = |stack| match kept {
            Kept::Shared => shared.load(std::sync::atomic::Ordering::Relaxed),
            Kept::Local => ROUNDS.get(),
            Kept::Pauses if pause == Pause::None => stack,
            Kept::Heap | Kept::Pauses => black_box(&heap).get(),
        };
        let begins = rounds(stack);
        while !is_over() {
            if rounds(stack) - begins == turns {
                return self.see(u64::MAX);
            }
            match kept {
                Kept::Shared => _ = shared.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
                Kept::Local => ROUNDS.set(ROUNDS.get() + 1),
                Kept::Pauses if pause == Pause::None => stack += 1,
                Kept::Heap | Kept::Pauses => black_box(&heap).set(rounds(stack) + 1),
            }
            let pauses = if kept == Kept::Pauses { rounds(stack) } else { 1 };
            (0..pauses).for_each(|_| relax(pause));
        }
        self.see(1);
    }

    fn go_round(&self, variable: usize, way: Way) {
        let [awaited, other] = [variable, 1 - variable].map(|v| &self.shared.variables[v]);
        loop {
            let takes = way == Way::HoldsLock && self.guards[variable].is_none();
            let guard = takes.then(|| self.shared.mutexes[variable].lock());
            if !matches!(way, Way::HoldsLock | Way::WakesItself) {
                other.fetch_add(1, Ordering::AcqRel);
            }
            if matches!(way, Way::PutsBack | Way::NeverPauses) {
                other.fetch_sub(1, Ordering::AcqRel);
            }
            if awaited.load(Ordering::Acquire) != 0 {
                return;
            }
            match way {
                Way::NeverPauses => {}
                Way::WakesItself => {
                    thread::current().unpark();
                    thread::park();
                }
                _ => thread::yield_now(),
            }
            drop(guard);
        }
    }

    /// The end of the code. What is dropped here is dropped in the order of the fields.
    fn end(mut self) {
        if !self.shared.program.threads[self.thread].keeps {
            return;
        }
        std::mem::take(&mut self.guards).into_iter().flatten().for_each(std::mem::forget);
        std::mem::take(&mut self.readers).into_iter().flatten().for_each(std::mem::forget);
        std::mem::take(&mut self.writers).into_iter().flatten().for_each(std::mem::forget);
        std::mem::take(&mut self.hand.senders).into_iter().flatten().for_each(std::mem::forget);
        std::mem::take(&mut self.hand.receivers).into_iter().flatten().for_each(std::mem::forget);
        std::mem::take(&mut self.hand.parcel_senders).into_iter().flatten().for_each(std::mem::forget);
        std::mem::take(&mut self.hand.parcel_receivers).into_iter().flatten().for_each(std::mem::forget);
    }
}

/// What a loop does between two looks.
#[inline(always)]
fn relax(pause: Pause) {
    match pause {
        Pause::Yield => thread::yield_now(),
        Pause::Spin => hint::spin_loop(),
        Pause::None => {}
        Pause::Sleep => thread::sleep(TIMEOUT),
        Pause::Park => thread::park_timeout(TIMEOUT),
    }
}
