//! What does something when it is dropped, wherever that is: at the end of a thread, by unwinding, by who catches a panic or joins a thread, by
//! who gets a message or has the last `Arc`. And what is handed from one thread to another: handles, ends of channels, the insides
//! of an `Arc` with a mutex, initialisers that do anything.

use super::super::language::{Farewell, Instruction};
use super::super::library::panic::panic_any;
use super::super::library::sync::atomic::Ordering;
use super::super::library::sync::mpsc::Receiver;
use super::super::library::sync::{Arc, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard};
use super::super::library::thread::{self, JoinHandle, Thread};
use super::features::{Parcel, caught};
use super::{
    AnySender, Deferred, Hand, NOTHING, Payload, Shared, TIMEOUT, Walker, locked, none_of, tried, walk,
};

/// Does something when it is dropped.
pub(super) struct Goodbye {
    shared: std::sync::Weak<Shared>,
    farewell: Farewell,
    /// Who has made it, and its number there.
    maker: (usize, usize),
    main: Option<Thread>,
    arc: Option<Arc<Payload>>,
    sender: Option<AnySender>,
    receiver: Option<Receiver<u64>>,
    child: Option<Child>,
}

impl Drop for Goodbye {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let seen = match self.farewell {
            Farewell::Adds(variable) => {
                shared.add(variable, 10_000, Ordering::Relaxed);
                None
            }
            Farewell::Locks(mutex) => {
                *shared.mutexes[mutex].lock().unwrap_or_else(PoisonError::into_inner) += 1;
                None
            }
            Farewell::Unparks => {
                self.main.iter().for_each(Thread::unpark);
                None
            }
            Farewell::Notifies(condvar) => {
                shared.condvars[condvar].notify_one();
                None
            }
            Farewell::NotifiesAll(condvar) => {
                shared.condvars[condvar].notify_all();
                None
            }
            Farewell::Drops => {
                drop(self.arc.take());
                None
            }
            Farewell::Tries(mutex) => {
                let (guard, how) = tried(shared.mutexes[mutex].try_lock());
                let value = guard.map_or(0, |mut guard| {
                    *guard += 1;
                    *guard
                });
                Some(how + value)
            }
            Farewell::Waits(mutex) => {
                let (guard, _) = locked(shared.mutexes[mutex].lock());
                guard.map(|guard| {
                    let (pair, how) = locked(shared.condvars[mutex].wait_timeout(guard, TIMEOUT));
                    let timed_out = pair.is_some_and(|(_, timeout)| timeout.timed_out());
                    how + u64::from(timed_out)
                })
            }
            Farewell::Parks => {
                thread::park_timeout(TIMEOUT);
                None
            }
            Farewell::Writes(lock) => {
                let (guard, how) = locked(shared.rwlocks[lock].write());
                guard.map(|mut guard| {
                    *guard += 1;
                    how + *guard
                })
            }
            Farewell::Initialises(once) => {
                let mut ran = 0;
                let done = caught(|| {
                    shared.onces[once].call_once(|| ran = 1 + shared.add(0, 1, Ordering::Relaxed));
                });
                Some(if done.is_some() { ran } else { NOTHING })
            }
            Farewell::Sends(_) => self.sender.take().map(|sender| sender.send(self.maker.0 as u64, false)),
            Farewell::Deafens(_) => {
                drop(self.receiver.take());
                None
            }
            Farewell::Joins(_) => self.child.take().map(|child| u64::from(child.join())),
            Farewell::LetsGo(_) => {
                drop(self.child.take());
                None
            }
            Farewell::Spawns(child) if child >= shared.program.threads.len() => None,
            Farewell::Spawns(child) => {
                let mut hand = shared.hand(child);
                hand.main.clone_from(&self.main);
                drop(Child::spawn(std::sync::Arc::clone(&shared), child, hand));
                None
            }
            Farewell::Scopes(child) if child >= shared.program.threads.len() => None,
            Farewell::Scopes(child) => {
                let mut hand = shared.hand(child);
                hand.main.clone_from(&self.main);
                let shared = std::sync::Arc::clone(&shared);
                let passed = caught(|| {
                    thread::scope(|scope| {
                        scope.spawn(|| drop(walk(&shared, child, hand, None)));
                    });
                });
                Some(u64::from(passed.is_some()))
            }
            Farewell::Hears(_) => self.receiver.take().map(|receiver| receiver.recv().unwrap_or(40)),
            Farewell::Leaves(variable) => {
                super::features::leave_late(Goodbye::adding(&shared, variable, self.maker));
                None
            }
            Farewell::SetsKey(variable) => {
                shared.set_key(Goodbye::adding(&shared, variable, self.maker));
                None
            }
            Farewell::Bursts => {
                assert!(thread::panicking() || super::giving_up(), "as the program says");
                None
            }
            Farewell::UsesOwn(own) => Some(super::patterns::use_own(&shared, own)),
            other => shared.part_rarely(other),
        };
        if let Some(seen) = seen {
            shared.note_parting(self.maker, seen);
        }
    }
}

impl Goodbye {
    /// Adds to a variable.
    fn adding(shared: &std::sync::Arc<Shared>, variable: usize, maker: (usize, usize)) -> Goodbye {
        Goodbye {
            shared: std::sync::Arc::downgrade(shared),
            farewell: Farewell::Adds(variable),
            maker,
            main: None,
            arc: None,
            sender: None,
            receiver: None,
            child: None,
        }
    }
}

/// The handle of a child.
pub(super) enum Child {
    Plain(JoinHandle<()>),
    /// It returns something.
    Returning(JoinHandle<Option<Goodbye>>),
}

impl Child {
    /// Spawns the thread.
    pub(super) fn spawn(shared: std::sync::Arc<Shared>, child: usize, hand: Hand) -> Child {
        let returns = |instruction: &Instruction| matches!(instruction, Instruction::Return(_));
        if shared.program.threads[child].code.iter().any(returns) {
            return Child::Returning(thread::spawn(move || walk(&shared, child, hand, None)));
        }
        Child::Plain(thread::spawn(move || drop(walk(&shared, child, hand, None))))
    }

    pub(super) fn thread(&self) -> &Thread {
        match self {
            Child::Plain(handle) => handle.thread(),
            Child::Returning(handle) => handle.thread(),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        match self {
            Child::Plain(handle) => handle.is_finished(),
            Child::Returning(handle) => handle.is_finished(),
        }
    }

    /// Whether it has come to its end without a panic.
    pub(super) fn join(self) -> bool {
        self.outcome().is_ok()
    }

    /// With what it has panicked, if it has.
    pub(super) fn outcome(self) -> thread::Result<()> {
        match self {
            Child::Plain(handle) => handle.join(),
            Child::Returning(handle) => handle.join().map(drop),
        }
    }
}

/// Ends of channels that others can take, with the numbers of the channels.
#[derive(Default)]
pub(super) struct Ends {
    senders: Vec<(usize, AnySender)>,
    receivers: Vec<(usize, Receiver<u64>)>,
}

/// Takes the last one for this channel.
fn take<T>(from: &mut Vec<(usize, T)>, channel: usize) -> Option<T> {
    let position = from.iter().rposition(|&(of, _)| of == channel)?;
    Some(from.remove(position).1)
}

impl Shared {
    /// Gives the calling thread this value, and drops the one that it had.
    fn set_key(&self, goodbye: Goodbye) {
        if let Some(key) = self.shelf.system.key() {
            drop(key.replace(goodbye));
        }
    }

    pub(super) fn note_parting(&self, maker: (usize, usize), seen: u64) {
        if !super::giving_up() {
            self.record().parted.insert(maker, seen);
        }
    }
}

/// What a walker has outside of a part of its code; what it has got inside goes at the end of that, or by unwinding.
struct Frame<'w, 's> {
    walker: &'w mut Walker<'s>,
    outside: Held<'s>,
}

impl<'w, 's> Frame<'w, 's> {
    fn new(walker: &'w mut Walker<'s>) -> Self {
        let inside = Held {
            goodbyes: Vec::new(),
            deferred: Vec::new(),
            guards: none_of(),
            readers: none_of(),
            writers: none_of(),
        };
        let outside = walker.exchange(inside);
        Frame { walker, outside }
    }
}

impl Drop for Frame<'_, '_> {
    fn drop(&mut self) {
        let nothing = Held::default();
        let outside = std::mem::replace(&mut self.outside, nothing);
        drop(self.walker.exchange(outside));
    }
}

/// What goes when a part of the code is over, in this order.
#[derive(Default)]
struct Held<'s> {
    goodbyes: Vec<Goodbye>,
    deferred: Vec<Deferred<'s>>,
    guards: Vec<Option<MutexGuard<'s, u64>>>,
    readers: Vec<Option<RwLockReadGuard<'s, u64>>>,
    writers: Vec<Option<RwLockWriteGuard<'s, u64>>>,
}

impl<'s> Walker<'s> {
    /// Has this instead of what it has.
    fn exchange(&mut self, held: Held<'s>) -> Held<'s> {
        Held {
            goodbyes: std::mem::replace(&mut self.goodbyes, held.goodbyes),
            deferred: std::mem::replace(&mut self.deferred, held.deferred),
            guards: std::mem::replace(&mut self.guards, held.guards),
            readers: std::mem::replace(&mut self.readers, held.readers),
            writers: std::mem::replace(&mut self.writers, held.writers),
        }
    }
}

impl Walker<'_> {
    /// Something that does this when it is dropped.
    pub(super) fn goodbye(&mut self, farewell: Farewell) -> Goodbye {
        let maker = (self.thread, self.partings);
        self.partings += 1;
        let mut goodbye = Goodbye {
            shared: self.shared.shelf.me.clone(),
            farewell,
            maker,
            main: self.hand.main.clone(),
            arc: None,
            sender: None,
            receiver: None,
            child: None,
        };
        match farewell {
            Farewell::Drops => goodbye.arc = self.hand.arcs.pop(),
            Farewell::Sends(c) => goodbye.sender = self.hand.senders.get_mut(c).and_then(Option::take),
            Farewell::Deafens(c) | Farewell::Hears(c) => {
                goodbye.receiver = self.hand.receivers.get_mut(c).and_then(Option::take)
            }
            Farewell::Joins(child) | Farewell::LetsGo(child) => {
                goodbye.child = self.children.get_mut(child).and_then(Option::take);
            }
            _ => {}
        }
        goodbye
    }

    pub(super) fn part(&mut self, instruction: Instruction) {
        use Instruction::*;
        match instruction {
            Within(count) => {
                let end = self.at + count;
                let passed = caught(|| {
                    let frame = Frame::new(self);
                    frame.walker.walk_to(end);
                });
                self.at = end;
                self.see(u64::from(passed.is_some()));
            }
            AtEnd(farewell) => {
                let goodbye = self.goodbye(farewell);
                self.goodbyes.push(goodbye);
            }
            PanicWith(farewell) => panic_any(self.goodbye(farewell)),
            KeySet(farewell) => {
                let goodbye = self.goodbye(farewell);
                self.shared.set_key(goodbye);
            }
            Return(farewell) if self.returned.is_none() => self.returned = Some(self.goodbye(farewell)),
            SendBurden(c, farewell) => {
                let burden = Some(self.goodbye(farewell));
                let (value, shared) = (self.thread as u64, self.shared.shelf.me.clone());
                let parcel = Parcel { value, variable: c, shared, burden };
                if let Some(Some(sender)) = self.hand.parcel_senders.get(c) {
                    self.see(sender.send(parcel, false));
                }
            }
            ArcBurden(_) | ArcLock | ArcPoison | ArcGetMutLocked | ArcIntoLocked => {
                self.use_insides(instruction);
            }
            OnceAround { once, count } => {
                let (end, shared) = (self.at + count, self.shared);
                let mut ran = 0;
                let done = caught(|| {
                    shared.onces[once].call_once_force(|state| {
                        ran = if state.is_poisoned() { 51 } else { 1 };
                        self.walk_to(end);
                    });
                });
                self.at = end;
                self.see(ran + if done.is_some() { 0 } else { NOTHING });
            }
            InitAround { once, count } => {
                let (end, shared) = (self.at + count, self.shared);
                let value = caught(|| {
                    *shared.locks[once].get_or_init(|| {
                        self.walk_to(end);
                        30 + self.thread as u64
                    })
                });
                self.at = end;
                self.see(value.unwrap_or(NOTHING));
            }
            WaitWhileZero(m, variable) | WaitTimeoutWhileZero(m, variable) => {
                let shared: &Shared = self.shared;
                let Some(guard) = self.guards[m].take() else { return };
                let is_zero = |_: &mut u64| shared.variables[variable].load(Ordering::Acquire) == 0;
                let (guard, how) = if let WaitWhileZero(..) = instruction {
                    locked(shared.condvars[m].wait_while(guard, is_zero))
                } else {
                    let (pair, how) = locked(shared.condvars[m].wait_timeout_while(guard, TIMEOUT, is_zero));
                    let (guard, timeout) = pair.expect("both have it");
                    (Some(guard), how + if timeout.timed_out() { NOTHING } else { 0 })
                };
                self.see(how + guard.as_ref().map_or(0, |guard| **guard));
                self.guards[m] = guard;
            }
            HandlePut(_) | HandleJoin | HandleAsk | HandleDrop => self.use_handles(instruction),
            SenderPut(_) | SenderTake(_) | ReceiverPut(_) | ReceiverTake(_) => self.use_ends(instruction),
            _ => {}
        }
    }

    fn use_handles(&mut self, instruction: Instruction) {
        use Instruction::*;
        let handles = || self.shared.shelf.handles.lock().unwrap_or_else(PoisonError::into_inner);
        match instruction {
            HandlePut(child) => {
                if let Some(handle) = self.children.get_mut(child).and_then(Option::take) {
                    handles().push(handle);
                }
            }
            HandleAsk => {
                let is_finished = handles().last().map(Child::is_finished);
                self.see(is_finished.map_or(NOTHING, u64::from));
            }
            _ => {
                let handle = handles().pop();
                let joins = instruction == HandleJoin;
                let joined = handle.map(|handle| if joins { u64::from(handle.join()) } else { 2 });
                self.see(joined.unwrap_or(NOTHING));
            }
        }
    }

    fn use_ends(&mut self, instruction: Instruction) {
        use Instruction::*;
        let ends = || self.shared.shelf.ends.lock().unwrap_or_else(PoisonError::into_inner);
        match instruction {
            SenderPut(c) => {
                if let Some(sender) = self.hand.senders.get_mut(c).and_then(Option::take) {
                    ends().senders.push((c, sender));
                }
            }
            ReceiverPut(c) => {
                if let Some(receiver) = self.hand.receivers.get_mut(c).and_then(Option::take) {
                    ends().receivers.push((c, receiver));
                }
            }
            SenderTake(c) => {
                let sender = take(&mut ends().senders, c);
                self.see(u64::from(sender.is_some()));
                if let Some(mine) = self.hand.senders.get_mut(c)
                    && sender.is_some()
                {
                    *mine = sender;
                }
            }
            ReceiverTake(c) => {
                let receiver = take(&mut ends().receivers, c);
                self.see(u64::from(receiver.is_some()));
                if let Some(mine) = self.hand.receivers.get_mut(c)
                    && receiver.is_some()
                {
                    *mine = receiver;
                }
            }
            _ => {}
        }
    }

    fn use_insides(&mut self, instruction: Instruction) {
        use Instruction::*;
        let Some(mut arc) = self.hand.arcs.pop() else { return };
        match instruction {
            ArcBurden(farewell) => {
                let goodbye = self.goodbye(farewell);
                let mut burdens = arc.burdens.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                burdens.insert(goodbye.maker, goodbye);
                drop(burdens);
            }
            ArcLock => {
                let (guard, how) = locked(arc.lock.lock());
                let value = guard.map_or(0, |mut guard| {
                    *guard += 1;
                    *guard
                });
                self.see(how + value);
            }
            ArcPoison => drop(caught(|| {
                let _guard = locked(arc.lock.lock());
                panic!("as the program says");
            })),
            ArcGetMutLocked => self.see(Arc::get_mut(&mut arc).map_or(NOTHING, |payload| {
                let (value, how) = locked(payload.lock.get_mut());
                value.map_or(how, |value| {
                    *value += 1;
                    how + *value
                })
            })),
            _ => {
                let payload = Arc::into_inner(arc);
                self.see(payload.map_or(NOTHING, |mut payload| {
                    let lock = std::mem::take(&mut payload.lock);
                    let (value, how) = locked(lock.into_inner());
                    how + value.unwrap_or(0)
                }));
                return;
            }
        }
        self.hand.arcs.push(arc);
    }
}
