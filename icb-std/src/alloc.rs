//! `std::alloc`. A global allocator of the program's own nearly always passes on to [`System`]: where this crate does not set the global allocator, that is one
//! which gives back at the end of an execution what is freed in it, so that nothing changes for what the program allocates.

pub use ::std::alloc::*;
#[cfg(not(feature = "allocator"))]
pub use quarantining::System;

#[cfg(not(feature = "allocator"))]
mod quarantining {
    use icb_core::runtime::Allocator;
    use std::alloc::{GlobalAlloc, Layout};

    /// Mirrors `std::alloc::System`.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct System;

    // None of it becomes a part of the program's own functions, whose accesses to memory may be looked at.
    // SAFETY: all is passed on to an allocator.
    unsafe impl GlobalAlloc for System {
        #[inline(never)]
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller's promise.
            unsafe { Allocator.alloc(layout) }
        }

        #[inline(never)]
        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            // SAFETY: the caller's promise.
            unsafe { Allocator.alloc_zeroed(layout) }
        }

        #[inline(never)]
        unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
            // SAFETY: the caller's promise.
            unsafe { Allocator.dealloc(start, layout) }
        }

        #[inline(never)]
        unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            // SAFETY: the caller's promise.
            unsafe { Allocator.realloc(start, layout, size) }
        }
    }
}
