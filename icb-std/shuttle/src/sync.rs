//! `shuttle::sync`: the mirrored `std`. `Arc` and `Weak` are `std`'s own, as in shuttle, so that one can be handed to whoever
//! wants the other: which owner is the last is nothing that is explored. Where all that is built sees the mirrored `std`
//! (`--accesses`), they are the mirrored ones, and it is.

pub use icb_std::sync::*;
#[cfg(not(icb_mirrored))]
pub use std::sync::{Arc, Weak};
