//! The quarantining allocator: what an execution frees is poisoned and used again only after its end. So an address
//! never means two objects in one execution, an access to a freed object is recognised, and so is a second free.
//! Small blocks go round from one execution to the next without the system's allocator.
//!
//! The list of freed blocks is kept apart from the execution, because the engine itself allocates and frees while
//! the execution is borrowed; the execution takes note of new entries at its next operation. This is the one
//! thread-local beside the running execution: the allocator must not touch anything that may allocate.

use super::address_map::lines;
use super::ledger::Ledger;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with a quarantine during executions. Make it the global allocator of the program under
/// test (`icb_std` does).
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

thread_local! {
    static QUARANTINE: Cell<*mut Quarantine> = const { Cell::new(std::ptr::null_mut()) };
}

/// Bytes of a freed block that are overwritten, at most.
const MAX_POISONED: usize = 4096;
/// What they are overwritten with.
pub(super) const POISON: u8 = 0xDF;

/// Small blocks are allocated in multiples of this many bytes, and kept for the next execution.
const UNIT: usize = 16;
/// Kinds of small blocks: one unit large, two, and so on.
const SMALL_CLASSES: usize = 16;

/// The layout that is asked of the system's allocator, here and everywhere in the process: small blocks are whole units,
/// so that whoever needs as many of them can be given the block again.
#[inline]
const fn whole_units(layout: Layout) -> Layout {
    match small_class(layout.size(), layout.align()) {
        // SAFETY: the alignment is a power of two, and the size is small.
        Some(class) => unsafe { Layout::from_size_align_unchecked((class + 1) * UNIT, UNIT) },
        None => layout,
    }
}

/// The kind of a small block.
#[inline]
const fn small_class(size: usize, align: usize) -> Option<usize> {
    let class = size.wrapping_sub(1) / UNIT;
    if class < SMALL_CLASSES && align <= UNIT { Some(class) } else { None }
}

/// A freed block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) size: usize,
    align: u32,
    /// It looked poisoned when it was freed: it may have been freed before.
    pub(super) suspect: bool,
    /// The execution should know of it.
    news: bool,
}

/// Blocks that the running execution has freed.
#[derive(Debug)]
pub(super) struct Quarantine {
    /// Grown by the system's allocator, never by the global one: it is used inside the latter.
    blocks: *mut Block,
    length: usize,
    capacity: usize,
    /// Entries that the execution has taken note of.
    pub(super) noted: usize,
    /// Entries so far that the execution should know of.
    news: usize,
    /// Those of them that it has been told of.
    told: usize,
    /// A block among them may have been freed before.
    pub(super) suspected: bool,
    /// Where there are things whose end the execution should know of: see [`lines`].
    pub(super) watched: u64,
    allocation_count: u64,
    /// What is freed is freed at once; only that it was freed is kept.
    pub(super) passes: bool,
    /// Small blocks that nobody uses, by kind; each begins with a pointer to the next.
    small: [*mut u8; SMALL_CLASSES],
    /// What is allocated and freed is written down here, unless it is null.
    pub(super) ledger: *mut Ledger,
}

impl Quarantine {
    pub(super) const fn new() -> Self {
        Quarantine {
            blocks: std::ptr::null_mut(),
            length: 0,
            capacity: 0,
            noted: 0,
            news: 0,
            told: 0,
            suspected: false,
            watched: 0,
            allocation_count: 0,
            passes: false,
            small: [std::ptr::null_mut(); SMALL_CLASSES],
            ledger: std::ptr::null_mut(),
        }
    }

    /// Whether something has been freed that the execution should know of.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.told != self.news
    }

    /// How much has been freed that the execution should know of.
    #[inline]
    pub(super) fn news(&self) -> usize {
        self.news
    }

    /// The next entry that the execution should know of, and its index.
    pub(super) fn next_news(&mut self) -> Option<(usize, Block)> {
        while self.told != self.news {
            let index = self.noted;
            let block = self.get(index);
            self.noted += 1;
            if block.news {
                self.told += 1;
                return Some((index, block));
            }
        }
        None
    }

    pub(super) fn get(&self, index: usize) -> Block {
        assert!(index < self.length, "no such block");
        // SAFETY: `length` entries have been written.
        unsafe { *self.blocks.add(index) }
    }

    /// Whether the entry's block stands in an earlier entry too.
    pub(super) fn is_freed_again(&self, index: usize) -> bool {
        let block = self.get(index);
        (0..index).any(|earlier| self.get(earlier).start == block.start)
    }

    /// Takes an entry out: its memory will not be given back (it has been freed twice).
    pub(super) fn forget(&mut self, index: usize) {
        assert!(index < self.length, "no such block");
        // SAFETY: as in `get`.
        unsafe { (*self.blocks.add(index)).size = 0 };
    }

    /// A small block of this kind that an earlier execution has left.
    #[inline]
    fn take_small(&mut self, class: usize) -> Option<*mut u8> {
        let block = self.small[class];
        if block.is_null() {
            return None;
        }
        // SAFETY: a block in the list is free memory of a unit or more, and `put_small` has written a pointer there.
        self.small[class] = unsafe { block.cast::<*mut u8>().read() };
        Some(block)
    }

    /// Keeps a free small block.
    #[inline]
    fn put_small(&mut self, class: usize, block: *mut u8) {
        // SAFETY: the block is free memory of a unit or more, aligned to a unit.
        unsafe { block.cast::<*mut u8>().write(self.small[class]) };
        self.small[class] = block;
    }

    /// Whether the address lies in a block that has been freed.
    pub(super) fn holds(&self, address: usize) -> bool {
        let around = |block: Block| (block.start..block.start + block.size).contains(&address);
        (0..self.length).rev().any(|index| around(self.get(index)))
    }

    #[inline]
    fn push(&mut self, start: *mut u8, layout: Layout, suspect: bool) {
        if self.length == self.capacity && !self.grow() {
            // Without memory for the list, the block is lost: it stays allocated.
            return;
        }
        let (start, size) = (start.addr(), layout.size());
        let news = suspect || lines(start, size).is_none_or(|lines| self.watched & lines != 0);
        self.news += usize::from(news);
        self.suspected |= suspect;
        let block = Block { start, size, align: layout.align() as u32, suspect, news };
        // SAFETY: `length < capacity`, and `capacity` entries are allocated.
        unsafe { self.blocks.add(self.length).write(block) };
        self.length += 1;
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let capacity = (self.capacity * 2).max(256);
        let Ok(layout) = Layout::array::<Block>(capacity) else { return false };
        // SAFETY: the layout has a size; the old memory, if any, came from here with the old capacity.
        let blocks = unsafe {
            match Layout::array::<Block>(self.capacity) {
                Ok(old) if self.capacity > 0 => System.realloc(self.blocks.cast(), old, layout.size()),
                _ => System.alloc(layout),
            }
        };
        if blocks.is_null() {
            return false;
        }
        self.blocks = blocks.cast();
        self.capacity = capacity;
        true
    }

    /// The execution is over: gives the memory back.
    fn flush(&mut self) {
        let held = if self.passes { 0 } else { self.length };
        for index in 0..held {
            // SAFETY: `length` entries have been written.
            let block = unsafe { *self.blocks.add(index) };
            if let Some(class) = small_class(block.size, block.align as usize) {
                self.put_small(class, block.start as *mut u8);
            } else if let (Ok(layout), true) =
                (Layout::from_size_align(block.size, block.align as usize), block.size > 0)
            {
                // SAFETY: the block was allocated by the system's allocator with this layout, and its owner freed it.
                unsafe { System.dealloc(block.start as *mut u8, layout) };
            }
        }
        self.length = 0;
        self.noted = 0;
        self.news = 0;
        self.told = 0;
        self.suspected = false;
    }

    /// Runs `f` with the quarantine in force on this OS thread, then gives the memory back.
    pub(super) fn during<R>(quarantine: *mut Quarantine, f: impl FnOnce() -> R) -> R {
        QUARANTINE.with(|current| current.set(quarantine));
        let result = f();
        QUARANTINE.with(|current| current.set(std::ptr::null_mut()));
        // SAFETY: the pointer is valid, and no longer reachable through the thread-local.
        unsafe { (*quarantine).flush() };
        result
    }
}

/// Runs `f`, which is the engine's own work, without the quarantine: what it frees is no business of the execution.
pub(super) fn aside<R>(f: impl FnOnce() -> R) -> R {
    let quarantine = QUARANTINE.with(|current| current.replace(std::ptr::null_mut()));
    let result = super::hashing::undisturbed(f);
    QUARANTINE.with(|current| current.set(quarantine));
    result
}

/// Whether the engine is at work of its own on this OS thread, or no execution runs here: locks of the real
/// `std` are then no business of an execution either.
#[must_use]
pub fn engine_works() -> bool {
    current().is_none()
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        self.flush();
        for class in 0..SMALL_CLASSES {
            while let Some(block) = self.take_small(class) {
                // SAFETY: the block is free, and was allocated by the system's allocator with this layout.
                unsafe { System.dealloc(block, Layout::from_size_align_unchecked((class + 1) * UNIT, UNIT)) };
            }
        }
        if let (Ok(layout), true) = (Layout::array::<Block>(self.capacity), self.capacity > 0) {
            // SAFETY: allocated in `grow` with this layout.
            unsafe { System.dealloc(self.blocks.cast(), layout) };
        }
    }
}

#[inline]
fn current() -> Option<*mut Quarantine> {
    QUARANTINE.try_with(Cell::get).ok().filter(|quarantine| !quarantine.is_null())
}

/// Allocations that this OS thread has made while executions ran, where [`Allocator`] is the global allocator.
#[must_use]
pub fn allocation_count() -> u64 {
    // SAFETY: a pointer in the thread-local is valid and used by this OS thread only.
    current().map_or(0, |quarantine| unsafe { (*quarantine).allocation_count })
}

/// # Safety
/// `quarantine` is valid and used by this OS thread only, and so is its ledger.
#[inline]
unsafe fn note_allocation(quarantine: *mut Quarantine, start: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        (*quarantine).allocation_count += 1;
        if !(*quarantine).ledger.is_null() && !start.is_null() {
            Ledger::note_allocation((*quarantine).ledger, start.addr(), size);
        }
    }
}

/// Whether [`Allocator`] is the global allocator of this process.
#[must_use]
pub fn is_installed() -> bool {
    let mut quarantine = Quarantine::new();
    let pointer = &raw mut quarantine;
    let installed = Quarantine::during(pointer, || {
        drop(std::hint::black_box(Box::new(0_u8)));
        allocation_count() > 0
    });
    drop(quarantine);
    installed
}

// SAFETY: memory comes from the system's allocator and goes back to it with the layout it was allocated with, later
// than the caller frees it.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(quarantine) = current() {
            // SAFETY: see `allocation_count`.
            let quarantine = unsafe { &mut *quarantine };
            if let Some(block) =
                small_class(layout.size(), layout.align()).and_then(|class| quarantine.take_small(class))
            {
                // SAFETY: as above.
                unsafe { note_allocation(quarantine, block, layout.size()) };
                return block;
            }
        }
        // SAFETY: the caller's promise.
        let start = unsafe { System.alloc(whole_units(layout)) };
        if let Some(quarantine) = current() {
            // SAFETY: as above.
            unsafe { note_allocation(quarantine, start, layout.size()) };
        }
        start
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let start = unsafe { System.alloc_zeroed(whole_units(layout)) };
        if let Some(quarantine) = current() {
            // SAFETY: see `allocation_count`.
            unsafe { note_allocation(quarantine, start, layout.size()) };
        }
        start
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        match current() {
            // SAFETY: the caller owns the block and gives it up. The quarantine is used by this OS thread only.
            Some(quarantine) => unsafe {
                let size = layout.size();
                if !(*quarantine).ledger.is_null() {
                    Ledger::note_free((*quarantine).ledger, start.addr(), size);
                }
                if (*quarantine).passes {
                    (*quarantine).push(start, layout, false);
                    return System.dealloc(start, whole_units(layout));
                }
                // The bytes may never have been written; they are looked at as they are, and only ever raise a
                // suspicion.
                let suspect = size > 0
                    && start.read_volatile() == POISON
                    && start.add(size - 1).read_volatile() == POISON;
                if let Some(class) = small_class(size, layout.align()) {
                    let end = start.add((class + 1) * UNIT);
                    let mut unit = start;
                    while unit < end {
                        unit.cast::<[u8; UNIT]>().write([POISON; UNIT]);
                        unit = unit.add(UNIT);
                    }
                } else {
                    std::ptr::write_bytes(start, POISON, size.min(MAX_POISONED));
                }
                (*quarantine).push(start, layout, suspect);
            },
            // SAFETY: the caller's promise.
            None => unsafe { System.dealloc(start, whole_units(layout)) },
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if current().is_none() {
            // SAFETY: the caller's promise.
            return unsafe { self.realloc_outside(start, layout, size) };
        }
        // SAFETY: the caller promises that `size` makes a layout, owns the old block and gives it up. The two blocks
        // are different.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(start, new, layout.size().min(size));
                self.dealloc(start, layout);
            }
            new
        }
    }
}

impl Allocator {
    /// `realloc` where no execution runs.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    unsafe fn realloc_outside(self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let new = whole_units(unsafe { Layout::from_size_align_unchecked(size, layout.align()) });
        let old = whole_units(layout);
        if old.align() == new.align() {
            // SAFETY: the block was allocated with the old layout.
            return unsafe { System.realloc(start, old, new.size()) };
        }
        // SAFETY: the caller's promise; the two blocks are different.
        unsafe {
            let block = System.alloc(new);
            if !block.is_null() {
                std::ptr::copy_nonoverlapping(start, block, layout.size().min(size));
                System.dealloc(start, old);
            }
            block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_wait_for_the_end_and_are_poisoned() {
        let mut quarantine = Quarantine::new();
        let layout = Layout::from_size_align(40, 8).unwrap();
        Quarantine::during(&raw mut quarantine, || {
            // SAFETY: allocated and freed once, with one layout; read before the memory is given back.
            unsafe {
                let first = Allocator.alloc(layout);
                first.write_bytes(1, 40);
                Allocator.dealloc(first, layout);
                let second = Allocator.alloc(layout);
                assert_ne!(first, second);
                assert_eq!(first.read(), POISON);
                let second = Allocator.realloc(second, layout, 80);
                Allocator.dealloc(second, Layout::from_size_align(80, 8).unwrap());
            }
            // SAFETY: `during` keeps the pointer valid.
            let count = unsafe { (*current().unwrap()).length };
            assert_eq!((count, allocation_count()), (3, 3));
        });
        assert_eq!((quarantine.length, allocation_count()), (0, 0));
    }
}
