//! `std::panic`. Modelled: [`resume_unwind`], of which the hook that sees other panics is not told: what it unwinds through is
//! poisoned, and its payload is what a report says; and [`catch_unwind`], behind which a thread does not unwind any more. Everything else
//! is `std`'s.

pub use ::std::panic::*;

use ::std::any::Any;

/// Mirrors `std::panic::catch_unwind`.
pub fn catch_unwind<F, R>(f: F) -> ::std::thread::Result<R>
where
    F: FnOnce() -> R + UnwindSafe,
{
    // A destructor may catch what it does itself in the middle of another panic.
    let unwinding = crate::door::panicking();
    let result = ::std::panic::catch_unwind(f);
    if let (Err(_), Some(unwinding)) = (&result, unwinding) {
        crate::door::caught(unwinding);
    }
    result
}

/// Mirrors `std::panic::resume_unwind`.
#[track_caller]
pub fn resume_unwind(payload: Box<dyn Any + Send>) -> ! {
    crate::door::resumes_unwinding(&*payload);
    ::std::panic::resume_unwind(payload)
}
