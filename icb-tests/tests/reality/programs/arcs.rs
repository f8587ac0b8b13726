//! `Arc` and `Weak`.

use super::nudge;
use super::s::sync::atomic::{AtomicU32, Ordering::SeqCst};
use super::s::sync::{Arc, Weak};
use super::s::thread;

pub(crate) fn counts() -> String {
    let a = Arc::new(1);
    let b = a.clone();
    let t = thread::spawn(move || {
        nudge();
        let w = Arc::downgrade(&b);
        nudge();
        drop(b);
        nudge();
        (w.strong_count(), w.weak_count(), w.upgrade().is_some())
    });
    nudge();
    let x = (Arc::strong_count(&a), Arc::weak_count(&a));
    nudge();
    drop(a);
    format!("{x:?} {:?}", t.join().unwrap())
}

pub(crate) fn unwraps() -> String {
    let a = Arc::new(1);
    let b = a.clone();
    let t = thread::spawn(move || {
        nudge();
        Arc::try_unwrap(b).is_ok()
    });
    nudge();
    let x = Arc::try_unwrap(a).is_ok();
    format!("{x} {}", t.join().unwrap())
}

pub(crate) fn into_inner() -> String {
    let a = Arc::new(1);
    let b = a.clone();
    let t = thread::spawn(move || {
        nudge();
        Arc::into_inner(b).is_some()
    });
    nudge();
    let x = Arc::into_inner(a).is_some();
    format!("{x} {}", t.join().unwrap())
}

pub(crate) fn makes_mut() -> String {
    let mut a = Arc::new(1);
    let b = a.clone();
    let w = Arc::downgrade(&a);
    let t = thread::spawn(move || {
        nudge();
        let x = w.upgrade().map(|a| *a);
        nudge();
        drop(b);
        nudge();
        let y = w.upgrade().map(|a| *a);
        format!("{x:?} {y:?}")
    });
    nudge();
    let before = Arc::get_mut(&mut a).is_some();
    nudge();
    *Arc::make_mut(&mut a) += 1;
    nudge();
    let after = Arc::get_mut(&mut a).is_some();
    format!("{before} {a} {after} {}", t.join().unwrap())
}

struct Drops(Arc<AtomicU32>, Weak<Drops>);

impl Drop for Drops {
    fn drop(&mut self) {
        nudge();
        let counts = (self.1.strong_count() + 10 * self.1.weak_count()) as u32;
        self.0.fetch_add(100 + counts, SeqCst);
    }
}

/// What is seen of a value while it is dropped.
pub(crate) fn a_drop() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let a = Arc::new_cyclic(|w| Drops(x.clone(), w.clone()));
    let w = Arc::downgrade(&a);
    let b = a.clone();
    let t = thread::spawn(move || {
        nudge();
        drop(b);
    });
    let w2 = w.clone();
    let u = thread::spawn(move || {
        nudge();
        let a = w2.upgrade().is_some();
        nudge();
        (a, w2.strong_count())
    });
    nudge();
    drop(a);
    let n = x.load(SeqCst);
    let up = w.upgrade().is_some();
    let u = u.join().unwrap();
    t.join().unwrap();
    format!("{n} {up} {u:?} {}", x.load(SeqCst))
}

/// A reference that is asked for while others are given up.
pub(crate) fn upgrades() -> String {
    let mut a = Arc::new(5);
    let w = Arc::downgrade(&a);
    let (w2, b) = (w.clone(), a.clone());
    let t = thread::spawn(move || {
        nudge();
        let unwrapped = Arc::try_unwrap(b).is_ok();
        nudge();
        unwrapped
    });
    let u = thread::spawn(move || {
        nudge();
        let strong = w2.upgrade();
        nudge();
        let counts = (w2.strong_count(), w2.weak_count());
        (strong.is_some(), strong.and_then(Arc::into_inner).is_some(), counts)
    });
    nudge();
    let mine = Arc::get_mut(&mut a).is_some();
    nudge();
    let (unwrapped, counts) = (Arc::into_inner(a).is_some(), (w.strong_count(), w.weak_count()));
    format!("{mine} {unwrapped} {counts:?} {} {:?}", t.join().unwrap(), u.join().unwrap())
}

/// A copy is made while others have a weak reference only.
pub(crate) fn makes_mut_beside_weak() -> String {
    let mut a = Arc::new(5);
    let w = Arc::downgrade(&a);
    let t = thread::spawn(move || {
        nudge();
        let one = w.upgrade().map(|a| *a);
        nudge();
        let two = w.upgrade().map(|a| *a);
        (one, two, w.strong_count(), w.weak_count())
    });
    nudge();
    *Arc::make_mut(&mut a) += 1;
    nudge();
    let counts = (Arc::strong_count(&a), Arc::weak_count(&a));
    format!("{a} {counts:?} {:?}", t.join().unwrap())
}
