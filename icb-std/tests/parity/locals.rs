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
    let mut seen = order.lock().unwrap().clone();
    seen.sort();
    assert_eq!(seen, [1, 2]);

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
