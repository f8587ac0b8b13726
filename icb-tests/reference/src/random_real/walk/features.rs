//! What programs of [`features`](crate::random_real::generate::features) do besides: poison and its end, conditions of
//! waits, initialisers that fail, messages with destructors, all that can be done with the counts of an `Arc`, wakers, thread-locals,
//! scopes.

use super::super::language::{Farewell, Handle, Instruction, OBJECT_COUNT, Program, Span};
use super::super::library::panic::{AssertUnwindSafe, catch_unwind};
use super::super::library::sync::atomic::{AtomicU8, Ordering};
use super::super::library::sync::mpsc::{RecvTimeoutError, TryRecvError};
use super::super::library::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use super::super::library::thread::{self, ScopedJoinHandle, Thread};
use super::boxes::Boxes;
use super::partings::{Child, Ends, Goodbye};
use super::system::System;
use super::{AnySender, Hand, NOTHING, Payload, Shared, TIMEOUT, Walker, both, locked, walk};
use std::cell::RefCell;
use std::time::Duration;

type Lazy = LazyLock<u64, Box<dyn FnOnce() -> u64 + Send + Sync>>;

/// What the threads of one execution share besides.
pub(super) struct Shelf {
    pub(super) me: std::sync::Weak<Shared>,
    lazies: Vec<Lazy>,
    bytes: [AtomicU8; OBJECT_COUNT],
    arcs: Mutex<Vec<Arc<Payload>>>,
    sleepers: Mutex<Vec<Thread>>,
    pub(super) handles: Mutex<Vec<Child>>,
    pub(super) ends: Mutex<Ends>,
    pub(super) system: System,
    pub(super) boxes: Boxes,
    pub(super) rare: super::rare::Shelf,
    pub(super) patterns: super::patterns::Shelf,
}

impl Shelf {
    pub(super) fn new(program: &Program, me: &std::sync::Weak<Shared>) -> Self {
        let lazy = |number: usize| -> Lazy {
            let me = me.clone();
            LazyLock::new(Box::new(move || {
                let old = me.upgrade().map_or(0, |shared| shared.add(number, 1, Ordering::Relaxed));
                assert!(number == 0 || old > 0, "as the program says");
                10 + old
            }))
        };
        Shelf {
            me: me.clone(),
            lazies: (0..OBJECT_COUNT).map(lazy).collect(),
            bytes: Default::default(),
            arcs: Mutex::default(),
            sleepers: Mutex::default(),
            handles: Mutex::default(),
            ends: Mutex::default(),
            system: System::new(program),
            boxes: Boxes::default(),
            rare: super::rare::Shelf::default(),
            patterns: super::patterns::Shelf::default(),
        }
    }
}

impl Shared {
    /// Uses what the program uses of the shelf, and leaves it as it is.
    pub(super) fn use_shelf(&self) {
        use Instruction::*;
        if self.program.has(|i| matches!(i, ArcPut | ArcTake | ArcPeek)) {
            drop(self.shelf.arcs.lock());
        }
        if self.program.has(|i| matches!(i, BlockOn { .. } | Wake(_))) {
            drop(self.shelf.sleepers.lock());
        }
        if self.program.has(|i| matches!(i, HandlePut(_) | HandleJoin | HandleAsk | HandleDrop)) {
            drop(self.shelf.handles.lock());
        }
        if self.program.has(|i| matches!(i, SenderPut(_) | SenderTake(_) | ReceiverPut(_) | ReceiverTake(_)))
        {
            drop(self.shelf.ends.lock());
        }
        if self.program.has(|i| matches!(i, ByteLoad(_) | ByteStore(..) | ByteAdd(_))) {
            self.shelf.bytes.iter().for_each(|byte| {
                byte.load(Ordering::Relaxed);
            });
        }
        if self.program.has(Boxes::are_used_by) {
            self.shelf.boxes.use_everything();
        }
        self.use_rare();
        self.use_patterns();
        self.shelf.system.use_everything();
    }
}

/// Something whose destructor adds to a variable.
pub(super) struct Parcel {
    pub(super) value: u64,
    pub(super) variable: usize,
    pub(super) shared: std::sync::Weak<Shared>,
    pub(super) burden: Option<Goodbye>,
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.add(self.variable, 1000, Ordering::AcqRel);
        }
        drop(self.burden.take());
    }
}

super::super::library::thread_local! {
    static FAREWELLS: RefCell<Vec<Goodbye>> = const { RefCell::new(Vec::new()) };
    static LATER_FAREWELLS: RefCell<Vec<Goodbye>> = const { RefCell::new(Vec::new()) };
}

/// For the end of the thread, if that is still possible.
pub(super) fn leave_late(goodbye: Goodbye) {
    let mut goodbye = Some(goodbye);
    for farewells in [&FAREWELLS, &LATER_FAREWELLS] {
        let left = farewells.try_with(|farewells| {
            let Ok(mut farewells) = farewells.try_borrow_mut() else { return };
            farewells.extend(goodbye.take());
        });
        if left.is_ok() && goodbye.is_none() {
            return;
        }
    }
    std::mem::forget(goodbye);
}

/// The main thread makes the ends of the channels of parcels for everybody.
pub(super) fn deal(program: &Program, hands: &mut [Hand]) {
    use Instruction::*;
    for (channel, &(capacity, receiving)) in program.channels.iter().enumerate() {
        let sends = |i: &Instruction| matches!(*i, SendParcel(c) | TrySendParcel(c) | SendBurden(c, _) | DropParcelSender(c) if c == channel);
        let receives = |i: Instruction| matches!(i, ReceiveParcel(c) | TryReceiveParcel(c) | ReceiveParcelTimeout(c) | DropParcelReceiver(c) if c == channel);
        for hand in &mut *hands {
            hand.parcel_senders.push(None);
            hand.parcel_receivers.push(None);
        }
        if !program.has(|i| sends(&i) || receives(i)) {
            continue;
        }
        let (sender, receiver) = AnySender::channel(capacity);
        for (thread, hand) in hands.iter_mut().enumerate() {
            if program.is_spawned(thread) && program.threads[thread].code.iter().any(sends) {
                hand.parcel_senders[channel] = Some(sender.clone());
            }
        }
        drop(sender);
        if program.is_spawned(receiving) {
            hands[receiving].parcel_receivers[channel] = Some(receiver);
        }
    }
}

/// A thread of a scope, which may join another one when it has done everything else, and spawn others there.
fn spawn_scoped<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    shared: &std::sync::Arc<Shared>,
    child: usize,
    hand: Hand,
    joins: Option<ScopedJoinHandle<'scope, Parcel>>,
) -> ScopedJoinHandle<'scope, Parcel> {
    let shared = std::sync::Arc::clone(shared);
    scope.spawn(move || {
        let more = |child: usize, hand: Hand| drop(spawn_scoped(scope, &shared, child, hand, None));
        let burden = walk(&shared, child, hand, Some(&more));
        if let Some(other) = joins {
            let joined = other.join().map_or(NOTHING, |parcel| parcel.value);
            shared.note(child, joined);
        }
        Parcel { value: child as u64, variable: 1, shared: shared.shelf.me.clone(), burden }
    })
}

pub(super) fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

fn duration(span: Span) -> Duration {
    match span {
        Span::Zero => Duration::ZERO,
        Span::Short => TIMEOUT,
        Span::Long => Duration::from_secs(3600),
        Span::Ever => Duration::MAX,
    }
}

impl Walker<'_> {
    /// What the child is given.
    pub(super) fn hand_of(&self, child: usize) -> Hand {
        let mut hand = self.shared.hand(child);
        hand.parent = Some(thread::current());
        hand.main.clone_from(&self.hand.main);
        hand.rare.local = self.hand.rare.local.clone();
        let spawned = self.children.iter().enumerate();
        hand.siblings = spawned
            .filter_map(|(number, handle)| Some((number, handle.as_ref()?.thread().clone())))
            .collect();
        hand
    }

    pub(super) fn use_feature(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            PoisonMutex(_) | PoisonRwLock(_) | ClearPoison(_) | ClearRwPoison(_) | IsRwPoisoned(_) => {
                self.use_poison(instruction);
            }
            WaitWhile(..) | WaitTimeoutWhile(..) | WaitElsewhere(_) | WaitFor(..) => {
                self.wait_with_condition(instruction);
            }
            CallOnceForce { .. }
            | OnceWait(_)
            | OnceWaitForce(_)
            | OnceLockWait(_)
            | OnceTryInit { .. }
            | LazyForce(_)
            | LazyGet(_) => self.initialise(instruction),
            ReceiveFor(..) | ReceiveSome(..) | TryReceiveAll(_) | CloneSender(_) | DropClonedSender(_) => {
                self.use_channel_otherwise(instruction);
            }
            SendParcel(_)
            | TrySendParcel(_)
            | ReceiveParcel(_)
            | TryReceiveParcel(_)
            | ReceiveParcelTimeout(_)
            | DropParcelSender(_)
            | DropParcelReceiver(_) => {
                self.use_parcels(instruction);
            }
            ArcWeakCount | WeakClone | WeakCounts | ArcMakeMut | ArcIntoInner | ArcUnwrapOrClone
            | ArcCountUp | ArcPut | ArcTake | ArcPeek => self.use_counts(instruction),
            ParkFor(span) => thread::park_timeout(duration(span)),
            UnparkMain => self.hand.main.iter().for_each(Thread::unpark),
            UnparkSibling(number) => {
                let siblings = self.hand.siblings.iter().filter(|&&(sibling, _)| sibling == number);
                siblings.for_each(|(_, thread)| thread.unpark());
            }
            BlockOn { variable, turns } => {
                let mut value = 0;
                for _ in 0..turns {
                    let mut sleepers =
                        self.shared.shelf.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
                    sleepers.push(thread::current());
                    drop(sleepers);
                    value = self.shared.variables[variable].load(Ordering::Acquire);
                    if value != 0 {
                        break;
                    }
                    thread::park();
                }
                self.see(value);
            }
            Wake(variable) => {
                self.shared.change(variable, |v| {
                    v.store(1, Ordering::Release);
                    (0, Some(1))
                });
                let mut sleepers = self.shared.shelf.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
                let woken = std::mem::take(&mut *sleepers);
                drop(sleepers);
                woken.iter().for_each(Thread::unpark);
            }
            Leave(farewell) => self.leave(farewell),
            Within(_)
            | AtEnd(_)
            | PanicWith(_)
            | Return(_)
            | ArcBurden(_)
            | SendBurden(..)
            | KeySet(_)
            | ArcLock
            | ArcPoison
            | ArcGetMutLocked
            | ArcIntoLocked
            | OnceAround { .. }
            | InitAround { .. }
            | WaitWhileZero(..)
            | WaitTimeoutWhileZero(..)
            | HandlePut(_)
            | HandleJoin
            | HandleAsk
            | HandleDrop
            | SenderPut(_)
            | SenderTake(_)
            | ReceiverPut(_)
            | ReceiverTake(_) => self.part(instruction),
            SpawnInScope(child) => {
                if let Some(spawn) = self.spawn_in_scope {
                    spawn(child, self.hand_of(child));
                }
            }
            Scope { first, count, inner, handle } => self.open_scope(first, count, inner, handle),
            Catch(count) => {
                let end = self.at + count;
                let passed = caught(|| self.walk_to(end)).is_some();
                self.at = end;
                self.see(u64::from(passed));
            }
            Update(..) | Touch(..) | ExchangeLoop(_) | ByteLoad(_) | ByteStore(..) | ByteAdd(_) => {
                self.use_variable_otherwise(instruction);
            }
            CellAround { cell, variable } => {
                let seen = self.shared.cells[cell].0.with_mut(|value| {
                    let seen = self.shared.variables[variable].load(Ordering::Acquire);
                    // SAFETY: the pointer is valid during the call, and nobody else runs meanwhile; see `Cell`.
                    unsafe { *value += 1 };
                    seen
                });
                self.see(seen);
            }
            Ask(_)
            | Answer(_)
            | Refuse
            | DropAnswers
            | DropAsking
            | Poll { .. }
            | WakeTask { .. }
            | DropWaker
            | WaitAgain { .. }
            | ReceiveAgain(..)
            | UseLocal(_)
            | UseStatic(_)
            | Max(..) => self.use_rarely(instruction),
            _ if super::patterns::are_used_by(instruction) => self.use_pattern(instruction),
            _ if Boxes::are_used_by(instruction) => {
                let seen = self.shared.shelf.boxes.perform(instruction);
                seen.into_iter().for_each(|seen| self.see(seen));
            }
            _ => {
                let seen = self.shared.shelf.system.perform(instruction);
                seen.into_iter().for_each(|seen| self.see(seen));
            }
        }
    }

    fn use_poison(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        match instruction {
            PoisonMutex(m) if self.guards[m].is_none() => drop(caught(|| {
                let (guard, how) = locked(shared.mutexes[m].lock());
                self.see(how);
                let _guard = guard.map(|mut guard| *guard += 1);
                panic!("as the program says");
            })),
            PoisonRwLock(l) if self.readers[l].is_none() && self.writers[l].is_none() => drop(caught(|| {
                let (mut guard, how) = locked(shared.rwlocks[l].write());
                self.see(how);
                guard.iter_mut().for_each(|guard| **guard += 1);
                panic!("as the program says");
            })),
            ClearPoison(m) => shared.mutexes[m].clear_poison(),
            ClearRwPoison(l) => shared.rwlocks[l].clear_poison(),
            IsRwPoisoned(l) => self.see(u64::from(shared.rwlocks[l].is_poisoned())),
            _ => {}
        }
    }

    fn wait_with_condition(&mut self, instruction: Instruction) {
        use Instruction::*;
        let (WaitWhile(m, _) | WaitTimeoutWhile(m, _) | WaitElsewhere(m) | WaitFor(m, _)) = instruction
        else {
            return;
        };
        let shared: &Shared = self.shared;
        let Some(guard) = self.guards[m].take() else { return };
        let (guard, how) = match instruction {
            WaitWhile(_, least) => locked(shared.condvars[m].wait_while(guard, |value| *value < least)),
            WaitElsewhere(_) => locked(shared.condvars[1 - m].wait(guard)),
            _ => {
                let waited = match instruction {
                    WaitTimeoutWhile(_, least) => {
                        shared.condvars[m].wait_timeout_while(guard, TIMEOUT, |value| *value < least)
                    }
                    WaitFor(_, span) => shared.condvars[m].wait_timeout(guard, duration(span)),
                    _ => unreachable!("{instruction:?} is no wait with a time"),
                };
                let (pair, how) = locked(waited);
                let (guard, timeout) = pair.expect("both have it");
                (Some(guard), how + if timeout.timed_out() { NOTHING } else { 0 })
            }
        };
        self.see(how + guard.as_ref().map_or(0, |guard| **guard));
        self.guards[m] = guard;
    }

    fn initialise(&self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        let seen = match instruction {
            CallOnceForce { once, variable, panics } => {
                let mut ran = 0;
                let done = caught(|| {
                    shared.onces[once].call_once_force(|state| {
                        ran = 1 + shared.add(variable, 1, Ordering::Relaxed);
                        ran += if state.is_poisoned() { 50 } else { 0 };
                        assert!(!panics, "as the program says");
                    });
                });
                Some(ran + if done.is_some() { 0 } else { NOTHING })
            }
            OnceWait(once) => caught(|| shared.onces[once].wait()).map(|()| 1),
            OnceWaitForce(once) => caught(|| shared.onces[once].wait_force()).map(|()| 1),
            OnceLockWait(once) => Some(*shared.locks[once].wait()),
            OnceTryInit { once, variable } => caught(|| {
                *shared.locks[once].get_or_init(|| {
                    let old = shared.add(variable, 1, Ordering::Relaxed);
                    assert!(old != 0, "as the program says");
                    20 + old
                })
            }),
            LazyForce(lazy) => caught(|| *LazyLock::force(&shared.shelf.lazies[lazy])),
            LazyGet(lazy) => LazyLock::get(&shared.shelf.lazies[lazy]).copied(),
            _ => unreachable!("{instruction:?} initialises nothing"),
        };
        self.see(seen.unwrap_or(NOTHING));
    }

    fn use_channel_otherwise(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            CloneSender(c) => {
                let sender = self.hand.senders.get(c).and_then(Option::clone);
                self.cloned_senders[c] = sender;
            }
            DropClonedSender(c) => drop(self.cloned_senders[c].take()),
            ReceiveFor(c, _) | ReceiveSome(c, _) | TryReceiveAll(c) => {
                let Some(Some(receiver)) = self.hand.receivers.get(c) else { return };
                let see = |seen| self.see(seen);
                match instruction {
                    ReceiveFor(_, span) => see(match receiver.recv_timeout(duration(span)) {
                        Ok(value) => value,
                        Err(RecvTimeoutError::Timeout) => NOTHING,
                        Err(RecvTimeoutError::Disconnected) => 40,
                    }),
                    ReceiveSome(_, count) => receiver.iter().take(count).for_each(see),
                    _ => receiver.try_iter().for_each(see),
                }
                self.see(70);
            }
            _ => unreachable!("{instruction:?} is not about channels"),
        }
    }

    fn use_parcels(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            SendParcel(c) | TrySendParcel(c) => {
                let (value, shared) = (self.thread as u64, self.shared.shelf.me.clone());
                let Some(Some(sender)) = self.hand.parcel_senders.get(c) else { return };
                let parcel = Parcel { value, variable: c, shared, burden: None };
                self.see(sender.send(parcel, matches!(instruction, TrySendParcel(_))));
            }
            ReceiveParcel(c) | TryReceiveParcel(c) | ReceiveParcelTimeout(c) => {
                let Some(Some(receiver)) = self.hand.parcel_receivers.get(c) else { return };
                let received = match instruction {
                    ReceiveParcel(_) => receiver.recv().map_err(|_| 40),
                    TryReceiveParcel(_) => receiver.try_recv().map_err(|error| match error {
                        TryRecvError::Empty => NOTHING,
                        TryRecvError::Disconnected => 40,
                    }),
                    _ => receiver.recv_timeout(TIMEOUT).map_err(|error| match error {
                        RecvTimeoutError::Timeout => NOTHING,
                        RecvTimeoutError::Disconnected => 40,
                    }),
                };
                self.see(received.as_ref().map_or_else(|&error| error, |parcel| parcel.value));
            }
            DropParcelSender(c) => drop(self.hand.parcel_senders.get_mut(c).map(Option::take)),
            DropParcelReceiver(c) => drop(self.hand.parcel_receivers.get_mut(c).map(Option::take)),
            _ => unreachable!("{instruction:?} is not about parcels"),
        }
    }

    fn use_counts(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shelf = || self.shared.shelf.arcs.lock().unwrap_or_else(PoisonError::into_inner);
        match instruction {
            WeakClone => {
                let weak = self.weak.last().cloned();
                self.weak.extend(weak);
                return;
            }
            WeakCounts => {
                if let Some(weak) = self.weak.last() {
                    self.see(weak.strong_count() as u64 * 10);
                    self.see(Weak::weak_count(weak) as u64);
                }
                return;
            }
            ArcTake | ArcPeek => {
                let arc = match instruction {
                    ArcTake => shelf().pop(),
                    _ => shelf().last().cloned(),
                };
                self.see(arc.as_ref().map_or(NOTHING, |arc| arc.value));
                self.hand.arcs.extend(arc);
                return;
            }
            _ => {}
        }
        let Some(mut arc) = self.hand.arcs.pop() else { return };
        match instruction {
            ArcWeakCount => self.see(Arc::weak_count(&arc) as u64),
            ArcMakeMut => {
                let payload = Arc::make_mut(&mut arc);
                payload.value += 1;
                self.see(payload.value);
            }
            ArcIntoInner => {
                let payload = Arc::into_inner(arc);
                self.see(payload.as_ref().map_or(NOTHING, |payload| payload.value));
                return;
            }
            ArcUnwrapOrClone => {
                self.see(Arc::unwrap_or_clone(arc).value);
                return;
            }
            ArcCountUp => {
                let pointer = Arc::as_ptr(&arc);
                // SAFETY: the pointer is that of an `Arc` that is alive meanwhile, and what is counted is owned by the second one.
                let second = unsafe {
                    Arc::increment_strong_count(pointer);
                    Arc::from_raw(pointer)
                };
                self.hand.arcs.push(second);
            }
            _ => {
                shelf().push(arc);
                return;
            }
        }
        self.hand.arcs.push(arc);
    }

    fn leave(&mut self, farewell: Farewell) {
        let goodbye = self.goodbye(farewell);
        if FAREWELLS.with_borrow(Vec::is_empty) {
            FAREWELLS.with_borrow_mut(|farewells| farewells.push(goodbye));
        } else {
            LATER_FAREWELLS.with_borrow_mut(|farewells| farewells.push(goodbye));
        }
    }

    #[allow(deprecated, reason = "newer releases call it `try_update`")]
    fn use_variable_otherwise(&self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        let bytes = &shared.shelf.bytes;
        self.see(match instruction {
            Update(v, order) => {
                let change = |value: u64| (value <= 2).then(|| 2 * value + 1);
                shared.change(v, |v| {
                    let fetch = super::load(order);
                    match v.fetch_update(both(order), fetch, change) {
                        Ok(old) => (old, change(old)),
                        Err(old) => (NOTHING + old, None),
                    }
                })
            }
            Touch(v, order) => shared.change(v, |v| (v.fetch_or(0, both(order)), None)),
            ExchangeLoop(v) => shared.change(v, |v| {
                let mut old = v.load(Ordering::Relaxed);
                for _ in 0..3 {
                    match v.compare_exchange_weak(old, old + 3, Ordering::AcqRel, Ordering::Relaxed) {
                        Ok(_) => return (old, Some(old + 3)),
                        Err(now) => old = now,
                    }
                }
                (NOTHING, None)
            }),
            ByteLoad(byte) => bytes[byte].load(Ordering::Acquire).into(),
            ByteStore(byte, value) => {
                bytes[byte].store(value, Ordering::Release);
                0
            }
            ByteAdd(byte) => bytes[byte].fetch_add(1, Ordering::Relaxed).into(),
            _ => unreachable!("{instruction:?} is not about variables"),
        });
    }

    fn open_scope(&mut self, first: usize, count: usize, inner: usize, handle: Handle) {
        let end = self.at + inner;
        let last = (first + count).min(self.children.len());
        let shared = std::sync::Arc::clone(self.shared);
        let is_used = shared.program.has(|i| matches!(i, Instruction::UseLocal(_)));
        let local = is_used.then(super::rare::Local::new);
        let lent = local.as_ref().map(super::rare::Local::lend);
        let outside = std::mem::replace(&mut self.hand.rare.local, lent);
        let passed = caught(|| {
            thread::scope(|scope| {
                let mut kept: Option<ScopedJoinHandle<'_, Parcel>> = None;
                for child in first..last {
                    let passed_on = if handle == Handle::PassedOn { kept.take() } else { None };
                    let spawned = spawn_scoped(scope, &shared, child, self.hand_of(child), passed_on);
                    if child == first && handle != Handle::Dropped {
                        kept = Some(spawned);
                    }
                }
                self.walk_to(end);
                match (kept, handle) {
                    (Some(kept), Handle::Joined) => {
                        self.see(kept.join().map_or(NOTHING, |parcel| parcel.value));
                    }
                    (Some(kept), _) => self.see(u64::from(kept.is_finished())),
                    (None, _) => {}
                }
            });
        });
        self.at = end;
        self.hand.rare.local = outside;
        self.see(u64::from(passed.is_some()));
    }
}
