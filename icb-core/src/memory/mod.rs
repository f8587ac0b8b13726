//! Happens-before as the C11 memory model defines it, and the race check that rests on it.

pub mod happens_before;
pub mod race;
pub mod shadow;
