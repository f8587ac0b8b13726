//! Code that knows nothing of icb and is compiled against the mirror: what it does without std, and what it asserts while
//! it is torn down.

use crate::{executions, plain, verdict};
use icb_std::model::{Builder, FailureKind, Reduction};
use icb_std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::SeqCst};
use icb_std::sync::{Arc, Mutex, PoisonError};
use icb_std::thread;
use std::cell::{Cell, UnsafeCell};
use std::time::Duration;

type Init = fn() -> Vec<u32>;

/// As crates make their lazily initialised statics: an atomic, and beside it what only the real std knows.
struct Lazy {
    state: AtomicU8,
    init: Cell<Option<Init>>,
    value: UnsafeCell<Option<Vec<u32>>>,
}

// SAFETY: `get` lets one thread at a time at the cells, and none after the value is there.
unsafe impl Sync for Lazy {}

impl Lazy {
    fn get(&self) -> &[u32] {
        loop {
            match self.state.compare_exchange(0, 1, SeqCst, SeqCst) {
                Ok(_) => {
                    let init = self.init.take().expect("it is initialised once");
                    // SAFETY: the state is 1, which this thread alone has made.
                    unsafe { *self.value.get() = Some(init()) };
                    self.state.store(2, SeqCst);
                }
                Err(1) => thread::yield_now(),
                // SAFETY: the state is 2, after which nobody writes.
                Err(_) => return unsafe { (*self.value.get()).as_deref().expect("it is there") },
            }
        }
    }
}

#[test]
fn a_static_of_somebody_elses_making_comes_back_whole() {
    static LAZY: Lazy =
        Lazy { state: AtomicU8::new(0), init: Cell::new(Some(|| vec![1, 2])), value: UnsafeCell::new(None) };
    for _ in 0..2 {
        let report = plain().explore(|| {
            let other = thread::spawn(|| LAZY.get().len());
            assert_eq!((LAZY.get().len(), other.join().unwrap()), (2, 2));
        });
        assert!(report.complete && executions(&report)[1] > 1, "{report:?}");
    }
}

/// `futex(2)`, as crates call it.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod futex {
    use super::*;

    fn wait(futex: &AtomicU32, expected: u32) {
        // SAFETY: the address is that of a futex, and there is no time limit.
        unsafe {
            let no_time: *const libc::timespec = std::ptr::null();
            libc::syscall(
                libc::SYS_futex,
                futex,
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                no_time,
            )
        };
    }

    fn wake(futex: &AtomicU32) -> libc::c_long {
        // SAFETY: the address is that of a futex.
        unsafe { libc::syscall(libc::SYS_futex, futex, libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, 1) }
    }

    /// Another one is woken while a thread waits for a time at the same futex: it waits for what is left of it.
    #[test]
    fn a_wait_that_is_disturbed_is_no_longer() {
        let ms = Duration::from_millis;
        let report = plain().auto_advance(true).max_bound(2).explore(move || {
            let (futex, is_over) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
            let (first, second, flag) = (futex.clone(), futex.clone(), is_over.clone());
            let woken = thread::spawn(move || wait(&first, 0));
            thread::sleep(ms(1));
            let timed = thread::spawn(move || {
                let time = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
                // SAFETY: the address is that of a futex, and the time is there.
                unsafe { libc::syscall(libc::SYS_futex, &*second, libc::FUTEX_WAIT, 0, &raw const time) };
                flag.store(1, SeqCst);
            });
            thread::sleep(ms(8));
            wake(&futex);
            thread::sleep(ms(7));
            assert_eq!(is_over.load(SeqCst), 1);
            woken.join().unwrap();
            timed.join().unwrap();
        });
        assert!(report.failure.is_none() && report.proved_bound() >= Some(2), "{report:?}");
    }

    /// Who waits for some bits is woken for one of them, and not for another one.
    #[test]
    fn bits_are_minded() {
        fn call(futex: &AtomicU32, action: i32, value: u32, bits: u32) -> libc::c_long {
            let (none, action) = (std::ptr::null::<u32>(), action | libc::FUTEX_PRIVATE_FLAG);
            // SAFETY: the address is that of a futex; it is not said how long to wait.
            unsafe { libc::syscall(libc::SYS_futex, futex, action, value, none, none, bits) }
        }
        let flag = |bits| {
            move || {
                let futex = Arc::new(AtomicU32::new(0));
                let same = futex.clone();
                let other = thread::spawn(move || {
                    same.store(1, SeqCst);
                    assert!(call(&same, libc::FUTEX_WAKE_BITSET, 1, bits) <= 1);
                });
                call(&futex, libc::FUTEX_WAIT_BITSET, 0, 0b0110);
                other.join().unwrap();
            }
        };
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            let failure =
                |bits| plain().reduction(reduction).explore(flag(bits)).failure.map(|f| (f.kind, f.bound));
            assert_eq!([0b0010, 0b1100, 0b1001].map(failure), [None, None, Some((FailureKind::Deadlock, 0))]);
        }
        assert!(
            plain()
                .explore(|| assert_eq!(call(&AtomicU32::new(0), libc::FUTEX_WAIT_BITSET, 0, 0), -1))
                .failure
                .is_none()
        );
    }

    /// As the C library once made its condition variables: one is woken, the others are moved to the futex of the lock, which wakes them one by one.
    #[test]
    fn who_waits_is_moved_to_another_futex() {
        fn requeue(from: &AtomicU32, to: &AtomicU32, wakes: u32, expected: u32) -> libc::c_long {
            let action = libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
            // SAFETY: the addresses are those of futexes.
            unsafe { libc::syscall(libc::SYS_futex, from, action, wakes, 1_usize << 20, to, expected) }
        }
        let program = |wakes_all: bool| {
            move || {
                let futexes = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
                let waiters = [(); 2].map(|()| {
                    let futexes = futexes.clone();
                    thread::spawn(move || {
                        while futexes[0].load(SeqCst) == 0 {
                            wait(&futexes[0], 0);
                        }
                        if wakes_all {
                            wake(&futexes[1]);
                        }
                    })
                });
                assert_eq!(requeue(&futexes[0], &futexes[1], 1, 5), -1);
                futexes[0].store(1, SeqCst);
                let moved = requeue(&futexes[0], &futexes[1], 1, 1);
                assert!((0..=2).contains(&moved), "{moved}");
                waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
            }
        };
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            let failure =
                |wakes_all| plain().reduction(reduction).explore(program(wakes_all)).failure.map(|f| f.kind);
            assert_eq!([true, false].map(failure), [None, Some(FailureKind::Deadlock)]);
        }
    }

    /// Sleeps of C take no time, and order nothing.
    #[test]
    fn c_sleeps_by_the_clock_of_the_model() {
        let begin = std::time::Instant::now();
        let sleeps: [fn(); 4] = [
            // SAFETY: plain calls.
            || unsafe { assert_eq!(libc::usleep(900_000), 0) },
            // SAFETY: as above.
            || unsafe { assert_eq!(libc::sleep(100), 0) },
            || {
                let time = libc::timespec { tv_sec: 100, tv_nsec: 0 };
                // SAFETY: a time, and nowhere to write what is left.
                unsafe { assert_eq!(libc::nanosleep(&raw const time, std::ptr::null_mut()), 0) };
            },
            || {
                let (mut time, none) = (libc::timeval { tv_sec: 100, tv_usec: 0 }, std::ptr::null_mut());
                // SAFETY: a time, and no files.
                unsafe { assert_eq!(libc::select(0, none, none, none, &raw mut time), 0) };
            },
        ];
        for sleep in sleeps {
            let report = plain().explore(move || {
                let done = Arc::new(AtomicBool::new(false));
                let same = done.clone();
                let other = thread::spawn(move || same.store(true, SeqCst));
                sleep();
                let seen = done.load(SeqCst);
                other.join().unwrap();
                assert!(seen, "it was too early");
            });
            assert_eq!(verdict(&report), Some((FailureKind::Panic, 0)), "{report:?}");
        }
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    /// A flag and a futex; `wakes` may be forgotten.
    fn flag(wakes: bool) -> impl Fn() + Send + Sync + 'static {
        move || {
            let flag = Arc::new(AtomicU32::new(0));
            let same = flag.clone();
            let other = thread::spawn(move || {
                same.store(1, SeqCst);
                if wakes {
                    wake(&same);
                }
            });
            while flag.load(SeqCst) == 0 {
                wait(&flag, 0);
            }
            other.join().unwrap();
        }
    }

    #[test]
    fn waiting_and_waking_are_steps() {
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            let report = plain().reduction(reduction).explore(flag(true));
            assert!(report.complete, "{report:?}");
        }
    }

    #[test]
    fn a_wake_up_that_is_forgotten_is_a_deadlock() {
        // The waiter looks and waits before the flag is set: no preemption is needed, it blocks.
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            let report = plain().reduction(reduction).explore(flag(false));
            assert_eq!(verdict(&report), Some((FailureKind::Deadlock, 0)));
        }
    }

    /// Waits for the flag when it is dropped, or sets it and wakes.
    struct Last {
        flag: Arc<AtomicU32>,
        waits: bool,
    }

    impl Drop for Last {
        fn drop(&mut self) {
            if !self.waits {
                self.flag.store(1, SeqCst);
                wake(&self.flag);
            }
            while self.flag.load(SeqCst) == 0 {
                wait(&self.flag, 0);
            }
        }
    }

    #[test]
    fn a_thread_that_unwinds_waits_for_others_and_wakes_them() {
        for (reduction, unwinds) in
            [Reduction::None, Reduction::PartialOrder].into_iter().flat_map(|r| [(r, 0), (r, 1), (r, 2)])
        {
            let report = plain().reduction(reduction).explore(move || {
                let flag = Arc::new(AtomicU32::new(0));
                let ends = [true, false].map(|waits| Last { flag: flag.clone(), waits });
                let mut index = 0;
                let threads = ends.map(|last| {
                    let panics = unwinds == 2 || unwinds == index;
                    index += 1;
                    thread::spawn(move || {
                        let _last = last;
                        assert!(!panics, "it unwinds");
                    })
                });
                assert_eq!(threads.map(|thread| thread.join().is_err()), [unwinds != 1, unwinds != 0]);
            });
            assert!(report.complete && executions(&report)[0] > 1, "{report:?}");
        }
    }

    /// Nobody will wake who is unwound because the execution is over.
    #[test]
    fn who_waits_while_an_execution_is_given_up_is_left() {
        let report = plain().detached(true).explore(|| {
            let (never, queue) = icb_std::sync::mpsc::channel::<()>();
            std::mem::forget(never);
            let last = Last { flag: Arc::new(AtomicU32::new(0)), waits: true };
            thread::spawn(move || {
                let _last = last;
                queue.recv()
            });
        });
        assert!(report.complete, "{report:?}");
    }

    #[test]
    fn outside_a_model_it_is_the_systems() {
        let futex = AtomicU32::new(1);
        // The value is another one: the wait is over at once.
        wait(&futex, 0);
        assert_eq!(wake(&futex), 0);
    }
}

/// `epoll(7)`, as event loops wait with it.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod events {
    use super::*;
    use std::io::Write;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;

    /// Waits until there is something to be read.
    fn wait(socket: &UnixStream) {
        // SAFETY: the list is a new one, and there is room for one event.
        unsafe {
            let list = OwnedFd::from_raw_fd(libc::epoll_create1(0));
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 7 };
            assert_eq!(
                libc::epoll_ctl(list.as_raw_fd(), libc::EPOLL_CTL_ADD, socket.as_raw_fd(), &raw mut event),
                0
            );
            assert_eq!(libc::epoll_wait(list.as_raw_fd(), &raw mut event, 1, -1), 1);
        }
    }

    /// Two threads with a pair of sockets. What is waited for is a duplicate, as in `tokio`.
    fn pair(does: fn(UnixStream)) -> impl Fn() + Send + Sync + 'static {
        move || {
            let (here, there) = UnixStream::pair().unwrap();
            let other = thread::spawn(move || does(there));
            wait(&here.try_clone().unwrap());
            other.join().unwrap();
        }
    }

    #[test]
    fn a_pair_of_sockets_is_the_programs_own() {
        let writes = |mut socket: UnixStream| socket.write_all(b"x").unwrap();
        for does in [writes, drop] {
            for reduction in [Reduction::None, Reduction::PartialOrder] {
                let report = plain().reduction(reduction).explore(pair(does));
                assert!(report.complete && executions(&report)[1] > 1, "{report:?}");
            }
        }
    }

    /// An event counter, and a list that knows it.
    fn counter() -> (OwnedFd, OwnedFd) {
        // SAFETY: what is made is owned from here on.
        unsafe {
            let list = OwnedFd::from_raw_fd(libc::epoll_create1(0));
            (list, OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_NONBLOCK)))
        }
    }

    fn control(list: &OwnedFd, action: libc::c_int, file: &OwnedFd) {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 7 };
        // SAFETY: the files are open, and the event is there.
        let result = unsafe { libc::epoll_ctl(list.as_raw_fd(), action, file.as_raw_fd(), &raw mut event) };
        assert_eq!(result, 0);
    }

    fn add_one(counter: &OwnedFd) {
        let one = 1_u64;
        // SAFETY: there are eight bytes.
        unsafe { libc::write(counter.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    fn events(list: &OwnedFd, timeout: libc::c_int) -> i32 {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: there is room for one.
        unsafe { libc::epoll_wait(list.as_raw_fd(), &raw mut event, 1, timeout) }
    }

    /// Something else is written while a thread waits for a time: it waits for what is left of it.
    #[test]
    fn a_wait_that_is_disturbed_is_no_longer() {
        let report = plain().auto_advance(true).max_bound(2).explore(|| {
            let ((list, counter), (_, other)) = (counter(), counter());
            control(&list, libc::EPOLL_CTL_ADD, &counter);
            let is_over = Arc::new(AtomicBool::new(false));
            let flag = is_over.clone();
            let waiting = thread::spawn(move || {
                assert_eq!(events(&list, 10), 0);
                flag.store(true, SeqCst);
            });
            thread::sleep(Duration::from_millis(8));
            add_one(&other);
            thread::sleep(Duration::from_millis(7));
            assert!(is_over.load(SeqCst));
            waiting.join().unwrap();
            drop(counter);
        });
        assert!(report.failure.is_none() && report.proved_bound() >= Some(2), "{report:?}");
    }

    /// What one thread sees while another adds to a counter: both, in some execution.
    #[track_caller]
    fn sees_both(sees: fn(&OwnedFd, &OwnedFd) -> bool) {
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            for wanted in [false, true] {
                let report = plain().reduction(reduction).explore(move || {
                    let (list, counter) = counter();
                    control(&list, libc::EPOLL_CTL_ADD, &counter);
                    let (list, counter) = (Arc::new(list), Arc::new(counter));
                    let theirs = counter.clone();
                    let other = thread::spawn(move || add_one(&theirs));
                    assert_ne!(sees(&list, &counter), wanted);
                    other.join().unwrap();
                });
                assert!(matches!(verdict(&report), Some((FailureKind::Panic, _))), "{wanted}: {report:?}");
            }
        }
    }

    #[test]
    fn looking_for_events_without_waiting_is_a_step() {
        sees_both(|list, _| events(list, 0) == 1);
    }

    #[test]
    fn reading_is_a_step() {
        // SAFETY: there is room for eight bytes.
        sees_both(|_, counter| unsafe {
            let mut bytes = [0_u8; 8];
            libc::read(counter.as_raw_fd(), bytes.as_mut_ptr().cast(), 8) == 8
        });
    }

    #[test]
    fn what_is_there_already_is_seen_when_it_is_asked_for() {
        for reduction in [Reduction::None, Reduction::PartialOrder] {
            let report = plain().reduction(reduction).explore(|| {
                let (list, counter) = counter();
                add_one(&counter);
                let list = Arc::new(list);
                let theirs = list.clone();
                let other = thread::spawn(move || assert_eq!(events(&theirs, -1), 1));
                control(&list, libc::EPOLL_CTL_ADD, &counter);
                other.join().unwrap();
            });
            assert!(report.complete, "{report:?}");
        }
    }

    /// All threads of an execution have one `errno`.
    #[test]
    fn why_a_call_failed_is_told_to_whom_it_failed() {
        let report = plain().explore(|| {
            let (_, counter) = counter();
            let other = thread::spawn(|| {
                let futex = AtomicU32::new(1);
                // SAFETY: the address is that of a futex.
                let result = unsafe {
                    let time = libc::timespec { tv_sec: 0, tv_nsec: 1 };
                    libc::syscall(libc::SYS_futex, &futex, libc::FUTEX_WAIT, 1, &raw const time)
                };
                assert_eq!((result, last_error()), (-1, libc::ETIMEDOUT));
            });
            // SAFETY: there is room for eight bytes.
            let result = unsafe { libc::read(counter.as_raw_fd(), [0_u8; 8].as_mut_ptr().cast(), 8) };
            assert_eq!((result, last_error()), (-1, libc::EAGAIN));
            other.join().unwrap();
        });
        assert!(report.complete, "{report:?}");
    }

    fn last_error() -> i32 {
        std::io::Error::last_os_error().raw_os_error().unwrap()
    }

    #[test]
    fn who_waits_for_it_for_ever_is_in_a_deadlock_unless_a_signal_may_come() {
        let explored = || verdict(&plain().explore(pair(std::mem::forget)));
        assert_eq!(explored(), Some((FailureKind::Deadlock, 0)));
        extern "C" fn handler(_: libc::c_int) {}
        // SAFETY: the handler does nothing; nobody else here handles the signal.
        let set = |handler| unsafe { libc::signal(libc::SIGUSR2, handler) };
        set(handler as *const () as libc::sighandler_t);
        let handled = explored();
        set(libc::SIG_DFL);
        assert_eq!(handled, Some((FailureKind::Blocked, 0)));
    }

    /// What an execution has done for a signal is gone in the next one, as its statics are.
    #[test]
    fn what_is_done_for_a_signal_is_that_of_the_execution() {
        extern "C" fn handler(_: libc::c_int) {}
        let report = plain().explore(|| {
            let count = AtomicU32::new(0);
            thread::scope(|s| {
                s.spawn(|| count.fetch_add(1, SeqCst));
                count.fetch_add(1, SeqCst);
            });
            // SAFETY: the handler does nothing.
            let before = unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
            assert_eq!(before, libc::SIG_DFL);
            // SAFETY: all zero is an action, and is written to.
            let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: nothing is changed.
            unsafe { libc::sigaction(libc::SIGUSR1, std::ptr::null(), &raw mut now) };
            assert_eq!(now.sa_sigaction, handler as *const () as libc::sighandler_t);
        });
        assert!(report.complete && report.failure.is_none(), "{:?}", report.failure);
        assert!(report.execution_count() > 1);
    }
}

/// Asserts, when it is dropped, what is true whenever it is dropped by the program itself.
struct Registry {
    signed_on: AtomicU32,
    visits: AtomicU32,
}

impl Drop for Registry {
    fn drop(&mut self) {
        assert_eq!(*self.signed_on.get_mut(), 0, "everybody has signed off");
    }
}

#[test]
fn an_execution_that_is_given_up_may_run_to_its_end() {
    let program = || {
        let registry = Arc::new(Registry { signed_on: AtomicU32::new(0), visits: AtomicU32::new(0) });
        let threads = [(); 3].map(|()| {
            let registry = registry.clone();
            thread::spawn(move || {
                registry.signed_on.fetch_add(1, SeqCst);
                let seen = registry.visits.load(SeqCst);
                let _ = registry.visits.compare_exchange(seen, seen + 1, SeqCst, SeqCst);
                registry.signed_on.fetch_sub(1, SeqCst);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let report = Builder::new().max_bound(2).run_out(true).explore(program);
    let given_up: u64 = report.bounds.iter().map(|bound| bound.given_up).sum();
    assert!(report.complete && given_up > 0, "{report:?}");
    let plain = Builder::new().max_bound(2).reduction(Reduction::None).explore(program);
    let states = |report: &icb_std::model::Report| report.bounds.iter().map(|b| b.states).collect::<Vec<_>>();
    assert_eq!(states(&report), states(&plain));
}

#[test]
fn what_waits_when_the_test_is_over_may_end_with_the_process() {
    let program = |fails: bool| {
        move || {
            let (sender, receiver) = icb_std::sync::mpsc::channel();
            let (done, wait) = icb_std::sync::mpsc::channel();
            let answer = Arc::new(AtomicU32::new(0));
            let same = answer.clone();
            // A worker that serves for ever: one of its senders is never dropped.
            std::mem::forget(sender.clone());
            thread::spawn(move || {
                for number in receiver {
                    same.store(number, SeqCst);
                    done.send(()).unwrap();
                }
            });
            sender.send(7).unwrap();
            if !fails {
                wait.recv().unwrap();
            }
            assert_eq!(answer.load(SeqCst), 7);
        }
    };
    for reduction in [Reduction::None, Reduction::PartialOrder] {
        let builder = plain().reduction(reduction);
        let report = builder.clone().explore(program(false));
        assert_eq!(verdict(&report), Some((FailureKind::Deadlock, 0)));
        let report = builder.clone().detached(true).explore(program(false));
        assert!(report.complete, "{report:?}");
        // Before the test is over, everything is as ever.
        let report = builder.detached(true).explore(program(true));
        assert_eq!(verdict(&report), Some((FailureKind::Panic, 0)));
    }
}

/// Takes a lock when it is dropped.
struct Locks(Arc<Mutex<u32>>);

impl Drop for Locks {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }
}

#[test]
fn others_run_while_a_thread_waits_in_the_middle_of_its_unwinding() {
    let program = || {
        let lock = Arc::new(Mutex::new(0));
        let same = lock.clone();
        let first = thread::spawn(|| panic!("the first"));
        let guard = lock.lock().unwrap();
        let second = thread::spawn(move || {
            let _locks = Locks(same);
            panic!("the second");
        });
        assert!(first.join().is_err());
        drop(guard);
        assert!(second.join().is_err());
    };
    for reduction in [Reduction::None, Reduction::PartialOrder] {
        let report = plain().reduction(reduction).explore(program);
        assert!(report.complete, "{report:?}");
    }
}

/// Random numbers of the system's are the same in every execution, and other ones in each thread.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn random_numbers_are_a_function_of_the_thread() {
    use std::collections::BTreeSet;
    fn drawn() -> [u64; 2] {
        [(); 2].map(|()| {
            let mut number = 0u64;
            // SAFETY: there is room for eight bytes.
            let length = unsafe { libc::getrandom((&raw mut number).cast(), 8, 0) };
            assert_eq!(length, 8);
            number
        })
    }
    let seen: Arc<std::sync::Mutex<BTreeSet<[u64; 2]>>> = Arc::default();
    let note = seen.clone();
    let report = plain().max_bound(2).explore(move || {
        let yields = || {
            thread::yield_now();
            drawn()
        };
        let threads = [thread::spawn(yields), thread::spawn(yields)];
        let all = threads.map(|thread| thread.join().unwrap());
        note.lock().unwrap().extend(all.into_iter().chain([drawn()]));
    });
    assert!(
        report.failure.is_none() && report.bounds.iter().map(|bound| bound.executions).sum::<u64>() > 1,
        "{report:?}"
    );
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen.iter().flatten().collect::<BTreeSet<_>>().len(), 6);
    assert_ne!(drawn(), drawn(), "outside a model");
}

/// There are as many processors as `available_parallelism` says, and a thread that keeps to one of them does so alone.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn threads_keep_to_processors_each_by_itself() {
    type Set = libc::cpu_set_t;
    /// The processors that the calling thread may run on, by each way to ask.
    fn processors() -> [usize; 2] {
        // SAFETY: sets of this size, filled before they are read; any words are a set.
        unsafe {
            let (mut own, mut asked): (Set, Set) = (std::mem::zeroed(), std::mem::zeroed());
            assert_eq!(libc::sched_getaffinity(0, size_of::<Set>(), &raw mut own), 0);
            let this = libc::pthread_self();
            assert_eq!(libc::pthread_getaffinity_np(this, size_of::<Set>(), &raw mut asked), 0);
            [own, asked]
                .map(|set| (0..64).filter(|&one| libc::CPU_ISSET(one, &set)).map(|one| 1 << one).sum())
        }
    }
    fn set_of(processors: &[usize]) -> Set {
        // SAFETY: any words are a set.
        let mut set: Set = unsafe { std::mem::zeroed() };
        // SAFETY: the numbers are small.
        processors.iter().for_each(|&one| unsafe { libc::CPU_SET(one, &mut set) });
        set
    }
    let outside = processors();
    let report = plain().max_bound(1).explore(|| {
        let keep_to = |one: usize| {
            move || {
                assert_eq!(processors(), [3, 3]);
                let (set, nothing) = (set_of(&[one]), set_of(&[]));
                // SAFETY: sets of this size.
                unsafe {
                    assert_eq!(libc::sched_setaffinity(0, size_of::<Set>(), &raw const nothing), -1);
                    assert_eq!(libc::sched_setaffinity(0, size_of::<Set>(), &raw const set), 0);
                }
                thread::yield_now();
                assert_eq!(processors(), [1 << one; 2]);
            }
        };
        let threads = [thread::spawn(keep_to(0)), thread::spawn(keep_to(1))];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let set = set_of(&[1, 5]);
        // SAFETY: a set of this size.
        let result =
            unsafe { libc::pthread_setaffinity_np(libc::pthread_self(), size_of::<Set>(), &raw const set) };
        assert_eq!((result, processors()), (0, [2, 2]), "there are two");
        assert_eq!(thread::available_parallelism().unwrap().get(), 2);
    });
    assert!(report.failure.is_none() && executions(&report)[1] > 1, "{report:?}");
    assert_eq!(outside, processors(), "the system has been told nothing");
}

/// Threads of the model are threads of the system's to whoever asks, each with its stack.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn threads_have_identities_of_the_system() {
    fn identity() -> [u64; 2] {
        // SAFETY: takes nothing.
        let (thread, number) = unsafe { (libc::pthread_self(), libc::gettid()) };
        // SAFETY: as above.
        assert_eq!(i64::from(number), unsafe { libc::syscall(libc::SYS_gettid) });
        [thread, u64::from(number.unsigned_abs())]
    }
    fn stack() -> std::ops::Range<usize> {
        // SAFETY: attributes of the calling thread, which are initialised before they are read.
        unsafe {
            let (mut attributes, mut address, mut size) = (std::mem::zeroed(), std::ptr::null_mut(), 0);
            assert_eq!(libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes), 0);
            assert_eq!(
                libc::pthread_attr_getstack(&raw const attributes, &raw mut address, &raw mut size),
                0
            );
            libc::pthread_attr_destroy(&raw mut attributes);
            address.addr()..address.addr() + size
        }
    }
    let outside = identity();
    let seen: Arc<std::sync::Mutex<Vec<[[u64; 2]; 3]>>> = Arc::default();
    let note = seen.clone();
    let report = plain().max_bound(1).explore(move || {
        let tell = || {
            let (here, before) = (0_u8, identity());
            assert!(stack().contains(&(&raw const here).addr()), "the stack is its own");
            // SAFETY: the calling thread is asked whether it is there.
            assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), 0) }, 0);
            thread::yield_now();
            assert_eq!(before, identity());
            before
        };
        let threads = [thread::spawn(tell), thread::spawn(tell)];
        let ours = tell();
        let [one, two] = threads.map(|thread| thread.join().unwrap());
        assert!(
            (0..2).all(|kind| ours[kind] != one[kind] && one[kind] != two[kind] && two[kind] != ours[kind])
        );
        note.lock().unwrap().push([ours, one, two]);
    });
    assert!(report.failure.is_none() && executions(&report)[1] > 1, "{report:?}");
    let seen = seen.lock().unwrap();
    assert!(
        seen.iter().all(|numbers| numbers.map(|[_, number]| number) == seen[0].map(|[_, number]| number))
    );
    assert_eq!(outside, identity());
}

/// What the system keeps for each thread is kept for each thread of the model, and given to the key's destructor at its end.
#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn threads_have_values_that_the_system_keeps() {
    use std::ffi::c_void;
    use std::ptr::{null_mut, without_provenance_mut};
    static KEY: AtomicU32 = AtomicU32::new(0);
    static ENDED: AtomicU32 = AtomicU32::new(0);

    fn get() -> usize {
        // SAFETY: a key that was made, and is not deleted before all have ended.
        unsafe { libc::pthread_getspecific(KEY.load(SeqCst)).addr() }
    }
    fn set(value: usize) {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_setspecific(KEY.load(SeqCst), without_provenance_mut(value)) }, 0);
    }
    /// Sets the next lower value, which has its own turn.
    unsafe extern "C" fn destructor(value: *mut c_void) {
        assert_eq!(get(), 0);
        ENDED.fetch_add(1, SeqCst);
        set(value.addr() - 1);
    }
    for _ in 0..2 {
        let report = plain().max_bound(1).explore(|| {
            let mut key = 0;
            // SAFETY: there is room for a key.
            assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(destructor)) }, 0);
            KEY.store(key, SeqCst);
            let threads = [1, 2, 9].map(|value| {
                thread::spawn(move || {
                    assert_eq!(get(), 0);
                    set(value);
                    thread::yield_now();
                    assert_eq!(get(), value);
                })
            });
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!((get(), ENDED.load(SeqCst)), (0, 1 + 2 + 4));
            // SAFETY: nobody uses it any more.
            let deleted = [(); 2].map(|()| unsafe { libc::pthread_key_delete(key) });
            assert_eq!(deleted, [0, libc::EINVAL]);
            // SAFETY: as above.
            assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, None) }, 0);
            assert_eq!(get(), 0);
        });
        assert!(report.failure.is_none() && executions(&report)[1] > 1, "{report:?}");
    }
    let mut key = 0;
    // SAFETY: outside a model all is the system's.
    unsafe {
        assert_eq!(libc::pthread_key_create(&raw mut key, None), 0);
        assert_eq!(libc::pthread_setspecific(key, without_provenance_mut(7)), 0);
        assert_eq!(libc::pthread_getspecific(key).addr(), 7);
        assert_eq!(libc::pthread_setspecific(key, null_mut()), 0);
        assert_eq!(libc::pthread_key_delete(key), 0);
    }
}
