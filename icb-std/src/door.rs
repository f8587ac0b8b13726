//! The one place that names the runtime: everything else in this crate reaches the running execution through here.

pub(crate) use icb_core::runtime::object::*;
pub(crate) use icb_core::trace::{Action, Ordering, ThreadId};

/// `std`'s memory ordering as the runtime names it.
#[inline]
pub(crate) const fn order(order: ::std::sync::atomic::Ordering) -> Ordering {
    use ::std::sync::atomic::Ordering as Std;
    match order {
        Std::Relaxed => Ordering::Relaxed,
        Std::Acquire => Ordering::Acquire,
        Std::Release => Ordering::Release,
        Std::AcqRel => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    }
}

/// Whether the calling thread unwinds, in an execution or not.
#[inline]
pub(crate) fn unwinding() -> bool {
    // The process-wide count that `std` looks at first makes the common answer cheap. Threads of an execution
    // share one thread of the system, so a `true` is asked again of the runtime.
    ::std::thread::panicking() && panicking().unwrap_or(true)
}
