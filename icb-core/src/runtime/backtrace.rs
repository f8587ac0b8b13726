//! Backtraces, taken only while a failure is being replayed: addresses first, which is quick; names are looked up once
//! for each address.

use super::address_map::ByAddress;
use super::allocator::aside;
use super::coroutine::running_stack;
use crate::trace::Frame;
use std::sync::atomic::{AtomicU64, Ordering};

/// Frames of one backtrace, at most.
pub(super) const MAX_FRAMES: usize = 400;

/// How many backtraces this process has taken: exploring takes none.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Backtraces that this process has taken. For tests: exploring takes none.
#[must_use]
pub fn backtrace_count() -> u64 {
    TAKEN.load(Ordering::Relaxed)
}

/// The return addresses on the calling thread's stack, innermost first, down to where the coroutine begins.
pub(super) fn addresses() -> Vec<usize> {
    innermost_addresses(MAX_FRAMES)
}

/// The innermost of them, so many at most.
pub(super) fn innermost_addresses(most: usize) -> Vec<usize> {
    TAKEN.fetch_add(1, Ordering::Relaxed);
    let stack = running_stack();
    let mut addresses = Vec::with_capacity(32);
    aside(|| {
        backtrace::trace(|frame| {
            // What stands on another stack belongs to whoever has resumed the coroutine.
            let is_own = stack.as_ref().is_none_or(|stack| stack.contains(&frame.sp().addr()));
            if is_own {
                addresses.push(frame.ip().addr());
            }
            is_own && addresses.len() < most
        });
    });
    addresses
}

/// Names of return addresses.
#[derive(Debug, Default)]
pub(super) struct Resolver {
    known: ByAddress<Vec<Frame>>,
}

impl Resolver {
    /// The frames at these addresses; one address may stand for several, where functions were inlined.
    pub(super) fn frames(&mut self, addresses: &[usize]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for &address in addresses {
            frames.extend_from_slice(self.at(address));
        }
        frames
    }

    fn at(&mut self, address: usize) -> &[Frame] {
        self.known.entry(address).or_insert_with(|| aside(|| crate::symbols::frames(address)))
    }
}
