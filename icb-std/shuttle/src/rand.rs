//! `shuttle::rand`: random numbers. An execution has to be a function of its schedule, so they are none: each thread draws
//! the same numbers in every execution, whatever the others do (which thread it is, is told by who spawned it as the how
//! manieth). If the first execution of a check draws any, all is explored with sixteen such streams, for every number that
//! a thread draws one of sixteen; a seed that the test gives makes other sixteen. So a failure that depends on a number is found only if
//! one of these leads there, and a proof is one for these numbers only. What a test must try all of is `icb_std::model::choose`.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

#[doc(no_inline)]
pub use rand::{Rng, RngCore};

/// Somebody has drawn a number.
pub(crate) static DRAWN: AtomicBool = AtomicBool::new(false);

icb_std::thread_local! {
    /// Where the thread is in its stream.
    static PLACE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Goes on to the next number (Steele, Lea, Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014, Fig. 16, with
/// Stafford's variant 13 of the finaliser).
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The next number of the calling thread.
fn draw() -> u64 {
    DRAWN.store(true, Ordering::Relaxed);
    PLACE.with(|place| {
        let mut state = place.get().unwrap_or_else(|| {
            let mut of_stream = crate::world::stream();
            next(&mut of_stream) ^ crate::world::thread_key()
        });
        let number = next(&mut state);
        place.set(Some(state));
        number
    })
}

/// Mirrors `shuttle::rand::thread_rng`.
#[must_use]
pub fn thread_rng() -> rngs::ThreadRng {
    rngs::ThreadRng::default()
}

/// Mirrors `shuttle::rand::rngs`.
pub mod rngs {
    use rand::{CryptoRng, Error, RngCore};

    /// Mirrors `shuttle::rand::rngs::ThreadRng`.
    #[derive(Debug, Default, Clone)]
    pub struct ThreadRng {
        _private: (),
    }

    impl RngCore for ThreadRng {
        fn next_u32(&mut self) -> u32 {
            self.next_u64() as u32
        }

        fn next_u64(&mut self) -> u64 {
            super::draw()
        }

        fn fill_bytes(&mut self, dest: &mut [u8]) {
            for part in dest.chunks_mut(8) {
                part.copy_from_slice(&self.next_u64().to_le_bytes()[..part.len()]);
            }
        }

        fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
            self.fill_bytes(dest);
            Ok(())
        }
    }

    impl CryptoRng for ThreadRng {}
}
