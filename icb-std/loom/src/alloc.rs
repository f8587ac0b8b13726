//! `loom::alloc`. What is allocated is followed as all memory is: it may not be used after it was freed, and where leaks are
//! asked for (`--check-leaks`) it has to be freed.

pub use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};

use std::hint::black_box;

/// Mirrors `loom::alloc::Track`: a value that has to be dropped, where leaks are asked for.
#[derive(Debug)]
pub struct Track<T> {
    value: T,
    _block: Box<u8>,
}

impl<T> Track<T> {
    /// Mirrors `loom::alloc::Track::new`.
    pub fn new(value: T) -> Track<T> {
        // A block that nobody looks at the compiler would leave out, and with it the leak.
        Track { value, _block: black_box(Box::new(0)) }
    }

    /// Mirrors `loom::alloc::Track::get_ref`.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Mirrors `loom::alloc::Track::get_mut`.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Mirrors `loom::alloc::Track::into_inner`.
    pub fn into_inner(self) -> T {
        self.value
    }
}
