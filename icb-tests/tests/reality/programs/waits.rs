//! `Condvar` and `Barrier`.

use super::nudge;
use super::s::sync::{Arc, Barrier, Condvar, Mutex};
use super::s::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_micros(300);

type Pair = Arc<(Mutex<u32>, Condvar)>;

fn pair() -> Pair {
    Arc::new((Mutex::new(0), Condvar::new()))
}

pub(crate) fn wait_while_for_one() -> String {
    let p = pair();
    let waiters = [p.clone(), p.clone()].map(|p| {
        thread::spawn(move || {
            nudge();
            let mut guard = p.1.wait_while(p.0.lock().unwrap(), |v| *v == 0).unwrap();
            *guard -= 1;
            *guard
        })
    });
    for _ in 0..2 {
        nudge();
        *p.0.lock().unwrap() += 1;
        nudge();
        p.1.notify_one();
    }
    format!("{:?}", waiters.map(|t| t.join().unwrap()))
}

/// One notification for two who wait once.
pub(crate) fn one_for_two() -> String {
    let p = pair();
    let waiters = [p.clone(), p.clone()].map(|p| {
        thread::spawn(move || {
            let guard = p.0.lock().unwrap();
            *p.1.wait(guard).unwrap()
        })
    });
    nudge();
    *p.0.lock().unwrap() += 1;
    nudge();
    p.1.notify_one();
    format!("{:?}", waiters.map(|t| t.join().unwrap()))
}

fn a_timed_wait(time: Duration, under_the_lock: bool, all: bool) -> String {
    let p = pair();
    let p2 = p.clone();
    let t = thread::spawn(move || {
        nudge();
        let guard = p2.0.lock().unwrap();
        let (guard, result) = p2.1.wait_timeout(guard, time).unwrap();
        format!("{} {}", *guard, result.timed_out())
    });
    nudge();
    let mut guard = p.0.lock().unwrap();
    *guard = 1;
    nudge();
    if !under_the_lock {
        drop(guard);
        nudge();
        if all { p.1.notify_all() } else { p.1.notify_one() }
    } else {
        if all { p.1.notify_all() } else { p.1.notify_one() }
        nudge();
        drop(guard);
    }
    t.join().unwrap()
}

/// A wait that is over by its time, and notified after that, before it has its lock again. Who notifies knows that the other one waits.
fn late(all: bool, waiters: usize) -> String {
    let p = pair();
    let threads: Vec<_> = (0..waiters)
        .map(|_| {
            let p = p.clone();
            thread::spawn(move || {
                let mut guard = p.0.lock().unwrap();
                *guard += 1;
                let (guard, result) = p.1.wait_timeout(guard, SHORT).unwrap();
                format!("{} {}", *guard >= 10, result.timed_out())
            })
        })
        .collect();
    nudge();
    let mut guard = p.0.lock().unwrap();
    let waiting = *guard;
    *guard += 10;
    nudge();
    if all { p.1.notify_all() } else { p.1.notify_one() }
    nudge();
    drop(guard);
    let told: Vec<_> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    format!("{waiting} {told:?}")
}

pub(crate) fn late_for_one() -> String {
    late(false, 1)
}
pub(crate) fn late_for_all() -> String {
    late(true, 2)
}
pub(crate) fn late_for_one_of_two() -> String {
    late(false, 2)
}

pub(crate) fn a_timed_wait_and_one() -> String {
    a_timed_wait(SHORT, false, false)
}
pub(crate) fn a_timed_wait_and_all() -> String {
    a_timed_wait(SHORT, false, true)
}
pub(crate) fn a_timed_wait_and_one_under_the_lock() -> String {
    a_timed_wait(SHORT, true, false)
}
pub(crate) fn a_timed_wait_and_all_under_the_lock() -> String {
    a_timed_wait(SHORT, true, true)
}
pub(crate) fn no_wait_and_one() -> String {
    a_timed_wait(Duration::ZERO, false, false)
}
pub(crate) fn no_wait_and_all_under_the_lock() -> String {
    a_timed_wait(Duration::ZERO, true, true)
}

/// Who has a notification when one of the two waits for a time only.
pub(crate) fn a_timed_and_an_untimed_wait() -> String {
    let p = pair();
    let (p2, p3) = (p.clone(), p.clone());
    let timed = thread::spawn(move || {
        let guard = p2.0.lock().unwrap();
        let (guard, result) = p2.1.wait_timeout(guard, SHORT).unwrap();
        format!("{} {}", *guard, result.timed_out())
    });
    let untimed = thread::spawn(move || {
        nudge();
        let guard = p3.0.lock().unwrap();
        *p3.1.wait(guard).unwrap()
    });
    nudge();
    let mut guard = p.0.lock().unwrap();
    *guard = 1;
    nudge();
    p.1.notify_one();
    nudge();
    drop(guard);
    let told = timed.join().unwrap();
    format!("{told} {}", untimed.join().unwrap())
}

fn timed_while(time: Duration) -> String {
    let p = pair();
    let p2 = p.clone();
    let t = thread::spawn(move || {
        nudge();
        let guard = p2.0.lock().unwrap();
        let (guard, result) = p2.1.wait_timeout_while(guard, time, |v| *v < 2).unwrap();
        format!("{} {}", *guard, result.timed_out())
    });
    for _ in 0..2 {
        nudge();
        *p.0.lock().unwrap() += 1;
        nudge();
        p.1.notify_one();
    }
    t.join().unwrap()
}

pub(crate) fn timed_while_shortly() -> String {
    timed_while(SHORT)
}
pub(crate) fn timed_while_at_once() -> String {
    timed_while(Duration::ZERO)
}

pub(crate) fn barrier_of_two() -> String {
    let b = Arc::new(Barrier::new(2));
    let threads = [b.clone(), b.clone()].map(|b| {
        thread::spawn(move || {
            nudge();
            let one = b.wait().is_leader();
            nudge();
            let two = b.wait().is_leader();
            format!("{one} {two}")
        })
    });
    threads.map(|t| t.join().unwrap()).join(" ")
}

/// More come than it is for.
pub(crate) fn barrier_of_two_for_four() -> String {
    let b = Arc::new(Barrier::new(2));
    let threads = [b.clone(), b.clone(), b.clone(), b].map(|b| {
        thread::spawn(move || {
            nudge();
            b.wait().is_leader()
        })
    });
    format!("{:?}", threads.map(|t| t.join().unwrap()))
}

pub(crate) fn barriers_of_none_and_one() -> String {
    format!("{} {}", Barrier::new(0).wait().is_leader(), Barrier::new(1).wait().is_leader())
}

/// A notification that nobody waits for yet is lost.
pub(crate) fn too_early() -> String {
    let p = pair();
    let p2 = p.clone();
    let t = thread::spawn(move || {
        nudge();
        let guard = p2.0.lock().unwrap();
        let mut guard = p2.1.wait(guard).unwrap();
        *guard += 1;
        *guard
    });
    nudge();
    p.1.notify_one();
    nudge();
    *p.0.lock().unwrap() += 10;
    format!("{}", t.join().unwrap())
}

/// Three come twice to a barrier for two.
pub(crate) fn barrier_of_two_for_three_twice() -> String {
    let b = Arc::new(Barrier::new(2));
    let threads = [b.clone(), b.clone(), b].map(|b| {
        thread::spawn(move || {
            nudge();
            let one = b.wait().is_leader();
            nudge();
            [one, b.wait().is_leader()]
        })
    });
    format!("{:?}", threads.map(|t| t.join().unwrap()))
}

/// Waits with a condition whose time is over although the condition does not hold any more.
pub(crate) fn late_with_a_condition() -> String {
    let p = pair();
    let p2 = p.clone();
    let t = thread::spawn(move || {
        let mut guard = p2.0.lock().unwrap();
        *guard += 1;
        let (guard, result) = p2.1.wait_timeout_while(guard, SHORT, |v| *v < 10).unwrap();
        format!("{} {}", *guard, result.timed_out())
    });
    nudge();
    let mut guard = p.0.lock().unwrap();
    *guard += 10;
    nudge();
    p.1.notify_one();
    nudge();
    drop(guard);
    nudge();
    *p.0.lock().unwrap() += 100;
    t.join().unwrap()
}
