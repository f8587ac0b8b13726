//! What the crate `loom` offers (0.5 to 0.7), under the explorer of icb. `cargo icb test --loom` compiles this file in the
//! place of loom's, so that tests that were written for loom run as they are; a manifest can also name it:
//!
//! ```text
//! [target.'cfg(loom)'.dependencies]
//! loom = { package = "icb-loom", git = "…" }
//! ```
//!
//! | loom | here |
//! |---|---|
//! | [`model()`], [`model::Builder`] | [`icb_std::model()`]: bound by bound, the failure with the fewest preemptions |
//! | `sync`, [`thread`], `hint`, `thread_local!` | the mirrored `std`, which has more than loom: `scope`, `Once`, `Weak`, `const` constructors |
//! | [`cell::UnsafeCell`], [`cell::Cell`] | checked for data races as loom does, from `get` until the pointer is dropped |
//! | [`sync::Notify`], [`lazy_static!`], [`alloc`], [`future`] | the same |
//! | [`stop_exploring`], [`explore`], [`skip_branch`] | nothing: what loom leaves out is explored too |
//! | `LOOM_*` variables, checkpoints | nothing: `cargo icb` has options for them, and resumes |
//!
//! loom lets loads read stale values; icb does if asked to (`--weak-memory`). loom reports an `Arc` or [`alloc::Track`] that
//! is never dropped; icb does if asked to check for leaks (`--check-leaks`). There is no limit to the number of threads.
//!
//! It must not know how anything is modelled: everything is made of what `icb_std` offers to everybody.

pub mod alloc;
pub mod cell;
pub mod future;
pub mod lazy_static;
pub mod model;
pub mod sync;
pub mod thread;

#[doc(inline)]
pub use model::model;

pub use icb_std::thread_local;

/// Mirrors `loom::hint`.
pub mod hint {
    pub use icb_std::hint::spin_loop;

    /// Mirrors `loom::hint::unreachable_unchecked`.
    ///
    /// # Safety
    /// None is needed here; it must not be reached.
    ///
    /// # Panics
    /// Always, as loom's does.
    #[track_caller]
    pub unsafe fn unreachable_unchecked() -> ! {
        unreachable!("unreachable_unchecked was reached")
    }
}

/// The most threads of a model of loom. There is no such limit here.
pub const MAX_THREADS: usize = 5;

/// Mirrors `loom::explore`. Everything is explored anyway.
pub fn explore() {}

/// Mirrors `loom::stop_exploring`. What follows is explored all the same.
pub fn stop_exploring() {}

/// Mirrors `loom::skip_branch`. What follows is explored all the same.
pub fn skip_branch() {}
