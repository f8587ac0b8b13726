//! The atomic types.

use super::s::sync::Arc;
use super::s::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::s::sync::atomic::*;
use super::s::thread;
use std::panic::catch_unwind;

pub(crate) fn integers() {
    macro_rules! check {
        ($($atomic:ident $value:ident)*) => { $( {
            let a = $atomic::new(5);
            assert_eq!(a.load(SeqCst), 5);
            a.store(7, Release);
            assert_eq!(a.swap(3, AcqRel), 7);
            assert_eq!(a.compare_exchange(3, 4, AcqRel, Acquire), Ok(3));
            assert_eq!(a.compare_exchange(3, 9, SeqCst, Relaxed), Err(4));
            while a.compare_exchange_weak(4, 6, SeqCst, SeqCst).is_err() {}
            assert_eq!(a.fetch_add($value::MAX, Relaxed), 6);
            assert_eq!(a.load(Acquire), (6 as $value).wrapping_add($value::MAX));
            assert_eq!(a.fetch_sub(5, Relaxed), (6 as $value).wrapping_add($value::MAX));
            a.store(0b1100, Relaxed);
            assert_eq!(a.fetch_and(0b0110, SeqCst), 0b1100);
            assert_eq!(a.fetch_or(0b0011, SeqCst), 0b0100);
            assert_eq!(a.fetch_xor(0b0001, SeqCst), 0b0111);
            assert_eq!(a.fetch_nand(0b0010, SeqCst), 0b0110);
            assert_eq!(a.load(SeqCst), !0b0010);
            a.store(10, SeqCst);
            assert_eq!(a.fetch_max(20, SeqCst), 10);
            assert_eq!(a.fetch_min(15, SeqCst), 20);
            assert_eq!(format!("{a:?} {:?}", $atomic::default()), "15 0");
            #[allow(deprecated, reason = "it is mirrored too")]
            {
                assert_eq!(a.compare_and_swap(15, 16, AcqRel), 15);
            }
            let mut a = $atomic::from(1);
            *a.get_mut() += 1;
            // SAFETY: nobody else has the variable.
            assert_eq!(unsafe { a.as_ptr().read() }, 2);
            assert_eq!(a.into_inner(), 2);
            let mut value: $value = 8;
            // SAFETY: the variable is aligned for its own size and nobody else has it.
            assert_eq!(unsafe { $atomic::from_ptr(&raw mut value) }.fetch_add(1, SeqCst), 8);
            assert_eq!(value, 9);
        } )* };
    }
    check! {
        AtomicI8 i8 AtomicU8 u8 AtomicI16 i16 AtomicU16 u16 AtomicI32 i32 AtomicU32 u32 AtomicI64 i64
        AtomicU64 u64 AtomicIsize isize AtomicUsize usize
    }
    let a = AtomicI8::new(-5);
    assert_eq!((a.fetch_max(-3, SeqCst), a.fetch_min(-9, SeqCst), a.load(SeqCst)), (-5, -3, -9));
}

pub(crate) fn booleans() {
    let a = AtomicBool::new(true);
    assert!(a.fetch_and(false, SeqCst) && !a.fetch_or(true, SeqCst) && a.fetch_nand(true, SeqCst));
    assert!(!a.fetch_xor(true, SeqCst) && a.fetch_not(SeqCst) && !a.swap(true, SeqCst));
    assert_eq!(a.compare_exchange(true, false, SeqCst, SeqCst), Ok(true));
    assert_eq!(format!("{a:?} {:?}", AtomicBool::from(true)), "false true");
    assert!(!AtomicBool::default().into_inner());
    #[allow(deprecated, reason = "it is mirrored too")]
    let (old, _, _) = (ATOMIC_BOOL_INIT, ATOMIC_ISIZE_INIT, ATOMIC_USIZE_INIT);
    assert!(!old.load(SeqCst));
}

pub(crate) fn pointers() {
    let mut array = [1u32, 2, 3];
    let base = array.as_mut_ptr();
    let a = AtomicPtr::new(base);
    assert_eq!(a.fetch_ptr_add(2, SeqCst), base);
    // SAFETY: it points into the array.
    assert_eq!(unsafe { *a.load(SeqCst) }, 3);
    assert_eq!(a.fetch_ptr_sub(1, SeqCst), base.wrapping_add(2));
    assert_eq!(a.fetch_byte_add(1, SeqCst), base.wrapping_add(1));
    assert_eq!(a.fetch_byte_sub(1, SeqCst), base.wrapping_add(1).wrapping_byte_add(1));
    assert_eq!(a.fetch_or(1, SeqCst), base.wrapping_add(1));
    assert_eq!(a.fetch_and(!1, SeqCst), base.wrapping_add(1).wrapping_byte_add(1));
    assert_eq!(a.fetch_xor(0, SeqCst), base.wrapping_add(1));
    assert_eq!(format!("{a:?} {a:p}"), format!("{:?} {:p}", base.wrapping_add(1), base.wrapping_add(1)));
    assert_eq!(a.swap(std::ptr::null_mut(), SeqCst), base.wrapping_add(1));
    assert!(AtomicPtr::<u8>::default().into_inner().is_null());
}

#[allow(invalid_atomic_ordering, reason = "that they panic is what is checked")]
pub(crate) fn orderings() {
    let cases: [(&str, fn()); 7] = [
        ("there is no such thing as a release load", || _ = AtomicU8::new(0).load(Release)),
        ("there is no such thing as an acquire-release load", || _ = AtomicU8::new(0).load(AcqRel)),
        ("there is no such thing as an acquire store", || AtomicU8::new(0).store(0, Acquire)),
        ("there is no such thing as an acquire-release store", || AtomicU8::new(0).store(0, AcqRel)),
        ("there is no such thing as a release failure ordering", || {
            let _ = AtomicU8::new(0).compare_exchange(0, 0, SeqCst, Release);
        }),
        ("there is no such thing as an acquire-release failure ordering", || {
            let _ = AtomicU8::new(0).compare_exchange_weak(0, 0, SeqCst, AcqRel);
        }),
        ("there is no such thing as a relaxed fence", || fence(Relaxed)),
    ];
    for (expected, case) in cases {
        let payload = catch_unwind(case).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&expected));
    }
    for order in [Acquire, Release, AcqRel, SeqCst] {
        fence(order);
        compiler_fence(order);
    }
}

#[allow(deprecated, reason = "later versions of std would have it called `try_update`")]
pub(crate) fn updates() {
    let a = AtomicU32::new(1);
    assert_eq!(a.fetch_update(SeqCst, Relaxed, |x| (x < 2).then_some(x + 1)), Ok(1));
    assert_eq!(a.fetch_update(SeqCst, Relaxed, |x| (x < 2).then_some(x + 1)), Err(2));
    assert_eq!(a.try_update(AcqRel, Acquire, |x| Some(x * 5)), Ok(2));
    assert_eq!(a.update(Release, Relaxed, |x| x - 1), 10);
    assert_eq!(a.into_inner(), 9);
}

#[allow(deprecated, reason = "it is mirrored too")]
pub(crate) fn hints() {
    spin_loop_hint();
    compiler_fence(SeqCst);
}

pub(crate) fn layout() {
    assert_eq!((size_of::<AtomicU8>(), align_of::<AtomicU64>()), (1, 8));
    assert_eq!(size_of::<Option<AtomicPtr<u8>>>(), size_of::<Option<std::sync::atomic::AtomicPtr<u8>>>());
    // SAFETY: atomics are valid when zeroed.
    let zeroed: [AtomicUsize; 2] = unsafe { std::mem::zeroed() };
    assert_eq!(zeroed[1].fetch_add(1, SeqCst), 0);
    let value: usize = 3;
    let real = std::sync::atomic::AtomicUsize::new(value);
    // SAFETY: the layouts are the same.
    let seen: &AtomicUsize = unsafe { &*(&raw const real).cast() };
    assert_eq!(seen.load(SeqCst), 3);
}

pub(crate) fn message_passing() {
    let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
    let other = shared.clone();
    let child = thread::spawn(move || {
        other.0.store(42, Relaxed);
        other.1.store(true, Release);
    });
    if shared.1.load(Acquire) {
        assert_eq!(shared.0.load(Relaxed), 42);
    }
    child.join().unwrap();
    assert_eq!(shared.0.load(Relaxed), 42);
}
