//! Thread-locals.

use super::s::sync::{Arc, Mutex};
use super::s::thread;
use super::s::thread_local;
use std::cell::{Cell, OnceCell, RefCell};

thread_local! {
    /// Documented.
    static FIRST: Cell<u32> = const { Cell::new(1) };
    #[allow(dead_code, reason = "shows that attributes are kept")]
    pub static SECOND: RefCell<Vec<u32>> = RefCell::new(vec![1]);
    static THIRD: String = "third".to_owned()
}

pub(crate) fn values() {
    FIRST.set(5);
    let child = thread::spawn(|| {
        assert_eq!(FIRST.get(), 1);
        FIRST.set(7);
        FIRST.get()
    });
    assert_eq!((child.join().unwrap(), FIRST.get()), (7, 5));
    assert_eq!(THIRD.with(|text| text.len()), 5);
    assert_eq!(format!("{FIRST:?}"), "LocalKey { .. }");
    FIRST.set(1);
}

pub(crate) fn lazily_initialised() {
    thread_local!(static CELL: OnceCell<u32> = const { OnceCell::new() });
    let child = thread::spawn(|| {
        CELL.with(|cell| assert_eq!(cell.get_or_init(|| 3), &3));
        CELL.with(|cell| *cell.get_or_init(|| 4))
    });
    assert_eq!(child.join().unwrap(), 3);
}

pub(crate) fn destructors() {
    struct Tells(Arc<Mutex<Vec<u32>>>, u32);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    thread_local! {
        static ONE: RefCell<Option<Tells>> = const { RefCell::new(None) };
        static TWO: RefCell<Option<Tells>> = const { RefCell::new(None) };
    }
    let order = Arc::new(Mutex::new(Vec::new()));
    let (one, two) = (order.clone(), order.clone());
    thread::spawn(move || {
        TWO.with_borrow_mut(|slot| *slot = Some(Tells(two, 2)));
        ONE.with_borrow_mut(|slot| *slot = Some(Tells(one, 1)));
    })
    .join()
    .unwrap();
    let seen = order.lock().unwrap().clone();
    assert_eq!(seen, [1, 2], "the latest first");

    // After its destruction a value is gone.
    struct Looks(Arc<Mutex<Option<bool>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let gone = LOOKS.try_with(|_| ());
            assert!(gone.is_ok() || gone.is_err_and(|e| format!("{e} {e:?}") == "already destroyed AccessError"));
            *self.0.lock().unwrap() = Some(gone.is_err());
        }
    }
    thread_local!(static LOOKS: RefCell<Option<Looks>> = const { RefCell::new(None) });
    let answer = Arc::new(Mutex::new(None));
    let theirs = answer.clone();
    thread::spawn(move || LOOKS.set(Some(Looks(theirs)))).join().unwrap();
    assert_eq!(*answer.lock().unwrap(), Some(true));
}

/// What destructors find of the other values: those made before are still there, those made later are gone, and those
/// that need no destructor stay.
pub(crate) fn what_destructors_find() {
    type Found = (&'static str, [bool; 3], u32, u32);
    fn seven() -> u32 {
        7
    }
    struct Looks(&'static str, Arc<Mutex<Vec<Found>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            let there = [&A, &B, &C].map(|key| key.try_with(|_| ()).is_ok());
            self.1.lock().unwrap().push((self.0, there, PLAIN.get(), CONST.get()));
        }
    }
    thread_local! {
        static A: RefCell<Option<Looks>> = const { RefCell::new(None) };
        static B: RefCell<Option<Looks>> = const { RefCell::new(None) };
        static C: RefCell<Option<Looks>> = const { RefCell::new(None) };
        static PLAIN: Cell<u32> = Cell::new(seven());
        static CONST: Cell<u32> = const { Cell::new(8) };
    }
    let found = Arc::new(Mutex::new(Vec::new()));
    let theirs = found.clone();
    thread::spawn(move || {
        B.set(Some(Looks("b", theirs.clone())));
        A.set(Some(Looks("a", theirs)));
        PLAIN.set(9);
    })
    .join()
    .unwrap();
    // C is made by the first destructor, and goes before B.
    let expected = [("a", [false, true, true], 9, 8), ("b", [false, false, false], 9, 8)];
    assert_eq!(*found.lock().unwrap(), expected);
}

pub(crate) fn cells() {
    thread_local! {
        static CELL: Cell<u32> = panic!("set comes first");
        static REF: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    }
    thread::spawn(|| {
        CELL.set(1);
        assert_eq!((CELL.replace(2), CELL.take(), CELL.get()), (1, 2, 0));
        REF.set(vec![1]);
        REF.with_borrow_mut(|v| v.push(2));
        assert_eq!(REF.with_borrow(Vec::len), 2);
        assert_eq!(REF.replace(vec![]), [1, 2]);
        assert!(REF.take().is_empty());
    })
    .join()
    .unwrap();
}
