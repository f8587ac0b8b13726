//! Functions of the C library behind those of their names that this crate defines. A program that is linked statically has none: the modules that need them are
//! left out there, and threads of an execution then share what they would keep apart (values under `pthread_key_create`, `pthread_self`). Knows nothing of executions.

use ::std::ffi::{CStr, c_char, c_void};
use ::std::ptr::null_mut;
use ::std::sync::atomic::{AtomicPtr, Ordering};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// A function of the C library's, behind the one of its name that this crate defines; looked for once.
pub(crate) struct Real(&'static CStr, AtomicPtr<c_void>);

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Real {
        Real(name, AtomicPtr::new(null_mut()))
    }

    /// `None`: there is none.
    pub(crate) fn get(&self) -> Option<*mut c_void> {
        /// The next definition of a symbol after this one.
        const RTLD_NEXT: *mut c_void = ::std::ptr::without_provenance_mut(usize::MAX);
        let mut found = self.1.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name ends with a zero.
            found = unsafe { dlsym(RTLD_NEXT, self.0.as_ptr()) };
            self.1.store(found, Ordering::Relaxed);
        }
        (!found.is_null()).then_some(found)
    }
}
