//! The examples of `std::sync::atomic`.

use super::s::hint;
use super::s::sync::Arc;
use super::s::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::s::sync::atomic::*;
use super::s::thread;
use std::ptr;

examples! {
    a_flag_that_is_spun_on {
        let taken = Arc::new(AtomicUsize::new(1));
        let theirs = taken.clone();
        let child = thread::spawn(move || theirs.store(0, Release));
        while taken.load(Acquire) != 0 {
            hint::spin_loop();
        }
        child.join().unwrap();
    }
    a_count_of_threads {
        static LIVE: AtomicUsize = AtomicUsize::new(0);
        let before = LIVE.fetch_add(1, Relaxed);
        assert_eq!((before, LIVE.fetch_sub(1, Relaxed)), (0, 1));
    }
    bool_new {
        let (yes, no) = (AtomicBool::new(true), AtomicBool::new(false));
        assert!(yes.into_inner() && !no.into_inner());
    }
    bool_from_ptr {
        let pointer = Box::into_raw(Box::new(false));
        // SAFETY: the pointer is valid and nobody else uses it; the box is made anew once.
        let value = unsafe {
            AtomicBool::from_ptr(pointer).store(true, Relaxed);
            *Box::from_raw(pointer)
        };
        assert!(value);
    }
    bool_get_mut {
        let mut flag = AtomicBool::new(true);
        assert!(*flag.get_mut());
        *flag.get_mut() = false;
        assert!(!flag.load(SeqCst));
    }
    bool_load_and_store {
        let flag = AtomicBool::new(true);
        assert!(flag.load(Relaxed));
        flag.store(false, Relaxed);
        assert!(!flag.load(Relaxed));
    }
    bool_swap {
        let flag = AtomicBool::new(true);
        assert!(flag.swap(false, Relaxed) && !flag.load(Relaxed));
    }
    #[allow(deprecated, reason = "it has an example")]
    bool_compare_and_swap {
        let flag = AtomicBool::new(true);
        assert!(flag.compare_and_swap(true, false, Relaxed));
        assert!(!flag.compare_and_swap(true, true, Relaxed) && !flag.load(Relaxed));
    }
    bool_compare_exchange {
        let flag = AtomicBool::new(true);
        assert_eq!(flag.compare_exchange(true, false, Acquire, Relaxed), Ok(true));
        assert_eq!(flag.compare_exchange(true, true, SeqCst, Acquire), Err(false));
    }
    bool_compare_exchange_weak {
        let flag = AtomicBool::new(false);
        let mut old = flag.load(Relaxed);
        while let Err(seen) = flag.compare_exchange_weak(old, true, SeqCst, Relaxed) {
            old = seen;
        }
        assert!(flag.load(SeqCst));
    }
    bool_fetch_and {
        for (first, second) in [(true, false), (true, true), (false, false), (false, true)] {
            let flag = AtomicBool::new(first);
            assert_eq!((flag.fetch_and(second, SeqCst), flag.load(SeqCst)), (first, first && second));
        }
    }
    bool_fetch_nand {
        for (first, second) in [(true, false), (true, true), (false, false)] {
            let flag = AtomicBool::new(first);
            assert_eq!((flag.fetch_nand(second, SeqCst), flag.load(SeqCst)), (first, !(first && second)));
        }
    }
    bool_fetch_or {
        for (first, second) in [(true, false), (true, true), (false, false)] {
            let flag = AtomicBool::new(first);
            assert_eq!((flag.fetch_or(second, SeqCst), flag.load(SeqCst)), (first, first || second));
        }
    }
    bool_fetch_xor {
        for (first, second) in [(true, false), (true, true), (false, false)] {
            let flag = AtomicBool::new(first);
            assert_eq!((flag.fetch_xor(second, SeqCst), flag.load(SeqCst)), (first, first ^ second));
        }
    }
    bool_fetch_not {
        let flag = AtomicBool::new(true);
        assert!(flag.fetch_not(SeqCst) && !flag.fetch_not(SeqCst) && flag.load(SeqCst));
    }
    #[allow(deprecated, reason = "later versions of std would have it called `try_update`")]
    bool_fetch_update {
        let flag = AtomicBool::new(false);
        assert_eq!(flag.fetch_update(SeqCst, SeqCst, |_| None), Err(false));
        assert_eq!(flag.fetch_update(SeqCst, SeqCst, |old| Some(!old)), Ok(false));
        assert_eq!(flag.fetch_update(SeqCst, SeqCst, |old| Some(!old)), Ok(true));
        assert!(!flag.load(SeqCst));
    }
    bool_as_ptr {
        let flag = AtomicBool::new(true);
        // SAFETY: nobody else has the variable.
        assert!(unsafe { *flag.as_ptr() });
    }
    pointer_new_and_load {
        let mut five = 5;
        let pointer = AtomicPtr::new(&raw mut five);
        assert_eq!(pointer.load(Relaxed), &raw mut five);
    }
    pointer_get_mut {
        let (mut ten, mut five) = (10, 5);
        let mut pointer = AtomicPtr::new(&raw mut ten);
        *pointer.get_mut() = &raw mut five;
        // SAFETY: it points to the variable above.
        assert_eq!(unsafe { *pointer.load(SeqCst) }, 5);
    }
    pointer_store_and_swap {
        let (mut one, mut two) = (1, 2);
        let pointer = AtomicPtr::new(ptr::null_mut());
        pointer.store(&raw mut one, Relaxed);
        assert_eq!(pointer.swap(&raw mut two, Relaxed), &raw mut one);
        assert_eq!(pointer.into_inner(), &raw mut two);
    }
    pointer_compare_exchange {
        let (mut one, mut two) = (1, 2);
        let pointer = AtomicPtr::new(&raw mut one);
        assert!(pointer.compare_exchange(&raw mut two, ptr::null_mut(), SeqCst, Relaxed).is_err());
        assert!(pointer.compare_exchange(&raw mut one, &raw mut two, SeqCst, Relaxed).is_ok());
    }
    pointer_compare_exchange_weak {
        let (mut one, mut two) = (1, 2);
        let pointer = AtomicPtr::new(&raw mut one);
        let mut old = pointer.load(Relaxed);
        while let Err(seen) = pointer.compare_exchange_weak(old, &raw mut two, SeqCst, Relaxed) {
            old = seen;
        }
        assert_eq!(pointer.load(SeqCst), &raw mut two);
    }
    #[allow(deprecated, reason = "later versions of std would have it called `try_update`")]
    pointer_fetch_update {
        let (mut one, mut two) = (1, 2);
        let (first, second) = (&raw mut one, &raw mut two);
        let pointer = AtomicPtr::new(first);
        assert_eq!(pointer.fetch_update(SeqCst, SeqCst, |_| None), Err(first));
        let next = |seen| (seen == first).then_some(second);
        assert_eq!(pointer.fetch_update(SeqCst, SeqCst, next), Ok(first));
        assert_eq!(pointer.load(SeqCst), second);
    }
    integer_new_and_into_inner {
        const ZERO: usize = AtomicUsize::new(0).into_inner();
        assert_eq!((ZERO, AtomicI64::new(-5).into_inner()), (0, -5));
    }
    integer_from_ptr {
        let pointer = Box::into_raw(Box::new(0u64));
        // SAFETY: the pointer is valid and aligned for `u64`, nobody else uses it, and the box is made anew once.
        let value = unsafe {
            AtomicU64::from_ptr(pointer).fetch_add(3, Relaxed);
            *Box::from_raw(pointer)
        };
        assert_eq!(value, 3);
    }
    integer_get_mut {
        let mut number = AtomicI32::new(10);
        *number.get_mut() = 5;
        assert_eq!(number.load(SeqCst), 5);
    }
    integer_load_and_store {
        let number = AtomicIsize::new(5);
        number.store(10, Relaxed);
        assert_eq!(number.load(Relaxed), 10);
    }
    integer_swap {
        let number = AtomicU8::new(5);
        assert_eq!((number.swap(10, Relaxed), number.load(SeqCst)), (5, 10));
    }
    #[allow(deprecated, reason = "it has an example")]
    integer_compare_and_swap {
        let number = AtomicU16::new(5);
        assert_eq!((number.compare_and_swap(5, 10, Relaxed), number.load(Relaxed)), (5, 10));
        assert_eq!((number.compare_and_swap(6, 12, Relaxed), number.load(Relaxed)), (10, 10));
    }
    integer_compare_exchange {
        let number = AtomicUsize::new(5);
        assert_eq!(number.compare_exchange(5, 10, Acquire, Relaxed), Ok(5));
        assert_eq!(number.compare_exchange(6, 12, SeqCst, Acquire), Err(10));
        assert_eq!(number.load(Relaxed), 10);
    }
    integer_compare_exchange_weak {
        let number = AtomicI8::new(4);
        let mut old = number.load(Relaxed);
        while let Err(seen) = number.compare_exchange_weak(old, old * 2, SeqCst, Relaxed) {
            old = seen;
        }
        assert_eq!(number.load(Relaxed), 8);
    }
    integer_fetch_add_and_sub {
        let number = AtomicU32::new(0);
        assert_eq!((number.fetch_add(10, SeqCst), number.fetch_sub(4, SeqCst)), (0, 10));
        assert_eq!(number.load(SeqCst), 6);
    }
    integer_fetch_add_wraps {
        let number = AtomicU8::new(250);
        assert_eq!((number.fetch_add(10, SeqCst), number.load(SeqCst)), (250, 4));
    }
    integer_fetch_bits {
        let number = AtomicU8::new(0b101101);
        assert_eq!(number.fetch_and(0b110011, SeqCst), 0b101101);
        assert_eq!(number.fetch_or(0b000110, SeqCst), 0b100001);
        assert_eq!(number.fetch_xor(0b000111, SeqCst), 0b100111);
        assert_eq!(number.load(SeqCst), 0b100000);
    }
    integer_fetch_nand {
        let number = AtomicI32::new(0x13);
        assert_eq!((number.fetch_nand(0x31, SeqCst), number.load(SeqCst)), (0x13, !(0x13 & 0x31)));
    }
    integer_fetch_max {
        let number = AtomicI32::new(23);
        assert_eq!((number.fetch_max(22, SeqCst), number.fetch_max(42, SeqCst)), (23, 23));
        assert_eq!(number.load(SeqCst), 42);
    }
    integer_fetch_min {
        let number = AtomicI32::new(23);
        assert_eq!((number.fetch_min(42, Relaxed), number.fetch_min(22, Relaxed)), (23, 23));
        assert_eq!(number.load(Relaxed).min(12), 12);
    }
    #[allow(deprecated, reason = "later versions of std would have it called `try_update`")]
    integer_fetch_update {
        let number = AtomicUsize::new(7);
        assert_eq!(number.fetch_update(SeqCst, SeqCst, |_| None), Err(7));
        assert_eq!(number.fetch_update(SeqCst, SeqCst, |x| Some(x + 1)), Ok(7));
        assert_eq!(number.load(SeqCst), 8);
    }
    integer_try_update_and_update {
        let number = AtomicUsize::new(7);
        assert_eq!(number.try_update(SeqCst, SeqCst, |x| x.checked_sub(8)), Err(7));
        assert_eq!((number.update(AcqRel, Relaxed, |x| x + 1), number.load(SeqCst)), (7, 8));
    }
    a_fence_makes_a_lock {
        struct Lock(AtomicBool);
        impl Lock {
            fn lock(&self) {
                while self.0.compare_exchange_weak(false, true, Relaxed, Relaxed).is_err() {
                    hint::spin_loop();
                }
                fence(Acquire);
            }
            fn unlock(&self) {
                self.0.store(false, Release);
            }
        }
        let shared = Arc::new((Lock(AtomicBool::new(false)), AtomicU32::new(0)));
        let theirs = shared.clone();
        let add = |shared: &(Lock, AtomicU32)| {
            shared.0.lock();
            shared.1.store(shared.1.load(Relaxed) + 1, Relaxed);
            shared.0.unlock();
        };
        let child = thread::spawn(move || add(&theirs));
        add(&shared);
        child.join().unwrap();
        assert_eq!(shared.1.load(Relaxed), 2);
    }
    a_fence_publishes {
        static DATA: AtomicUsize = AtomicUsize::new(0);
        static READY: AtomicBool = AtomicBool::new(false);
        let child = thread::spawn(|| {
            DATA.store(100, Relaxed);
            fence(Release);
            READY.store(true, Relaxed);
        });
        if READY.load(Relaxed) {
            fence(Acquire);
            assert_eq!(DATA.load(Relaxed), 100);
        }
        child.join().unwrap();
    }
    a_compiler_fence_orders_nothing_that_can_be_seen_here {
        let number = AtomicUsize::new(1);
        compiler_fence(Release);
        assert_eq!(number.load(Relaxed), 1);
    }
}
