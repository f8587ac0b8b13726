//! What programs of [`patterns`](crate::random_real::generate::patterns) do besides: work that is given to whoever takes it, panics that are handed on,
//! thread-locals that are made when they are first used, locks that are made of atomic variables, locks that are taken twice.

use super::super::language::{Instruction, Patience};
use super::super::library;
use super::super::library::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use super::super::library::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
use super::super::library::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use super::super::library::sync::{Arc, Mutex, MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use super::super::library::thread::LocalKey;
use super::partings::Goodbye;
use super::{AnySender, NOTHING, Shared, TIMEOUT, Walker, locked, relax, tried};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::ptr;

/// What a thread is given.
#[derive(Default)]
pub(super) struct Hand {
    work: Option<Arc<AnySender<Goodbye>>>,
}

/// What the threads of one execution share.
#[derive(Default)]
pub(super) struct Shelf {
    work: Mutex<Option<Receiver<Goodbye>>>,
    /// Who has each mutex, if it is one that its owner may take again.
    owners: [AtomicU64; super::OBJECT_COUNT],
    /// Who wants to enter.
    flags: [AtomicU8; 2],
    things: [Mutex<Option<Thing>>; super::OBJECT_COUNT],
}

/// An object that is moved.
#[derive(Default)]
struct Thing {
    count: AtomicU64,
    lock: Mutex<u64>,
}

impl Thing {
    fn new(thread: usize) -> Thing {
        let thing = Thing { count: AtomicU64::new(10 * thread as u64), ..Thing::default() };
        thing.use_once();
        thing
    }

    fn use_once(&self) -> u64 {
        let (guard, how) = locked(self.lock.lock());
        let value = guard.map_or(0, |mut guard| {
            *guard += 1;
            *guard
        });
        how + 100 * value + self.count.fetch_add(1, Ordering::AcqRel)
    }
}

/// What a thread has until the end of its code.
#[derive(Default)]
pub(super) struct Kept<'s> {
    payloads: Vec<Box<dyn Any + Send>>,
    readers: Vec<RwLockReadGuard<'s, u64>>,
    /// How often it has each mutex beside the first time.
    depths: [usize; super::OBJECT_COUNT],
    things: Vec<Thing>,
}

pub(super) const fn are_used_by(instruction: Instruction) -> bool {
    use Instruction::*;
    matches!(
        instruction,
        Give(_)
            | TakeWork { .. }
            | CloseWork
            | RefuseWork
            | JoinOn(_)
            | JoinKeep(_)
            | Resume(_)
            | CatchKeep(_)
            | UseOwn(_)
            | LeaveGuard(_)
            | LeaveReader(_)
            | LeaveWriter(_)
            | AwaitValue { .. }
            | AwaitChange(..)
            | TakeTicket(_)
            | ReadVersioned { .. }
            | WriteVersioned
            | SpinWeakly(..)
            | TakeOne(..)
            | EnterSide(..)
            | LeaveSide(_)
            | Reenter(_)
            | Exit(_)
            | ReadAgain(_)
            | TryReadAgain(_)
            | ReadAgainUnlock
            | ThingPut(_)
            | ThingReplace(_)
            | ThingUse(_)
            | ThingReset(_)
            | ThingTake(_)
            | ThingGive(_)
            | ThingUseOwn
            | ThingDrop
    )
}

/// Is made when it is first used, and does something then; and when it is dropped.
struct Own {
    number: usize,
    maker: (usize, usize),
    shared: std::sync::Weak<Shared>,
    uses: Cell<u64>,
}

library::thread_local! {
    /// Where what is being made finds the others.
    static SHARED: Cell<*const Shared> = const { Cell::new(ptr::null()) };
    /// So many have been made.
    static MADE: Cell<usize> = const { Cell::new(0) };
    /// Which thread of the program this is.
    static THREAD: Cell<usize> = const { Cell::new(0) };
    static GUARDS: RefCell<Vec<LateGuard>> = const { RefCell::new(Vec::new()) };
    static OWN: Own = Own::new(0);
    static SECOND_OWN: Own = Own::new(1);
    static THIRD_OWN: Own = Own::new(2);
    static FAILING_OWN: Own = Own::new(3);
}

/// The calling thread of the program is this one.
pub(super) fn begin(thread: usize) {
    THREAD.set(thread);
}

fn own(number: usize) -> &'static LocalKey<Own> {
    match number {
        0 => &OWN,
        1 => &SECOND_OWN,
        2 => &THIRD_OWN,
        _ => &FAILING_OWN,
    }
}

/// How often it has been used, or that it is no more.
pub(super) fn use_own(shared: &Shared, number: usize) -> u64 {
    let outside = SHARED.replace(shared);
    let seen = own(number).try_with(|own| own.uses.replace(own.uses.get() + 1));
    SHARED.set(outside);
    seen.unwrap_or(NOTHING)
}

impl Own {
    fn new(number: usize) -> Own {
        // SAFETY: `use_own`, which alone uses the keys, has the reference meanwhile.
        let shared = unsafe { &*SHARED.get() };
        let maker = (THREAD.get(), 1_000 + MADE.replace(MADE.get() + 1));
        match number {
            0 => {
                shared.add(0, 1, Ordering::Relaxed);
            }
            1 => drop(locked(shared.mutexes[0].lock())),
            2 => shared.note_parting((maker.0, maker.1 + 500), use_own(shared, 1)),
            _ => assert_ne!(shared.variables[0].load(Ordering::Relaxed), 0, "as the program says"),
        }
        Own { number, maker, shared: shared.shelf.me.clone(), uses: Cell::new(0) }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let seen = match self.number {
            0 => shared.add(1, 10_000, Ordering::Relaxed),
            1 => use_own(&shared, 0),
            2 => {
                let (guard, how) = locked(shared.mutexes[0].lock());
                let value = guard.map_or(0, |mut guard| {
                    *guard += 1;
                    *guard
                });
                how + value + use_own(&shared, 2) + use_own(&shared, 0)
            }
            _ => use_own(&shared, 1),
        };
        shared.note_parting(self.maker, seen);
    }
}

/// What a thread has until it ends.
#[expect(dead_code, reason = "they are there to be dropped")]
enum Guard<'s> {
    Mutex(MutexGuard<'s, u64>),
    Reader(RwLockReadGuard<'s, u64>),
    Writer(RwLockWriteGuard<'s, u64>),
}

/// The same in a thread-local, with what the guard belongs to.
struct LateGuard {
    guard: ManuallyDrop<Guard<'static>>,
    shared: std::sync::Weak<Shared>,
}

impl Drop for LateGuard {
    fn drop(&mut self) {
        let Some(_shared) = self.shared.upgrade() else { return };
        // SAFETY: it is dropped here alone, and the locks are there, as what is shared is.
        unsafe { ManuallyDrop::drop(&mut self.guard) };
    }
}

impl Shared {
    /// Uses what the program uses of the shelf, and leaves it as it is.
    pub(super) fn use_patterns(&self) {
        use Instruction::*;
        let shelf = &self.shelf.patterns;
        if self.program.has(|i| matches!(i, Give(_) | TakeWork { .. } | RefuseWork)) {
            drop(shelf.work.lock());
        }
        if self.program.has(|i| matches!(i, EnterSide(..))) {
            shelf.flags.iter().for_each(|flag| {
                flag.load(Ordering::Relaxed);
            });
        }
        if self.program.has(|i| matches!(i, ThingPut(_) | ThingReplace(_) | ThingUse(_) | ThingTake(_))) {
            shelf.things.iter().for_each(|thing| drop(thing.lock()));
        }
        if self.program.has(|i| matches!(i, Reenter(_))) {
            shelf.owners.iter().for_each(|owner| {
                owner.load(Ordering::Relaxed);
            });
        }
    }

    /// The main thread makes the channel for work.
    pub(super) fn deal_work(&self, hands: &mut [super::Hand]) {
        use Instruction::*;
        let program = &self.program;
        if !program.has(|i| matches!(i, Give(_) | TakeWork { .. } | CloseWork | RefuseWork)) {
            return;
        }
        let (sender, receiver) = AnySender::channel(program.channels[0].0);
        if let Some(mut work) = locked(self.shelf.patterns.work.lock()).0 {
            *work = Some(receiver);
        }
        let gives = |i: &Instruction| matches!(i, Give(_) | CloseWork);
        let sender = Arc::new(sender);
        for (thread, hand) in hands.iter_mut().enumerate() {
            if program.is_spawned(thread) && program.threads[thread].code.iter().any(gives) {
                hand.patterns.work = Some(Arc::clone(&sender));
            }
        }
    }
}

impl<'s> Walker<'s> {
    fn leave_guard(&mut self, take: impl FnOnce(&mut Self) -> Option<Guard<'s>>) {
        let Some(guard) = take(self) else { return };
        // SAFETY: whoever uses the guard sees to it that what is shared is still there; see `LateGuard`.
        let guard = unsafe { std::mem::transmute::<Guard<'s>, Guard<'static>>(guard) };
        let shared = self.shared.shelf.me.clone();
        GUARDS.with_borrow_mut(|guards| guards.push(LateGuard { guard: ManuallyDrop::new(guard), shared }));
    }

    pub(super) fn use_pattern(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            Give(_) | TakeWork { .. } | CloseWork | RefuseWork => self.use_work(instruction),
            JoinOn(_) | JoinKeep(_) | Resume(_) | CatchKeep(_) => self.hand_on(instruction),
            UseOwn(number) => {
                let seen = catch_unwind(AssertUnwindSafe(|| use_own(self.shared, number)));
                self.see(seen.unwrap_or(NOTHING + 1));
            }
            LeaveGuard(m) => self.leave_guard(|me| Some(Guard::Mutex(me.guards[m].take()?))),
            LeaveReader(l) => self.leave_guard(|me| Some(Guard::Reader(me.readers[l].take()?))),
            LeaveWriter(l) => self.leave_guard(|me| Some(Guard::Writer(me.writers[l].take()?))),
            Reenter(_) | Exit(_) | ReadAgain(_) | TryReadAgain(_) | ReadAgainUnlock => {
                self.take_again(instruction);
            }
            ThingPut(_) | ThingReplace(_) | ThingUse(_) | ThingReset(_) | ThingTake(_) | ThingGive(_)
            | ThingUseOwn | ThingDrop => self.use_things(instruction),
            _ => self.use_handmade(instruction),
        }
    }

    fn use_things(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        let place = |place: usize| locked(shared.shelf.patterns.things[place].lock()).0;
        match instruction {
            ThingPut(p) => {
                let thing = Thing::new(self.thread);
                let before = place(p).and_then(|mut place| place.replace(thing));
                self.see(before.map_or(NOTHING, |thing| thing.use_once()));
            }
            ThingReplace(p) => {
                if let Some(mut place) = place(p) {
                    *place = Some(Thing::new(self.thread));
                }
            }
            ThingUse(p) => {
                let seen = place(p).and_then(|place| Some(place.as_ref()?.use_once()));
                self.see(seen.unwrap_or(NOTHING));
            }
            ThingReset(p) => {
                let seen = place(p).and_then(|mut place| {
                    let thing = place.as_mut()?;
                    let value = locked(thing.lock.get_mut()).0.map(std::mem::take);
                    Some(100 * value.unwrap_or(0) + std::mem::replace(thing.count.get_mut(), 5))
                });
                self.see(seen.unwrap_or(NOTHING));
            }
            ThingTake(p) => {
                let thing = place(p).and_then(|mut place| place.take());
                self.see(u64::from(thing.is_some()));
                self.kept.things.extend(thing);
            }
            ThingGive(p) => {
                let Some(thing) = self.kept.things.pop() else { return };
                let before = place(p).and_then(|mut place| place.replace(thing));
                self.see(u64::from(before.is_some()));
            }
            ThingUseOwn => {
                let seen = self.kept.things.last().map(Thing::use_once);
                self.see(seen.unwrap_or(NOTHING));
            }
            _ => drop(self.kept.things.pop()),
        }
    }

    fn use_work(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            Give(farewell) => {
                let work = self.goodbye(farewell);
                let Some(sender) = &self.hand.patterns.work else { return };
                self.see(sender.send(work, false));
            }
            TakeWork { patience, keeps } => {
                let shared = self.shared;
                let Some(receiver) = locked(shared.shelf.patterns.work.lock()).0 else { return };
                let Some(work) = &*receiver else { return self.see(41) };
                let work = match patience {
                    Patience::Endless => work.recv().map_err(|_| 40),
                    Patience::None => work.try_recv().map_err(|error| match error {
                        TryRecvError::Empty => NOTHING,
                        TryRecvError::Disconnected => 40,
                    }),
                    Patience::Timed => work.recv_timeout(TIMEOUT).map_err(|error| match error {
                        RecvTimeoutError::Timeout => NOTHING,
                        RecvTimeoutError::Disconnected => 40,
                    }),
                };
                self.see(work.as_ref().map_or_else(|&error| error, |_| 1));
                let kept = keeps.then_some(receiver);
                drop(work);
                drop(kept);
            }
            CloseWork => drop(self.hand.patterns.work.take()),
            _ => {
                let receiver =
                    locked(self.shared.shelf.patterns.work.lock()).0.and_then(|mut work| work.take());
                drop(receiver);
            }
        }
    }

    fn hand_on(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            JoinOn(child) | JoinKeep(child) => {
                let Some(handle) = self.children.get_mut(child).and_then(Option::take) else { return };
                let outcome = handle.outcome();
                self.see(u64::from(outcome.is_ok()));
                match (outcome, instruction) {
                    (Ok(()), _) => {}
                    (Err(payload), JoinOn(_)) => resume_unwind(payload),
                    (Err(payload), _) => self.kept.payloads.push(payload),
                }
            }
            Resume(count) | CatchKeep(count) => {
                let end = self.at + count;
                let passed = catch_unwind(AssertUnwindSafe(|| self.walk_to(end)));
                self.at = end;
                let Err(payload) = passed else { return self.see(1) };
                if let CatchKeep(_) = instruction {
                    self.see(0);
                    self.kept.payloads.push(payload);
                } else {
                    self.see(self.shared.variables[0].load(Ordering::Acquire));
                    resume_unwind(payload);
                }
            }
            _ => unreachable!("{instruction:?} hands nothing on"),
        }
    }

    fn take_again(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        let me = 1 + self.thread as u64;
        match instruction {
            Reenter(m) => {
                let owner = &shared.shelf.patterns.owners[m];
                if owner.load(Ordering::Relaxed) == me {
                    self.kept.depths[m] += 1;
                } else if self.guards[m].is_none() {
                    let (guard, how) = locked(shared.mutexes[m].lock());
                    owner.store(me, Ordering::Relaxed);
                    self.see(how);
                    self.guards[m] = guard;
                }
            }
            Exit(m) => {
                let owner = &shared.shelf.patterns.owners[m];
                if self.kept.depths[m] > 0 {
                    self.kept.depths[m] -= 1;
                } else if owner.load(Ordering::Relaxed) == me {
                    owner.store(0, Ordering::Relaxed);
                    drop(self.guards[m].take());
                }
            }
            ReadAgain(l) | TryReadAgain(l) if self.writers[l].is_none() => {
                let (guard, how) = match instruction {
                    ReadAgain(_) => locked(shared.rwlocks[l].read()),
                    _ => tried(shared.rwlocks[l].try_read()),
                };
                self.see(how + guard.as_ref().map_or(0, |guard| **guard));
                self.kept.readers.extend(guard);
            }
            ReadAgainUnlock => drop(self.kept.readers.pop()),
            _ => {}
        }
    }

    fn use_handmade(&self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        let [first, second] = [0, 1].map(|v| &shared.variables[v]);
        let look = |variable: usize| shared.variables[variable].load(Ordering::Acquire);
        match instruction {
            AwaitValue { variable, value, pause } => {
                while look(variable) != value {
                    relax(pause);
                }
            }
            AwaitChange(variable, pause) => {
                let before = look(variable);
                while look(variable) == before {
                    relax(pause);
                }
            }
            TakeTicket(pause) => {
                let ticket = shared.add(0, 1, Ordering::Relaxed);
                while second.load(Ordering::Acquire) != ticket {
                    relax(pause);
                }
                self.see(ticket);
            }
            ReadVersioned { turns, pause } => {
                let mut turn = 0;
                loop {
                    let version = first.load(Ordering::Acquire);
                    if version.is_multiple_of(2) {
                        let value = second.load(Ordering::Relaxed);
                        fence(Ordering::Acquire);
                        if first.load(Ordering::Relaxed) == version {
                            return self.see(value);
                        }
                    }
                    turn += 1;
                    if turns > 0 && turn == turns {
                        return self.see(NOTHING);
                    }
                    relax(pause);
                }
            }
            WriteVersioned => {
                shared.add(0, 1, Ordering::Relaxed);
                fence(Ordering::Release);
                shared.add(1, 1, Ordering::Relaxed);
                shared.add(0, 1, Ordering::Release);
            }
            SpinWeakly(variable, pause) => {
                let is_taken = |v: &AtomicU64| {
                    v.compare_exchange_weak(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_err()
                };
                while is_taken(&shared.variables[variable]) {
                    relax(pause);
                }
            }
            TakeOne(variable, pause) => loop {
                let value = look(variable);
                if value == 0 {
                    relax(pause);
                    continue;
                }
                let taken = shared.change(variable, |v| {
                    match v.compare_exchange_weak(value, value - 1, Ordering::AcqRel, Ordering::Relaxed) {
                        Ok(_) => (1, Some(value - 1)),
                        Err(_) => (0, None),
                    }
                });
                if taken == 1 {
                    return self.see(value);
                }
            },
            EnterSide(side, pause) => {
                let flags = &shared.shelf.patterns.flags;
                flags[side].store(1, Ordering::SeqCst);
                first.store(1 + side as u64, Ordering::SeqCst);
                while flags[1 - side].load(Ordering::SeqCst) == 1
                    && first.load(Ordering::SeqCst) == 1 + side as u64
                {
                    relax(pause);
                }
            }
            LeaveSide(side) => shared.shelf.patterns.flags[side].store(0, Ordering::SeqCst),
            _ => unreachable!("{instruction:?} is no pattern"),
        }
    }
}
