//! Arc and Weak.

use super::s::sync::{Arc, Mutex, Weak};
use super::s::thread;
use std::borrow::{Borrow, Cow};
use std::collections::{BTreeSet, HashSet};
use std::ffi::{CStr, CString, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::pin::Pin;

pub(crate) fn counts() {
    let one = Arc::new(1);
    let two = Arc::clone(&one);
    let weak = Arc::downgrade(&one);
    assert_eq!((Arc::strong_count(&one), Arc::weak_count(&one)), (2, 1));
    assert_eq!((weak.strong_count(), weak.weak_count()), (2, 1));
    assert!(Arc::ptr_eq(&one, &two) && weak.ptr_eq(&weak.clone()));
    drop((one, two));
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
}

pub(crate) fn weak_and_cyclic() {
    struct Node {
        me: Weak<Node>,
        value: u32,
    }
    let node = Arc::new_cyclic(|me| Node { me: me.clone(), value: 3 });
    assert_eq!(node.me.upgrade().unwrap().value, 3);
    let weak = node.me.clone();
    drop(node);
    assert!(weak.upgrade().is_none());
    static NEVER: Weak<u32> = Weak::new();
    assert!(NEVER.upgrade().is_none() && NEVER.clone().strong_count() == 0);
    assert_eq!(format!("{NEVER:?}"), "(Weak)");
    assert!(Weak::<u8>::default().upgrade().is_none());
}

pub(crate) fn unwrapping() {
    let one = Arc::new(String::from("a"));
    let two = one.clone();
    let one = Arc::try_unwrap(one).unwrap_err();
    drop(two);
    assert_eq!(Arc::try_unwrap(one).unwrap(), "a");
    let one = Arc::new(1);
    let two = one.clone();
    assert_eq!((Arc::into_inner(one), Arc::into_inner(two)), (None, Some(1)));
    assert_eq!(Arc::unwrap_or_clone(Arc::new(4)), 4);
    let one = Arc::new(5);
    let _two = one.clone();
    assert_eq!(Arc::unwrap_or_clone(one), 5);
}

pub(crate) fn mutation() {
    let mut one = Arc::new(1);
    *Arc::get_mut(&mut one).unwrap() = 2;
    let two = one.clone();
    assert!(Arc::get_mut(&mut one).is_none());
    *Arc::make_mut(&mut one) += 1;
    assert_eq!((*one, *two), (3, 2));
    let weak = Arc::downgrade(&one);
    *Arc::make_mut(&mut one) += 1;
    assert!(weak.upgrade().is_none());
    let mut slice: Arc<[u8]> = Arc::from([1, 2]);
    let other = slice.clone();
    Arc::make_mut(&mut slice)[0] = 7;
    assert_eq!((&*slice, &*other), (&[7, 2][..], &[1, 2][..]));
    let mut text: Arc<str> = Arc::from("a");
    Arc::make_mut(&mut text).make_ascii_uppercase();
    assert_eq!(&*text, "A");
}

pub(crate) fn conversions() {
    let _: Arc<u8> = Arc::from(1);
    let _: Arc<str> = Arc::from(String::from("a"));
    let slice: Arc<[String]> = Arc::from(vec![String::from("a")]);
    assert_eq!(slice.len(), 1);
    let _: Arc<[u8]> = Arc::from(&[1u8][..]);
    let boxed: Arc<dyn Fn() -> u32 + Send + Sync> = Arc::from(Box::new(|| 3u32) as Box<dyn Fn() -> u32 + Send + Sync>);
    assert_eq!(boxed(), 3);
    let bytes: Arc<[u8]> = Arc::from(Arc::<str>::from("ab"));
    let array: Arc<[u8; 2]> = bytes.try_into().unwrap();
    assert_eq!(*array, *b"ab");
    let collected: Arc<[u32]> = (0..3).collect();
    assert!(<Arc<[u32; 2]>>::try_from(collected).is_err());
    let _: Arc<CStr> = Arc::from(CString::new("a").unwrap());
    let _: Arc<OsStr> = Arc::from(OsString::from("a"));
    let _: Arc<Path> = Arc::from(PathBuf::from("a"));
    let _: Arc<str> = Arc::from(Cow::Borrowed("a"));
    let _: (Arc<str>, Arc<[u8]>, Arc<CStr>, Arc<u8>) = Default::default();
    let _: Pin<Arc<u8>> = Default::default();
    let any: Arc<dyn std::any::Any + Send + Sync> = Arc::from(Box::new(5u32) as Box<dyn std::any::Any + Send + Sync>);
    assert_eq!(any.downcast::<u32>().ok().map(|value| *value), Some(5));
}

pub(crate) fn comparisons() {
    let (one, two) = (Arc::new(1), Arc::new(2));
    assert!(one < two && one == Arc::new(1) && one.cmp(&two).is_lt());
    assert!(HashSet::from([one.clone()]).contains(&1) && BTreeSet::from([two.clone()]).contains(&2));
    let borrowed: &u32 = one.borrow();
    assert_eq!((borrowed, one.as_ref()), (&1, &1));
    assert_eq!(format!("{one} {one:?}"), "1 1");
    assert_eq!(format!("{one:p}"), format!("{:p}", Arc::as_ptr(&one)));
}

pub(crate) fn uninitialised() {
    let mut one = Arc::<u32>::new_uninit();
    Arc::get_mut(&mut one).unwrap().write(5);
    // SAFETY: it has just been written.
    assert_eq!(*unsafe { one.assume_init() }, 5);
    // SAFETY: zero is a number.
    let zeroed = unsafe { Arc::<[u32]>::new_zeroed_slice(3).assume_init() };
    assert_eq!(*zeroed, [0, 0, 0]);
    // SAFETY: as above.
    assert_eq!(*unsafe { Arc::<u32>::new_zeroed().assume_init() }, 0);
    let mut two = Arc::<[u8]>::new_uninit_slice(2);
    Arc::get_mut(&mut two).unwrap().iter_mut().for_each(|place| _ = place.write(7));
    // SAFETY: both have been written.
    assert_eq!(*unsafe { two.assume_init() }, [7, 7]);
    assert_eq!(*Arc::pin(3), 3);
}

pub(crate) fn raw() {
    let raw = Arc::into_raw(Arc::new(String::from("a")));
    // SAFETY: the pointers come from `into_raw`, and the counts are as the calls want them.
    unsafe {
        Arc::increment_strong_count(raw);
        let one = Arc::from_raw(raw);
        assert_eq!((Arc::strong_count(&one), one.as_str()), (2, "a"));
        Arc::decrement_strong_count(raw);
        assert_eq!(Arc::strong_count(&one), 1);
        let weak = Weak::from_raw(Arc::downgrade(&one).into_raw());
        assert_eq!(weak.as_ptr(), Arc::as_ptr(&one));
        assert!(weak.upgrade().is_some());
    }
}

pub(crate) fn shared_between_threads() {
    struct Tells(Arc<Mutex<u32>>);
    impl Drop for Tells {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let drops = Arc::new(Mutex::new(0));
    let one = Arc::new(Tells(drops.clone()));
    let weak = Arc::downgrade(&one);
    let two = one.clone();
    let child = thread::spawn(move || drop(two));
    drop(one);
    let late = weak.upgrade();
    child.join().unwrap();
    drop(late);
    assert!(weak.upgrade().is_none());
    assert_eq!(*drops.lock().unwrap(), 1);
}
