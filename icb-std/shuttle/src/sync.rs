//! `shuttle::sync`: the mirrored `std`. `Arc` and `Weak` are `std`'s own, as in shuttle, so that one can be handed to whoever
//! wants the other: which owner is the last depends on the schedule, and is no step of it.

pub use icb_std::sync::*;
pub use std::sync::{Arc, Weak};
