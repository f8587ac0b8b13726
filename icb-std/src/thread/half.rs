//! What two share, each of whom lets go of it once; whoever is the second drops it. Does what an `Arc` would, with one exchange
//! where that takes five. Knows nothing of threads.

use ::std::ops::Deref;
use ::std::ptr::NonNull;
use ::std::sync::atomic::{AtomicBool, Ordering};

/// One of the two.
pub(super) struct Half<T: ?Sized>(NonNull<Shared<T>>);

/// What the two share.
pub(super) struct Shared<T: ?Sized> {
    /// One of them has let go.
    is_left: AtomicBool,
    value: T,
}

// SAFETY: as for an `Arc`: both reach the value at once, and either may drop it.
unsafe impl<T: Send + Sync + ?Sized> Send for Half<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync + ?Sized> Sync for Half<T> {}

impl<T> Half<T> {
    /// Both halves of what is made.
    #[inline]
    pub(super) fn pair(make: impl FnOnce() -> T) -> (Half<T>, Half<T>) {
        // Memory first: what is made then is made in it.
        let memory = Box::<Shared<T>>::new_uninit();
        let whole = Box::write(memory, Shared { is_left: AtomicBool::new(false), value: make() });
        let shared = NonNull::from(Box::leak(whole));
        (Half(shared), Half(shared))
    }
}

impl<T: ?Sized> Half<T> {
    /// The half as a pointer, of which less may be said to be known than before.
    #[inline]
    pub(super) fn into_shared(self) -> NonNull<Shared<T>> {
        let shared = self.0;
        ::std::mem::forget(self);
        shared
    }

    /// # Safety
    /// The pointer comes from [`into_shared`](Self::into_shared), and is made a half again once.
    #[inline]
    pub(super) unsafe fn from_shared(shared: NonNull<Shared<T>>) -> Self {
        Half(shared)
    }

    /// Whether the other one has let go. What it has done before has happened before this.
    #[inline]
    pub(super) fn is_alone(&self) -> bool {
        // SAFETY: the memory is there as long as one of the halves is.
        unsafe { self.0.as_ref() }.is_left.load(Ordering::Acquire)
    }

    /// The value, if the other one has let go.
    #[inline]
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        if !self.is_alone() {
            return None;
        }
        // SAFETY: nobody else can reach it any more.
        Some(unsafe { &mut self.0.as_mut().value })
    }
}

impl<T: ?Sized> Deref for Half<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the memory is there as long as one of the halves is.
        unsafe { &self.0.as_ref().value }
    }
}

impl<T: ?Sized> Drop for Half<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as in `deref`.
        let is_left = unsafe { &self.0.as_ref().is_left };
        if is_left.load(Ordering::Acquire) || is_left.swap(true, Ordering::AcqRel) {
            // SAFETY: it came from a box, and the other one, which has let go, is not coming back.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::std::sync::Arc;

    #[test]
    fn the_second_drops_it() {
        let known = Arc::new(());
        for first in [true, false] {
            let (mut one, other) = Half::pair(|| known.clone());
            // SAFETY: it was made of such a half, and this is the only time.
            let other = unsafe { Half::from_shared(other.into_shared()) };
            assert!(!one.is_alone() && one.get_mut().is_none() && Arc::ptr_eq(&one, &other));
            let left = if first {
                drop(other);
                one
            } else {
                drop(one);
                other
            };
            assert_eq!((left.is_alone(), Arc::strong_count(&known)), (true, 2));
            drop(left);
            assert_eq!(Arc::strong_count(&known), 1);
        }
    }

    #[test]
    fn on_two_threads_one_of_them_drops_it() {
        let known = Arc::new(());
        for _ in 0..500 {
            let (one, other) = Half::pair(|| known.clone());
            let thread = ::std::thread::spawn(move || drop(other));
            drop(one);
            thread.join().expect("it only drops");
            assert_eq!(Arc::strong_count(&known), 1);
        }
    }
}
