//! Where the blocks of the program under test lie: at the same addresses in every execution, so that what a test does by the
//! address of something (a hash, an order of locks) is a function of the schedule. A window of addresses is divided into regions, one
//! for each thread, so that the address of a block depends on what its own thread has allocated before it, and not on what others
//! did meanwhile. A region only ever grows during an execution, and begins anew with the next one.
//!
//! What an execution leaves behind (the value of a `static`, a leak, what the test keeps from one execution to the next) stays
//! where it is. A block that would have to lie there comes from the system's allocator instead, and all others lie where they would.
//!
//! The window is the process's, and lent to one execution at a time; where there is none, all blocks are the system allocator's.
//! Knows addresses only: what is freed and when, `allocator` knows.

use crate::memory::window::{self, LENGTH, REGION, REGIONS};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// Large blocks lie from here on in a region.
const LARGE_PART: usize = REGION / 4;
/// Where the window lies in every process, if it can.
#[cfg(all(unix, target_pointer_width = "64"))]
const WINDOW: usize = 0x0800_0000_0000;

/// Every block is so many units large.
pub(super) const UNIT: usize = 16;
/// Larger blocks are kept apart, in bytes: their memory goes back to the system when the execution is over.
const LARGE: usize = 64 * 1024;
/// The same goes for small ones beyond this much, in bytes.
const RETAINED: usize = 4 << 20;
/// Regions begin so many bytes after one another within their share of the window, lest their blocks are too much alike.
const STAGGER: usize = 9 * 256;

/// A multiple of the system's pages.
#[cfg(target_os = "linux")]
const PAGE: usize = 64 * 1024;

/// What a block of this size takes.
#[inline]
pub(super) const fn whole_units(size: usize) -> usize {
    (size + (UNIT - 1)) & !(UNIT - 1)
}

/// Whether a block of this size is kept apart from small ones.
pub(super) const fn is_kept_apart(size: usize) -> bool {
    whole_units(size) > LARGE
}

/// Addresses: the first, and the one after the last.
pub(super) type Range = (usize, usize);

/// A part of the addresses of a region.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The next block lies here.
    cursor: usize,
    /// Up to here nothing is in the way.
    limit: usize,
    floor: usize,
    end: usize,
}

impl Part {
    const NONE: Part = Part { cursor: 0, limit: 0, floor: 0, end: 0 };

    const fn new(floor: usize, end: usize) -> Part {
        Part { cursor: floor, limit: end, floor, end }
    }

    #[inline]
    const fn used(&self) -> usize {
        self.cursor - self.floor
    }
}

/// The addresses of one thread.
#[derive(Debug)]
pub(super) struct Region {
    small: Part,
    large: Part,
}

/// The region where there is none: it has no room, and is never written to.
pub(super) static NONE: Region = Region { small: Part::NONE, large: Part::NONE };

/// Where a block is to lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// `None`: elsewhere.
    pub(super) start: Option<usize>,
    /// What the thread has passed over: it is nobody's in this execution.
    pub(super) gap: Range,
}

impl Region {
    /// The place of a block that is small and nothing special; zero if it needs a closer look.
    #[inline]
    pub(super) fn take(&mut self, size: usize, align: usize) -> usize {
        let size = whole_units(size);
        let start = self.small.cursor;
        if size <= LARGE && align <= UNIT && size <= self.small.limit - start {
            self.small.cursor = start + size;
            return start;
        }
        0
    }
}

/// What is between two executions.
#[derive(Debug)]
struct State {
    regions: Vec<Region>,
    /// What is in use from earlier executions: first byte and the one after the last, by address.
    taken: Vec<Range>,
    /// There is something in the regions besides the small blocks of this execution.
    special: bool,
}

struct Shared {
    lent: AtomicBool,
    state: UnsafeCell<Option<State>>,
}

// SAFETY: the state is used only by whoever has the lease, and `lent` sees to it that there is one at most.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared { lent: AtomicBool::new(false), state: UnsafeCell::new(None) };

/// Where this keeps what it knows: addresses of blocks that do not lead to them, in its padding too.
pub(super) fn own_static() -> std::ops::Range<usize> {
    let start = (&raw const SHARED).addr();
    start..start + size_of::<Shared>()
}

/// Blocks that have been freed where no execution could take note of it: each begins with a pointer to the next, and its size.
static LATE: AtomicPtr<Late> = AtomicPtr::new(std::ptr::null_mut());

struct Late {
    next: *mut Late,
    size: usize,
}

/// A block of the window is freed outside an execution, by the engine, or on an OS thread that has none.
///
/// # Safety
/// The block is the caller's, lies in the window, and is given up.
#[cold]
pub(super) unsafe fn free_late(start: *mut u8, size: usize) {
    let late: *mut Late = start.cast();
    let mut next = LATE.load(Ordering::Relaxed);
    loop {
        const { assert!(size_of::<Late>() <= UNIT && align_of::<Late>() <= UNIT) };
        // SAFETY: a block has at least a unit, and is the caller's up to the exchange.
        unsafe { late.write(Late { next, size }) };
        match LATE.compare_exchange_weak(next, late, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(other) => next = other,
        }
    }
}

/// The addresses of [`free_late`] since it was asked last.
fn freed_late() -> Vec<Range> {
    let mut all = Vec::new();
    let mut late = LATE.swap(std::ptr::null_mut(), Ordering::Acquire);
    while !late.is_null() {
        // SAFETY: `free_late` has written it, and nobody uses a block that has been freed.
        let Late { next, size } = unsafe { late.read() };
        all.push((late.addr(), late.addr() + whole_units(size)));
        late = next;
    }
    all
}

/// The window, for one execution.
#[derive(Debug)]
pub(super) struct Lease(());

/// What an execution has done with the window.
#[derive(Debug)]
pub(super) struct Account<I, J> {
    /// Regions that it has used, from the first on.
    pub(super) regions: usize,
    /// Bytes given back, gaps included; `None` if that is not known well enough.
    pub(super) given_back: Option<usize>,
    /// Blocks given back.
    pub(super) freed: I,
    pub(super) gaps: J,
}

impl Lease {
    /// The window, unless somebody else has it or there is none.
    pub(super) fn take() -> Option<Lease> {
        if SHARED.lent.swap(true, Ordering::Acquire) {
            return None;
        }
        let lease = Lease(());
        // SAFETY: whoever has set `lent` has the state.
        let state = unsafe { &mut *SHARED.state.get() };
        if state.is_none() {
            // Without memory for it, it is asked for again the next time.
            *state = reserve().map(State::new);
        }
        let state = state.as_mut()?;
        if !LATE.load(Ordering::Relaxed).is_null() {
            let regions = state.settle(0, std::iter::empty(), std::iter::empty());
            state.rewind(regions);
        }
        Some(lease)
    }

    fn state(&mut self) -> &mut State {
        // SAFETY: the lease is the only one; its borrow goes with the result.
        let state = unsafe { &mut *SHARED.state.get() };
        match state {
            Some(state) => state,
            None => unreachable!("a lease is given out only where there is a window"),
        }
    }

    /// The regions, [`REGIONS`] in number.
    pub(super) fn regions(&mut self) -> *mut Region {
        self.state().regions.as_mut_ptr()
    }

    /// The number of the region of a thread.
    #[inline]
    pub(super) fn region_of(thread: usize) -> usize {
        thread.min(REGIONS - 1)
    }

    /// Whether earlier executions have left something behind.
    pub(super) fn has_taken(&mut self) -> bool {
        !self.state().taken.is_empty()
    }

    /// Whether the address lies in what earlier executions have left behind.
    pub(super) fn is_taken(&mut self, address: usize) -> bool {
        let taken = &self.state().taken;
        let after = taken.partition_point(|&(start, _)| start <= address);
        after > 0 && address < taken[after - 1].1
    }

    /// Adds the addresses that these regions, from the first on, have given out. `false` if there are more than so many bytes, with those that lie
    /// elsewhere because earlier executions have left something in their place. (That is not among them, and may be in use.)
    pub(super) fn blocks_in_use(&mut self, regions: usize, ranges: &mut Vec<Range>, most: usize) -> bool {
        let State { regions: all, taken, .. } = self.state();
        let parts = all[..regions].iter().flat_map(|region| [&region.small, &region.large]);
        if parts.clone().map(Part::used).sum::<usize>() > most {
            return false;
        }
        let given_out = parts.filter(|part| part.used() > 0).map(|part| (part.floor, part.cursor));
        if taken.is_empty() {
            ranges.extend(given_out);
        } else {
            ranges.extend(without(&given_out.collect::<Vec<_>>(), taken));
        }
        true
    }

    /// Whether a block of those that are kept apart is zero when it is given out, if it lies here.
    pub(super) fn is_fresh(&mut self, address: usize) -> bool {
        cfg!(target_os = "linux") && window::holds(address) && self.state().taken.is_empty()
    }

    /// The place of a block for which [`Region::take`] has none.
    #[cold]
    pub(super) fn place(&mut self, region: usize, size: usize, align: usize) -> Option<Placed> {
        let State { regions, taken, special } = self.state();
        let size = whole_units(size);
        *special |= size > LARGE;
        let region = &mut regions[region];
        let part = if size <= LARGE { &mut region.small } else { &mut region.large };
        let cursor = part.cursor;
        let start = cursor.checked_next_multiple_of(align.max(UNIT))?;
        let end = start.checked_add(size).filter(|&end| end <= part.end)?;
        let next = taken.partition_point(|&(_, end)| end <= start);
        let free = taken.get(next).is_none_or(|&(taken, _)| end <= taken);
        part.cursor = end;
        part.limit = limit(taken, part);
        let gap = (cursor, if free { start } else { end });
        Some(Placed { start: free.then_some(start), gap })
    }

    /// The execution is over: what it has not given back is in the way from now on.
    #[inline]
    pub(super) fn close(
        mut self,
        account: Account<impl Iterator<Item = Range>, impl Iterator<Item = Range>>,
    ) {
        let state = self.state();
        let regions = &mut state.regions[..account.regions];
        let used: usize = regions.iter().map(|region| region.small.used()).sum();
        let nothing_special = !state.special && used <= RETAINED && LATE.load(Ordering::Relaxed).is_null();
        if nothing_special && account.given_back == Some(used) {
            regions.iter_mut().for_each(|region| region.small.cursor = region.small.floor);
        } else {
            state.close(account);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        SHARED.lent.store(false, Ordering::Release);
    }
}

/// Regions from the first to the last that has something of these ranges, which are by address.
fn regions_up_to(ranges: &[Range]) -> usize {
    ranges.last().map_or(0, |&(start, _)| (start - window::base()) / REGION + 1)
}

/// How far the part's cursor may go with nothing in its way.
#[inline]
fn limit(taken: &[Range], part: &Part) -> usize {
    if taken.is_empty() {
        return part.end;
    }
    let next = taken.partition_point(|&(_, end)| end <= part.cursor);
    taken.get(next).map_or(part.end, |&(start, _)| start.clamp(part.cursor, part.end))
}

impl State {
    fn new(base: usize) -> State {
        window::begin_at(base);
        let region = |index: usize| {
            let start = base + index * REGION;
            let first = index * STAGGER % (1 << 14);
            Region {
                small: Part::new(start + first, start + LARGE_PART),
                large: Part::new(start + LARGE_PART, start + REGION),
            }
        };
        State { regions: (0..REGIONS).map(region).collect(), taken: Vec::new(), special: false }
    }

    /// Finds out what is still in use: of what had been taken and of what these regions have given out, whatever has not been
    /// given back. The regions that have to know of it, from the first on.
    #[cold]
    fn settle(
        &mut self,
        regions: usize,
        freed: impl Iterator<Item = Range>,
        gaps: impl Iterator<Item = Range>,
    ) -> usize {
        let mut freed: Vec<Range> = freed.chain(freed_late()).collect();
        freed.sort_unstable();
        let mut nobodys: Vec<Range> =
            freed.iter().copied().chain(gaps).chain(self.taken.iter().copied()).collect();
        // Mostly in order already, which this one makes use of.
        nobodys.sort();
        let parts = self.regions[..regions].iter().flat_map(|region| [&region.small, &region.large]);
        let given_out: Vec<Range> = parts.map(|part| (part.floor, part.cursor)).collect();
        let mut taken = without(&self.taken, &freed);
        taken.extend(without(&given_out, &nobodys));
        taken.sort_unstable();
        if self.taken == taken {
            return regions;
        }
        let before = std::mem::replace(&mut self.taken, taken);
        regions.max(regions_up_to(&before)).max(regions_up_to(&self.taken))
    }

    #[cold]
    fn close(&mut self, account: Account<impl Iterator<Item = Range>, impl Iterator<Item = Range>>) {
        let used: usize = self.regions[..account.regions]
            .iter()
            .map(|region| region.small.used() + region.large.used())
            .sum();
        let used_regions = account.regions;
        let mut regions = used_regions;
        if account.given_back != Some(used) || !LATE.load(Ordering::Relaxed).is_null() {
            regions = self.settle(regions, account.freed, account.gaps);
        }
        self.give_up_memory(used_regions);
        self.rewind(regions);
    }

    /// Gives large blocks back to the system, and what is beyond the usual. What is asked for there next is zero.
    fn give_up_memory(&mut self, regions: usize) {
        for Region { small, large } in &self.regions[..regions] {
            if large.used() > 0 {
                give_up(&self.taken, large.floor, large.cursor);
            }
            if small.used() > RETAINED {
                give_up(&self.taken, small.floor + RETAINED, small.cursor);
            }
        }
    }

    /// The first regions begin anew.
    fn rewind(&mut self, regions: usize) {
        let State { regions: all, taken, special } = self;
        for part in all[..regions].iter_mut().flat_map(|region| [&mut region.small, &mut region.large]) {
            part.cursor = part.floor;
            part.limit = limit(taken, part);
        }
        *special = !taken.is_empty();
    }
}

/// The parts of these ranges that are in none of the others; both by address, and these without overlaps.
fn without(ranges: &[Range], others: &[Range]) -> Vec<Range> {
    let mut left = Vec::new();
    let mut next = 0;
    for &(mut start, end) in ranges {
        while start < end {
            while others.get(next).is_some_and(|&(_, end)| end <= start) {
                next += 1;
            }
            let (from, to) = others.get(next).copied().unwrap_or((usize::MAX, usize::MAX));
            if start < from {
                left.push((start, end.min(from)));
            }
            start = to;
        }
    }
    left
}

/// Addresses for the window: always the same ones, unless something else is there.
#[cfg(all(unix, target_pointer_width = "64"))]
fn reserve() -> Option<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    #[cfg(target_os = "linux")]
    let there = flags | libc::MAP_FIXED_NOREPLACE;
    #[cfg(not(target_os = "linux"))]
    let there = flags;
    let map = |at: usize, flags| {
        // SAFETY: new memory is asked for, where nothing is or wherever there is room.
        let start =
            unsafe { libc::mmap(at as *mut _, LENGTH, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        (start != libc::MAP_FAILED).then(|| start.expose_provenance())
    };
    let start = map(WINDOW, there).or_else(|| map(0, flags))?;
    #[cfg(target_os = "linux")]
    // SAFETY: it is the memory that has just been mapped. Threads use little of their regions each; should the system not
    // listen, that costs memory.
    unsafe {
        libc::madvise(start as *mut _, LENGTH, libc::MADV_NOHUGEPAGE);
    }
    Some(start)
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
fn reserve() -> Option<usize> {
    None
}

/// The memory of these addresses goes back to the system, but for what is taken.
#[cold]
fn give_up(taken: &[Range], from: usize, to: usize) {
    #[cfg(target_os = "linux")]
    for (start, end) in without(&[(from, to.next_multiple_of(PAGE))], taken) {
        let (start, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
        if start < end {
            // SAFETY: the addresses are the window's, and what lies there has been freed.
            unsafe { libc::madvise(start as *mut _, end - start, libc::MADV_DONTNEED) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (taken, from, to);
}

#[cfg(all(test, unix, target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// Other tests run executions meanwhile.
    fn lease() -> Lease {
        loop {
            if let Some(lease) = Lease::take() {
                return lease;
            }
            std::thread::yield_now();
        }
    }

    fn take(
        lease: &mut Lease,
        region: usize,
        size: usize,
        align: usize,
        gaps: &mut Vec<Range>,
    ) -> Option<usize> {
        // SAFETY: the numbers are below `REGIONS`, and the lease is this test's.
        let quick = unsafe { (*lease.regions().add(region)).take(size, align) };
        if quick > 0 {
            return Some(quick);
        }
        let placed = lease.place(region, size, align).expect("there is room");
        gaps.push(placed.gap);
        placed.start
    }

    /// One execution: what it takes, and gives back but for the blocks with these numbers.
    fn run(keep: &[usize]) -> Vec<Option<usize>> {
        let mut lease = lease();
        let mut gaps = Vec::new();
        let sizes = [(24, 8), (1, 1), (200, 128), (100_000, 8), (70_000, 4096), (16, 16)];
        let both = sizes.iter().flat_map(|&block| [(7, block), (8, block)]);
        let blocks: Vec<_> = both
            .map(|(region, (size, align))| (take(&mut lease, region, size, align, &mut gaps), size, align))
            .collect();
        let places: Vec<_> = blocks.iter().map(|block| block.0).collect();
        for (start, _, align) in &blocks {
            assert!(start.is_none_or(|start| window::holds(start) && start.is_multiple_of(*align)));
        }
        let back = blocks.iter().enumerate().filter(|(number, _)| !keep.contains(number));
        let freed: Vec<Range> =
            back.filter_map(|(_, &(start, size, _))| Some((start?, start? + whole_units(size)))).collect();
        let length = |ranges: &[Range]| ranges.iter().map(|(start, end)| end - start).sum::<usize>();
        lease.close(Account {
            regions: 9,
            given_back: Some(length(&freed) + length(&gaps)),
            freed: freed.into_iter(),
            gaps: gaps.into_iter(),
        });
        places
    }

    #[test]
    fn what_is_left_behind_moves_nothing_and_can_be_given_back_later() {
        let first = run(&[]);
        assert!(first.iter().all(Option::is_some));
        assert_eq!(run(&[2, 6]), first);
        for _ in 0..3 {
            // Whoever would lie there lies elsewhere.
            let places = run(&[]);
            for (number, (place, first)) in places.iter().zip(&first).enumerate() {
                assert_eq!(*place, first.filter(|_| ![2, 6].contains(&number)), "{number}");
            }
        }
        for (number, size) in [(2, 1), (6, 100_000)] {
            let start = first[number].expect("it was there");
            assert!(lease().is_taken(start));
            // SAFETY: the block is this test's.
            unsafe { free_late(std::ptr::with_exposed_provenance_mut(start), size) };
        }
        assert_eq!(run(&[]), first);
    }

    #[test]
    fn ranges_without_others() {
        let others = [(0, 2), (5, 7), (6, 9), (20, 30)];
        assert_eq!(without(&[(1, 6), (8, 22), (25, 26), (29, 31)], &others), [(2, 5), (9, 20), (30, 31)]);
        assert_eq!(without(&[(1, 6)], &[]), [(1, 6)]);
    }
}
