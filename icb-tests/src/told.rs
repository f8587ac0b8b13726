//! What the threads of small programs are told: gathered over all executions, and compared with what an enumeration of all states says.

use icb_std::model::Builder;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What each thread has been told, one thing after another.
pub type Told = Vec<Vec<u8>>;

/// What has been told: in this execution, and in all before.
pub type Telling = Arc<Mutex<(Told, BTreeSet<Told>)>>;

/// Everything that the executions of a program with so many threads come to; with at most so many preemptions, if there is a bound. `None`: a limit has
/// cut the search short.
///
/// # Panics
/// If `run` has panicked while it was telling something.
pub fn explored(
    builder: Builder,
    bound: Option<u32>,
    thread_count: usize,
    run: impl Fn(&Telling) + Send + Sync + 'static,
) -> Option<BTreeSet<Told>> {
    let told: Telling = Arc::default();
    let builder = match bound {
        Some(bound) => builder.max_bound(bound),
        None => builder.unbounded(),
    };
    let report = builder.keep_going(true).explore({
        let told = told.clone();
        move || {
            {
                // An execution that ends in a deadlock does not come to its end.
                let (now, all) = &mut *told.lock().unwrap();
                let before = std::mem::replace(now, vec![Vec::new(); thread_count]);
                all.extend((!before.is_empty()).then_some(before));
            }
            run(&told);
        }
    });
    let (last, mut all) = std::mem::take(&mut *told.lock().unwrap());
    all.insert(last);
    report.stopped.is_none().then_some(all)
}

/// Compares what was found with what is expected. `may_be_more`: what is found beyond that counts for nothing.
///
/// # Panics
/// If they differ, with what `about` says.
pub fn check(
    expected: &BTreeSet<Told>,
    found: &BTreeSet<Told>,
    may_be_more: bool,
    about: impl Fn() -> String,
) {
    let missing: Vec<_> = expected.difference(found).collect();
    let mut extra: Vec<_> = found.difference(expected).collect();
    if may_be_more {
        extra.clear();
    }
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{}\nnever: {missing:?}\nshould not be: {extra:?}",
        about()
    );
}

/// A small generator of random numbers, by which the programs are drawn.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed; `salt` makes those of one family others than those of another.
    #[must_use]
    pub fn new(seed: u64, salt: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// True in one of so many cases.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// One of the values that programs store and send.
    pub fn value(&mut self) -> u8 {
        self.below(3) as u8
    }
}

/// A test for each table of what is drawn: `$compare` with its list of `Draw`s.
#[macro_export]
macro_rules! tables_of_draws {
    ($compare:ident: $($name:ident: $($draw:ident)*;)*) => { $(
        #[test]
        fn $name() {
            $compare(&[$(Draw::$draw),*]);
        }
    )* };
}
