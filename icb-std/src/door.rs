//! The one place that names the runtime: everything else in this crate reaches the running execution through here.

#[cfg(any(
    not(icb_system_dates),
    all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))
))]
pub(crate) use icb_core::runtime::BEGIN_DATE;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use icb_core::runtime::BEGIN_UPTIME;
pub(crate) use icb_core::runtime::{
    AtomicRef, AtomicStep, AtomicType, Counts, Effect, Handle, InitialState, ObjectInit, OwnLock, Registers,
    Surroundings, SurroundingsUse, ThreadBody, ThreadEnd, ThreadMain, Which, about_to_number, active, apart,
    aside, atomic, atomic_exchange, caught, cell, cell_end, cell_pointer_end, count, count_acquired,
    count_is, count_is_known, count_last, count_left, count_met, current, enter_static, epoch, fence,
    fence_by_exchange, giving_up, go_no_further, has_left, initial_bytes, is_apart, is_finished, join,
    join_parking, know_panic_hook, leave, leave_apart, leave_value, let_go, limited, local, local_destroyed,
    look_at_end, look_at_thread_number, memory_used, note_registers, noted_once, now, number_next_thread,
    on_execution_end, outside, panic_handled, panicking, panics_are_seen, park, patient_now, pause_with,
    put_back_at_end, resumes_unwinding, set_local, spawn, surroundings_used, take_over, thread_key,
    thread_name, thread_path, unpark, unseen, value_goes, value_gone, value_is_made,
};
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) use icb_core::runtime::{
    OwnGuard, engine_works, files_are_one, futex_used, is_alone, is_foreign, make_files_one, makes_files,
    memory_protected, memory_unmapped, mixed, on_deadlock, random_key, stacks_were_left,
    was_stopped_half_way, without_unwinding,
};
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(target_feature = "crt-static")
))]
pub(crate) use icb_core::runtime::{leave_at_abort, running_stack};
#[cfg(all(
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
pub(crate) use icb_core::runtime::{let_go_of_counter, trap_counter};
pub(crate) use icb_core::trace::{Action, Ordering, ThreadId};

/// What is kept of an execution `is_used` from now on, and is forgotten at its end. `true`: it was not used before.
pub(crate) fn forget_at_end(is_used: &mut bool, forget: impl FnOnce() + 'static) -> bool {
    let is_first = !::std::mem::replace(is_used, true);
    if is_first {
        on_execution_end(Box::new(forget));
    }
    is_first
}

/// The program uses a value of the mirrored library, of which only that knows what is read: who has called it reads the value's own memory.
#[inline]
pub(crate) fn handle_used<T>(handle: &T) {
    memory_used(::std::ptr::from_ref(handle).addr(), size_of::<T>(), false);
}

/// `yield_now`, `spin_loop` and `sleep` (with its duration). `false` outside an execution. Compiled into what the program calls, and that into the
/// program, so that the registers are the program's.
#[inline(always)]
#[track_caller]
pub(crate) fn pause(action: Action, duration: ::std::time::Duration) -> bool {
    pause_with(action, duration, &Registers::here())
}

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
    somebody_unwinds() && panicking().unwrap_or(true)
}

/// Not a part of the program: there, the instrumentation pass would see what `std` reads.
#[inline(never)]
fn somebody_unwinds() -> bool {
    ::std::thread::panicking()
}

/// Whether the calling thread is one of an execution, at work of its own: what it asks the system for may be the model's. Also
/// while it unwinds: what is dropped then wakes others and waits for them, and they are threads of the model.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn is_modelled() -> bool {
    active() && !engine_works() && !IS_FORKED.load(::std::sync::atomic::Ordering::Relaxed)
}

/// This process has been forked by the program under test: what it asks the system for, on its way to another program, is no part of the model.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) static IS_FORKED: ::std::sync::atomic::AtomicBool = ::std::sync::atomic::AtomicBool::new(false);

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
::std::thread_local! {
    static HERE: u8 = const { 0 };
}

/// Tells the threads of the system from one another: executions on several of them have lists in common.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn carrier() -> usize {
    HERE.with(|here| (&raw const *here).addr())
}

/// How long what is done apart waits for a thread of the system.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const PATIENCE: ::std::time::Duration = ::std::time::Duration::from_millis(1);

/// Whether the calling thread is being unwound because its execution is given up.
#[inline]
pub(crate) fn given_up() -> bool {
    // The process-wide count tells of any thread that unwinds, and one may be waiting in the middle of that.
    somebody_unwinds() && giving_up() && panicking() == Some(false)
}

/// The calling thread needs what nobody will make any more, because its execution is being given up while others
/// are half-way: it goes no further. Its stack stays as it is, so that what others have borrowed from it stays too.
#[cold]
#[track_caller]
pub(crate) fn abandon(what: &str) -> ! {
    assert!(active(), "{what}");
    loop {
        go_no_further(false);
        pause(Action::Yield, ::std::time::Duration::ZERO);
    }
}
