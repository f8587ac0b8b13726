//! A place for a debugger to stop at: called at each preemption of a replay, on the stack of the thread that is
//! preempted.

/// A thread is preempted here, before the step with this number. It does nothing: a breakpoint on it shows the
/// preempted thread's stack, two or three frames up.
// SAFETY: the name is nobody else's, and the function touches nothing.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn icb_preemption(thread: u64, step: u64) {
    std::hint::black_box((thread, step));
}

/// Stops a debugger that waits for preemptions.
pub(super) fn preemption(thread: u64, step: u64) {
    icb_preemption(std::hint::black_box(thread), std::hint::black_box(step));
}
