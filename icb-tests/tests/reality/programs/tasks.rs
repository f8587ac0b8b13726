//! Several things that meet: wakers, messages with destructors, locals that send, nested scopes.

use super::nudge;
use super::s::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use super::s::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use super::s::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use super::s::task::{Context, Poll, Wake, Waker};
use super::s::thread::{self, Thread};
use super::s::thread_local;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

const SHORT: Duration = Duration::from_micros(300);

/// Unparks whoever polls.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unparks(thread::current())));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        nudge();
        thread::park();
    }
}

/// A future that registers its waker, looks again or not, and perhaps waits for a message in between.
fn woken(looks_again: bool, receives: bool) -> String {
    let shared = Arc::new((AtomicBool::new(false), Mutex::new(None::<Waker>)));
    let theirs = shared.clone();
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || {
        nudge();
        theirs.0.store(true, SeqCst);
        nudge();
        let woken = theirs.1.lock().unwrap().take().map(Waker::wake).is_some();
        nudge();
        let _ = sender.send(1);
        woken
    });
    let mut polls = 0;
    let polls = block_on(poll_fn(|context| {
        polls += 1;
        if shared.0.load(SeqCst) {
            return Poll::Ready(polls);
        }
        nudge();
        *shared.1.lock().unwrap() = Some(context.waker().clone());
        if receives && polls == 1 {
            nudge();
            let _ = receiver.recv();
        }
        nudge();
        if looks_again && shared.0.load(SeqCst) {
            return Poll::Ready(polls);
        }
        Poll::Pending
    }));
    format!("{} {}", polls.min(2), other.join().unwrap())
}

pub(crate) fn a_waker() -> String {
    woken(true, false)
}
pub(crate) fn a_waker_that_comes_too_early() -> String {
    woken(false, false)
}
pub(crate) fn a_waker_and_a_message() -> String {
    woken(false, true)
}

/// A thread-local sends its last message.
pub(crate) fn a_local_sends() -> String {
    struct Sends(mpsc::SyncSender<u32>);
    impl Drop for Sends {
        fn drop(&mut self) {
            nudge();
            let _ = self.0.try_send(2);
        }
    }
    thread_local!(static LOCAL: RefCell<Option<Sends>> = const { RefCell::new(None) });
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = thread::spawn(move || {
        LOCAL.set(Some(Sends(sender.clone())));
        nudge();
        sender.send(1).is_ok()
    });
    nudge();
    let first = receiver.recv_timeout(SHORT).ok();
    let finished = other.is_finished();
    nudge();
    let second = receiver.try_recv().ok();
    nudge();
    drop(receiver);
    format!("{first:?} {finished} {second:?} {}", other.join().unwrap())
}

/// A message that sends another one when it is dropped with its channel.
pub(crate) fn a_message_sends() -> String {
    struct Sends(mpsc::Sender<u32>);
    impl Drop for Sends {
        fn drop(&mut self) {
            nudge();
            let _ = self.0.send(7);
        }
    }
    let (answer, answers) = mpsc::channel();
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || {
        nudge();
        drop(receiver);
    });
    nudge();
    let sent = sender.send(Sends(answer)).is_ok();
    nudge();
    let answered = answers.try_recv().ok();
    other.join().unwrap();
    format!("{sent} {answered:?} {:?}", answers.recv().ok())
}

/// Two notifications for three who wait.
pub(crate) fn two_for_three() -> String {
    let pair = Arc::new((Mutex::new((0, 0)), Condvar::new()));
    let threads = [(); 3].map(|()| {
        let pair = pair.clone();
        thread::spawn(move || {
            let mut guard = pair.0.lock().unwrap();
            guard.0 += 1;
            let (mut guard, result) = pair.1.wait_timeout(guard, Duration::from_millis(2)).unwrap();
            guard.1 += u32::from(!result.timed_out());
            guard.1
        })
    });
    nudge();
    let waiting = pair.0.lock().unwrap().0;
    pair.1.notify_one();
    nudge();
    pair.1.notify_one();
    let most = threads.map(|thread| thread.join().unwrap()).into_iter().max();
    format!("{waiting} {most:?}")
}

/// A scope within a scope, and what panics in the inner one.
pub(crate) fn nested_scopes() -> String {
    let count = AtomicU32::new(0);
    let outer = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                nudge();
                count.fetch_add(1, SeqCst);
            });
            let inner = scope.spawn(|| {
                catch_unwind(AssertUnwindSafe(|| {
                    thread::scope(|scope| {
                        scope.spawn(|| {
                            nudge();
                            if count.fetch_add(10, SeqCst) == 1 {
                                resume_unwind(Box::new(()));
                            }
                        });
                        nudge();
                    });
                }))
                .is_ok()
            });
            nudge();
            inner.join().unwrap()
        })
    }));
    format!("{:?} {}", outer.ok(), count.load(SeqCst))
}

/// What is left to its own when the main thread returns is seen, or not.
pub(crate) fn a_detached_thread() -> String {
    let shared = Arc::new((RwLock::new(0), AtomicU32::new(0)));
    let theirs = shared.clone();
    drop(thread::spawn(move || {
        nudge();
        let mut guard = theirs.0.write().unwrap();
        *guard = 1;
        nudge();
        theirs.1.store(1, SeqCst);
        nudge();
        *guard = 2;
    }));
    nudge();
    let stored = shared.1.load(SeqCst);
    let tried = shared.0.try_read().map(|guard| *guard).ok();
    nudge();
    let read = *shared.0.read().unwrap();
    format!("{stored} {tried:?} {read}")
}

/// Timed and other parks of a thread that is unparked twice.
pub(crate) fn timed_parks() -> String {
    let count = Arc::new(AtomicU32::new(0));
    let theirs = count.clone();
    let parked = thread::spawn(move || {
        nudge();
        thread::park_timeout(Duration::ZERO);
        let one = theirs.load(SeqCst);
        nudge();
        thread::park_timeout(SHORT);
        let two = theirs.load(SeqCst);
        nudge();
        thread::park();
        format!("{one} {two} {}", theirs.load(SeqCst))
    });
    for _ in 0..2 {
        nudge();
        count.fetch_add(1, SeqCst);
        parked.thread().unpark();
    }
    parked.join().unwrap()
}

/// A lock is waited for while its holder waits for a message from whoever waits.
pub(crate) fn a_lock_around_a_message() -> String {
    let lock = Arc::new(Mutex::new(0));
    let theirs = lock.clone();
    let (sender, receiver) = mpsc::sync_channel(0);
    let other = thread::spawn(move || {
        nudge();
        let sent = sender.try_send(1).is_ok();
        nudge();
        *theirs.lock().unwrap() += 1;
        nudge();
        format!("{sent} {}", sender.send(2).is_ok())
    });
    nudge();
    let guard = lock.lock().unwrap();
    nudge();
    let first = receiver.recv_timeout(SHORT).ok();
    drop(guard);
    nudge();
    let second = receiver.recv().ok();
    format!("{first:?} {second:?} {}", other.join().unwrap())
}
