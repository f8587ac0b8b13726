//! `std::task`. Modelled: nothing of its own; a [`Waker`] made from the mirrored `Arc` counts through it. [`Wake`] is
//! mirrored, because its methods take an `Arc`, if the crate is compiled with `RUSTC_BOOTSTRAP=icb_std`; without it
//! it is `std`'s, which takes `std`'s `Arc`. Not modelled: everything else, which is `std`'s and belongs to one thread.
//! `std::future` and `std::panic` are re-exported: what they hold has no concurrency of its own.

pub use ::std::task::*;

#[cfg(icb_coerce)]
pub use mirrored::Wake;

#[cfg(icb_coerce)]
mod mirrored {
    use super::{RawWaker, RawWakerVTable, Waker};
    use crate::sync::Arc;
    use ::std::mem::ManuallyDrop;

    /// Mirrors `std::task::Wake`.
    pub trait Wake {
        /// Mirrors `std::task::Wake::wake`.
        fn wake(self: Arc<Self>);

        /// Mirrors `std::task::Wake::wake_by_ref`.
        #[track_caller]
        fn wake_by_ref(self: &Arc<Self>) {
            self.clone().wake();
        }
    }

    impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for Waker {
        fn from(waker: Arc<W>) -> Waker {
            // SAFETY: the table's functions treat the pointer as the `Arc` that it was made from, which is what the
            // contract of `RawWaker` asks; `W` is `Send` and `Sync`.
            unsafe { Waker::from_raw(raw_waker(waker)) }
        }
    }

    impl<W: Wake + Send + Sync + 'static> From<Arc<W>> for RawWaker {
        fn from(waker: Arc<W>) -> RawWaker {
            raw_waker(waker)
        }
    }

    fn raw_waker<W: Wake + Send + Sync + 'static>(waker: Arc<W>) -> RawWaker {
        unsafe fn clone_waker<W: Wake + Send + Sync + 'static>(waker: *const ()) -> RawWaker {
            // SAFETY: the pointer came from `Arc::<W>::into_raw` and its count is held by the waker.
            unsafe { Arc::increment_strong_count(waker.cast::<W>()) };
            RawWaker::new(waker, table::<W>())
        }

        unsafe fn wake<W: Wake + Send + Sync + 'static>(waker: *const ()) {
            // SAFETY: as above; the waker's count is taken over.
            let waker = unsafe { Arc::from_raw(waker.cast::<W>()) };
            <W as Wake>::wake(waker);
        }

        unsafe fn wake_by_ref<W: Wake + Send + Sync + 'static>(waker: *const ()) {
            // SAFETY: as above; the waker keeps its count.
            let waker = unsafe { ManuallyDrop::new(Arc::from_raw(waker.cast::<W>())) };
            <W as Wake>::wake_by_ref(&waker);
        }

        unsafe fn drop_waker<W: Wake + Send + Sync + 'static>(waker: *const ()) {
            // SAFETY: as above; the waker's count is given up.
            unsafe { Arc::decrement_strong_count(waker.cast::<W>()) };
        }

        fn table<W: Wake + Send + Sync + 'static>() -> &'static RawWakerVTable {
            const { &RawWakerVTable::new(clone_waker::<W>, wake::<W>, wake_by_ref::<W>, drop_waker::<W>) }
        }

        RawWaker::new(Arc::into_raw(waker).cast(), table::<W>())
    }
}
