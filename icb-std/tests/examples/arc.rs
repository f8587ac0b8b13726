//! The examples of `std::sync::{Arc, Weak}`.

use super::s::sync::atomic::{AtomicUsize, Ordering};
use super::s::sync::{Arc, Weak};
use super::s::thread;
use std::cell::Cell;
use std::cmp::Ordering as Compare;
use std::pin::Pin;
use std::ptr;

struct Gadget {
    me: Weak<Gadget>,
    number: u32,
}

examples! {
    shared_by_threads {
        let five = Arc::new(5);
        let children = [0, 1].map(|_| {
            let five = Arc::clone(&five);
            thread::spawn(move || *five)
        });
        assert_eq!(children.map(|child| child.join().unwrap()), [5, 5]);
    }
    a_shared_counter {
        let value = Arc::new(AtomicUsize::new(5));
        let children = [1, 2].map(|add| {
            let value = value.clone();
            thread::spawn(move || value.fetch_add(add, Ordering::Relaxed))
        });
        assert!(children.into_iter().all(|child| child.join().unwrap() >= 5));
        assert_eq!(value.load(Ordering::Relaxed), 8);
    }
    new_cyclic {
        let gadget = Arc::new_cyclic(|me| Gadget { me: me.clone(), number: 7 });
        let again = gadget.me.upgrade().unwrap();
        assert!(Arc::ptr_eq(&gadget, &again) && again.number == 7);
    }
    new_cyclic_cannot_be_upgraded_early {
        let gadget = Arc::new_cyclic(|me: &Weak<Gadget>| {
            assert!(me.upgrade().is_none());
            Gadget { me: me.clone(), number: 1 }
        });
        assert_eq!((gadget.number, Arc::weak_count(&gadget)), (1, 1));
    }
    new_uninit {
        let mut five = Arc::<u32>::new_uninit();
        Arc::get_mut(&mut five).unwrap().write(5);
        // SAFETY: it has been written.
        assert_eq!(*unsafe { five.assume_init() }, 5);
    }
    new_zeroed {
        // SAFETY: zero is a number.
        assert_eq!(*unsafe { Arc::<u32>::new_zeroed().assume_init() }, 0);
    }
    pin {
        let pinned: Pin<Arc<u32>> = Arc::pin(3);
        assert_eq!(*pinned, 3);
    }
    try_unwrap {
        let three = Arc::new(3);
        assert_eq!(Arc::try_unwrap(three), Ok(3));
        let four = Arc::new(4);
        let _other = four.clone();
        assert_eq!(*Arc::try_unwrap(four).unwrap_err(), 4);
    }
    into_inner_gives_the_value_to_exactly_one {
        let one = Arc::new(3);
        let two = one.clone();
        let child = thread::spawn(move || Arc::into_inner(one));
        let mine = Arc::into_inner(two);
        let theirs = child.join().unwrap();
        assert!(matches!((mine, theirs), (None, Some(3)) | (Some(3), None)));
    }
    unwrap_or_clone {
        let text = String::from("hello");
        let (address, mut shared) = (text.as_ptr(), Arc::new(text));
        shared = Arc::new(Arc::unwrap_or_clone(shared));
        assert_eq!(shared.as_ptr(), address);
        let other = shared.clone();
        let copy = Arc::unwrap_or_clone(shared);
        assert!(copy.as_ptr() != other.as_ptr() && copy == *other);
    }
    new_uninit_slice {
        let mut values = Arc::<[u32]>::new_uninit_slice(3);
        let places = Arc::get_mut(&mut values).unwrap();
        places.iter_mut().zip(1..).for_each(|(place, value)| _ = place.write(value));
        // SAFETY: all three have been written.
        assert_eq!(*unsafe { values.assume_init() }, [1, 2, 3]);
    }
    new_zeroed_slice {
        // SAFETY: zero is a number.
        assert_eq!(*unsafe { Arc::<[u32]>::new_zeroed_slice(3).assume_init() }, [0, 0, 0]);
    }
    into_raw_and_from_raw {
        let raw = Arc::into_raw(Arc::new("hello".to_owned()));
        // SAFETY: the pointer comes from `into_raw`, and its count is taken over.
        let text = unsafe { Arc::from_raw(raw) };
        assert_eq!(&*text, "hello");
    }
    from_raw_of_a_slice {
        let raw: *const [u32] = Arc::into_raw(Arc::<[u32]>::from([1, 2, 3]));
        // SAFETY: as above.
        assert_eq!(*unsafe { Arc::from_raw(raw) }, [1, 2, 3]);
    }
    as_ptr {
        let one = Arc::new("hello".to_owned());
        let two = one.clone();
        assert_eq!(Arc::as_ptr(&one), Arc::as_ptr(&two));
        // SAFETY: the value lives.
        assert_eq!(unsafe { &*Arc::as_ptr(&one) }, "hello");
    }
    downgrade_and_weak_count {
        let five = Arc::new(5);
        let _weak = Arc::downgrade(&five);
        assert_eq!(Arc::weak_count(&five), 1);
    }
    strong_count {
        let five = Arc::new(5);
        let _also = Arc::clone(&five);
        assert_eq!(Arc::strong_count(&five), 2);
    }
    increment_strong_count {
        let raw = Arc::into_raw(Arc::new(5));
        // SAFETY: the pointer comes from `into_raw`; both counts are given back.
        unsafe {
            Arc::increment_strong_count(raw);
            let five = Arc::from_raw(raw);
            assert_eq!(Arc::strong_count(&five), 2);
            Arc::decrement_strong_count(raw);
            assert_eq!(Arc::strong_count(&five), 1);
        }
    }
    ptr_eq {
        let (one, other) = (Arc::new(5), Arc::new(5));
        assert!(Arc::ptr_eq(&one, &one.clone()) && !Arc::ptr_eq(&one, &other));
    }
    make_mut {
        let mut data = Arc::new(5);
        *Arc::make_mut(&mut data) += 1;
        let mut other = data.clone();
        *Arc::make_mut(&mut data) += 1;
        *Arc::make_mut(&mut data) += 1;
        *Arc::make_mut(&mut other) *= 2;
        assert_eq!((*data, *other), (8, 12));
    }
    make_mut_leaves_weak_pointers_behind {
        let mut data = Arc::new(75);
        let weak = Arc::downgrade(&data);
        *Arc::make_mut(&mut data) += 1;
        assert!(*data == 76 && weak.upgrade().is_none());
    }
    get_mut {
        let mut value = Arc::new(3);
        *Arc::get_mut(&mut value).unwrap() = 4;
        assert_eq!(*value, 4);
        let _other = value.clone();
        assert!(Arc::get_mut(&mut value).is_none());
    }
    drop_runs_with_the_last {
        struct Tells(Arc<AtomicUsize>);
        impl Drop for Tells {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let drops = Arc::new(AtomicUsize::new(0));
        let one = Arc::new(Tells(drops.clone()));
        let two = one.clone();
        drop(one);
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        drop(two);
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    }
    downcast {
        let value: Arc<dyn std::any::Any + Send + Sync> =
            Arc::from(Box::new("text".to_owned()) as Box<dyn std::any::Any + Send + Sync>);
        assert_eq!(value.clone().downcast::<String>().ok().map(|text| text.len()), Some(4));
        assert!(value.downcast::<u8>().is_err());
    }
    comparisons {
        let five = Arc::new(5);
        assert!(five == Arc::new(5) && five != Arc::new(6));
        assert_eq!(five.partial_cmp(&Arc::new(6)), Some(Compare::Less));
        assert!(five < Arc::new(6) && five <= Arc::new(5) && five > Arc::new(4) && five >= Arc::new(5));
        assert_eq!(five.cmp(&Arc::new(6)), Compare::Less);
    }
    default {
        assert_eq!(*Arc::<i32>::default(), 0);
    }
    from_values_and_texts {
        assert_eq!(Arc::new(5), Arc::from(5));
        assert_eq!("eggplant", &Arc::<str>::from("eggplant")[..]);
        assert_eq!("eggplant", &Arc::<str>::from("eggplant".to_owned())[..]);
    }
    from_boxes_and_vectors {
        assert_eq!("eggplant", &*Arc::<str>::from(Box::<str>::from("eggplant")));
        assert_eq!(&[1, 2, 3], &Arc::<[i32]>::from(vec![1, 2, 3])[..]);
        assert_eq!(&[1, 2, 3], &Arc::<[i32]>::from([1, 2, 3])[..]);
    }
    from_cow_and_str_to_bytes {
        let text: Arc<str> = Arc::from(std::borrow::Cow::Borrowed("eggplant"));
        assert_eq!(Arc::<[u8]>::from(text), Arc::from("eggplant".as_bytes()));
    }
    from_an_iterator {
        let evens: Arc<[u8]> = (0..10).filter(|number| number % 2 == 0).collect();
        assert_eq!(*evens, [0, 2, 4, 6, 8]);
    }
    weak_new {
        let empty: Weak<i64> = Weak::new();
        assert!(empty.upgrade().is_none() && Weak::<i64>::default().upgrade().is_none());
    }
    weak_as_ptr {
        let strong = Arc::new("hello".to_owned());
        let weak = Arc::downgrade(&strong);
        assert!(ptr::eq(&*strong, weak.as_ptr()));
    }
    weak_into_raw_and_from_raw {
        let strong = Arc::new(1);
        let raw = Arc::downgrade(&strong).into_raw();
        assert_eq!(Arc::weak_count(&strong), 1);
        // SAFETY: the pointer comes from `into_raw`, and its count is taken over.
        drop(unsafe { Weak::from_raw(raw) });
        assert_eq!(Arc::weak_count(&strong), 0);
    }
    weak_upgrade {
        let five = Arc::new(5);
        let weak = Arc::downgrade(&five);
        assert!(weak.upgrade().is_some());
        drop(five);
        assert!(weak.upgrade().is_none());
    }
    weak_counts {
        let five = Arc::new(5);
        let (weak, _other) = (Arc::downgrade(&five), Arc::downgrade(&five));
        assert_eq!((weak.strong_count(), weak.weak_count()), (1, 2));
        drop(five);
        assert_eq!((weak.strong_count(), weak.weak_count()), (0, 0));
    }
    weak_ptr_eq {
        let (one, other) = (Arc::new(5), Arc::new(5));
        let weak = Arc::downgrade(&one);
        assert!(weak.ptr_eq(&Arc::downgrade(&one)) && !weak.ptr_eq(&Arc::downgrade(&other)));
        assert!(Weak::<u8>::new().ptr_eq(&Weak::new()));
    }
    weak_clone {
        let weak = Arc::downgrade(&Arc::new(5));
        assert!(Weak::clone(&weak).upgrade().is_none());
    }
    a_weak_pointer_races_with_the_last_strong_one {
        let strong = Arc::new(Cell::new(5).into_inner());
        let weak = Arc::downgrade(&strong);
        let child = thread::spawn(move || weak.upgrade().map(|value| *value));
        drop(strong);
        assert!(matches!(child.join().unwrap(), None | Some(5)));
    }
}
