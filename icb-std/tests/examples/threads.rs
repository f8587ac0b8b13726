//! The examples of `std::thread`.

use super::s::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use super::s::sync::{Arc, mpsc};
use super::s::thread::{self, Builder};
use super::s::thread_local;
use super::s::time::{Duration, Instant};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

examples! {
    spawn_and_join {
        let child = thread::spawn(|| "some work".len());
        assert_eq!(child.join().unwrap(), 9);
    }
    spawn_with_channels {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || sender.send("Hello, thread".to_owned()).unwrap());
        let reader = thread::spawn(move || receiver.recv().unwrap());
        child.join().unwrap();
        assert_eq!(reader.join().unwrap(), "Hello, thread");
    }
    join_gives_the_panic {
        let error = thread::spawn(|| panic!("expected")).join().unwrap_err();
        assert_eq!(error.downcast_ref::<&str>(), Some(&"expected"));
    }
    builder {
        let child = Builder::new().name("child".to_owned()).spawn(|| thread::current().name().map(str::to_owned));
        assert_eq!(child.unwrap().join().unwrap().as_deref(), Some("child"));
    }
    builder_name_shows_in_the_handle {
        let child = Builder::new().name("foo".into()).spawn(|| ()).unwrap();
        assert_eq!(child.thread().name(), Some("foo"));
        child.join().unwrap();
    }
    builder_stack_size {
        let child = Builder::new().stack_size(512 * 1024).spawn(|| 3).unwrap();
        assert_eq!(child.join().unwrap(), 3);
    }
    builder_spawn_unchecked {
        let x = 1;
        // SAFETY: the thread is joined while `x` lives.
        let child = unsafe { Builder::new().spawn_unchecked(|| x + 1) }.unwrap();
        assert_eq!(child.join().unwrap(), 2);
    }
    builder_spawn_scoped {
        let mut numbers = vec![1, 2, 3];
        thread::scope(|scope| {
            let add = Builder::new().name("first".to_owned()).spawn_scoped(scope, || numbers.push(4));
            add.unwrap().join().unwrap();
        });
        assert_eq!(numbers.len(), 4);
    }
    scope {
        let mut numbers = vec![1, 2, 3];
        let mut x = 0;
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(numbers.len(), 3));
            scope.spawn(|| x += numbers[0] + numbers[2]);
        });
        numbers.push(4);
        assert_eq!(x, numbers.len() as i32);
    }
    scope_join {
        let answer = thread::scope(|scope| scope.spawn(|| 42).join());
        assert_eq!(answer.unwrap(), 42);
        thread::scope(|scope| assert!(scope.spawn(|| panic!("expected")).join().is_err()));
    }
    scope_panics_with_a_thread_that_nobody_joins {
        let result = catch_unwind(|| thread::scope(|scope| _ = scope.spawn(|| panic!("expected"))));
        assert!(result.is_err());
    }
    scoped_threads_spawn_into_their_scope {
        let count = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                scope.spawn(|| count.fetch_add(1, Ordering::Relaxed));
                count.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(count.into_inner(), 2);
    }
    scoped_handle_thread {
        thread::scope(|scope| {
            let child = scope.spawn(|| thread::current().id());
            assert_eq!(child.thread().id(), child.join().unwrap());
        });
    }
    current {
        let child = Builder::new().name("named".into()).spawn(|| {
            let current = thread::current();
            assert_eq!(current.name(), Some("named"));
            current.id()
        });
        assert_ne!(child.unwrap().join().unwrap(), thread::current().id());
    }
    thread_ids_are_different {
        let other = thread::spawn(|| thread::current().id()).join().unwrap();
        assert!(thread::current().id() != other);
    }
    threads_have_no_name_by_default {
        thread::spawn(|| assert!(thread::current().name().is_none())).join().unwrap();
    }
    handle_thread {
        let child = thread::spawn(|| thread::current().id());
        let id = child.thread().id();
        assert_eq!(child.join().unwrap(), id);
    }
    is_finished {
        let child = thread::spawn(|| ());
        while !child.is_finished() {
            thread::yield_now();
        }
        child.join().unwrap();
    }
    park_and_unpark {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let parked = thread::spawn(move || {
            while !theirs.load(Ordering::Acquire) {
                thread::park();
            }
        });
        flag.store(true, Ordering::Release);
        parked.thread().unpark();
        parked.join().unwrap();
    }
    unpark_before_park {
        let child = thread::spawn(|| {
            thread::current().unpark();
            thread::park();
        });
        child.join().unwrap();
    }
    park_timeout {
        let (start, timeout) = (Instant::now(), Duration::from_millis(2));
        let mut remaining = timeout;
        loop {
            thread::park_timeout(remaining);
            let elapsed = start.elapsed();
            if elapsed >= timeout {
                break;
            }
            remaining = timeout - elapsed;
        }
        assert!(start.elapsed() >= timeout);
    }
    sleep {
        let start = Instant::now();
        thread::sleep(Duration::from_millis(2));
        assert!(start.elapsed() >= Duration::from_millis(2));
    }
    #[allow(deprecated, reason = "they have examples")]
    sleep_ms {
        thread::sleep_ms(1);
        thread::park_timeout_ms(1);
    }
    yield_now {
        let done = Arc::new(AtomicBool::new(false));
        let theirs = done.clone();
        let child = thread::spawn(move || theirs.store(true, Ordering::SeqCst));
        while !done.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        child.join().unwrap();
    }
    panicking {
        struct Sees(Arc<AtomicBool>);
        impl Drop for Sees {
            fn drop(&mut self) {
                self.0.store(thread::panicking(), Ordering::Relaxed);
            }
        }
        let seen = Arc::new(AtomicBool::new(false));
        let sees = Sees(seen.clone());
        let result = catch_unwind(AssertUnwindSafe(move || {
            let _sees = sees;
            panic!("expected");
        }));
        assert!(result.is_err() && seen.load(Ordering::Relaxed) && !thread::panicking());
    }
    available_parallelism {
        assert!(thread::available_parallelism().unwrap().get() >= 1);
    }
    local_values_belong_to_threads {
        thread_local!(static FOO: Cell<u32> = const { Cell::new(1) });
        FOO.set(2);
        let child = thread::spawn(|| {
            assert_eq!(FOO.get(), 1);
            FOO.set(3);
        });
        child.join().unwrap();
        assert_eq!(FOO.get(), 2);
    }
    local_values_are_made_at_first_use {
        thread_local!(static LIST: RefCell<Vec<u32>> = RefCell::new(vec![1, 2]));
        thread::spawn(|| LIST.with_borrow_mut(|list| list.push(3))).join().unwrap();
        assert_eq!(LIST.with_borrow(Vec::len), 2);
    }
    local_cell_methods {
        thread_local!(static X: Cell<i32> = panic!("set comes first"));
        thread::spawn(|| {
            X.set(123);
            assert_eq!((X.get(), X.replace(7), X.take(), X.get()), (123, 123, 7, 0));
        })
        .join()
        .unwrap();
    }
    local_ref_cell_methods {
        thread_local!(static X: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) });
        thread::spawn(|| {
            X.set(vec![1, 2, 3]);
            X.with_borrow(|v| assert_eq!(*v, [1, 2, 3]));
            X.with_borrow_mut(|v| v.push(4));
            assert_eq!(X.replace(vec![9]), [1, 2, 3, 4]);
            assert_eq!((X.take(), X.take()), (vec![9], vec![]));
        })
        .join()
        .unwrap();
    }
    local_try_with {
        thread_local!(static X: u32 = const { 5 });
        assert_eq!(X.try_with(|x| *x), Ok(5));
    }
}
