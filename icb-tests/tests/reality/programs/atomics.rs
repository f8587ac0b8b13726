//! Atomics of all orders; explored with stale values.

use super::nudge;
use super::s::sync::Arc;
use super::s::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, Ordering::*, fence};
use super::s::thread;

fn stores_and_loads(store: Ordering, load: Ordering, fenced: bool) -> String {
    let v = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
    let w = v.clone();
    let t = thread::spawn(move || {
        nudge();
        w.0.store(1, store);
        if fenced {
            fence(SeqCst);
        }
        w.1.load(load)
    });
    nudge();
    v.1.store(1, store);
    if fenced {
        fence(SeqCst);
    }
    let a = v.0.load(load);
    format!("{a} {}", t.join().unwrap())
}

pub(crate) fn store_buffering_relaxed() -> String {
    stores_and_loads(Relaxed, Relaxed, false)
}
pub(crate) fn store_buffering_release() -> String {
    stores_and_loads(Release, Acquire, false)
}
pub(crate) fn store_buffering_fenced() -> String {
    stores_and_loads(Relaxed, Relaxed, true)
}
pub(crate) fn store_buffering_mixed() -> String {
    stores_and_loads(Release, SeqCst, false)
}
pub(crate) fn store_buffering_seqcst() -> String {
    stores_and_loads(SeqCst, SeqCst, false)
}

/// Exchanges that fail for nobody, and loops of them.
#[allow(deprecated, reason = "newer releases call it `try_update`")]
pub(crate) fn updates() -> String {
    let v = Arc::new(AtomicU64::new(0));
    let w = v.clone();
    let t = thread::spawn(move || {
        nudge();
        let a = w.fetch_update(AcqRel, Acquire, |x| (x < 2).then_some(x + 1));
        nudge();
        let b = w.compare_exchange_weak(1, 5, Relaxed, Relaxed);
        format!("{a:?} {b:?}")
    });
    nudge();
    let a = v.fetch_update(Relaxed, Relaxed, |x| (x < 2).then_some(x + 1));
    nudge();
    let b = v.fetch_max(3, AcqRel);
    format!("{a:?} {b} {} {}", t.join().unwrap(), v.load(Relaxed))
}

/// Peterson's lock, which needs what it has not got.
pub(crate) fn peterson() -> String {
    fn enter(me: usize, flags: &[AtomicBool; 2], turn: &AtomicU32, inside: &AtomicU32) -> bool {
        flags[me].store(true, Release);
        turn.store(1 - me as u32, Release);
        if flags[1 - me].load(Acquire) && turn.load(Acquire) == 1 - me as u32 {
            flags[me].store(false, Release);
            return false;
        }
        let alone = inside.fetch_add(1, SeqCst) == 0;
        nudge();
        inside.fetch_sub(1, SeqCst);
        flags[me].store(false, Release);
        alone
    }
    let v = Arc::new(([AtomicBool::new(false), AtomicBool::new(false)], AtomicU32::new(0), AtomicU32::new(0)));
    let w = v.clone();
    let t = thread::spawn(move || {
        nudge();
        enter(0, &w.0, &w.1, &w.2)
    });
    nudge();
    let a = enter(1, &v.0, &v.1, &v.2);
    format!("{a} {}", t.join().unwrap())
}

/// Counts of an `Arc` beside other stores.
pub(crate) fn counts_and_stores() -> String {
    let v = Arc::new(AtomicU32::new(0));
    let a = Arc::new(());
    let (w, b) = (v.clone(), a.clone());
    let t = thread::spawn(move || {
        nudge();
        drop(b);
        w.load(Relaxed)
    });
    nudge();
    v.store(1, Relaxed);
    let n = Arc::strong_count(&a);
    format!("{n} {}", t.join().unwrap())
}
