//! Seeds of random programs: which ones, and all processors on them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A test for each of these, which `cargo icb test --ignored` runs: `$explore` with its number.
#[macro_export]
macro_rules! numbered_tests {
    ($explore:ident: $($name:ident = $number:expr),* $(,)?) => {
        $(
            #[test]
            #[ignore = "for `cargo icb test --ignored`"]
            fn $name() {
                $explore($number);
            }
        )*
    };
}

/// The seeds that the variable `ICB_SEEDS` names, for example `0..100`.
///
/// # Panics
/// If it is set to something else.
#[must_use]
pub fn from_environment() -> Option<Range<u64>> {
    let text = std::env::var("ICB_SEEDS").ok()?;
    let (first, end) = text.split_once("..").expect("ICB_SEEDS is a range, for example 0..100");
    Some(first.parse().expect("a number")..end.parse().expect("a number"))
}

/// Runs `check` on every seed, on all processors.
///
/// # Panics
/// If `check` does; the seed is printed.
pub fn for_each(seeds: Range<u64>, check: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(seeds.start);
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        break;
                    }
                    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(seed)));
                    if let Err(panic) = done {
                        println!("panicked at seed {seed}");
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}
