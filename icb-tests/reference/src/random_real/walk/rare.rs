//! What programs of [`rare`](crate::random_real::generate::rare) do besides: channels that are made to get an answer, wakers of tasks, waits for a
//! time in loops, objects on stacks.

use super::super::language::{Farewell, Instruction, Patience, Pause, Program, Use};
use super::super::library;
use super::super::library::panic::{AssertUnwindSafe, catch_unwind};
use super::super::library::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use super::super::library::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use super::super::library::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use super::super::library::task::{Wake, Waker};
use super::super::library::thread::{self, Thread};
use super::{Deferred, NOTHING, Shared, TIMEOUT, Walker, both, giving_up, locked, relax};

/// What a thread is given.
#[derive(Default)]
pub(super) struct Hand {
    asking: Option<Sender<Sender<u64>>>,
    asked: Option<Receiver<Sender<u64>>>,
    pub(super) local: Option<Lent>,
}

/// What the threads of one execution share.
#[derive(Default)]
pub(super) struct Shelf {
    waker: Mutex<Option<Waker>>,
}

/// Objects that lie on a stack, or are static.
pub(super) struct Local {
    number: AtomicU64,
    lock: Mutex<u64>,
    told: Condvar,
    once: Once,
}

/// They are there before and after each execution.
static STATIC: Local = Local::new();

impl Local {
    pub(super) const fn new() -> Local {
        Local { number: AtomicU64::new(0), lock: Mutex::new(0), told: Condvar::new(), once: Once::new() }
    }

    pub(super) fn lend(&self) -> Lent {
        Lent(self)
    }
}

/// What lies on the stack of a thread that waits for all who use it.
#[derive(Clone)]
pub(super) struct Lent(*const Local);

// SAFETY: what is lent can be used by all threads at a time.
unsafe impl Send for Lent {}

/// Who has a task to poll, and is told.
struct Signal {
    thread: Thread,
    is_told: AtomicBool,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.is_told.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// The main thread makes the channel of those who ask.
pub(super) fn deal(program: &Program, hands: &mut [super::Hand]) {
    use Instruction::*;
    if !program.has(|i| matches!(i, Ask(_) | Answer(_) | Refuse | DropAnswers | DropAsking)) {
        return;
    }
    let (asking, asked) = mpsc::channel();
    for (thread, hand) in hands.iter_mut().enumerate() {
        let asks = |i: &Instruction| matches!(i, Ask(_) | DropAsking);
        if program.is_spawned(thread) && program.threads[thread].code.iter().any(asks) {
            hand.rare.asking = Some(asking.clone());
        }
    }
    drop(asking);
    let answering = program.channels[0].1;
    if program.is_spawned(answering) {
        hands[answering].rare.asked = Some(asked);
    }
}

impl Shared {
    /// Uses what the program uses of the shelf, and leaves it as it is.
    pub(super) fn use_rare(&self) {
        use Instruction::*;
        if self.program.has(|i| matches!(i, Poll { .. } | WakeTask { .. } | DropWaker)) {
            drop(self.shelf.rare.waker.lock());
        }
        if self.program.has(|i| matches!(i, UseStatic(_))) {
            STATIC.number.load(Ordering::Relaxed);
            drop(STATIC.lock.lock());
            STATIC.told.notify_all();
            STATIC.once.is_completed();
        }
    }

    fn waker(&self) -> library::sync::MutexGuard<'_, Option<Waker>> {
        self.shelf.rare.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What something does that is dropped.
    pub(super) fn part_rarely(&self, farewell: Farewell) -> Option<u64> {
        match farewell {
            Farewell::Loads(v) => Some(self.variables[v].load(Ordering::Relaxed)),
            Farewell::Exchanges(v) => Some(self.change(v, |v| {
                match v.compare_exchange_weak(0, 1, Ordering::AcqRel, Ordering::Relaxed) {
                    Ok(old) => (20 + old, Some(1)),
                    Err(old) => (old, None),
                }
            })),
            Farewell::Chooses => Some(library::model::choose(2) as u64),
            Farewell::Awaits(v) => {
                while self.variables[v].load(Ordering::Acquire) == 0 && !giving_up() {
                    relax(Pause::Yield);
                }
                None
            }
            Farewell::Panics(variable) => {
                let passed = catch_unwind(AssertUnwindSafe(|| {
                    let _deferred = Deferred { shared: self, variable };
                    panic!("as the program says");
                }));
                Some(u64::from(passed.is_ok()))
            }
            Farewell::Arrives(barrier) => Some(u64::from(self.barriers[barrier].wait().is_leader())),
            Farewell::Reads(lock) => {
                let (guard, how) = locked(self.rwlocks[lock].read());
                guard.map(|guard| how + *guard)
            }
            Farewell::Pauses(pause) => {
                relax(pause);
                None
            }
            // SAFETY: see `Cell`.
            Farewell::LooksAt(cell) => Some(self.cells[cell].0.with(|value| unsafe { *value })),
            Farewell::Changes(cell) => {
                // SAFETY: as above.
                self.cells[cell].0.with_mut(|value| unsafe { *value += 1 });
                None
            }
            _ => unreachable!("{farewell:?} is not rare"),
        }
    }
}

fn received(receiver: &Receiver<u64>, patience: Patience) -> u64 {
    match patience {
        Patience::None => receiver.try_recv().unwrap_or(NOTHING),
        Patience::Endless => receiver.recv().unwrap_or(40),
        Patience::Timed => match receiver.recv_timeout(TIMEOUT) {
            Ok(value) => value,
            Err(RecvTimeoutError::Timeout) => NOTHING,
            Err(RecvTimeoutError::Disconnected) => 40,
        },
    }
}

impl Walker<'_> {
    pub(super) fn use_rarely(&mut self, instruction: Instruction) {
        use Instruction::*;
        let shared = self.shared;
        let look = |variable: usize| shared.variables[variable].load(Ordering::Acquire);
        match instruction {
            Ask(patience) => {
                let Some(asking) = &self.hand.rare.asking else { return };
                let (sender, receiver) = mpsc::channel();
                if asking.send(sender).is_err() {
                    return self.see(41);
                }
                self.see(received(&receiver, patience));
            }
            Answer(_) | Refuse => {
                let Some(asked) = &self.hand.rare.asked else { return };
                let sender = match instruction {
                    Answer(Patience::None) => asked.try_recv().ok(),
                    Answer(Patience::Timed) => asked.recv_timeout(TIMEOUT).ok(),
                    _ => asked.recv().ok(),
                };
                let Some(sender) = sender else { return self.see(NOTHING) };
                if instruction != Refuse {
                    self.see(u64::from(sender.send(self.thread as u64).is_err()));
                }
            }
            DropAnswers => drop(self.hand.rare.asked.take()),
            DropAsking => drop(self.hand.rare.asking.take()),
            Poll { variable, turns } => self.poll(variable, turns),
            WakeTask { variable, by_ref } => {
                shared.change(variable, |v| {
                    v.store(1, Ordering::Release);
                    (0, Some(1))
                });
                if by_ref {
                    let waker = shared.waker().clone();
                    waker.iter().for_each(Waker::wake_by_ref);
                } else {
                    let waker = shared.waker().take();
                    waker.into_iter().for_each(Waker::wake);
                }
            }
            DropWaker => drop(shared.waker().take()),
            WaitAgain { mutex, variable, turns } => {
                let Some(mut guard) = self.guards[mutex].take() else { return };
                let mut turn = 0;
                let mut value = look(variable);
                while value == 0 && (turns == 0 || turn < turns) {
                    turn += 1;
                    let (pair, _) = locked(shared.condvars[mutex].wait_timeout(guard, TIMEOUT));
                    guard = pair.expect("both have it").0;
                    value = look(variable);
                }
                self.see(value);
                self.guards[mutex] = Some(guard);
            }
            ReceiveAgain(c, turns) => {
                let Some(Some(receiver)) = self.hand.receivers.get(c) else { return };
                let mut turn = 0;
                self.see(loop {
                    match receiver.recv_timeout(TIMEOUT) {
                        Ok(value) => break value,
                        Err(RecvTimeoutError::Disconnected) => break 40,
                        Err(RecvTimeoutError::Timeout) if turns > 0 && turn == turns => break NOTHING,
                        Err(RecvTimeoutError::Timeout) => turn += 1,
                    }
                });
            }
            UseLocal(what) => {
                let Some(Lent(local)) = &self.hand.rare.local else { return };
                // SAFETY: who has it on its stack waits for all threads of its scope, and only they have it; see `hand_of`.
                self.use_object(unsafe { &**local }, what);
            }
            UseStatic(what) => self.use_object(&STATIC, what),
            Max(v, value, order) => {
                let old = shared.change(v, |v| {
                    let old = v.fetch_max(value, both(order));
                    (old, Some(old.max(value)))
                });
                self.see(old);
            }
            _ => unreachable!("{instruction:?} is not rare"),
        }
    }

    fn poll(&self, variable: usize, turns: usize) {
        let signal = Arc::new(Signal { thread: thread::current(), is_told: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&signal));
        let mut value = 0;
        for _ in 0..turns {
            value = self.shared.variables[variable].load(Ordering::Acquire);
            if value != 0 {
                break;
            }
            let mut slot = self.shared.waker();
            let before = match &*slot {
                Some(other) if other.will_wake(&waker) => None,
                _ => slot.replace(waker.clone()),
            };
            drop(slot);
            drop(before);
            value = self.shared.variables[variable].load(Ordering::Acquire);
            if value != 0 {
                break;
            }
            while !signal.is_told.swap(false, Ordering::Acquire) {
                thread::park();
            }
        }
        self.see(value);
    }

    fn use_object(&self, local: &Local, what: Use) {
        let seen = match what {
            Use::Load => local.number.load(Ordering::Acquire),
            Use::Add => local.number.fetch_add(1, Ordering::AcqRel),
            Use::Await => {
                while local.number.load(Ordering::Acquire) == 0 {
                    relax(Pause::Yield);
                }
                1
            }
            Use::Lock => {
                let (guard, how) = locked(local.lock.lock());
                how + guard.map_or(0, |mut guard| {
                    *guard += 1;
                    *guard
                })
            }
            Use::Poison => {
                let passed = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = locked(local.lock.lock());
                    panic!("as the program says");
                }));
                u64::from(passed.is_ok())
            }
            Use::WaitTimeout => {
                let (guard, _) = locked(local.lock.lock());
                guard.map_or(0, |guard| {
                    let (pair, how) = locked(local.told.wait_timeout(guard, TIMEOUT));
                    how + u64::from(pair.is_some_and(|(_, timeout)| timeout.timed_out()))
                })
            }
            Use::Notify => {
                local.told.notify_one();
                0
            }
            Use::CallOnce => {
                let mut ran = 0;
                local.once.call_once(|| ran = 1);
                ran
            }
            Use::OnceWait => {
                local.once.wait();
                1
            }
        };
        self.see(seen);
    }
}
