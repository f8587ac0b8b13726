//! Loads and stores of plain memory, as the compiler's instrumentation pass reports them: crates that `cargo icb` compiles
//! with it call the functions below before each access that no type wraps (`UnsafeCell::get`, raw pointers, `static mut`,
//! slices). The names are those of LLVM's thread sanitizer, whose pass it is; its runtime is not linked.
//!
//! A hook takes no lock, allocates nothing once warm, never unwinds, and does nothing outside an execution. Accesses to
//! the calling thread's own stack are passed over, but for what others reach of it. Not seen: what `std` was compiled to
//! beforehand, inline assembly, foreign code. Atomics are the mirrored types' business, and where a crate is on the real `std`, that of
//! `foreign`. What is wrong with an access, `memory_troubles` says.

use super::address_map::{ByAddress, Kind, WatchedPlaces, alive, key};
use super::allocator::aside;
use super::backtrace::{self, MAX_FRAMES};
use super::coroutine::Coroutine;
use super::errno;
use super::execution::Execution;
use super::memory_troubles::Owner;
use super::passing;
use super::perform::enter;
use super::program_allocator;
use super::running::Running;
use crate::memory::shadow::{MemoryAccess, Trouble, line_start};
use crate::memory::window;
use crate::program::{Granularity, Place};
use crate::trace::{Access, Action, Mode, ObjectClass, ObjectId, Operation};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Some crate of the program reports its accesses.
static INSTRUMENTED: AtomicBool = AtomicBool::new(false);

/// Whether some crate of the program was compiled so that it reports its accesses.
#[must_use]
pub fn instrumented() -> bool {
    INSTRUMENTED.load(Ordering::Relaxed)
}

/// Says that some crate of the program reports its accesses.
pub(super) fn set_instrumented() {
    INSTRUMENTED.store(true, Ordering::Relaxed);
}

/// Bytes of a granule, as the shadow has them.
pub(super) const GRANULE: usize = 8;

/// What a hook is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hooked {
    pub(super) address: usize,
    pub(super) size: usize,
    pub(super) write: bool,
    /// The return address of the hook.
    pub(super) place: usize,
}

/// Frames of the library's own that stand between the program and an access on its behalf, at most.
const MAX_OWN_FRAMES: usize = 32;

/// Backtraces of accesses to plain memory are whole until they have had so many frames together.
const MANY_FRAMES: usize = 300_000;
/// Frames of each of those after it, at most.
const FEW_FRAMES: usize = 8;

/// What is remembered of plain memory beside its shadow.
#[derive(Debug, Default)]
pub(super) struct MemoryNotes {
    /// In a replay: who was where, by granule.
    pub(super) seen: ByAddress<Vec<Seen>>,
    /// Frames of the backtraces that were taken for it.
    frame_count: usize,
    /// Where accesses can become scheduling points: who accesses a granule from where.
    places: ByAddress<Vec<Accessor>>,
    /// Whose code the places are.
    pub(super) owners: ByAddress<Owner>,
    /// Places where accesses of the mirrored library are not noted: its own, and those in functions of `std`, where it is asked at each
    /// access who has called them.
    pub(super) watched: WatchedPlaces,
    /// A place has become one of those in the running execution.
    pub(super) news: bool,
}

/// A place that accesses a granule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Accessor {
    place: usize,
    thread: usize,
    write: bool,
}

#[derive(Debug)]
pub(super) struct Seen {
    pub(super) thread: usize,
    pub(super) write: bool,
    pub(super) addresses: Vec<usize>,
    /// Steps taken before.
    pub(super) after_steps: u64,
}

impl MemoryNotes {
    /// An execution begins. What is known of places is kept.
    pub(super) fn begin(&mut self) {
        self.seen.clear();
        self.frame_count = 0;
        self.places.clear();
        self.news = false;
    }
}

/// What a hook looks at first.
struct Hooks {
    /// The execution whose accesses are checked; null if there is none on this OS thread.
    running: Cell<*const Running>,
    /// Just above the first frame of the running thread's stack.
    bottom: Cell<usize>,
    /// The part of that stack that others reach.
    shared: Cell<(usize, usize)>,
    /// The thread-local memory of this OS thread. It is `std`'s own, inlined into the program: the program's thread-locals
    /// are mirrored. What is in it is no thread's of an execution, and every thread's.
    locals: Cell<(usize, usize)>,
    /// What nobody can write.
    constants: Cell<(usize, usize)>,
}

thread_local! {
    static HOOKS: Hooks = const {
        Hooks {
            running: Cell::new(std::ptr::null()),
            bottom: Cell::new(0),
            shared: Cell::new((0, 0)),
            locals: Cell::new((0, 0)),
            constants: Cell::new((0, 0)),
        }
    };
}

/// From now on the accesses of this execution are checked, if some crate reports them; until [`look_away`].
pub(super) fn attend(running: &Running) {
    if running.with(|e| e.accesses_hooked) {
        HOOKS.with(|hooks| {
            if hooks.locals.get() == (0, 0)
                && let Some(memory) = aside(super::image::thread_local_memory)
            {
                let start = memory.cast::<u8>().addr().get();
                hooks.locals.set((start, start + memory.len()));
            }
            if hooks.constants.get() == (0, 0) {
                hooks.constants.set(aside(super::image::constants));
            }
            hooks.running.set(running);
        });
        passing::begin();
    }
}

/// Accesses are not checked any more.
pub(super) fn look_away() {
    if !HOOKS.with(|hooks| hooks.running.replace(std::ptr::null())).is_null() {
        passing::end();
    }
}

/// The execution whose accesses are checked on this OS thread.
pub(super) fn running_hooked() -> Option<&'static Running> {
    let running = HOOKS.with(|hooks| hooks.running.get());
    // SAFETY: `attend` has been given it, and `look_away` is called before it goes.
    (!running.is_null()).then(|| unsafe { &*running }).filter(|running| !running.at_work.get())
}

/// Does this to the execution whose accesses are checked on this OS thread, if it goes on.
#[inline]
pub(super) fn with_hooked(f: impl FnOnce(&mut Execution)) {
    let Some(running) = running_hooked() else { return };
    running.with(|e| {
        if !e.giving_up && e.end.is_none() {
            f(e);
        }
    });
}

/// Runs `f`, which is the mirrored library's own work on what only the engine orders: its accesses are not looked at. It
/// takes no step.
#[inline]
pub fn unseen<R>(f: impl FnOnce() -> R) -> R {
    let before = HOOKS.with(|hooks| hooks.running.replace(std::ptr::null()));
    let result = f();
    HOOKS.with(|hooks| hooks.running.set(before));
    result
}

/// An access is about to happen, of at least one byte, that does not [pass](passing::passes) at once.
#[inline(never)]
pub(super) fn accessed(address: usize, size: usize, write: bool, place: usize) {
    let marker = 0u8;
    let stack = (&raw const marker).addr();
    let (running, is_own) = HOOKS.with(|hooks| {
        let inside = |(start, end): (usize, usize)| (start..end).contains(&address);
        let is_own = if inside((stack, hooks.bottom.get())) {
            let (start, end) = hooks.shared.get();
            address >= end || start >= address + size
        } else {
            inside(hooks.constants.get()) || inside(hooks.locals.get())
        };
        (hooks.running.get(), is_own)
    });
    if running.is_null() {
        program_allocator::note(address);
    } else if !is_own && !is_engines(running, address) {
        reached(running, address, size, write, place);
    }
}

/// Somebody who is not instrumented, the system for instance, uses memory on behalf of the running thread. Nothing where accesses are not checked, or outside an execution.
pub fn memory_used(address: usize, size: usize, write: bool) {
    if size == 0 || passing::passes_wholly(address, size) {
        return;
    }
    let Some(running) = super::running::running() else { return };
    let place = running.with(|e| if e.accesses_hooked { e.place_outside() } else { None });
    if let Some(place) = place {
        let me = running.with(|e| {
            e.threads[e.current].on_behalf = true;
            e.current
        });
        accessed(address, size, write, place);
        running.with(|e| e.threads[me].on_behalf = false);
    }
}

/// Whether the address lies in what the engine knows of the execution: parts of it are compiled into the program.
#[inline(always)]
fn is_engines(running: *const Running, address: usize) -> bool {
    address.wrapping_sub(running.addr()) < size_of::<Running>()
}

/// An access happens to what others may reach, while there is an execution.
#[inline(never)]
fn reached(running: *const Running, address: usize, size: usize, write: bool, place: usize) {
    // SAFETY: `attend` has been given it, and `look_away` is called before it goes.
    let running = unsafe { &*running };
    if running.at_work.get() || program_allocator::holds(address) {
        return;
    }
    let point = running.with(|e| {
        if e.giving_up || e.end.is_some() {
            return None;
        }
        Some(e.is_memory_point(place))
    });
    match point {
        None => return,
        Some(false) => {}
        Some(true) => take_step(running, Hooked { address, size, write, place }),
    }
    running.with(|e| e.check_memory(address, size, write, place));
}

/// The access is a scheduling point, and a step.
#[cold]
fn take_step(running: &Running, hooked: Hooked) {
    let operation = running.with(|e| e.memory_operation(hooked));
    running.with(|e| e.threads[e.current].in_hook = true);
    enter(running, operation, Place::of_code(hooked.place));
    running.with(|e| {
        e.threads[e.current].in_hook = false;
        if !e.giving_up && e.end.is_none() {
            e.finish_memory(operation, hooked.write);
        }
    });
}

impl Execution {
    /// Where the mirrored library was called: the return address in the innermost frame that is not its own. (Before its frames come those of
    /// whoever looks for them.)
    #[cold]
    fn place_outside(&mut self) -> Option<usize> {
        let addresses = backtrace::innermost_addresses(MAX_OWN_FRAMES);
        let begin = addresses.iter().position(|&address| self.owner(address) == Owner::Own)?;
        addresses[begin..].iter().copied().find(|&address| self.owner(address) != Owner::Own)
    }

    /// Another thread runs, or one has begun.
    #[inline]
    pub(super) fn tell_hooks(&self) {
        let (start, bottom) = self.stack_of(self.current);
        let shared = self.shared_stacks.of(self.current, bottom);
        HOOKS.with(|hooks| {
            hooks.bottom.set(bottom);
            hooks.shared.set(shared);
        });
        passing::pass(start, if shared.1 == 0 { bottom } else { shared.0 });
    }

    /// Whether the running execution has shown something that would have been needed from its beginning.
    pub(super) fn has_news_of_memory(&self) -> bool {
        self.shared_stacks.news || self.memory_notes.news
    }

    /// Memory is accessed that the execution had not touched before: it may be on the stack of another thread, or a static.
    #[cold]
    fn note_new_memory(&mut self, hooked: Hooked) {
        // Neither is there.
        if window::holds(hooked.address) {
            return;
        }
        // The beginning of its line counts as touched from now on, too.
        let start = line_start(hooked.address);
        aside(|| {
            self.statics.keep_memory(start, 1);
            self.statics.keep_memory(hooked.address, hooked.size);
        });
        self.note_reached(start, hooked.address + hooked.size - start);
    }

    /// The running thread reaches this memory: it may be on the stack of another thread.
    pub(super) fn note_reached(&mut self, address: usize, size: usize) {
        for thread in (0..self.thread_count).filter(|&thread| thread != self.current) {
            if self.is_on_stack_of(thread, address) {
                self.shared_stacks.reach(thread, self.threads[thread].stack_bottom, address, size);
            }
        }
    }

    pub(super) fn is_on_stack_of(&self, thread: usize, address: usize) -> bool {
        let (start, end) = self.stack_of(thread);
        (start..end).contains(&address)
    }

    /// The addresses of a thread's stack up to its first frame.
    pub(super) fn stack_of(&self, thread: usize) -> (usize, usize) {
        let bottom = self.threads[thread].stack_bottom;
        let size = self.threads[thread].coroutine.as_ref().map_or(0, Coroutine::stack_size);
        (bottom.saturating_sub(size), bottom)
    }

    /// Whether the memory is on the running thread's own stack, where nobody else reaches it.
    pub(super) fn is_on_private_stack(&self, address: usize) -> bool {
        let me = self.current;
        let (start, end) = self.shared_stacks.of(me, self.threads[me].stack_bottom);
        self.is_on_stack_of(me, address) && !(start..end).contains(&address)
    }

    /// Whether accesses at this place of the program are scheduling points.
    #[inline]
    fn is_memory_point(&self, place: usize) -> bool {
        !self.promoted.is_empty() && self.promoted.contains(&Place::of_code(place).address())
    }

    fn granule_object(&mut self, address: usize) -> ObjectId {
        let address: *const () = std::ptr::without_provenance(address / GRANULE * GRANULE);
        match self.map.get(key(address.addr(), Kind::Memory)).and_then(alive) {
            Some(object) => object,
            None => {
                let object = self.register(ObjectClass::Cell, "memory", address, None);
                self.enter_in_map(address.addr(), Kind::Memory, object);
                object
            }
        }
    }

    /// The step of an access: the granule of its first byte, and the one of its last.
    fn memory_operation(&mut self, hooked: Hooked) -> Operation {
        let action = if hooked.write { Action::CellWrite } else { Action::CellRead };
        let first = self.granule_object(hooked.address);
        let end = hooked.address + hooked.size - 1;
        if end / GRANULE == hooked.address / GRANULE {
            return Operation::new(action, first);
        }
        let last = self.granule_object(end);
        Operation::with_other(action, first, last)
    }

    fn finish_memory(&mut self, operation: Operation, write: bool) {
        let mode = if write { Mode::Write } else { Mode::Read };
        for object in [operation.object, operation.other] {
            if !object.is_some() {
                continue;
            }
            if write {
                self.note_change(object);
            } else {
                self.note_read(object);
            }
        }
        let objects = [operation.object, operation.other].into_iter().filter(|object| object.is_some());
        self.accesses.clear();
        self.accesses.extend(objects.map(|object| Access { object, mode }));
        self.finish_many(operation, 0, None);
    }

    /// Checks an access of the running thread and takes note of it. (A structure that is written in words and read in larger pieces makes the processor wait, so
    /// there is none before somebody asks.)
    #[inline(always)]
    fn check_memory(&mut self, address: usize, size: usize, write: bool, place: usize) {
        let hooked = || Hooked { address, size, write, place };
        self.note_freed();
        if self.end.is_some() {
            return;
        }
        if self.memory_notes.watched.contains(place) && self.is_own_at(place) {
            return;
        }
        let count = self.shadow.granule_count();
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let mut trouble =
            self.shadow.access(&MemoryAccess { address, size, write, thread: me, clock, place });
        if matches!(trouble, Some(Trouble::Race(_))) && self.look_at_futexes() {
            // Something had been acquired where that is not seen.
            let clock = &self.threads[me].clock.clock;
            trouble = self.shadow.access(&MemoryAccess { address, size, write, thread: me, clock, place });
        }
        if self.shadow.granule_count() != count {
            self.note_new_memory(hooked());
        } else if self.statics.is_crowded(address) {
            aside(|| self.statics.keep_data(std::ptr::without_provenance(address)));
        }
        if self.notes_accesses {
            self.note_access(hooked());
        }
        if trouble.is_some() || !self.shadow.met_atomics.is_empty() {
            self.look_closely(hooked(), trouble);
        }
    }

    /// Whether more is written down of an access than its place in the shadow.
    pub(super) fn wants_notes(&self) -> bool {
        self.remembers_places() || self.backtraces || self.ledger.keeps_histories
    }

    #[cold]
    fn note_access(&mut self, hooked: Hooked) {
        aside(|| {
            if self.remembers_places() {
                self.remember_places(hooked);
            }
            if self.backtraces {
                self.remember_access_to(hooked);
            }
            if self.ledger.keeps_histories {
                self.ledger.note_use(hooked.address);
            }
        });
    }

    #[inline]
    fn remembers_places(&self) -> bool {
        self.settings.promote || self.settings.granularity == Granularity::EveryAccess
    }

    fn granules(hooked: Hooked) -> std::ops::RangeInclusive<usize> {
        hooked.address / GRANULE..=(hooked.address + hooked.size - 1) / GRANULE
    }

    /// Every access of memory that another thread touches too, one of them writing, becomes a scheduling point where all
    /// accesses are to be; which ones these are is found out as the executions go.
    #[cold]
    fn remember_places(&mut self, hooked: Hooked) {
        if errno::is_at(hooked.address) {
            return;
        }
        let new = Accessor { place: hooked.place, thread: self.current, write: hooked.write };
        for granule in Self::granules(hooked) {
            let places = self.memory_notes.places.entry(granule).or_default();
            if !places.contains(&new) {
                places.push(new);
            }
            let every = self.settings.granularity == Granularity::EveryAccess;
            let shared = |old: &Accessor| old.thread != new.thread && (old.write || new.write);
            if every && places.iter().any(shared) && self.owner(hooked.place) != Owner::Own {
                self.promote_granule(granule);
            }
        }
    }

    #[cold]
    fn remember_access_to(&mut self, hooked: Hooked) {
        let me = self.current;
        // In a deep recursion all of them would take minutes.
        let most = if self.memory_notes.frame_count < MANY_FRAMES { MAX_FRAMES } else { FEW_FRAMES };
        let addresses = backtrace::innermost_addresses(most);
        self.memory_notes.frame_count += addresses.len();
        for granule in Self::granules(hooked) {
            let seen = self.memory_notes.seen.entry(granule).or_default();
            seen.retain(|seen| (seen.thread, seen.write) != (me, hooked.write));
            seen.push(Seen {
                thread: me,
                write: hooked.write,
                addresses: addresses.clone(),
                after_steps: self.step_count,
            });
        }
    }

    /// The places that access the granule become scheduling points; the search begins anew if that is news.
    pub(super) fn promote_granule(&mut self, granule: usize) {
        let mut news = false;
        for accessor in self.memory_notes.places.get(&granule).into_iter().flatten() {
            news |= self.promoted.insert(Place::of_code(accessor.place).address());
        }
        self.begins_anew(news);
    }
}
