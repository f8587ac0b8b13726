//! Happens-before as the C11 memory model defines it, and what rests on it: the race check, and which values a load may read.

pub mod happens_before;
pub mod history;
pub mod race;
pub mod shadow;
