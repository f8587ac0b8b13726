//! The keys of `std`'s random hashing. `RandomState::new` takes them from a thread-local counter that begins at random: here
//! is found where that counter lies, so that it can begin at the same value in every execution. Knows nothing of executions.
//!
//! What is relied on is looked at first: that a `RandomState` is two words of which one goes up by one from each to the
//! next, and that the thread-local memory of this thread holds the next ones at just one place, through which they can be
//! set. Where that is not so, hashing stays random.

use super::allocator::aside;
use super::image::thread_local_memory;
use crate::mixing::mixed;
use std::cell::Cell;
use std::hash::RandomState;
use std::ptr::NonNull;

/// The counter of this OS thread: its two words, in the order in which a `RandomState` has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Keys {
    first: NonNull<u64>,
    second: NonNull<u64>,
}

/// What every execution begins with.
const FIRST: [u64; 2] = [0x0069_6362_0069_6362, 0x6861_7368_6b65_7973];

thread_local! {
    /// `Some(None)`: has been looked for in vain.
    static KEYS: Cell<Option<Option<Keys>>> = const { Cell::new(None) };
    /// While an execution runs that has begun with fixed ones.
    static FIXED: Cell<Option<Keys>> = const { Cell::new(None) };
}

/// Runs `f`, an execution, with the keys that every execution with this seed begins with, if they can be set.
pub(super) fn fixed(seed: u64, f: impl FnOnce()) {
    let Some(keys) = Keys::find() else { return f() };
    let random = keys.begin(seed);
    FIXED.set(Some(keys));
    f();
    FIXED.set(None);
    keys.set(random);
}

/// Runs `f`, which is the engine's own work: what it hashes is no business of the execution.
pub(super) fn undisturbed<R>(f: impl FnOnce() -> R) -> R {
    let Some(keys) = FIXED.get() else { return f() };
    let here = keys.get();
    let result = f();
    keys.set(here);
    result
}

/// The words of a `RandomState`.
fn words(state: &RandomState) -> Option<[u64; 2]> {
    const { assert!(align_of::<RandomState>() <= align_of::<[u64; 2]>()) };
    // SAFETY: it has the size of two words, no padding is left in that, and the keys are plain numbers.
    (size_of::<RandomState>() == size_of::<[u64; 2]>())
        .then(|| unsafe { std::ptr::from_ref(state).cast::<[u64; 2]>().read_unaligned() })
}

impl Keys {
    /// Those of the calling OS thread, if they can be found.
    fn find() -> Option<Keys> {
        KEYS.with(|keys| match keys.get() {
            Some(known) => known,
            None => {
                let found = aside(look_for);
                keys.set(Some(found));
                found
            }
        })
    }

    fn get(self) -> [u64; 2] {
        // SAFETY: found in the thread-local memory of this OS thread, which lives as long as the thread; the pointers do
        // not leave it.
        unsafe { [self.first.read(), self.second.read()] }
    }

    fn set(self, words: [u64; 2]) {
        // SAFETY: as in `get`; `std` keeps plain numbers there, behind a cell.
        unsafe {
            self.first.write(words[0]);
            self.second.write(words[1]);
        }
    }

    /// The keys are what every execution with this seed begins with, until the answer is given to [`set`](Self::set).
    fn begin(self, seed: u64) -> [u64; 2] {
        let before = self.get();
        self.set(FIRST.map(|word| word ^ mixed(seed)));
        before
    }
}

fn look_for() -> Option<Keys> {
    let (one, two) = (words(&RandomState::new())?, words(&RandomState::new())?);
    let step = [two[0].wrapping_sub(one[0]), two[1].wrapping_sub(one[1])];
    if step != [1, 0] && step != [0, 1] {
        return None;
    }
    let next = [two[0].wrapping_add(step[0]), two[1].wrapping_add(step[1])];
    let memory = thread_local_memory()?;
    let count = memory.len() / size_of::<u64>();
    let start = memory.cast::<u64>().as_ptr();
    let mut found = None;
    for index in 0..count.saturating_sub(1) {
        // SAFETY: within the thread-local memory of this thread, which is readable and aligned; only plain reads.
        let here = unsafe { [start.add(index).read_volatile(), start.add(index + 1).read_volatile()] };
        let order = if here == next {
            [index, index + 1]
        } else if [here[1], here[0]] == next {
            [index + 1, index]
        } else {
            continue;
        };
        if found.is_some() {
            return None;
        }
        // SAFETY: as above; never null.
        let at = |index: usize| unsafe { NonNull::new_unchecked(start.add(index)) };
        found = Some(Keys { first: at(order[0]), second: at(order[1]) });
    }
    let found = found?;
    let before = found.begin(0);
    let works = words(&RandomState::new()) == Some(FIRST);
    found.set(before);
    works.then_some(found)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    #[test]
    fn hashes_are_the_same_from_the_same_beginning() {
        let keys = Keys::find().expect("the counter is found");
        let hashes = |seed| {
            let mut hashes = [0; 2];
            fixed(seed, || {
                hashes = [1, 2].map(|number: u32| {
                    undisturbed(RandomState::new);
                    RandomState::new().hash_one(number)
                });
            });
            hashes
        };
        assert_eq!(hashes(0), hashes(0));
        assert_eq!(hashes(1), hashes(1));
        assert_ne!(hashes(0), hashes(1));
        assert_ne!(RandomState::new().hash_one(1), hashes(0)[0]);
        let elsewhere = std::thread::spawn(move || Keys::find().map(|keys| (keys.first.addr(), keys.get())));
        let (address, _) = elsewhere.join().unwrap().expect("every thread has one");
        assert_ne!(address, keys.first.addr());
    }
}
