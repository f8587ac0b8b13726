//! Fingerprints of states: equal on every run and every machine.

use std::hash::{DefaultHasher, Hash, Hasher};

/// 64 bits that stand for a state. Two different states collide with a probability of 2⁻⁶⁴.
pub(super) fn fingerprint(state: &impl Hash) -> u64 {
    // `DefaultHasher::new` has fixed keys.
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

/// 128 bits, as reports of executions want them.
pub(super) fn wide_fingerprint(state: &impl Hash) -> u128 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(0x9E37_79B9_7F4A_7C15);
    state.hash(&mut hasher);
    (u128::from(hasher.finish()) << 64) | u128::from(fingerprint(state))
}

/// A fingerprint is its own hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, fingerprint: u64) {
        self.0 = fingerprint;
    }
}
