//! What the mirrored `Arc` can do only where this crate is compiled with `RUSTC_BOOTSTRAP=icb_std`: be coerced, be
//! a receiver, wake.

#![cfg(icb_coerce)]

/// The same source against `std` and the mirror.
macro_rules! world {
    ($world:ident, $s:path) => {
        mod $world {
            use s::sync::atomic::{AtomicU32, Ordering};
            use s::sync::{Arc, Mutex, Weak};
            use s::task::{Context, Poll, Wake, Waker};
            use std::any::Any;
            use std::cell::RefCell;
            use std::future::Future;
            use std::pin::Pin;
            use $s as s;

            trait Speaks: Send + Sync {
                fn name(&self) -> String;
                fn owned(self: Arc<Self>) -> usize;
                fn borrowed(self: &Arc<Self>) -> usize
                where
                    Self: Sized,
                {
                    Arc::strong_count(self)
                }
            }

            struct Dog(u32);

            impl Speaks for Dog {
                fn name(&self) -> String {
                    format!("dog {}", self.0)
                }
                fn owned(self: Arc<Self>) -> usize {
                    Arc::strong_count(&self)
                }
            }

            #[test]
            fn objects_and_slices() {
                let dog = Arc::new(Dog(1));
                assert_eq!(dog.borrowed(), 1);
                let object: Arc<dyn Speaks> = dog.clone();
                assert_eq!((object.name(), object.clone().owned()), ("dog 1".to_owned(), 3));
                let weak: Weak<dyn Speaks> = Arc::downgrade(&dog) as Weak<Dog>;
                assert_eq!(weak.upgrade().unwrap().owned(), 3);
                let never: Weak<dyn Speaks> = Weak::<Dog>::new();
                assert!(never.upgrade().is_none());
                let slice: Arc<[u8]> = Arc::new([1, 2, 3]);
                assert_eq!(slice.len(), 3);
                let shared: Arc<Mutex<dyn Any + Send>> = Arc::new(Mutex::new(5));
                assert!(shared.lock().unwrap().is::<i32>());
                let any: Arc<dyn Any + Send + Sync> = Arc::new(7u8);
                assert_eq!(*any.downcast::<u8>().unwrap(), 7);
                let cell: Arc<RefCell<[u8]>> = Arc::new(RefCell::new([0; 4]));
                assert_eq!(cell.borrow().len(), 4);
                let function: Arc<dyn Fn(u32) -> u32 + Send + Sync> = Arc::new(|x| x + 1);
                assert_eq!(function(1), 2);
            }

            #[test]
            fn pinned() {
                let pinned: Pin<Arc<dyn Future<Output = u32>>> = Arc::pin(async { 3 });
                drop(pinned);
            }

            #[test]
            fn wakers() {
                struct Counts(AtomicU32);
                impl Wake for Counts {
                    fn wake(self: Arc<Self>) {
                        self.0.fetch_add(1, Ordering::SeqCst);
                    }
                }
                let counts = Arc::new(Counts(AtomicU32::new(0)));
                let waker = Waker::from(counts.clone());
                waker.wake_by_ref();
                waker.clone().wake();
                assert_eq!(Arc::strong_count(&counts), 2);
                let mut context = Context::from_waker(&waker);
                let mut future = std::pin::pin!(async { 1 });
                assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(1));
                drop(waker);
                assert_eq!((Arc::strong_count(&counts), counts.0.load(Ordering::SeqCst)), (1, 2));
            }

            /// An `Arc` may be dropped after what its value borrows, if the value's own destructor does not look.
            #[test]
            fn dangling() {
                let (_first, second);
                second = 1;
                _first = Arc::new(&second);
            }
        }
    };
}

world!(std_world, ::std);
world!(icb_world, ::icb_std);
