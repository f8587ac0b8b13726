//! `Once`, `OnceLock`, `LazyLock`.

use super::nudge;
use super::s::sync::atomic::{AtomicU32, Ordering::SeqCst};
use super::s::sync::{Arc, LazyLock, Once, OnceLock};
use super::s::thread;
use super::s::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

fn fail() -> u32 {
    resume_unwind(Box::new(()))
}

pub(crate) fn once_races() -> String {
    let o = Arc::new((Once::new(), AtomicU32::new(0)));
    let threads = [1, 2].map(|i| {
        let o = o.clone();
        thread::spawn(move || {
            nudge();
            let before = o.0.is_completed();
            nudge();
            o.0.call_once(|| {
                nudge();
                o.1.fetch_add(i, SeqCst);
                nudge();
            });
            format!("{before} {}", o.1.load(SeqCst))
        })
    });
    nudge();
    let c = o.0.is_completed();
    let n = o.1.load(SeqCst);
    format!("{c} {n} {}", threads.map(|t| t.join().unwrap()).join(" "))
}

pub(crate) fn once_panics() -> String {
    let o = Arc::new((Once::new(), AtomicU32::new(0)));
    let (o2, o3) = (o.clone(), o.clone());
    let a = thread::spawn(move || {
        nudge();
        o2.0.call_once(|| {
            nudge();
            fail();
        });
    });
    let b = thread::spawn(move || {
        nudge();
        catch_unwind(AssertUnwindSafe(|| o3.0.call_once(|| o3.1.store(1, SeqCst)))).is_err()
    });
    nudge();
    let mut poisoned = None;
    o.0.call_once_force(|state| {
        poisoned = Some(state.is_poisoned());
        nudge();
        o.1.fetch_add(2, SeqCst);
    });
    format!("{poisoned:?} {} {} {}", a.join().is_err(), b.join().unwrap(), o.1.load(SeqCst))
}

pub(crate) fn once_waits() -> String {
    let o = Arc::new(Once::new());
    let o2 = o.clone();
    let a = thread::spawn(move || {
        nudge();
        catch_unwind(AssertUnwindSafe(|| {
            o2.call_once(|| {
                nudge();
                fail();
            });
        }))
        .is_err()
    });
    let o3 = o.clone();
    let b = thread::spawn(move || {
        nudge();
        o3.call_once_force(|_| nudge());
    });
    nudge();
    let waited = catch_unwind(AssertUnwindSafe(|| o.wait())).is_ok();
    let a = a.join().unwrap();
    b.join().unwrap();
    o.wait_force();
    format!("{waited} {a}")
}

pub(crate) fn once_lock_races() -> String {
    let o = Arc::new(OnceLock::new());
    let (o2, o3) = (o.clone(), o.clone());
    let a = thread::spawn(move || {
        nudge();
        *o2.get_or_init(|| {
            nudge();
            1
        })
    });
    let b = thread::spawn(move || {
        nudge();
        o3.set(2)
    });
    nudge();
    let seen = o.get().copied();
    nudge();
    let waited = *o.wait();
    format!("{seen:?} {waited} {} {:?}", a.join().unwrap(), b.join().unwrap())
}

pub(crate) fn once_lock_panics() -> String {
    let o = Arc::new(OnceLock::new());
    let (o2, o3) = (o.clone(), o.clone());
    let a = thread::spawn(move || {
        nudge();
        *o2.get_or_init(|| {
            nudge();
            fail()
        })
    });
    let b = thread::spawn(move || {
        nudge();
        *o3.get_or_init(|| {
            nudge();
            3
        })
    });
    nudge();
    let seen = o.get().copied();
    nudge();
    let set = o.set(2);
    format!("{seen:?} {set:?} {:?} {}", a.join().ok(), b.join().unwrap())
}

pub(crate) fn lazy_lock_races() -> String {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let lazy = Arc::new(LazyLock::new(move || {
        nudge();
        counted.fetch_add(1, SeqCst)
    }));
    let lazy2 = lazy.clone();
    let a = thread::spawn(move || {
        nudge();
        **lazy2
    });
    nudge();
    let n = runs.load(SeqCst);
    let v = **lazy;
    format!("{n} {v} {} {}", a.join().unwrap(), runs.load(SeqCst))
}

pub(crate) fn lazy_lock_panics() -> String {
    let lazy: Arc<LazyLock<u32, fn() -> u32>> = Arc::new(LazyLock::new(|| {
        nudge();
        fail()
    }));
    let force = |lazy: Arc<LazyLock<u32, fn() -> u32>>| {
        nudge();
        let panic = catch_unwind(AssertUnwindSafe(|| **lazy)).err().unwrap();
        panic.is::<()>()
    };
    let lazy2 = lazy.clone();
    let a = thread::spawn(move || force(lazy2));
    let b = force(lazy);
    format!("{b} {}", a.join().unwrap())
}

/// Those who wait for a value while its maker panics.
pub(crate) fn once_lock_waits() -> String {
    let o = Arc::new(OnceLock::new());
    let (o2, o3) = (o.clone(), o.clone());
    let a = thread::spawn(move || {
        nudge();
        catch_unwind(AssertUnwindSafe(|| {
            o2.get_or_init(|| {
                nudge();
                fail()
            });
        }))
        .is_err()
    });
    let b = thread::spawn(move || {
        nudge();
        let before = o3.get().copied();
        nudge();
        (before, o3.set(4).is_ok())
    });
    nudge();
    let waited = *o.wait();
    format!("{waited} {} {:?}", a.join().unwrap(), b.join().unwrap())
}
