//! `loom::sync`: the mirrored `std`, and what only loom has.

pub mod atomic;
mod notify;

pub use icb_std::sync::*;
pub use notify::Notify;
