//! `std`, item by item, whose synchronization runs under a scheduler that explores every interleaving.
//!
//! Without `--cfg icb` (and without the feature `always`) this crate *is* `std`: `pub use ::std::*`, plus
//! [`mod@model`] and an [`UnsafeCell`](cell::UnsafeCell) that has `with` and `with_mut`. With it, these modules are
//! replaced, with `std`'s names, signatures, trait implementations, `const` constructors, poisoning and panics:
//! `sync` (with `atomic` and `mpsc`), `thread` and `thread_local!`, `arch` (`asm!`), `cell`, `env`, `hint`, `panic`, `time`, `task`, `prelude`.
//! Outside an execution the replaced types do what `std`'s do, on real threads.
//!
//! ```text
//! #[cfg(icb)] #[macro_use] extern crate icb_std as std;    // at the root of a crate, or
//! use icb_std::sync::{Arc, Mutex};                         // item by item
//! ```
//!
//! The mirrored `Arc` coerces (`Arc<dyn Trait>`, `Arc<[T]>`, `self: Arc<Self>`, `impl Wake`) if this crate is
//! compiled with `RUSTC_BOOTSTRAP=icb_std` in the environment, which `cargo icb` sets: the build script then sets
//! `icb_coerce` and the crate uses the unstable features `coerce_unsized`, `unsize`, `dispatch_from_dyn`,
//! `legacy_receiver_trait`, `pin_coerce_unsized_trait`, `dropck_eyepatch` and `rustc_attrs` (of `env::set_var`). Without it everything else works.
//!
//! What each module models, and what it does not, stands at the top of its documentation. That nothing is missing is
//! checked against tables of `std`'s stable items, signatures and implementations, made from its documentation
//! (`tests/surface.rs` prints N of N). Four items cannot be compared, and are what they should be: `Arc::make_mut`
//! (its bound is unstable in `std`; the mirror has it for the same types), `FnOnce` for `AssertUnwindSafe` (`std`'s own
//! type), and the explicit `Drop` of `OnceLock` and `LazyLock` (the mirror's fields drop themselves).

#![cfg_attr(
    all(icb, icb_coerce),
    expect(internal_features, reason = "an attribute of `env::set_var` can be had in no other way"),
    feature(
        coerce_unsized,
        unsize,
        dispatch_from_dyn,
        legacy_receiver_trait,
        pin_coerce_unsized_trait,
        dropck_eyepatch,
        rustc_attrs
    )
)]

pub use ::std::*;

#[cfg(icb)]
pub mod alloc;
#[cfg(icb)]
pub mod arch;
#[cfg(all(
    icb,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(target_feature = "crt-static")
))]
mod c_library;
pub mod cell;
pub mod model;
pub use model::model;

#[cfg(all(
    icb,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(target_feature = "crt-static")
))]
mod abort;
#[cfg(all(
    icb,
    target_os = "linux",
    target_arch = "x86_64",
    target_env = "gnu",
    not(target_feature = "crt-static")
))]
mod children;
#[cfg(icb)]
mod door;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod entropy;
#[cfg(icb)]
pub mod env;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod epoll;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod file_locks;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod files;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod futex;
#[cfg(icb)]
pub mod hint;
#[cfg(icb)]
mod image;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod made_files;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod membarrier;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod open_files;
#[cfg(all(
    icb,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(target_feature = "crt-static")
))]
mod os_local;
#[cfg(all(
    icb,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(target_feature = "crt-static")
))]
mod os_thread;
#[cfg(icb)]
pub mod panic;
#[cfg(icb)]
pub mod prelude;
#[cfg(icb)]
mod raw;
#[cfg(all(
    icb,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(target_feature = "crt-static")
))]
mod signals;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod sleeping;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod sockets;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod status;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod streams;
#[cfg(icb)]
mod surroundings;
#[cfg(icb)]
pub mod sync;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod system;
#[cfg(icb)]
pub mod task;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod timer_file;
#[cfg(icb)]
#[macro_use]
pub mod thread;
#[cfg(icb)]
pub mod time;
#[cfg(all(icb, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod unmapping;

/// What an execution frees is used again only after its end. Programs that need a global allocator of their own turn
/// the feature `allocator` off and wrap or do without [`icb_core::runtime::Allocator`].
#[cfg(all(icb, feature = "allocator"))]
#[global_allocator]
static ALLOCATOR: icb_core::runtime::Allocator = icb_core::runtime::Allocator;

/// What the macros of this crate expand to; not part of the public interface.
#[doc(hidden)]
pub mod __private {
    /// Whether the calling thread is one of an execution.
    #[cfg(icb)]
    #[must_use]
    pub fn active() -> bool {
        crate::door::active()
    }

    /// Says which thread the caller is, in every execution the same.
    #[cfg(icb)]
    #[must_use]
    pub fn thread_key() -> u64 {
        crate::door::thread_key()
    }

    /// Whether inline assembly is a full barrier.
    #[cfg(icb)]
    #[must_use]
    pub const fn is_fence(assembly: &str) -> bool {
        crate::arch::is_fence(assembly)
    }

    /// The calling thread comes by inline assembly that is a full barrier.
    #[cfg(icb)]
    #[inline]
    #[track_caller]
    pub fn fence_by_assembly() {
        crate::door::fence(crate::door::Ordering::SeqCst);
    }

    #[cfg(icb)]
    pub use crate::thread::local::{Key, LocalKey};
    pub use ::std;
}
