//! Once, OnceLock, LazyLock.

use super::s::sync::{Arc, LazyLock, Once, OnceLock};
use super::s::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn message(result: std::thread::Result<()>) -> String {
    let payload = result.unwrap_err();
    match payload.downcast::<&str>() {
        Ok(text) => text.to_string(),
        Err(payload) => *payload.downcast::<String>().unwrap(),
    }
}

pub(crate) fn call_once() {
    static ONCE: Once = Once::new();
    let once = Once::new();
    let mut count = 0;
    assert!(!once.is_completed());
    once.call_once(|| count += 1);
    once.call_once(|| count += 1);
    assert!(once.is_completed());
    once.wait();
    once.wait_force();
    assert_eq!(count, 1);
    ONCE.call_once_force(|state| assert!(!state.is_poisoned()));
    assert!(ONCE.is_completed());
}

pub(crate) fn poisoned_once() {
    let once = Once::new();
    let result = catch_unwind(AssertUnwindSafe(|| once.call_once(|| panic!("expected"))));
    assert_eq!(message(result), "expected");
    assert!(!once.is_completed());
    let result = catch_unwind(AssertUnwindSafe(|| once.call_once(|| unreachable!())));
    assert_eq!(message(result), "Once instance has previously been poisoned");
    let result = catch_unwind(AssertUnwindSafe(|| once.wait()));
    assert_eq!(message(result), "Once instance has previously been poisoned");
    once.call_once_force(|state| {
        assert!(state.is_poisoned());
        assert_eq!(format!("{state:?}"), "OnceState { poisoned: true }");
    });
    once.call_once(|| unreachable!());
    assert!(once.is_completed());
}

pub(crate) fn once_lock() {
    static CELL: OnceLock<String> = OnceLock::new();
    assert_eq!(CELL.get_or_init(|| "a".to_owned()), "a");
    assert_eq!(CELL.get().map(String::as_str), Some("a"));
    let mut cell = OnceLock::new();
    assert_eq!(cell.get(), None);
    assert_eq!(cell.set(1), Ok(()));
    assert_eq!(cell.set(2), Err(2));
    assert_eq!((cell.get(), cell.wait()), (Some(&1), &1));
    *cell.get_mut().unwrap() += 1;
    assert_eq!(cell.clone(), cell);
    assert_eq!(cell.take(), Some(2));
    assert!(cell.get().is_none() && cell.take().is_none());
    assert_eq!(*cell.get_or_init(|| 5), 5);
    assert_eq!(cell.into_inner(), Some(5));
    assert_eq!(OnceLock::from(3).get(), Some(&3));
    assert_eq!(OnceLock::<u8>::default().into_inner(), None);
}

pub(crate) fn once_lock_panics() {
    let cell = OnceLock::new();
    let result = catch_unwind(AssertUnwindSafe(|| {
        cell.get_or_init(|| panic!("expected"));
    }));
    assert_eq!(message(result), "expected");
    assert_eq!(cell.get(), None);
    assert_eq!(cell.set(4), Ok(()));
    assert_eq!(cell.get(), Some(&4));
}

pub(crate) fn lazy_lock() {
    static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2, 3]);
    assert_eq!(LAZY.iter().sum::<u32>(), 6);
    let mut lazy = LazyLock::new(|| 1);
    assert_eq!(LazyLock::get(&lazy), None);
    assert_eq!(*LazyLock::force(&lazy), 1);
    assert_eq!(LazyLock::get(&lazy), Some(&1));
    *LazyLock::get_mut(&mut lazy).unwrap() = 2;
    *lazy += 1;
    assert_eq!(*lazy, 3);
    let mut lazy = LazyLock::new(|| 7);
    assert_eq!(LazyLock::get_mut(&mut lazy), None);
    assert_eq!(*LazyLock::force_mut(&mut lazy), 7);
    assert_eq!(*LazyLock::<u8>::default(), 0);
}

pub(crate) fn lazy_lock_poisoned() {
    let lazy: LazyLock<u32> = LazyLock::new(|| panic!("expected"));
    let force = || {
        catch_unwind(AssertUnwindSafe(|| {
            LazyLock::force(&lazy);
        }))
    };
    assert_eq!(message(force()), "expected");
    assert_eq!(message(force()), "LazyLock instance has previously been poisoned");
    assert_eq!(LazyLock::get(&lazy), None);
}

pub(crate) fn formats() {
    let cell = OnceLock::new();
    assert_eq!(format!("{cell:?}"), "OnceLock(<uninit>)");
    cell.set(1).unwrap();
    assert_eq!(format!("{cell:?}"), "OnceLock(1)");
    let lazy = LazyLock::new(|| 1);
    assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
    LazyLock::force(&lazy);
    assert_eq!(format!("{lazy:?} {:?}", Once::new()), "LazyLock(1) Once { .. }");
}

pub(crate) fn racing() {
    let cell = Arc::new(OnceLock::new());
    let other = cell.clone();
    let child = thread::spawn(move || *other.get_or_init(|| 1));
    let mine = *cell.get_or_init(|| 2);
    assert_eq!(child.join().unwrap(), mine);
    static LAZY: LazyLock<Box<u32>> = LazyLock::new(|| Box::new(9));
    let child = thread::spawn(|| **LAZY);
    assert_eq!(**LAZY + child.join().unwrap(), 18);
}
