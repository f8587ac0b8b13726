//! Happens-before as the C11 memory model defines it, and what rests on it: the race check, which values a load may read, and where the memory of the program lies.

pub mod happens_before;
pub mod history;
pub mod race;
pub mod shadow;
pub(crate) mod window;
