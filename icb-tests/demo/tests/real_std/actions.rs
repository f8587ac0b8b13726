//! What threads do.

use super::Do::{self, *};
use icb_std::sync::Mutex as StepMutex;
use icb_std::sync::atomic::AtomicU64 as Steps;
use icb_std::thread;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU64, fence};
use std::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, MutexGuard, Once, OnceLock, PoisonError, RwLock, Weak, mpsc,
};
use std::time::Duration;

/// Memory that is accessed in the right way, or is meant not to be.
#[derive(Default)]
pub struct Plain(UnsafeCell<u64>);

// SAFETY: whether accesses are ordered is what is being tested; one thread runs at a time.
unsafe impl Sync for Plain {}

impl Plain {
    fn get(&self) -> u64 {
        // SAFETY: see above.
        unsafe { *self.0.get() }
    }
    fn change(&self, me: u64) -> u64 {
        // SAFETY: see above.
        let value = unsafe { &mut *self.0.get() };
        *value = *value * 5 + me;
        *value
    }
}

impl std::clone::Clone for Plain {
    fn clone(&self) -> Self {
        Plain(UnsafeCell::new(self.get()))
    }
}

pub type Lazy = LazyLock<u64, Box<dyn FnOnce() -> u64 + Send>>;

pub struct Shared {
    pub steps: Arc<[Steps; 2]>,
    pub step_locks: [StepMutex<u64>; 2],
    pub locks: [Mutex<()>; 2],
    pub locked: [Plain; 2],
    pub shelves: [RwLock<()>; 2],
    pub shelved: [Plain; 2],
    pub told: [(Mutex<u64>, Condvar); 2],
    pub meeting: Barrier,
    pub once: [Once; 2],
    pub called: [Plain; 2],
    pub cells: [OnceLock<u64>; 2],
    pub lazy: [Lazy; 2],
    pub boxes: [Mutex<Option<Box<u64>>>; 2],
    pub pointers: [AtomicPtr<u64>; 2],
    pub claimed: [AtomicBool; 2],
    pub published: [Plain; 2],
    pub ready: [AtomicU64; 2],
    pub small: [AtomicU8; 4],
    pub middle: [AtomicU16; 2],
    pub claims: [AtomicU16; 2],
    pub hidden: [Plain; 2],
    pub sequence: [AtomicU64; 2],
    pub pair: [AtomicU64; 2],
    pub held: [AtomicBool; 2],
    pub hidden_too: [Plain; 2],
    pub sender: Mutex<mpsc::Sender<u64>>,
    pub receiver: Mutex<mpsc::Receiver<u64>>,
    pub parked: Mutex<Vec<thread::Thread>>,
    pub words: [AtomicU64; 2],
    pub race: Plain,
}

impl Shared {
    pub fn new() -> Shared {
        let steps: Arc<[Steps; 2]> = Arc::default();
        let lazy = |i: usize| -> Lazy {
            let steps = steps.clone();
            LazyLock::new(Box::new(move || steps[i].load(SeqCst)))
        };
        let (sender, receiver) = mpsc::channel();
        Shared {
            lazy: [lazy(0), lazy(1)],
            steps,
            step_locks: [StepMutex::new(0), StepMutex::new(0)],
            locks: Default::default(),
            locked: Default::default(),
            shelves: Default::default(),
            shelved: Default::default(),
            told: Default::default(),
            meeting: Barrier::new(2),
            once: [Once::new(), Once::new()],
            called: Default::default(),
            cells: Default::default(),
            boxes: Default::default(),
            pointers: Default::default(),
            claimed: Default::default(),
            published: Default::default(),
            ready: Default::default(),
            small: Default::default(),
            middle: Default::default(),
            claims: Default::default(),
            hidden: Default::default(),
            sequence: Default::default(),
            pair: Default::default(),
            held: Default::default(),
            hidden_too: Default::default(),
            sender: Mutex::new(sender),
            receiver: Mutex::new(receiver),
            parked: Mutex::default(),
            words: Default::default(),
            race: Plain::default(),
        }
    }
}

impl std::ops::Drop for Shared {
    fn drop(&mut self) {
        for pointer in &mut self.pointers {
            drop(owned(*pointer.get_mut()));
        }
    }
}

fn owned(pointer: *mut u64) -> Option<Box<u64>> {
    // SAFETY: such pointers come from boxes, and who has taken one is alone with it.
    (!pointer.is_null()).then(|| unsafe { Box::from_raw(pointer) })
}

/// What a thread has.
pub struct Mine {
    pub me: u64,
    pub held: [Option<Arc<Plain>>; 2],
    pub weak: [Option<Weak<Plain>>; 2],
}

fn lock(lock: &Mutex<()>) -> MutexGuard<'_, ()> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn act(what: Do, i: usize, shared: &Arc<Shared>, mine: &mut Mine) -> u64 {
    let me = mine.me;
    let step = || shared.steps[i].load(SeqCst);
    let (told, condvar) = &shared.told[i];
    match what {
        StepLoad => step(),
        StepStore => shared.steps[i].swap(me, SeqCst),
        StepLock => {
            let mut inside = shared.step_locks[i].lock().unwrap();
            *inside = *inside * 5 + me;
            *inside
        }
        Lock => {
            let _guard = lock(&shared.locks[i]);
            shared.locked[i].change(me)
        }
        LockAround => {
            let _guard = lock(&shared.locks[i]);
            shared.locked[i].change(me) + step() + shared.locked[i].change(me)
        }
        TryLock => match shared.locks[i].try_lock() {
            Ok(_guard) => shared.locked[i].change(me),
            Err(error) => format!("{error}").len() as u64,
        },
        Nested => {
            let _guard = lock(&shared.locks[i]);
            let seen = step();
            let _other = lock(&shared.locks[1 - i]);
            seen + shared.locked[i].change(me) + shared.locked[1 - i].change(me)
        }
        StepUnder => {
            let _guard = lock(&shared.locks[i]);
            let mut inside = shared.step_locks[i].lock().unwrap();
            *inside = *inside * 5 + me;
            *inside + shared.locked[i].change(me)
        }
        UnderStep => {
            let mut inside = shared.step_locks[i].lock().unwrap();
            let _guard = lock(&shared.locks[i]);
            *inside = *inside * 5 + me;
            *inside + shared.locked[i].change(me)
        }
        SpawnUnder => {
            let _guard = lock(&shared.locks[i]);
            let shared = shared.clone();
            let child = thread::spawn(move || {
                let seen = shared.steps[i].swap(9, SeqCst);
                let _guard = shared.shelves[i].write().unwrap();
                seen + shared.shelved[i].change(9)
            });
            child.join().unwrap()
        }
        PanicUnder => {
            let result = catch_unwind(AssertUnwindSafe(|| {
                let _guard = lock(&shared.locks[i]);
                let seen = shared.locked[i].change(me) + step();
                assert!(seen.is_multiple_of(2));
            }));
            result.is_err().into()
        }
        IsPoisoned => shared.locks[i].is_poisoned().into(),
        Read => {
            let _guard = shared.shelves[i].read().unwrap();
            shared.shelved[i].get()
        }
        ReadAround => {
            let _guard = shared.shelves[i].read().unwrap();
            step() + shared.shelved[i].get()
        }
        Write => {
            let _guard = shared.shelves[i].write().unwrap();
            shared.shelved[i].change(me)
        }
        WriteAround => {
            let _guard = shared.shelves[i].write().unwrap();
            shared.shelved[i].change(me) + step() + shared.shelved[i].change(me)
        }
        TryRead => match shared.shelves[i].try_read() {
            Ok(_guard) => shared.shelved[i].get(),
            Err(_) => 101,
        },
        TryWrite => match shared.shelves[i].try_write() {
            Ok(_guard) => shared.shelved[i].change(me),
            Err(_) => 101,
        },
        Await => {
            let mut value = told.lock().unwrap();
            while *value == 0 {
                value = condvar.wait(value).unwrap();
            }
            *value -= 1;
            *value
        }
        AwaitWhile => *condvar.wait_while(told.lock().unwrap(), |value| *value < 2).unwrap(),
        AwaitSome => {
            let value = told.lock().unwrap();
            let (value, result) = condvar.wait_timeout(value, Duration::from_millis(1)).unwrap();
            *value * 2 + u64::from(result.timed_out())
        }
        Tell => {
            *told.lock().unwrap() += 1;
            condvar.notify_one();
            0
        }
        TellAll => {
            let mut value = told.lock().unwrap();
            *value += 1;
            condvar.notify_all();
            *value
        }
        Meet => shared.meeting.wait().is_leader().into(),
        CallOnce => {
            shared.once[i].call_once(|| drop(shared.called[i].change(me + step())));
            shared.called[i].get()
        }
        IsOnce if shared.once[i].is_completed() => shared.called[i].get(),
        IsOnce => 55,
        Init => *shared.cells[i].get_or_init(|| me),
        InitAround => *shared.cells[i].get_or_init(|| me * 7 + step()),
        Set => shared.cells[i].set(me * 3).is_ok().into(),
        Get => shared.cells[i].get().copied().unwrap_or(66),
        Force => *shared.lazy[i],
        Put => {
            let mut place = shared.boxes[i].lock().unwrap();
            let old = place.replace(Box::new(me));
            drop(place);
            old.map_or(77, |old| *old)
        }
        Take => shared.boxes[i].lock().unwrap().take().map_or(88, |old| *old),
        Swap => {
            let old = owned(shared.pointers[i].swap(Box::into_raw(Box::new(me)), AcqRel));
            old.map_or(77, |old| *old)
        }
        SwapFenced => {
            let new = Box::into_raw(Box::new(me));
            fence(Release);
            let old = owned(shared.pointers[i].swap(new, Relaxed));
            fence(Acquire);
            old.map_or(77, |old| *old)
        }
        Publish if !shared.claimed[i].swap(true, Relaxed) => {
            shared.published[i].change(me);
            fence(Release);
            shared.ready[i].store(me, Relaxed);
            0
        }
        Publish => 1,
        Consume if shared.ready[i].load(Relaxed) != 0 => {
            fence(Acquire);
            shared.published[i].get()
        }
        Consume => 99,
        Spin => {
            let mut tries = 0;
            while shared.ready[i].fetch_add(0, SeqCst) == 0 && tries < 2 {
                step();
                tries += 1;
            }
            tries
        }
        Clone => {
            let clone = mine.held[i].clone();
            clone.map_or(7, |held| held.get())
        }
        Drop => u64::from(mine.held[i].take().is_some()),
        Look => mine.held[i].as_ref().map_or(7, |held| held.get()),
        GetMut => mine.held[i].as_mut().and_then(Arc::get_mut).map_or(7, |held| held.change(me)),
        Unwrap => match mine.held[i].take().map(Arc::try_unwrap) {
            Some(Ok(value)) => value.change(me),
            Some(Err(held)) => {
                mine.held[i] = Some(held);
                8
            }
            None => 7,
        },
        MakeMut => mine.held[i].as_mut().map_or(7, |held| Arc::make_mut(held).change(me)),
        Downgrade => {
            mine.weak[i] = mine.held[i].as_ref().map(Arc::downgrade);
            0
        }
        Upgrade => mine.weak[i].as_ref().map_or(7, |weak| weak.upgrade().map_or(8, |held| held.get())),
        Counts => mine.held[i]
            .as_ref()
            .map_or(7, |held| (Arc::strong_count(held) * 3 + Arc::weak_count(held)) as u64),
        PanicInit => {
            let init = || {
                let seen = step();
                assert!(!seen.is_multiple_of(2));
                me
            };
            let cell = AssertUnwindSafe(|| *shared.cells[i].get_or_init(init));
            catch_unwind(cell).unwrap_or(44)
        }
        PanicCall => {
            let call = AssertUnwindSafe(|| {
                shared.once[i].call_once(|| {
                    shared.called[i].change(me);
                    assert!(!step().is_multiple_of(2));
                });
            });
            u64::from(catch_unwind(call).is_err()) + 2 * shared.once[i].is_completed() as u64
        }
        ForceCall => {
            let mut was_poisoned = 0;
            shared.once[i].call_once_force(|state| {
                was_poisoned = u64::from(state.is_poisoned());
                shared.called[i].change(me + step());
            });
            was_poisoned + 2 * shared.called[i].get()
        }
        WaitOnce => {
            catch_unwind(AssertUnwindSafe(|| shared.once[i].wait())).map_or(33, |()| shared.called[i].get())
        }
        Small => shared.small[i].fetch_add(1, AcqRel).into(),
        SmallBeside => shared.small[2 + i].swap(me as u8, Relaxed).into(),
        Middle => shared.middle[i].fetch_xor(me as u16, Relaxed).into(),
        MiddleSet => match shared.claims[i].compare_exchange(0, me as u16, AcqRel, Acquire) {
            Ok(_) => shared.hidden[i].change(me),
            Err(seen) => seen.into(),
        },
        SeqWrite => {
            let seen = shared.sequence[i].load(Relaxed);
            if !seen.is_multiple_of(2)
                || shared.sequence[i].compare_exchange(seen, seen + 1, Acquire, Relaxed).is_err()
            {
                return 22;
            }
            fence(Release);
            shared.pair[0].store(me, Relaxed);
            step();
            shared.pair[1].store(me, Relaxed);
            shared.sequence[i].store(seen + 2, Release);
            seen
        }
        SeqRead => {
            let before = shared.sequence[i].load(Acquire);
            let pair = shared.pair[0].load(Relaxed);
            let pair = pair * 8 + step() + shared.pair[1].load(Relaxed);
            fence(Acquire);
            let after = shared.sequence[i].load(Relaxed);
            if before == after && before.is_multiple_of(2) { pair } else { 100 }
        }
        SpinLock => {
            while shared.held[i].swap(true, Acquire) {
                thread::yield_now();
            }
            let seen = shared.hidden_too[i].change(me) + step();
            shared.held[i].store(false, Release);
            seen
        }
        SpinStep => {
            while shared.ready[i].load(Acquire) == 0 && step() != 3 {
                std::hint::spin_loop();
                icb_std::hint::spin_loop();
            }
            shared.ready[i].load(Relaxed)
        }
        SpinReady => {
            while shared.ready[i].load(Acquire) == 0 {
                step();
                thread::yield_now();
            }
            1
        }
        Ready => {
            shared.ready[i].store(me, Release);
            0
        }
        Submit => shared.sender.lock().unwrap().send(me).is_ok().into(),
        TryReceive => shared.receiver.lock().unwrap().try_recv().unwrap_or(11),
        Park => {
            thread::park_timeout(Duration::from_millis(1));
            step()
        }
        ParkUntil => {
            let mut turns = 0;
            while shared.ready[i].load(Acquire) == 0 && turns < 2 {
                thread::park();
                turns += 1;
            }
            turns
        }
        Unpark => {
            shared.ready[i].store(me, Release);
            let threads = shared.parked.lock().unwrap().clone();
            threads.iter().for_each(thread::Thread::unpark);
            0
        }
        Scope => thread::scope(|scope| {
            let child = scope.spawn(|| {
                shared.words[i].fetch_add(1, Relaxed);
                shared.steps[i].swap(7, SeqCst)
            });
            let seen = shared.words[i].swap(5, Relaxed);
            seen + child.join().unwrap()
        }),
        Word => shared.words[i].swap(me, Relaxed),
        WordAdd => shared.words[i].fetch_add(1, AcqRel),
        WordLoad => shared.words[i].load(Acquire),
        WordUpdate => {
            shared.words[i].fetch_update(AcqRel, Relaxed, |value| Some(value * 3 + me)).unwrap_or(0)
        }
        WeakMut => {
            let held = &mut mine.held[i];
            let weak = held.as_ref().map(Arc::downgrade);
            let seen = held.as_mut().map_or(7, |held| Arc::make_mut(held).change(me));
            seen + weak.map_or(0, |weak| u64::from(weak.upgrade().is_some()))
        }
        WeakDrop => {
            mine.weak[i] = None;
            0
        }
        IntoInner => mine.held[i].take().and_then(Arc::into_inner).map_or(7, |held| held.change(me)),
        StepTwice => step() * 5 + shared.steps[1 - i].load(SeqCst),
        StepAdd => shared.steps[i].fetch_add(1, SeqCst),
        StepTry => shared.step_locks[i].try_lock().map_or(9, |mut inside| {
            *inside += me;
            *inside
        }),
        WordUnder => {
            let mut inside = shared.step_locks[i].lock().unwrap();
            *inside += shared.words[i].swap(me, Relaxed);
            *inside
        }
        Race => shared.race.change(me),
        RaceUnderOther => {
            let _guard = lock(&shared.locks[i]);
            shared.race.change(me)
        }
    }
}
