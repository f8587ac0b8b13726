//! `shuttle::hint`.

pub use std::hint::*;

#[cfg(icb)]
pub use icb_std::hint::spin_loop;
