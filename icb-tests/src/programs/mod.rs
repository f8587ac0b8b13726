//! The published programs, written against `icb_std` as a user would write them: most with a version that is wrong and
//! one that is right.

pub mod ape;
pub mod baselines;
pub mod bluetooth;
pub mod counter;
pub mod double_checked;
pub mod dryad;
pub mod file_system;
pub mod lock_order;
pub mod lost_wakeup;
pub mod prodcons;
pub mod raw_pointer;
pub mod replaced;
pub mod rwlock_mix;
pub mod treiber;
pub mod work_stealing_queue;
