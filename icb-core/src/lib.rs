//! The explorer behind `icb`: systematic concurrency testing by iterative context bounding.
//!
//! Layers, highest first; a module imports only from lines below its own, and modules on one line never import
//! each other (`cargo run -p ci` checks it):
//!
//! ```text
//! worker                       one test process: settings in, messages out
//! explore | explain            the loop: strategy × reduction × program × limits → Exploration; why an execution fails
//! search | reduction | runtime | model | observe
//! recording  memory            what happened in one execution; happens-before and race detection
//! program  dependence  clock   the seam; which operations conflict; vector clocks
//! thread_set  symbols          sets of threads; from an address in the code to the source
//! varint  mixing               numbers as bytes; the bits of random numbers
//! trace                        plain data that leaves the process
//! ```

pub mod trace;

#[cfg(feature = "runtime")]
pub mod clock;
#[cfg(feature = "runtime")]
pub mod dependence;
#[cfg(feature = "runtime")]
pub mod explain;
#[cfg(feature = "runtime")]
pub mod explore;
#[cfg(feature = "runtime")]
pub mod memory;
#[cfg(feature = "runtime")]
mod mixing;
#[cfg(feature = "runtime")]
pub mod model;
#[cfg(feature = "runtime")]
pub mod observe;
#[cfg(feature = "runtime")]
pub mod program;
#[cfg(feature = "runtime")]
pub mod recording;
#[cfg(feature = "runtime")]
pub mod reduction;
#[cfg(feature = "runtime")]
pub mod runtime;
#[cfg(feature = "runtime")]
pub mod search;
#[cfg(feature = "runtime")]
pub(crate) mod symbols;
#[cfg(feature = "runtime")]
mod thread_set;
#[cfg(feature = "runtime")]
pub mod varint;
#[cfg(feature = "runtime")]
pub mod worker;
