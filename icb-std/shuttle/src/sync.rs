//! `shuttle::sync`: the mirrored `std`. `Arc` and `Weak` are `std`'s own, as in shuttle, so that one can be handed to whoever
//! wants the other: which owner is the last depends on the schedule, and is no step of it. Where all that is built sees the mirrored `std`
//! (`--accesses`), they are the mirrored ones.

pub use icb_std::sync::*;
#[cfg(not(icb_mirrored))]
pub use std::sync::{Arc, Weak};
