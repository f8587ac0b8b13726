//! `std::panic`. Modelled: [`resume_unwind`], of which the hook that sees other panics is not told: what it unwinds through is
//! poisoned, and its payload is what a report says. Everything else is `std`'s.

pub use ::std::panic::*;

use ::std::any::Any;

/// Mirrors `std::panic::resume_unwind`.
#[track_caller]
pub fn resume_unwind(payload: Box<dyn Any + Send>) -> ! {
    crate::door::resumes_unwinding(&*payload);
    ::std::panic::resume_unwind(payload)
}
