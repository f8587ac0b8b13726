//! The examples of `cell::UnsafeCell`, `time`, `hint`, `task`, `future` and `panic`.

use super::s::cell::UnsafeCell;
use super::s::future::{self, Future, IntoFuture};
use super::s::hint;
use super::s::panic::{self, AssertUnwindSafe};
use super::s::sync::atomic::{AtomicUsize, Ordering};
use super::s::sync::{Arc, Mutex, mpsc};
use super::s::task::{Context, Poll, Wake, Waker, ready};
use super::s::thread;
use super::s::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::pin::{Pin, pin};

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

examples! {
    unsafe_cell_get {
        let cell = UnsafeCell::new(42);
        // SAFETY: nobody else has the cell.
        unsafe { *cell.get() += 1 };
        assert_eq!(cell.into_inner(), 43);
    }
    unsafe_cell_get_mut {
        let mut cell = UnsafeCell::new(5);
        *cell.get_mut() += 1;
        assert_eq!(*cell.get_mut(), 6);
    }
    unsafe_cell_from_mut {
        let mut value = 42;
        let cell = UnsafeCell::from_mut(&mut value);
        *cell.get_mut() -= 1;
        assert_eq!(value, 41);
    }
    unsafe_cell_raw_get {
        let place = std::mem::MaybeUninit::<UnsafeCell<i32>>::uninit();
        // SAFETY: the place is large enough and aligned; it is read after it has been written.
        let value = unsafe {
            UnsafeCell::raw_get(place.as_ptr()).write(5);
            place.assume_init()
        };
        assert_eq!(value.into_inner(), 5);
    }
    a_lock_of_one_s_own {
        struct Locked(Mutex<()>, UnsafeCell<u32>);
        // SAFETY: the cell is used only while the mutex is held.
        unsafe impl Sync for Locked {}
        let shared = Arc::new(Locked(Mutex::new(()), UnsafeCell::new(0)));
        let add = |shared: &Locked| {
            let _guard = shared.0.lock().unwrap();
            // SAFETY: the mutex is held.
            unsafe { *shared.1.get() += 1 };
        };
        let theirs = shared.clone();
        let child = thread::spawn(move || add(&theirs));
        add(&shared);
        child.join().unwrap();
        // SAFETY: nobody else uses the cell any more.
        assert_eq!(unsafe { *shared.1.get() }, 2);
    }
    instant_elapsed {
        let now = Instant::now();
        thread::sleep(Duration::from_millis(2));
        assert!(now.elapsed() >= Duration::from_millis(2));
    }
    instant_duration_since {
        let now = Instant::now();
        thread::sleep(Duration::from_millis(1));
        let later = Instant::now();
        assert!(later.duration_since(now) >= Duration::from_millis(1));
        assert_eq!(now.duration_since(later), Duration::ZERO);
    }
    instant_checked_duration_since {
        let now = Instant::now();
        let later = now + Duration::from_millis(1);
        assert_eq!(later.checked_duration_since(now), Some(Duration::from_millis(1)));
        assert_eq!(now.checked_duration_since(later), None);
    }
    instant_saturating_duration_since {
        let now = Instant::now();
        assert_eq!(now.saturating_duration_since(now + Duration::from_secs(1)), Duration::ZERO);
    }
    instant_arithmetic {
        let now = Instant::now();
        let later = now.checked_add(Duration::from_secs(3)).unwrap();
        assert_eq!(later.checked_sub(Duration::from_secs(3)), Some(now));
        assert_eq!(later - now, Duration::from_secs(3));
    }
    instants_never_go_back {
        let times: Vec<_> = (0..5).map(|_| Instant::now()).collect();
        assert!(times.is_sorted());
    }
    system_time_now {
        assert!(SystemTime::now() > UNIX_EPOCH);
    }
    system_time_duration_since {
        let now = SystemTime::now();
        let later = now + Duration::from_secs(2);
        assert_eq!(later.duration_since(now).unwrap(), Duration::from_secs(2));
        assert_eq!(now.duration_since(later).unwrap_err().duration(), Duration::from_secs(2));
    }
    system_time_elapsed {
        let now = SystemTime::now();
        thread::sleep(Duration::from_millis(2));
        assert!(now.elapsed().unwrap() >= Duration::from_millis(1));
    }
    unix_epoch {
        assert_eq!(UNIX_EPOCH, SystemTime::UNIX_EPOCH);
        assert!(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() > 1_000_000_000);
    }
    spin_loop {
        let live = Arc::new(AtomicUsize::new(0));
        let theirs = live.clone();
        let child = thread::spawn(move || theirs.store(1, Ordering::Release));
        while live.load(Ordering::Acquire) == 0 {
            hint::spin_loop();
        }
        child.join().unwrap();
    }
    black_box {
        assert_eq!(hint::black_box([1, 2]).len(), 2);
    }
    assert_unchecked {
        let value = Some(5);
        // SAFETY: it is.
        unsafe { hint::assert_unchecked(value.is_some()) };
        assert_eq!(value, Some(5));
    }
    waker_noop {
        let mut future = pin!(async { 10 });
        assert_eq!(poll(future.as_mut()), Poll::Ready(10));
    }
    poll_map {
        let length = Poll::Ready("Hello, World!".to_owned()).map(|text| text.len());
        assert_eq!((length, length.is_ready(), Poll::<u8>::Pending.is_pending()), (Poll::Ready(13), true, true));
    }
    ready_macro {
        fn doubled(seen: Poll<u32>) -> Poll<u32> {
            Poll::Ready(ready!(seen) * 2)
        }
        assert_eq!((doubled(Poll::Ready(2)), doubled(Poll::Pending)), (Poll::Ready(4), Poll::Pending));
    }
    future_ready_and_pending {
        assert_eq!(poll(pin!(future::ready(1))), Poll::Ready(1));
        assert_eq!(poll(pin!(future::pending::<u8>())), Poll::Pending);
        assert_eq!(future::ready(2).into_inner(), 2);
    }
    future_poll_fn {
        let mut turns = 0;
        let mut future = pin!(future::poll_fn(move |_| {
            turns += 1;
            if turns == 2 { Poll::Ready("done") } else { Poll::Pending }
        }));
        assert_eq!((poll(future.as_mut()), poll(future.as_mut())), (Poll::Pending, Poll::Ready("done")));
    }
    into_future {
        struct Later(u32);
        impl IntoFuture for Later {
            type Output = u32;
            type IntoFuture = future::Ready<u32>;
            fn into_future(self) -> future::Ready<u32> {
                future::ready(self.0)
            }
        }
        assert_eq!(poll(pin!(Later(3).into_future())), Poll::Ready(3));
    }
    a_thread_that_waits_for_a_future {
        struct Unparks(thread::Thread);
        impl Wake for Unparks {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        struct Shared(Mutex<(bool, Option<Waker>)>);
        let shared = Arc::new(Shared(Mutex::new((false, None))));
        let theirs = shared.clone();
        let child = thread::spawn(move || {
            let mut state = theirs.0.lock().unwrap();
            state.0 = true;
            let waker = state.1.take();
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        });
        let mut future = pin!(future::poll_fn(|context: &mut Context<'_>| {
            let mut state = shared.0.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        }));
        let waker = Arc::new(Unparks(thread::current())).into();
        let mut context = Context::from_waker(&waker);
        while future.as_mut().poll(&mut context).is_pending() {
            thread::park();
        }
        child.join().unwrap();
    }
    catch_unwind {
        assert!(panic::catch_unwind(|| 1).is_ok());
        assert!(panic::catch_unwind(|| panic!("expected")).is_err());
    }
    resume_unwind {
        let payload = panic::catch_unwind(|| panic!("expected")).unwrap_err();
        let again = panic::catch_unwind(AssertUnwindSafe(|| panic::resume_unwind(payload))).unwrap_err();
        assert_eq!(again.downcast_ref::<&str>(), Some(&"expected"));
    }
    assert_unwind_safe {
        let mut variable = 4;
        let result = panic::catch_unwind(AssertUnwindSafe(|| variable += 3));
        assert_eq!((result.is_ok(), variable), (true, 7));
    }
    panic_any {
        let payload = panic::catch_unwind(|| panic::panic_any(5u64)).unwrap_err();
        assert_eq!(payload.downcast_ref::<u64>(), Some(&5));
    }
    a_caller_s_location {
        #[track_caller]
        fn line() -> u32 {
            panic::Location::caller().line()
        }
        assert_eq!(line() + 1, line() + 1);
    }
    a_thread_reports_a_panic_by_its_channel {
        let (sender, receiver) = mpsc::channel();
        let child = thread::spawn(move || {
            let result = panic::catch_unwind(|| panic!("expected"));
            sender.send(result.is_err()).unwrap();
        });
        assert_eq!(receiver.recv(), Ok(true));
        child.join().unwrap();
    }
}
