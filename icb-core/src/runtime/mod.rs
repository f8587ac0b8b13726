//! Runs a closure as a program of coroutines: one execution at a time, under a chooser.

mod accesses;
mod address_map;
mod addressed;
mod allocator;
mod apart;
mod arena;
mod atomics;
mod backtrace;
mod calls;
mod choice;
mod coasting;
mod coroutine;
mod course;
mod debugger;
mod decision;
mod errno;
mod execution;
mod faults;
mod foreign;
mod futexes;
mod hashing;
mod heartbeat;
mod histories;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod hooks;
mod idle;
mod image;
mod leaks;
mod ledger;
mod left_panics;
mod lookups;
mod memory_troubles;
mod mixed;
mod object;
mod objects;
mod outsider;
mod own_lock;
mod panics;
mod passing;
mod perform;
mod program;
mod program_allocator;
mod promoted;
mod registers;
mod reuse;
mod rounds;
mod running;
mod sequential;
mod shared_stacks;
mod slots;
mod spinners;
mod statics;
mod surroundings;
mod telling;
mod thread_main;
mod threads;
mod time_stamps;
mod turns;
mod uses;
mod weak;
mod whereabouts;

pub use crate::mixing::mixed;
pub use accesses::{instrumented, memory_used, unseen};
pub use addressed::{
    cell, cell_end, cell_pointer_end, count, count_acquired, count_is, count_is_known, count_last,
    count_left, count_met, value_goes, value_gone,
};
pub use allocator::{
    Allocator, allocation_count, aside, engine_works, is_installed as allocator_is_installed, noted_once,
};
pub use apart::{apart, is_apart, leave_apart};
pub use atomics::{AtomicRef, AtomicStep, AtomicType, atomic, atomic_exchange, fence, fence_by_exchange};
pub use backtrace::backtrace_count;
pub use calls::{
    BEGIN_DATE, BEGIN_UPTIME, ThreadBody, ThreadEnd, ThreadMain, caught, choose, current, enter_static,
    epoch, giving_up, go_no_further, has_left, is_finished, join, join_parking, leave, leave_value, let_go,
    limited, local, local_destroyed, look_at_end, now, on_execution_end, outside, panic_handled, panicking,
    park, patient_now, pause_with, put_back_at_end, random_key, set_local, spawn, take_over, thread_key,
    thread_name, thread_path, unpark, value_is_made, without_unwinding,
};
pub use coroutine::{running_stack, try_stack};
pub use course::{stacks_were_left, was_stopped_half_way};
pub use execution::Settings;
pub use foreign::is_foreign;
pub use futexes::futex_used;
pub use heartbeat::Heartbeat;
pub use image::initial_bytes;
pub use left_panics::leave_at_abort;
pub use memory_troubles::{memory_protected, memory_unmapped};
pub use object::{Effect, Handle, InitialState, ObjectInit, active};
pub use objects::Counts;
pub use own_lock::{OwnGuard, OwnLock};
pub(crate) use panics::refuse_inside_a_model;
pub use panics::{PanicHook, know_panic_hook, panics_are_seen, resumes_unwinding};
pub use program::CoroutineProgram;
pub use promoted::Promoted;
pub use registers::Registers;
pub use running::note_registers;
pub(crate) use surroundings::files_are_made;
pub use surroundings::{
    Surroundings, SurroundingsUse, Unseen, Which, about_to_number, files_are_one, is_alone,
    look_at_thread_number, make_files_one, makes_files, number_next_thread, on_deadlock, surroundings_used,
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use time_stamps::{let_go_of_counter, trap_counter};
pub use whereabouts::Carrier;
