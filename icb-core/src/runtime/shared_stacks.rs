//! Which part of each thread's stack other threads reach: accesses of a thread to its own stack are passed over by the
//! hooks, but for this part. It is found out as the executions go; one in which something new is found is run once more.
//! Knows threads by their numbers and memory by its distance from the first frame, both the same in every execution.

/// The part of a thread's stack that others reach: distances, below the first frame, of its last byte and of its first.
type Part = (usize, usize);

/// How a part is written as a number.
const TAG: u64 = 4;
const TAG_SHIFT: u32 = 60;
const THREAD_BITS: u32 = 12;
const END_BITS: u32 = 24;

/// A part begins and ends at multiples of this, in bytes.
const GRAIN: usize = 64;

/// For each thread the smallest part that holds everything that others have reached.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct SharedStacks {
    parts: Vec<Part>,
    /// A part has grown in the running execution.
    pub(super) news: bool,
}

impl SharedStacks {
    /// The addresses of the part of a thread whose first frame begins below `bottom`; empty if there is none.
    #[inline]
    pub(super) fn of(&self, thread: usize, bottom: usize) -> (usize, usize) {
        match self.parts.get(thread) {
            Some(&(near, far)) if far > 0 => (bottom.wrapping_sub(far), bottom.wrapping_sub(near)),
            _ => (0, 0),
        }
    }

    /// The parts as numbers that are no distances between addresses: a tag, the thread, and both ends in grains. What does not
    /// fit (thousands of threads, stacks of a gigabyte) is left out, and found out again.
    pub(super) fn to_points(&self) -> Vec<u64> {
        let parts = self.parts.iter().enumerate().filter(|(thread, (_, far))| {
            *far > 0 && *thread < 1 << THREAD_BITS && far / GRAIN < 1 << END_BITS
        });
        let point = |(thread, (near, far)): (usize, &Part)| {
            let ends = ((near / GRAIN) << END_BITS | (far / GRAIN)) as u64;
            TAG << TAG_SHIFT | (thread as u64) << (2 * END_BITS) | ends
        };
        parts.map(point).collect()
    }

    /// Takes over a part that another process has found. `false`: the number means something else.
    pub(super) fn take_over_point(&mut self, point: u64) -> bool {
        if point >> TAG_SHIFT != TAG {
            return false;
        }
        let end = |shift: u32| (point >> shift & ((1 << END_BITS) - 1)) as usize * GRAIN;
        let thread = (point >> (2 * END_BITS) & ((1 << THREAD_BITS) - 1)) as usize;
        if self.parts.len() <= thread {
            self.parts.resize(thread + 1, (0, 0));
        }
        self.parts[thread] = (end(END_BITS), end(0));
        true
    }

    /// Another thread reaches these bytes below `bottom`.
    pub(super) fn reach(&mut self, thread: usize, bottom: usize, address: usize, size: usize) {
        let near = bottom.saturating_sub(address + size) / GRAIN * GRAIN;
        let far = (bottom - address).next_multiple_of(GRAIN);
        if self.parts.len() <= thread {
            self.parts.resize(thread + 1, (0, 0));
        }
        let part = &mut self.parts[thread];
        let new = if part.1 == 0 { (near, far) } else { (part.0.min(near), part.1.max(far)) };
        self.news |= *part != new;
        *part = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_grows_until_it_holds_everything_that_was_reached() {
        let mut stacks = SharedStacks::default();
        let bottom = 0x10_0000;
        assert_eq!(stacks.of(3, bottom), (0, 0));
        for (address, size, part, news) in [
            (bottom - 100, 8, (bottom - 128, bottom - 64), true),
            (bottom - 128, 64, (bottom - 128, bottom - 64), false),
            (bottom - 4, 4, (bottom - 128, bottom), true),
            (bottom - 1000, 1, (bottom - 1024, bottom), true),
            (bottom - 300, 200, (bottom - 1024, bottom), false),
        ] {
            stacks.news = false;
            stacks.reach(3, bottom, address, size);
            assert_eq!((stacks.of(3, bottom), stacks.news), (part, news), "{size}");
            assert_eq!(stacks.of(2, bottom), (0, 0));
        }
        let mut other = SharedStacks { news: stacks.news, ..SharedStacks::default() };
        assert!(stacks.to_points().into_iter().all(|point| other.take_over_point(point)));
        assert_eq!(other, stacks);
        assert!(![0, 4096, -4096_i64 as u64].into_iter().any(|distance| other.take_over_point(distance)));
    }
}
