//! The programs with the mirrored objects.

use super::language::{Block, Op, PARTIES, Program};
use icb_std::panic::catch_unwind;
use icb_std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use icb_std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError, TrySendError};
use icb_std::sync::{
    Arc, Barrier, Condvar, LazyLock, LockResult, Mutex, MutexGuard, Once, OnceLock, RwLock, RwLockWriteGuard,
    TryLockError, TryLockResult, Weak,
};
use icb_std::thread::{self, JoinHandle, Scope, ScopedJoinHandle, Thread};
use icb_tests::told::Telling;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, panic_any};

icb_std::thread_local! {
    /// Who is told what a destructor tells: who runs it.
    static ME: Cell<usize> = const { Cell::new(0) };
    static FIRST: RefCell<Option<Local>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Local>> = const { RefCell::new(None) };
}

enum AnySender {
    Bounded(SyncSender<Message>),
    Unbounded(Sender<Message>),
}

impl Clone for AnySender {
    fn clone(&self) -> Self {
        match self {
            AnySender::Bounded(sender) => AnySender::Bounded(sender.clone()),
            AnySender::Unbounded(sender) => AnySender::Unbounded(sender.clone()),
        }
    }
}

/// Its destructor does what the block says.
struct Ending {
    world: World,
    block: Block,
}

impl Drop for Ending {
    fn drop(&mut self) {
        Own::new(ME.get(), self.world.clone()).block(self.block, None);
    }
}

struct Message {
    value: u8,
    _ending: Ending,
    _owner: Option<Arc<Ending>>,
}

struct Local {
    _ending: Ending,
    owner: Option<Arc<Ending>>,
}

type World = std::sync::Arc<Shared>;

struct Shared {
    program: Program,
    telling: Telling,
    main: Thread,
    variable: std::sync::Arc<AtomicU8>,
    barrier: Barrier,
    mutex: Mutex<u8>,
    condvar: Condvar,
    lock: RwLock<()>,
    once: Once,
    once_lock: OnceLock<u8>,
    lazy: LazyLock<u8, Box<dyn FnOnce() -> u8 + Send>>,
}

/// What one thread has. It goes in this order.
struct Own {
    me: usize,
    sender: Option<AnySender>,
    receiver: Option<Receiver<Message>>,
    owners: Vec<Arc<Ending>>,
    weaks: Vec<Weak<Ending>>,
    handles: Vec<(usize, JoinHandle<Option<Ending>>)>,
    world: World,
}

pub(crate) fn run(program: &Program, telling: &Telling) {
    let variable = std::sync::Arc::new(AtomicU8::new(0));
    let (counted, panics_at) = (variable.clone(), program.lazy_panics_at);
    let world = World::new(Shared {
        program: program.clone(),
        telling: telling.clone(),
        main: thread::current(),
        variable,
        barrier: Barrier::new(PARTIES),
        mutex: Mutex::new(0),
        condvar: Condvar::new(),
        lock: RwLock::new(()),
        once: Once::new(),
        once_lock: OnceLock::new(),
        lazy: LazyLock::new(Box::new(move || {
            let value = counted.fetch_add(1, SeqCst);
            if value == panics_at {
                panic_any(());
            }
            value
        })),
    });
    let (sender, receiver) = match program.capacity {
        Some(capacity) => {
            let (sender, receiver) = mpsc::sync_channel(capacity);
            (AnySender::Bounded(sender), receiver)
        }
        None => {
            let (sender, receiver) = mpsc::channel();
            (AnySender::Unbounded(sender), receiver)
        }
    };
    let mut own = Own::new(0, world.clone());
    (own.sender, own.receiver) = (Some(sender), Some(receiver));
    own.owners.push(Arc::new(Ending { world, block: program.value_end }));
    let panicked = catch_unwind(AssertUnwindSafe(|| own.block(program.threads[0].body, None))).is_err();
    own.tell(panicked.into());
}

fn poisoned<G>(result: LockResult<G>) -> (G, u8) {
    match result {
        Ok(guard) => (guard, 0),
        Err(error) => (error.into_inner(), 1),
    }
}

fn tried<G>(result: TryLockResult<G>) -> (Option<G>, u8) {
    match result {
        Ok(guard) => (Some(guard), 0),
        Err(TryLockError::Poisoned(error)) => (Some(error.into_inner()), 1),
        Err(TryLockError::WouldBlock) => (None, 2),
    }
}

impl Own {
    fn new(me: usize, world: World) -> Own {
        Own {
            me,
            sender: None,
            receiver: None,
            owners: Vec::new(),
            weaks: Vec::new(),
            handles: Vec::new(),
            world,
        }
    }

    fn tell(&self, what: u8) {
        // A thread that is unwound because of a deadlock has nothing to tell.
        if !icb_core::runtime::giving_up() {
            self.world.telling.lock().unwrap().0[self.me].push(what);
        }
    }

    /// What a thread is given by the one that spawns it.
    fn child(&mut self, child: usize) -> Own {
        let mut own = Own::new(child, self.world.clone());
        let given = &self.world.program.threads[child];
        own.sender = self.sender.as_ref().filter(|_| given.sends).cloned();
        own.receiver = if given.receives { self.receiver.take() } else { None };
        if let Some(owner) = self.owners.last() {
            own.owners.extend(given.owns.then(|| owner.clone()));
            own.weaks.extend(given.weak.then(|| Arc::downgrade(owner)));
        }
        own.handles = self.handles.extract_if(.., |(thread, _)| given.handles.contains(thread)).collect();
        own
    }

    fn run<'scope>(mut self, scope: Option<&'scope Scope<'scope, '_>>) -> Option<Ending> {
        ME.set(self.me);
        let world = self.world.clone();
        let block = world.program.result_end;
        let thread = &world.program.threads[self.me];
        self.block(thread.body, scope);
        drop(self);
        thread.returns.then(|| Ending { world: world.clone(), block })
    }

    fn message(&mut self, value: u8, owns: bool) -> Message {
        let world = self.world.clone();
        let block = world.program.message_end;
        let _owner = if owns { self.owners.pop() } else { None };
        Message { value, _ending: Ending { world, block }, _owner }
    }

    fn block<'scope>(&mut self, block: Block, scope: Option<&'scope Scope<'scope, '_>>) {
        let world = self.world.clone();
        // These go in this order: the mutex, the writer, the reader, handles, and what has been put off.
        let mut deferred = Vec::new();
        let mut scoped: Vec<(usize, ScopedJoinHandle<'scope, Option<Ending>>)> = Vec::new();
        let mut reads = None;
        let mut writes = None;
        let mut guard: Option<MutexGuard<'_, u8>> = None;
        let mut next = 0;
        while let Some(&op) = world.program.blocks[block].get(next) {
            next += 1;
            let holds = reads.is_some() || writes.is_some();
            match op {
                Op::Catch(block) => {
                    let panicked = catch_unwind(AssertUnwindSafe(|| self.block(block, None))).is_err();
                    self.tell(panicked.into());
                }
                Op::Panic => panic_any(()),
                Op::Defer(block) => deferred.push(Ending { world: world.clone(), block }),
                Op::Scope(block) => thread::scope(|scope| self.block(block, Some(scope))),
                Op::Spawn(child) => {
                    let own = self.child(child);
                    match scope {
                        Some(scope) => scoped.push((child, scope.spawn(move || own.run(Some(scope))))),
                        None => self.handles.push((child, thread::spawn(move || own.run(None)))),
                    }
                }
                Op::Join(child) => {
                    let result = if let Some(at) = scoped.iter().position(|(other, _)| *other == child) {
                        Some(scoped.remove(at).1.join())
                    } else {
                        let at = self.handles.iter().position(|(other, _)| *other == child);
                        at.map(|at| self.handles.remove(at).1.join())
                    };
                    if let Some(result) = result {
                        self.tell(result.is_err().into());
                    }
                }
                Op::IsFinished(child) => {
                    let scoped = scoped
                        .iter()
                        .find(|(other, _)| *other == child)
                        .map(|(_, handle)| handle.is_finished());
                    let own = || {
                        let handle = self.handles.iter().find(|(other, _)| *other == child);
                        handle.map(|(_, handle)| handle.is_finished())
                    };
                    if let Some(is_finished) = scoped.or_else(own) {
                        self.tell(is_finished.into());
                    }
                }
                Op::DropHandle(child) => {
                    scoped.retain(|(other, _)| *other != child);
                    self.handles.retain(|(other, _)| *other != child);
                }
                Op::IsPanicking => self.tell(thread::panicking().into()),
                Op::Store(value) => world.variable.store(value, SeqCst),
                Op::Load => {
                    let value = world.variable.load(SeqCst);
                    self.tell(value);
                    next += usize::from(value == 0);
                }
                Op::Add => self.tell(world.variable.fetch_add(1, SeqCst)),
                Op::Swap(value) => self.tell(world.variable.swap(value, SeqCst)),
                Op::Exchange(old, new) => self.tell(
                    world.variable.compare_exchange(old, new, SeqCst, SeqCst).unwrap_or_else(|value| value),
                ),
                Op::Update => {
                    let result = world.variable.fetch_update(SeqCst, SeqCst, |value| value.checked_sub(1));
                    self.tell(result.unwrap_or(9));
                }
                Op::Lock if guard.is_some() => {}
                Op::Lock => {
                    let (held, is_poisoned) = poisoned(world.mutex.lock());
                    self.tell(10 * is_poisoned + *held);
                    guard = Some(held);
                }
                Op::TryLock if guard.is_some() => {}
                Op::TryLock => {
                    let (held, told) = tried(world.mutex.try_lock());
                    guard = held;
                    self.tell(told);
                }
                Op::Unlock => guard = None,
                Op::Put(value) => {
                    if let Some(guard) = &mut guard {
                        **guard = value;
                    }
                }
                Op::IsPoisoned => self.tell(world.mutex.is_poisoned().into()),
                Op::ClearPoison => world.mutex.clear_poison(),
                Op::WaitWhile => {
                    if let Some(held) = guard.take() {
                        let (held, told) = poisoned(world.condvar.wait_while(held, |value| *value == 0));
                        self.tell(10 * told + *held);
                        guard = Some(held);
                    }
                }
                Op::NotifyOne => world.condvar.notify_one(),
                Op::NotifyAll => world.condvar.notify_all(),
                Op::Read | Op::TryRead | Op::Write | Op::TryWrite if holds => {}
                Op::Read => {
                    let (held, told) = poisoned(world.lock.read());
                    reads = Some(held);
                    self.tell(told);
                }
                Op::Write => {
                    let (held, told) = poisoned(world.lock.write());
                    writes = Some(held);
                    self.tell(told);
                }
                Op::TryRead => {
                    let (held, told) = tried(world.lock.try_read());
                    reads = held;
                    self.tell(told);
                }
                Op::TryWrite => {
                    let (held, told) = tried(world.lock.try_write());
                    writes = held;
                    self.tell(told);
                }
                Op::WriteToRead => reads = writes.take().map(RwLockWriteGuard::downgrade).or(reads),
                Op::Release => {
                    writes = None;
                    reads = None;
                }
                Op::IsLockPoisoned => self.tell(world.lock.is_poisoned().into()),
                Op::ClearLockPoison => world.lock.clear_poison(),
                Op::CallOnce(block) => {
                    world.once.call_once(|| self.block(block, None));
                    self.tell(1);
                }
                Op::CallOnceForce(block) => {
                    world.once.call_once_force(|state| {
                        self.tell(state.is_poisoned().into());
                        self.block(block, None);
                    });
                    self.tell(1);
                }
                Op::Await => {
                    world.once.wait();
                    self.tell(1);
                }
                Op::AwaitForce => {
                    world.once.wait_force();
                    self.tell(1);
                }
                Op::AwaitValue => self.tell(20 + *world.once_lock.wait()),
                Op::IsCompleted => self.tell(world.once.is_completed().into()),
                Op::Initialise(value, block) => {
                    let value = *world.once_lock.get_or_init(|| {
                        self.block(block, None);
                        value
                    });
                    self.tell(20 + value);
                }
                Op::Set(value) => self.tell(world.once_lock.set(value).is_ok().into()),
                Op::Get => self.tell(world.once_lock.get().map_or(9, |&value| value)),
                Op::Force => {
                    let value = *LazyLock::force(&world.lazy);
                    self.tell(30 + value);
                }
                Op::Clone => {
                    let clone = self.owners.last().cloned();
                    self.owners.extend(clone);
                }
                Op::Drop => drop(self.owners.pop()),
                Op::Downgrade => self.weaks.extend(self.owners.last().map(Arc::downgrade)),
                Op::DropWeak => drop(self.weaks.pop()),
                Op::Upgrade => {
                    if let Some(weak) = self.weaks.last() {
                        let owner = weak.upgrade();
                        self.tell(owner.is_some().into());
                        self.owners.extend(owner);
                    }
                }
                Op::StrongCount => {
                    if let Some(owner) = self.owners.last() {
                        self.tell(Arc::strong_count(owner) as u8);
                    }
                }
                Op::WeakStrongCount => {
                    if let Some(weak) = self.weaks.last() {
                        self.tell(weak.strong_count() as u8);
                    }
                }
                Op::WeakCount => {
                    if let Some(owner) = self.owners.last() {
                        self.tell(Arc::weak_count(owner) as u8);
                    }
                }
                Op::WeakWeakCount => {
                    if let Some(weak) = self.weaks.last() {
                        self.tell(weak.weak_count() as u8);
                    }
                }
                Op::TryUnwrap => {
                    if let Some(owner) = self.owners.pop() {
                        match Arc::try_unwrap(owner) {
                            Ok(value) => {
                                self.tell(1);
                                drop(value);
                            }
                            Err(owner) => {
                                self.tell(0);
                                self.owners.push(owner);
                            }
                        }
                    }
                }
                Op::IntoInner => {
                    if let Some(owner) = self.owners.pop() {
                        let value = Arc::into_inner(owner);
                        self.tell(value.is_some().into());
                        drop(value);
                    }
                }
                Op::GetMut => {
                    if let Some(owner) = self.owners.last_mut() {
                        let is_alone = Arc::get_mut(owner).is_some();
                        self.tell(is_alone.into());
                    }
                }
                Op::TouchFirst | Op::TouchSecond => {
                    let (key, which) = if op == Op::TouchFirst { (&FIRST, 0) } else { (&SECOND, 1) };
                    let block = world.program.local_ends[which];
                    let local = || Local { _ending: Ending { world: world.clone(), block }, owner: None };
                    key.with(|value| _ = value.borrow_mut().get_or_insert_with(local));
                }
                Op::TryTouchFirst | Op::TryTouchSecond => {
                    let (key, which) = if op == Op::TryTouchFirst { (&FIRST, 0) } else { (&SECOND, 1) };
                    let block = world.program.local_ends[which];
                    let local = || Local { _ending: Ending { world: world.clone(), block }, owner: None };
                    let result = key.try_with(|value| _ = value.borrow_mut().get_or_insert_with(local));
                    self.tell(result.is_ok().into());
                }
                Op::Keep => FIRST.with(|value| {
                    let block = world.program.local_ends[0];
                    let local = || Local { _ending: Ending { world: world.clone(), block }, owner: None };
                    let mut value = value.borrow_mut();
                    let owner = &mut value.get_or_insert_with(local).owner;
                    if owner.is_none() {
                        *owner = self.owners.pop();
                    }
                }),
                Op::Park => {
                    thread::park();
                    self.tell(7);
                }
                Op::Unpark => world.main.unpark(),
                Op::Arrive => self.tell(world.barrier.wait().is_leader().into()),
                Op::Send(value) | Op::SendOwner(value) | Op::TrySend(value) => {
                    if self.sender.is_some() {
                        let message = self.message(value, matches!(op, Op::SendOwner(_)));
                        let Some(sender) = &self.sender else { continue };
                        let (told, message) = match sender {
                            AnySender::Bounded(sender) if matches!(op, Op::TrySend(_)) => {
                                match sender.try_send(message) {
                                    Ok(()) => (1, None),
                                    Err(TrySendError::Full(message)) => (2, Some(message)),
                                    Err(TrySendError::Disconnected(message)) => (0, Some(message)),
                                }
                            }
                            AnySender::Bounded(sender) => {
                                sender.send(message).map_or_else(|e| (0, Some(e.0)), |()| (1, None))
                            }
                            AnySender::Unbounded(sender) => {
                                sender.send(message).map_or_else(|e| (0, Some(e.0)), |()| (1, None))
                            }
                        };
                        self.tell(told);
                        drop(message);
                    }
                }
                Op::Receive => {
                    if let Some(receiver) = &self.receiver {
                        let message = receiver.recv().ok();
                        self.tell(message.as_ref().map_or(9, |message| message.value));
                    }
                }
                Op::TryReceive => {
                    if let Some(receiver) = &self.receiver {
                        match receiver.try_recv() {
                            Ok(message) => self.tell(message.value),
                            Err(TryRecvError::Empty) => self.tell(8),
                            Err(TryRecvError::Disconnected) => self.tell(9),
                        }
                    }
                }
                Op::Iterate => {
                    if let Some(receiver) = &self.receiver {
                        for message in receiver {
                            self.tell(message.value);
                        }
                        self.tell(9);
                    }
                }
                Op::TryIterate => {
                    if let Some(receiver) = &self.receiver {
                        for message in receiver.try_iter() {
                            self.tell(message.value);
                        }
                        self.tell(9);
                    }
                }
                Op::DropSender => self.sender = None,
                Op::DropReceiver => self.receiver = None,
            }
        }
    }
}
