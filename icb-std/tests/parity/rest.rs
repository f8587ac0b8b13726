//! Cells, time, hints, tasks, and what is re-exported.

use super::s;
use super::s::cell::UnsafeCell;
use super::s::sync::Arc;
use super::s::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::task::{Context, Poll, Waker};

pub(crate) fn cells() {
    let mut cell = UnsafeCell::new(1);
    // SAFETY: nobody else has the cell.
    unsafe { *cell.get() += 1 };
    *cell.get_mut() += 1;
    assert_eq!(format!("{cell:?}"), "UnsafeCell { .. }");
    assert_eq!(cell.into_inner(), 3);
    let mut value = 4;
    let cell = UnsafeCell::from_mut(&mut value);
    // SAFETY: as above.
    assert_eq!(unsafe { *UnsafeCell::raw_get(cell) }, 4);
    assert_eq!(size_of::<UnsafeCell<u8>>(), 1);
    let cell: &UnsafeCell<[u8]> = &UnsafeCell::new([1, 2]);
    // SAFETY: as above.
    assert_eq!(unsafe { (&(*cell.get())).len() }, 2);
    assert_eq!(UnsafeCell::<u8>::from(3).into_inner() + UnsafeCell::<u8>::default().into_inner(), 3);
}

pub(crate) fn time() {
    let start = Instant::now();
    s::thread::sleep(Duration::from_millis(3));
    assert!(start.elapsed() >= Duration::from_millis(3) && Instant::now() > start);
    assert_eq!(start.checked_duration_since(start + Duration::from_secs(1)), None);
    assert_eq!((start + Duration::from_secs(2)).duration_since(start), Duration::from_secs(2));
    let second = Duration::from_secs(1);
    assert_eq!(start.saturating_duration_since(start + second), Duration::ZERO);
    assert_eq!(start.checked_add(second).unwrap().checked_sub(second), Some(start));
    assert_eq!(start.checked_add(Duration::MAX), None);
    assert_eq!(UNIX_EPOCH.checked_add(second).unwrap().checked_sub(second), Some(UNIX_EPOCH));
    assert_eq!(UNIX_EPOCH.checked_add(Duration::MAX), None);
    let mut later = start;
    later += Duration::from_secs(1);
    later -= Duration::from_millis(500);
    assert_eq!(later - start, Duration::from_millis(500));
    assert!(SystemTime::now().duration_since(UNIX_EPOCH).unwrap() > Duration::from_secs(1_600_000_000));
    let error = UNIX_EPOCH.duration_since(UNIX_EPOCH + Duration::from_secs(1)).unwrap_err();
    assert_eq!(error.duration(), Duration::from_secs(1));
    assert!(format!("{start:?}").starts_with("Instant"));
}

pub(crate) fn pauses() {
    s::hint::spin_loop();
    s::thread::yield_now();
    assert_eq!(s::hint::black_box(3), 3);
    #[allow(deprecated, reason = "they are mirrored too")]
    {
        s::sync::atomic::spin_loop_hint();
        s::thread::sleep_ms(1);
        s::thread::park_timeout_ms(1);
    }
}

pub(crate) fn tasks() {
    let waker = Waker::noop();
    let mut context = Context::from_waker(waker);
    let mut future = std::pin::pin!(async { 3 });
    assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(3));
    let _: Option<s::task::Poll<u8>> = None;
}

pub(crate) fn names() {
    let _: s::vec::Vec<u8> = s::vec![1];
    let _: s::collections::HashMap<u8, u8> = s::collections::HashMap::new();
    let _: s::cell::RefCell<u8> = s::cell::RefCell::new(1);
    let _: s::sync::LockResult<u8> = Ok(1);
    let _: s::thread::Result<u8> = Ok(1);
    let _: s::prelude::v1::Option<u8> = None;
    let _: s::prelude::rust_2024::Option<u8> = None;
    mod edition_2015 {
        use super::s::prelude::rust_2015::{Some, ToString};
        pub(super) fn text() -> Option<std::string::String> {
            Some(1.to_string())
        }
    }
    mod edition_2018 {
        use super::s::prelude::rust_2018::{Box, Drop};
        pub(super) struct Two(pub(super) Box<u8>);
        impl Drop for Two {
            fn drop(&mut self) {
                *self.0 += 1;
            }
        }
    }
    mod edition_2021 {
        use super::s::prelude::rust_2021::{FromIterator, TryFrom, TryInto};
        pub(super) fn number() -> Result<u8, std::num::TryFromIntError> {
            let all: Vec<u32> = FromIterator::from_iter([3]);
            u8::try_from(all[0]).and(all[0].try_into())
        }
    }
    mod edition_2024 {
        use super::s::prelude::rust_2024::{Future, IntoFuture};
        pub(super) fn into<F: Future>(future: F) -> F {
            future.into_future()
        }
    }
    assert_eq!(edition_2015::text().as_deref(), Some("1"));
    drop(edition_2018::Two(s::boxed::Box::new(2)));
    assert_eq!(edition_2021::number(), Ok(3));
    drop(edition_2024::into(async {}));
    s::assert_eq!(s::format!("{}", s::stringify!(a)), s::concat!("", "a"));
    let shared: s::boxed::Box<Arc<u8>> = s::boxed::Box::new(Arc::new(1));
    s::assert_eq!(**shared, 1);
    let _: s::alloc::Layout = s::alloc::Layout::new::<u8>();
    let _: s::pin::Pin<&u8> = s::pin::Pin::new(&1);
}
