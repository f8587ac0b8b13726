//! `shuttle::sync`: the mirrored `std`. `Arc` and `Weak` are `std`'s own, as in shuttle, so that one can be handed to whoever
//! wants the other: which owner is the last is nothing that is explored.

pub use icb_std::sync::*;
pub use std::sync::{Arc, Weak};
