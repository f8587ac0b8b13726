//! The examples of `Once`, `OnceLock`, `LazyLock`.

use super::s::sync::atomic::{AtomicUsize, Ordering};
use super::s::sync::{LazyLock, Mutex, Once, OnceLock, OnceState};
use super::s::thread;
use std::panic::{AssertUnwindSafe, catch_unwind};

examples! {
    once_runs_once {
        static START: Once = Once::new();
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        let begin = || START.call_once(|| _ = CALLS.fetch_add(1, Ordering::Relaxed));
        let child = thread::spawn(begin);
        begin();
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        child.join().unwrap();
    }
    once_call_once_force {
        static INIT: Once = Once::new();
        let child = thread::spawn(|| INIT.call_once(|| panic!("expected")));
        assert!(child.join().is_err());
        assert!(thread::spawn(|| INIT.call_once(|| ())).join().is_err());
        INIT.call_once_force(|state| assert!(state.is_poisoned()));
        INIT.call_once(|| unreachable!("it is complete"));
    }
    once_is_completed {
        static INIT: Once = Once::new();
        assert!(!INIT.is_completed());
        INIT.call_once(|| assert!(!INIT.is_completed()));
        assert!(INIT.is_completed());
    }
    once_is_not_completed_by_a_panic {
        static INIT: Once = Once::new();
        assert!(thread::spawn(|| INIT.call_once(|| panic!("expected"))).join().is_err());
        assert!(!INIT.is_completed());
    }
    once_wait {
        static READY: Once = Once::new();
        let child = thread::spawn(|| READY.wait());
        READY.call_once(|| ());
        child.join().unwrap();
    }
    once_wait_force {
        static READY: Once = Once::new();
        let child = thread::spawn(|| READY.wait_force());
        READY.call_once_force(|_| ());
        child.join().unwrap();
    }
    once_state {
        let once = Once::new();
        once.call_once_force(|state: &OnceState| assert!(!state.is_poisoned()));
    }
    once_lock_as_a_static {
        static NUMBERS: OnceLock<Vec<u32>> = OnceLock::new();
        assert!(NUMBERS.get().is_none());
        let child = thread::spawn(|| NUMBERS.get_or_init(|| vec![1, 2]).len());
        assert_eq!(child.join().unwrap(), 2);
        assert_eq!(NUMBERS.get().map(Vec::len), Some(2));
    }
    once_lock_in_a_struct {
        struct Config {
            text: &'static str,
            length: OnceLock<usize>,
        }
        let config = Config { text: "abc", length: OnceLock::new() };
        let length = || *config.length.get_or_init(|| config.text.len());
        assert_eq!((length(), length()), (3, 3));
    }
    once_lock_wait {
        static VALUE: OnceLock<usize> = OnceLock::new();
        let child = thread::spawn(|| VALUE.set(1));
        assert_eq!(*VALUE.wait(), 1);
        assert_eq!(child.join().unwrap(), Ok(()));
    }
    once_lock_set {
        static CELL: OnceLock<i32> = OnceLock::new();
        assert!(CELL.get().is_none());
        let child = thread::spawn(|| assert_eq!(CELL.set(92), Ok(())));
        child.join().unwrap();
        assert_eq!((CELL.set(62), CELL.get()), (Err(62), Some(&92)));
    }
    once_lock_get_or_init {
        let cell = OnceLock::new();
        assert_eq!(cell.get_or_init(|| 92), &92);
        assert_eq!(cell.get_or_init(|| unreachable!("it has a value")), &92);
    }
    once_lock_into_inner {
        assert_eq!(OnceLock::<String>::new().into_inner(), None);
        let cell = OnceLock::new();
        cell.set("hello".to_owned()).unwrap();
        assert_eq!(cell.into_inner().as_deref(), Some("hello"));
    }
    once_lock_take {
        let mut cell = OnceLock::new();
        assert_eq!(cell.take(), None);
        cell.set("hello".to_owned()).unwrap();
        assert_eq!((cell.take().as_deref(), cell.get()), (Some("hello"), None));
    }
    once_lock_get_mut {
        let mut cell = OnceLock::from(1);
        *cell.get_mut().unwrap() = 2;
        assert_eq!(cell.get(), Some(&2));
    }
    once_lock_from_and_default {
        let (one, two) = (OnceLock::from(3), OnceLock::new());
        two.set(3).unwrap();
        assert_eq!(one, two);
        assert_eq!(OnceLock::<u8>::default(), OnceLock::new());
    }
    lazy_lock_as_a_static {
        static MAP: LazyLock<Mutex<Vec<u32>>> = LazyLock::new(|| Mutex::new(vec![1]));
        let child = thread::spawn(|| MAP.lock().unwrap().push(2));
        MAP.lock().unwrap().push(3);
        child.join().unwrap();
        assert_eq!(MAP.lock().unwrap().len(), 3);
    }
    lazy_lock_in_a_struct {
        struct Uses {
            number: LazyLock<u32>,
        }
        let uses = Uses { number: LazyLock::new(|| 42) };
        assert_eq!(*uses.number, 42);
    }
    lazy_lock_force {
        let lazy = LazyLock::new(|| 92);
        assert_eq!((LazyLock::force(&lazy), &*lazy), (&92, &92));
    }
    lazy_lock_force_mut {
        let mut lazy = LazyLock::new(|| 92);
        *LazyLock::force_mut(&mut lazy) = 44;
        assert_eq!(*lazy, 44);
    }
    lazy_lock_get {
        let mut lazy = LazyLock::new(|| 92);
        assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none());
        LazyLock::force(&lazy);
        *LazyLock::get_mut(&mut lazy).unwrap() = 44;
        assert_eq!(LazyLock::get(&lazy), Some(&44));
    }
    lazy_lock_is_poisoned_by_a_panic {
        let lazy = LazyLock::new(|| -> u32 { panic!("expected") });
        let force = || catch_unwind(AssertUnwindSafe(|| *lazy)).is_err();
        assert!(force() && force());
    }
}
