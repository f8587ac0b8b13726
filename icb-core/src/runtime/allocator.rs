//! The quarantining allocator: what an execution frees is poisoned and used again only after its end. So an address
//! never means two objects in one execution, an access to a freed object is recognised, and so is a second free. (Unless it is asked for: see `reuse`.)
//! Where the blocks of the program under test lie, `arena` says; those of the engine come from the system's allocator, lest they
//! move the others.
//!
//! The list of freed blocks is kept apart from the execution, because the engine itself allocates and frees while
//! the execution is borrowed; the execution takes note of new entries at its next operation. This is the one
//! thread-local beside the running execution: the allocator must not touch anything that may allocate.

use super::address_map::lines;
use super::arena::{self, Account, Lease, Region, whole_units};
use super::ledger::Ledger;
use super::reuse::Reuse;
use super::running;
use crate::memory::window;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;

/// The system's allocator, with a quarantine during executions. Make it the global allocator of the program under
/// test (`icb_std` does).
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

thread_local! {
    static QUARANTINE: Cell<*mut Quarantine> = const { Cell::new(std::ptr::null_mut()) };
}

/// Blocks that are not of the regions of which it is known where they are, at most.
const MAX_ELSEWHERE: usize = 4096;
const ELSEWHERE: Layout = Layout::new::<[arena::Range; MAX_ELSEWHERE]>();

/// Bytes of a freed block that are overwritten, at most.
const MAX_POISONED: usize = 4096;
/// What they are overwritten with.
pub(super) const POISON: u8 = 0xDF;
/// What is in a new block where addresses are used again: not what tells a freed one.
const RENEWED: u8 = 0xA7;

struct Never(Cell<bool>);
// SAFETY: nobody writes to it.
unsafe impl Sync for Never {}
static NOT_AT_WORK: Never = Never(Cell::new(false));

/// A freed block, or a gap between blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) start: usize,
    pub(super) size: usize,
    /// Zero: a gap.
    align: u32,
    /// It looked poisoned when it was freed: it may have been freed before.
    pub(super) suspect: bool,
    /// The execution should know of it.
    news: bool,
    /// Another block lies there now, or has lain.
    reused: bool,
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
    /// The engine is at work: what it allocates is no business of the program's.
    at_work: *const Cell<bool>,
    /// Where blocks lie; without it all are the system's.
    lease: Option<Lease>,
    /// The lease's regions; null without one.
    regions: *mut Region,
    /// The region of the running thread, its number, and the highest one that there has been.
    region: *mut Region,
    number: usize,
    highest: usize,
    /// Bytes of the regions that have been given back or passed over.
    given_back: usize,
    /// It may be that those are not all, or too many.
    inexact: bool,
    /// Earlier executions have left something in the regions.
    some_are_taken: bool,
    /// Some freed blocks are not of the regions.
    holds_others: bool,
    /// The blocks that this execution has got from elsewhere, the first so many.
    elsewhere: *mut arena::Range,
    elsewhere_count: usize,
    /// What is allocated and freed is written down here, unless it is null.
    pub(super) ledger: *mut Ledger,
    /// The blocks whose addresses may be used again; null: none are.
    pub(super) reuse: *mut Reuse,
}

impl Block {
    fn is_gap(&self) -> bool {
        self.align == 0
    }

    /// Whether what lies there has been freed.
    fn is_free(&self) -> bool {
        !self.is_gap() && !self.reused
    }
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
            at_work: &raw const NOT_AT_WORK.0,
            lease: None,
            regions: std::ptr::null_mut(),
            region: (&raw const arena::NONE).cast_mut(),
            number: 0,
            highest: 0,
            given_back: 0,
            inexact: false,
            some_are_taken: false,
            holds_others: false,
            elsewhere: std::ptr::null_mut(),
            elsewhere_count: 0,
            ledger: std::ptr::null_mut(),
            reuse: std::ptr::null_mut(),
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
        (0..index)
            .map(|earlier| self.get(earlier))
            .any(|earlier| earlier.start == block.start && earlier.is_free())
    }

    /// Takes an entry out: its memory will not be given back (it has been freed twice).
    pub(super) fn forget(&mut self, index: usize) {
        assert!(index < self.length, "no such block");
        // SAFETY: as in `get`.
        unsafe { (*self.blocks.add(index)).size = 0 };
    }

    /// The engine says here when it is at work.
    pub(super) fn listen_to(&mut self, at_work: *const Cell<bool>) {
        self.at_work = at_work;
    }

    /// Whether what is allocated now is the engine's.
    ///
    /// # Safety
    /// `quarantine` is valid and used by this OS thread only, and so is the engine whose it is.
    #[inline]
    unsafe fn is_engines(quarantine: *mut Quarantine) -> bool {
        // SAFETY: the caller's promise.
        unsafe { (*(*quarantine).at_work).get() }
    }

    /// Frees a block of the system's allocator.
    ///
    /// # Safety
    /// As for [`GlobalAlloc::dealloc`] and for [`is_engines`](Self::is_engines).
    #[inline(never)]
    unsafe fn free_other(quarantine: *mut Quarantine, start: *mut u8, layout: Layout) {
        let size = layout.size();
        // SAFETY: the caller's promise. The block is mapped as long as it waits.
        unsafe {
            if !(*quarantine).ledger.is_null() {
                Ledger::note_free((*quarantine).ledger, start.addr(), size);
            }
            if Self::is_engines(quarantine) {
                return System.dealloc(start, layout);
            }
            if (*quarantine).passes {
                (*quarantine).push(start, layout, false);
                return System.dealloc(start, layout);
            }
            let suspect = is_suspect(start, size);
            std::ptr::write_bytes(start, POISON, size.min(MAX_POISONED));
            (*quarantine).holds_others = true;
            (*quarantine).push(start, layout, suspect);
            if !(*quarantine).reuse.is_null() && (*(*quarantine).reuse).is_elsewhere(start.addr()) {
                Self::keep_for_reuse(quarantine, start.addr(), layout);
            }
        }
    }

    /// Whether a new block is known to be zero.
    fn is_zero(&mut self, start: *mut u8, size: usize) -> bool {
        arena::is_kept_apart(size) && self.lease.as_mut().is_some_and(|lease| lease.is_fresh(start.addr()))
    }

    /// The thread with this number runs from now on.
    #[inline]
    pub(super) fn enter(&mut self, thread: usize) {
        self.number = Lease::region_of(thread);
        if !self.regions.is_null() {
            self.highest = self.highest.max(self.number);
            // Where addresses are used again each block needs a closer look.
            if self.reuse.is_null() {
                // SAFETY: there is a region for each number that `region_of` gives.
                self.region = unsafe { self.regions.add(self.number) };
            }
        }
    }

    /// Memory for the program.
    ///
    /// # Safety
    /// `quarantine` is valid and used by this OS thread only.
    #[inline]
    unsafe fn allocate(quarantine: *mut Quarantine, layout: Layout) -> *mut u8 {
        // SAFETY: the region is the lease's, which is this quarantine's, or `NONE`, which is not written to; the rest is the caller's promise.
        unsafe {
            match (*(*quarantine).region).take(layout.size(), layout.align()) {
                0 => Self::allocate_specially(quarantine, layout),
                start => std::ptr::with_exposed_provenance_mut(start),
            }
        }
    }

    /// # Safety
    /// As for [`allocate`](Self::allocate).
    #[cold]
    unsafe fn allocate_specially(quarantine: *mut Quarantine, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe {
            if (*quarantine).reuse.is_null() {
                return (*quarantine).allocate_anew(layout);
            }
            let start = match Self::allocate_again(quarantine, layout) {
                Some(start) => start,
                None => (*quarantine).allocate_anew(layout),
            };
            // What an earlier execution has freed here may have left what tells a freed block.
            if !start.is_null() && !arena::is_kept_apart(layout.size()) {
                start.write_bytes(RENEWED, layout.size().min(MAX_POISONED));
            }
            start
        }
    }

    /// A block where one lies that the running thread has freed.
    ///
    /// # Safety
    /// As for [`allocate`](Self::allocate), and there is a list of blocks whose addresses may be used again.
    unsafe fn allocate_again(quarantine: *mut Quarantine, layout: Layout) -> Option<*mut u8> {
        let running = running::running()?;
        // SAFETY: the caller's promise; no reference to the quarantine is in use while the execution, whose it is, takes note of what has been freed. The block is mapped,
        // was given back, and is as large as that.
        unsafe {
            let (number, reuse) = ((*quarantine).number, &mut *(*quarantine).reuse);
            let (index, freed) = reuse.take(number, layout)?;
            let start = (*(*quarantine).blocks.add(index)).start;
            running.with(|e| e.address_is_reused(start, layout.size(), freed));
            (*(*quarantine).blocks.add(index)).reused = true;
            if window::holds(start) {
                (*quarantine).given_back -= whole_units(layout.size());
            }
            Some(std::ptr::with_exposed_provenance_mut(start))
        }
    }

    /// The running thread has freed the block, which has been entered last: its address may be used again, unless it is one of an earlier execution, since
    /// these leave behind different things.
    ///
    /// # Safety
    /// As for [`allocate_again`](Self::allocate_again).
    #[cold]
    unsafe fn keep_for_reuse(quarantine: *mut Quarantine, start: usize, layout: Layout) {
        let step_count = running::running().map_or(0, |running| running.quickly(|e| e.step_count));
        // SAFETY: the caller's promise.
        let (this, reuse) = unsafe { (&mut *quarantine, &mut *(*quarantine).reuse) };
        let index = this.length.wrapping_sub(1);
        let is_entered = index < this.length && this.get(index).start == start;
        if !is_entered || this.get(index).suspect || arena::is_kept_apart(layout.size()) {
            return;
        }
        let is_taken = |lease: &mut Lease| lease.is_taken(start);
        let is_of_earlier_one =
            window::holds(start) && this.some_are_taken && this.lease.as_mut().is_none_or(is_taken);
        if !is_of_earlier_one {
            let region = this.number;
            aside(|| reuse.give(region, layout, index, step_count));
        }
    }

    /// A block where none has lain in this execution.
    fn allocate_anew(&mut self, layout: Layout) -> *mut u8 {
        let number = self.number;
        let placed = self.lease.as_mut().and_then(|lease| lease.place(number, layout.size(), layout.align()));
        if let Some(placed) = placed {
            let (start, end) = placed.gap;
            if start < end {
                self.given_back += end - start;
                self.enter_block(Block {
                    start,
                    size: end - start,
                    align: 0,
                    suspect: false,
                    news: false,
                    reused: false,
                });
            }
            if let Some(start) = placed.start {
                return std::ptr::with_exposed_provenance_mut(start);
            }
        }
        // SAFETY: as for the caller's.
        let start = unsafe { System.alloc(layout) };
        self.note_elsewhere((start.addr(), start.addr() + layout.size()));
        if !self.reuse.is_null() {
            // SAFETY: it is the execution's, which is this quarantine's, and nobody borrows it.
            let reuse = unsafe { &mut *self.reuse };
            aside(|| reuse.note_elsewhere(start.addr()));
        }
        start
    }

    #[cold]
    fn note_elsewhere(&mut self, block: arena::Range) {
        if self.elsewhere.is_null() {
            // SAFETY: the layout has a size.
            self.elsewhere = unsafe { System.alloc(ELSEWHERE) }.cast();
        }
        if !self.elsewhere.is_null() && self.elsewhere_count < MAX_ELSEWHERE {
            // SAFETY: there is room for so many.
            unsafe { self.elsewhere.add(self.elsewhere_count).write(block) };
        }
        self.elsewhere_count += 1;
    }

    /// How many blocks of the program have been freed.
    pub(super) fn freed(&self) -> usize {
        self.length
    }

    /// Adds the addresses of all blocks of this execution, those that have been freed too. `false` if that is not known, or if it is more than so many bytes,
    /// wherever they lie.
    pub(super) fn blocks_in_use(&mut self, ranges: &mut Vec<arena::Range>, most: usize) -> bool {
        if self.passes || self.elsewhere_count > MAX_ELSEWHERE {
            return false;
        }
        let elsewhere = match self.elsewhere_count {
            0 => &[][..],
            _ if self.elsewhere.is_null() => return false,
            // SAFETY: so many have been written.
            count => unsafe { std::slice::from_raw_parts(self.elsewhere, count) },
        };
        ranges.extend_from_slice(elsewhere);
        match &mut self.lease {
            Some(lease) => lease.blocks_in_use(self.highest + 1, ranges, most),
            None => elsewhere.iter().map(|&(start, end)| whole_units(end - start)).sum::<usize>() <= most,
        }
    }

    /// Whether the address lies in a block that has been freed.
    pub(super) fn holds(&self, address: usize) -> bool {
        let around =
            |block: Block| block.is_free() && (block.start..block.start + block.size).contains(&address);
        (0..self.length).rev().any(|index| around(self.get(index)))
    }

    #[inline]
    fn push(&mut self, start: *mut u8, layout: Layout, suspect: bool) {
        let (start, size) = (start.addr(), layout.size());
        let news = suspect || lines(start, size).is_none_or(|lines| self.watched & lines != 0);
        self.news += usize::from(news);
        self.suspected |= suspect;
        self.enter_block(Block { start, size, align: layout.align() as u32, suspect, news, reused: false });
    }

    /// A block of the window is freed: it may be of an earlier execution.
    #[cold]
    fn look_closer(&mut self, start: usize) {
        self.inexact |= self.lease.as_mut().is_none_or(|lease| lease.is_taken(start));
    }

    #[inline]
    fn enter_block(&mut self, block: Block) {
        if self.length == self.capacity && !self.grow() {
            // Without memory for the list, the block is lost: it stays allocated.
            self.inexact = true;
            return;
        }
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
        let blocks = match self.length {
            0 => &[][..],
            // SAFETY: `length` entries have been written.
            length => unsafe { std::slice::from_raw_parts(self.blocks, length) },
        };
        if !self.passes && (self.holds_others || self.lease.is_none()) {
            let others = blocks.iter().filter(|block| block.is_free() && block.size > 0);
            let others = others.filter(|block| self.lease.is_none() || !window::holds(block.start));
            let mut others: Vec<Block> = others.copied().collect();
            // What was freed twice while threads were unwound, after a failure, nobody has taken note of.
            others.sort_unstable_by_key(|block| block.start);
            others.dedup_by_key(|block| block.start);
            for block in others {
                if let Ok(layout) = Layout::from_size_align(block.size, block.align as usize) {
                    // SAFETY: the block was allocated by the system's allocator with this layout, or lies in the window and no
                    // lease will know of it; its owner freed it.
                    unsafe { free_outside(block.start as *mut u8, layout) };
                }
            }
        }
        if let Some(lease) = self.lease.take() {
            let range = |block: &Block| (block.start, block.start + whole_units(block.size));
            let is_freed = |block: &&Block| block.is_free() && window::holds(block.start);
            let freed = blocks.iter().filter(is_freed);
            lease.close(Account {
                regions: self.highest + 1,
                given_back: (!self.inexact && !self.suspected).then_some(self.given_back),
                freed: freed.map(range),
                gaps: blocks.iter().filter(|block| block.is_gap()).map(range),
            });
        }
        self.regions = std::ptr::null_mut();
        self.region = (&raw const arena::NONE).cast_mut();
        (self.number, self.highest, self.given_back) = (0, 0, 0);
        (self.inexact, self.holds_others, self.suspected) = (false, false, false);
        (self.length, self.noted, self.news, self.told) = (0, 0, 0, 0);
    }

    /// Runs `f` with the quarantine in force on this OS thread, then gives the memory back.
    pub(super) fn during<R>(quarantine: *mut Quarantine, f: impl FnOnce() -> R) -> R {
        // SAFETY: the pointer is valid, and not reachable through the thread-local yet.
        let this = unsafe { &mut *quarantine };
        if !this.passes {
            this.lease = Lease::take();
            this.regions = this.lease.as_mut().map_or(std::ptr::null_mut(), Lease::regions);
            this.some_are_taken = this.lease.as_mut().is_none_or(Lease::has_taken);
            this.enter(0);
        }
        this.elsewhere_count = 0;
        QUARANTINE.with(|current| current.set(quarantine));
        let in_force = InForce;
        let result = f();
        drop(in_force);
        // SAFETY: the pointer is valid, and no longer reachable through the thread-local.
        unsafe { (*quarantine).flush() };
        result
    }
}

/// A quarantine is in force on this OS thread, until this is dropped, be it by a panic.
struct InForce;

impl Drop for InForce {
    fn drop(&mut self) {
        QUARANTINE.with(|current| current.set(std::ptr::null_mut()));
    }
}

/// A quarantine is not in force on this OS thread until this is dropped, be it by a panic.
struct Aside(*mut Quarantine);

impl Drop for Aside {
    fn drop(&mut self) {
        QUARANTINE.with(|current| current.set(self.0));
    }
}

/// Runs `f`, which is the engine's own work, without the quarantine: what it frees is no business of the execution.
pub fn aside<R>(f: impl FnOnce() -> R) -> R {
    let _aside = Aside(QUARANTINE.with(|current| current.replace(std::ptr::null_mut())));
    super::hashing::undisturbed(f)
}

/// What is noted once in a process, by whoever needs it first. If another test of the process is just noting it, that is waited for outside the model.
#[inline]
pub fn noted_once<T>(note: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    note.get().unwrap_or_else(|| aside(|| note.get_or_init(make)))
}

/// Whether the engine is at work of its own on this OS thread, or no execution runs here: locks of the real
/// `std` are then no business of an execution either.
#[must_use]
pub fn engine_works() -> bool {
    // SAFETY: a pointer in the thread-local is valid and used by this OS thread only.
    current().is_none_or(|quarantine| unsafe { Quarantine::is_engines(quarantine) })
}

/// Whether no execution runs here, as far as the allocator knows.
pub(super) fn is_aside() -> bool {
    current().is_none()
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        self.flush();
        if !self.elsewhere.is_null() {
            // SAFETY: allocated in `note_elsewhere` with this layout.
            unsafe { System.dealloc(self.elsewhere.cast(), ELSEWHERE) };
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
        // SAFETY: see `allocation_count`; the rest is the caller's promise.
        unsafe {
            let Some(quarantine) = current() else { return allocate_outside(layout) };
            if Quarantine::is_engines(quarantine) {
                (*quarantine).allocation_count += 1;
                return System.alloc(layout);
            }
            let start = Quarantine::allocate(quarantine, layout);
            note_allocation(quarantine, start, layout.size());
            start
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above; a block that is not null is as large as its layout says.
        unsafe {
            let Some(quarantine) = current() else { return System.alloc_zeroed(layout) };
            if Quarantine::is_engines(quarantine) {
                (*quarantine).allocation_count += 1;
                return System.alloc_zeroed(layout);
            }
            let start = Quarantine::allocate(quarantine, layout);
            if !start.is_null() && !(*quarantine).is_zero(start, layout.size()) {
                std::ptr::write_bytes(start, 0, layout.size());
            }
            note_allocation(quarantine, start, layout.size());
            start
        }
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let Some(quarantine) = current() else {
            // SAFETY: the caller's promise.
            return unsafe { free_outside(start, layout) };
        };
        // SAFETY: the caller owns the block and gives it up. The quarantine is used by this OS thread only.
        unsafe {
            if !window::holds(start.addr()) {
                return Quarantine::free_other(quarantine, start, layout);
            }
            let size = layout.size();
            if !(*quarantine).ledger.is_null() {
                Ledger::note_free((*quarantine).ledger, start.addr(), size);
            }
            if (*quarantine).some_are_taken {
                (*quarantine).look_closer(start.addr());
            }
            let suspect = is_suspect(start, size);
            (*quarantine).given_back += whole_units(size);
            (*quarantine).push(start, layout, suspect);
            if !(*quarantine).reuse.is_null() {
                Quarantine::keep_for_reuse(quarantine, start.addr(), layout);
            }
            // Last, and so nothing has to be kept for afterwards.
            std::ptr::write_bytes(start, POISON, size.min(MAX_POISONED));
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see `allocation_count`.
        let engines = current().is_none_or(|quarantine| unsafe { Quarantine::is_engines(quarantine) });
        if engines && !window::holds(start.addr()) {
            // SAFETY: the caller's promise.
            return unsafe { System.realloc(start, layout, size) };
        }
        // SAFETY: the caller promises that `size` makes a layout, owns the old block and gives it up. The two blocks
        // are different.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                move_contents(start, new, layout.size().min(size));
                self.dealloc(start, layout);
            }
            new
        }
    }
}

/// Copies what is in a block to the one that takes its place, which is no access of the program's.
///
/// # Safety
/// Both blocks are mapped, so large, and different.
#[inline(always)]
unsafe fn move_contents(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        super::hooks::copy_untold(to, from, size);
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        std::ptr::copy_nonoverlapping(from, to, size);
    }
}

/// Whether a block that is freed looks as if it had been freed before. The bytes may never have been written; they are looked
/// at as they are, and only ever raise a suspicion.
///
/// # Safety
/// The block is mapped, and so large.
#[inline]
unsafe fn is_suspect(start: *mut u8, size: usize) -> bool {
    let last = size.min(MAX_POISONED).wrapping_sub(1);
    // SAFETY: the caller's promise.
    unsafe { size > 0 && start.read_volatile() == POISON && start.add(last).read_volatile() == POISON }
}

thread_local! {
    /// A size that somebody looks for outside executions (0: nobody does), and the latest block of that size.
    static LOOKED_FOR: Cell<(usize, *mut u8)> = const { Cell::new((0, std::ptr::null_mut())) };
}

/// From now on [`latest`] is about blocks of this size that this thread allocates outside executions; 0: about none.
pub(super) fn look_for(size: usize) {
    LOOKED_FOR.with(|looked_for| looked_for.set((size, std::ptr::null_mut())));
}

/// The latest block of the size that is looked for, if it has not been freed; else null.
pub(super) fn latest() -> *mut u8 {
    LOOKED_FOR.with(|looked_for| looked_for.get().1)
}

/// # Safety
/// As for the system's allocator.
unsafe fn allocate_outside(layout: Layout) -> *mut u8 {
    // SAFETY: the caller's promise.
    let start = unsafe { System.alloc(layout) };
    LOOKED_FOR.with(|looked_for| {
        if looked_for.get().0 == layout.size() {
            looked_for.set((layout.size(), start));
        }
    });
    start
}

/// Frees a block where no execution is to know of it.
///
/// # Safety
/// As for [`GlobalAlloc::dealloc`].
#[inline]
unsafe fn free_outside(start: *mut u8, layout: Layout) {
    LOOKED_FOR.with(|looked_for| {
        let (size, latest) = looked_for.get();
        if latest == start {
            looked_for.set((size, std::ptr::null_mut()));
        }
    });
    // SAFETY: the caller's promise.
    unsafe {
        if window::holds(start.addr()) {
            arena::free_late(start, layout.size());
        } else {
            System.dealloc(start, layout);
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

    #[test]
    fn what_is_freed_twice_is_given_back_once() {
        let mut quarantine = Quarantine::new();
        for size in [40, MAX_POISONED, MAX_POISONED + 1, 3 * MAX_POISONED] {
            let layout = Layout::from_size_align(size, 8).unwrap();
            for is_written in [false, true] {
                Quarantine::during(&raw mut quarantine, || {
                    // SAFETY: what is freed stays where it is until the end; that it is freed twice is what is being tested.
                    unsafe {
                        let start = Allocator.alloc(layout);
                        start.write_bytes(1, size);
                        Allocator.dealloc(start, layout);
                        if is_written {
                            start.write(2);
                        }
                        Allocator.dealloc(start, layout);
                        let quarantine = &*current().unwrap();
                        assert_eq!((quarantine.length, quarantine.get(1).suspect), (2, !is_written));
                    }
                });
            }
        }
    }
}
