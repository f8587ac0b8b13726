//! What is wrong with an access to plain memory, or with a free: whether it counts, by whose code it is, and the failure
//! that is told. Knows the shadow's findings; that accesses happen, `accesses` says.

use super::accesses::{GRANULE, Hooked};
use super::errno;
use super::execution::Execution;
use super::lookups::look_up;
use super::threads::Life;
use crate::memory::shadow::{EarlierAccess, MemoryAccess, Trouble};
use crate::program::{End, Place};
use crate::trace::table::in_program;
use crate::trace::{Failure, FailureKind, Frame, MemoryEventKind, RaceAccess, ThreadId};

/// Whose code a place is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owner {
    /// The mirrored library's: what its types keep inside is ordered by means that the program under test does not see.
    Own,
    /// A function of `std`, which anybody may have called.
    Library,
    Program,
}

/// The program has given back memory that it had mapped by itself, which is as if it had freed it; what comes to lie there is new. Does nothing outside an
/// execution.
pub fn memory_unmapped(address: usize, size: usize) {
    let Some(running) = super::running::running() else { return };
    if is_judged() {
        running.with(|e| {
            e.memory_goes(address, size, |e| {
                e.objects_freed(address, size);
                e.map.renew_block(address, size);
            });
        });
    }
    running.with(|e| {
        e.shadow.renew(address, size);
        e.foreign.futexes.forget(address, size);
    });
}

/// Some accesses to this memory are forbidden from now on, which the program has mapped by itself: to whoever makes one that is as if it were freed, but what
/// is there stays. Does nothing outside an execution.
pub fn memory_protected(address: usize, size: usize) {
    let Some(running) = super::running::running().filter(|_| is_judged()) else { return };
    running.with(|e| {
        e.memory_goes(address, size, |e| e.objects_change(address, size));
        e.shadow.renew(address, size);
    });
}

/// An allocator of the program's own may give back what blocks lay in that were freed, by order of locks that nobody sees.
fn is_judged() -> bool {
    super::allocator::allocation_count() > 0
}

impl Execution {
    /// Nobody else may use this memory at the same time; what becomes of `objects` there is told.
    fn memory_goes(&mut self, start: usize, size: usize, objects: impl FnOnce(&mut Execution)) {
        self.between_steps(|e| {
            if e.accesses_hooked {
                e.memory_freed(start, size);
            }
            objects(e);
        });
    }

    /// A block has been freed by the running thread: nobody may touch it from now on.
    #[cold]
    pub(super) fn memory_freed(&mut self, start: usize, size: usize) {
        let me = self.current;
        let clock = &self.threads[me].clock.clock;
        let place = self.threads[me].location.map_or(0, Place::address);
        let access = MemoryAccess { address: start, size, write: true, thread: me, clock, place };
        let trouble = self.shadow.free(&access);
        let Some(Trouble::Race(earlier)) = trouble else { return };
        if self.end.is_some() || !self.is_of_program(earlier.place) {
            return;
        }
        if self.settings.promote {
            // The access comes after the free in another execution, once it is a scheduling point.
            self.promote_granule(earlier.address / GRANULE);
        } else {
            let first = self.memory_access(earlier.address, earlier.thread, earlier.write, earlier.place);
            let done = if first.write { "it has been written" } else { "it has been read" };
            let verb = verb(&first);
            self.fail_by_free(first, done, verb, earlier.address);
        }
    }

    /// The running thread is about to end: nobody may touch its stack from now on. (Its frames go one after the other, which is not seen.)
    #[cold]
    pub(super) fn stack_goes(&mut self) {
        let (start, end) = self.stack_of(self.current);
        let (first, last) = self.shared_stacks.of(self.current, end);
        if first < last {
            self.memory_freed(first, last - first);
        }
        self.objects_freed(start, end - start);
    }

    /// The ended thread on whose stack this is.
    pub(super) fn ended_owner(&self, address: usize) -> Option<ThreadId> {
        let has_ended = |&thread: &usize| self.threads[thread].life == Life::Ended;
        let mut ended = (0..self.thread_count).filter(has_ended);
        ended.find(|&thread| self.is_on_stack_of(thread, address)).map(ThreadId::new)
    }

    /// A plain access of the running thread has found trouble, or atomic variables.
    #[cold]
    pub(super) fn look_closely(&mut self, hooked: Hooked, trouble: Option<Trouble>) {
        if let Some(trouble) = trouble {
            self.in_trouble(hooked, trouble);
        }
        self.check_with_atomics(hooked);
        self.fails_between_steps();
    }

    /// Does what may end the execution between two steps.
    pub(super) fn between_steps(&mut self, act: impl FnOnce(&mut Execution)) {
        let had_ended = self.end.is_some();
        act(self);
        if !had_ended {
            self.fails_between_steps();
        }
    }

    /// If what the running thread does now has ended the execution, the thread goes on to its next step: an access, or an allocation, cannot be given up half-way.
    fn fails_between_steps(&mut self) {
        if let Some(End::Failed(failure)) = &mut self.end {
            failure.after_steps.get_or_insert(self.step_count);
        }
    }

    fn in_trouble(&mut self, hooked: Hooked, trouble: Trouble) {
        if self.owner(hooked.place) == Owner::Own || self.own_code_runs() {
            if matches!(trouble, Trouble::Race(_)) {
                self.watch(hooked.place);
            }
            return;
        }
        match trouble {
            Trouble::Race(_) if errno::is_at(hooked.address) => {}
            Trouble::Race(earlier) if !self.is_of_program(earlier.place) => {}
            Trouble::Race(_) if is_of_streams(hooked.address) => {}
            Trouble::Race(earlier) if self.settings.promote => {
                self.promote_granule(earlier.address / GRANULE)
            }
            Trouble::Race(earlier) => self.fail_by_race(hooked, earlier),
            Trouble::Freed { address } => {
                let kind = if hooked.write { "written" } else { "read" };
                let message = match self.ended_owner(address) {
                    Some(owner) => format!("the stack of {owner} is {kind} after {owner} has ended"),
                    None => format!("memory is {kind} after it has been freed"),
                };
                let address = std::ptr::without_provenance(address);
                self.fail_by_use(message, address, Place::of_code(hooked.place), hooked.write);
            }
        }
    }

    fn fail_by_race(&mut self, hooked: Hooked, earlier: EarlierAccess) {
        let first = self.memory_access(earlier.address, earlier.thread, earlier.write, earlier.place);
        let second = self.memory_access(earlier.address, self.current, hooked.write, hooked.place);
        let words = [verb(&first), verb(&second)];
        self.fail_by_unordered([first, second], words, Some(earlier.address));
    }

    /// Two accesses race, the earlier one first. `words`: what each does. `memory`: an address in plain memory, which has no name of its own.
    pub(super) fn fail_by_unordered(
        &mut self,
        accesses: [RaceAccess; 2],
        words: [&str; 2],
        memory: Option<usize>,
    ) {
        let [first, second] = [0, 1].map(|index| side(&accesses[index], words[index]));
        let mut message = format!("{first} and {second} are not ordered by happens-before");
        let memory = memory.filter(|_| self.observer.is_some());
        if let Some(variable) = memory.and_then(|address| super::allocator::aside(|| static_words(address))) {
            message += &format!(", in {variable}");
        }
        let mut failure = Failure::new(FailureKind::DataRace, message);
        failure.memory = memory.map_or_else(Vec::new, |address| self.ledger.history(address));
        failure.memory.retain(|event| event.kind == MemoryEventKind::Allocated);
        failure.location = accesses[1].location.clone();
        failure.race = Some(Box::new(accesses));
        self.fail(failure);
    }

    /// A block is freed, or the running thread's stack goes, and nothing orders this with an earlier access, after which something `done`, for which there is a `verb`: in
    /// another execution the access comes after it. `address`: somewhere in the block.
    pub(super) fn fail_by_free(&mut self, first: RaceAccess, done: &str, verb: &str, address: usize) {
        let mut second = RaceAccess::new(ThreadId::new(self.current), true);
        second.frees = true;
        second.ends = self.is_on_stack_of(self.current, address);
        if !second.ends {
            second.location =
                self.observer.and(self.threads[self.current].location).and_then(Place::location);
        }
        let mut history = self.ledger.history(address);
        if let Some(at) = history.iter().position(|event| event.kind == MemoryEventKind::Freed) {
            let event = history.swap_remove(at);
            history.truncate(at);
            (second.location, second.backtrace) = (event.location, event.backtrace);
        }
        let what = match second.ends {
            true => format!("the stack of {} goes", second.thread),
            false => "memory is freed".to_owned(),
        };
        let message = format!(
            "{what} after {done}: {} and {} are not ordered by happens-before",
            side(&first, verb),
            side(&second, if second.ends { "end" } else { "free" })
        );
        let mut failure = Failure::new(FailureKind::UseAfterFree, message);
        failure.location = if second.ends { &first } else { &second }.location.clone();
        failure.memory = history;
        failure.race = Some(Box::new([first, second]));
        self.fail(failure);
    }

    pub(super) fn memory_access(
        &mut self,
        address: usize,
        thread: usize,
        write: bool,
        place: usize,
    ) -> RaceAccess {
        let mut access = RaceAccess::new(ThreadId::new(thread), write);
        if self.observer.is_none() {
            return access;
        }
        access.location = Place::of_code(place).location();
        let seen = self.memory_notes.seen.get(&(address / GRANULE)).into_iter().flatten();
        let mut seen = seen.filter(|seen| (seen.thread, seen.write) == (thread, write));
        if let Some(seen) = seen.next_back() {
            access.after_steps = Some(seen.after_steps);
            access.backtrace = self.resolver.frames(&seen.addresses);
            // A pointer of the mirrored library is read by whoever has called it.
            access.location = access.location.map(|place| in_program(place, &access.backtrace));
        }
        access
    }

    pub(super) fn owner(&mut self, place: usize) -> Owner {
        if let Some(&owner) = self.memory_notes.owners.get(&place) {
            return owner;
        }
        let frames = look_up(&mut self.threads.mine().idle, || crate::symbols::frames(place));
        let owner = match frames.iter().find(|frame| tells_owner(frame)) {
            None => Owner::Library,
            Some(frame) if is_own_frame(frame) => Owner::Own,
            Some(_) => Owner::Program,
        };
        self.memory_notes.owners.insert(place, owner);
        owner
    }

    /// Whether an earlier access at this place was one of the program under test. Where it was not, or could have been either, the
    /// place is watched.
    pub(super) fn is_of_program(&mut self, place: usize) -> bool {
        match self.owner(place) {
            Owner::Program => true,
            Owner::Library if self.memory_notes.watched.contains(place) => true,
            Owner::Own | Owner::Library => {
                self.watch(place);
                false
            }
        }
    }

    /// What the mirrored library accesses at this place is no longer noted, since it hides what the program has done before; the
    /// execution will be run once more.
    fn watch(&mut self, place: usize) {
        self.memory_notes.news |= self.memory_notes.watched.insert(place);
    }

    /// Whether the place, which is watched, is the mirrored library's, or that has called it.
    #[cold]
    pub(super) fn is_own_at(&mut self, place: usize) -> bool {
        self.owner(place) == Owner::Own || self.own_code_runs()
    }

    /// Whether the access is made on behalf of the mirrored library, by way of a function of `std`.
    pub(super) fn own_code_runs(&mut self) -> bool {
        if self.threads.mine().on_behalf {
            return false;
        }
        let resolver = &mut self.resolver;
        let frames =
            look_up(&mut self.threads.mine().idle, || resolver.frames(&super::backtrace::addresses()));
        let mut frames = frames.iter().skip_while(|frame| is_engine_frame(frame) || is_hook(frame));
        frames.find(|frame| tells_owner(frame)).is_some_and(is_own_frame)
    }
}

fn side(access: &RaceAccess, verb: &str) -> String {
    match &access.location {
        Some(location) => format!("{verb} by {} at {location}", access.thread),
        None => format!("{verb} by {}", access.thread),
    }
}

/// Whether this is `std`'s own memory of `stdin`, `stdout` or `stderr`, of which parts are inlined into the program: their locks are not mirrored, and
/// exclude nobody here.
fn is_of_streams(address: usize) -> bool {
    let symbol = super::allocator::aside(|| super::image::symbol(std::ptr::without_provenance(address)));
    symbol.is_some_and(|(name, _)| name.starts_with("std::io::stdio::"))
}

/// The static that the address is in: `the static app::COUNT`.
fn static_words(address: usize) -> Option<String> {
    let (name, offset) = super::image::symbol(std::ptr::without_provenance(address))?;
    Some(match offset {
        0 => format!("the static {name}"),
        offset => format!("the static {name}, {offset} bytes behind its beginning"),
    })
}

pub(super) fn verb(access: &RaceAccess) -> &'static str {
    if access.write { "write" } else { "read" }
}

/// Functions of `std` do not, unless they take a value of the mirrored library apart; nor do those of the mirrored `Arc` and `Weak`, which have nothing in their
/// memory but the pointer: who uses them reads it.
fn tells_owner(frame: &Frame) -> bool {
    !(crate::symbols::is_library(frame) || is_of_pointer(frame)) || drops_own_value(frame)
}

/// Whether the function is one of the mirrored `Arc` or `Weak`.
fn is_of_pointer(frame: &Frame) -> bool {
    let file = frame.location.as_ref().map_or("", |location| &location.file);
    frame.function.trim_start_matches('<').starts_with("icb_std::sync::arc::")
        || is_of_package(frame, "icb-std") && file.contains("/src/sync/arc/")
}

/// By its name, or, where the debug information has names without their modules, by its file.
fn is_own_frame(frame: &Frame) -> bool {
    is_engine_frame(frame)
        || frame.function.trim_start_matches('<').starts_with("icb_std::")
        || is_of_package(frame, "icb-std")
        || drops_own_value(frame)
}

fn is_engine_frame(frame: &Frame) -> bool {
    frame.function.trim_start_matches('<').starts_with("icb_core::") || is_of_package(frame, "icb-core")
}

/// Whether the function drops a value of the mirrored library, which it does field by field. (Of an `Arc` or `Weak` see [`tells_owner`].)
fn drops_own_value(frame: &Frame) -> bool {
    let name = &frame.function;
    let in_place = ["drop_in_place<icb_std::", "drop_in_place::<icb_std::"];
    let dropped = in_place.into_iter().find_map(|begin| name.split_once(begin)).map(|(_, rest)| rest);
    dropped.is_some_and(|rest| !rest.starts_with("sync::arc::")) || name.starts_with("drop_slow<icb_std::")
}

fn is_hook(frame: &Frame) -> bool {
    let name = &frame.function;
    name.starts_with("__tsan_") || name.starts_with("backtrace::") || is_of_package(frame, "backtrace")
}

/// Whether the file is in the directory `src` of a package's sources, with or without a version in their directory's name.
fn is_of_package(frame: &Frame, package: &str) -> bool {
    let file = frame.location.as_ref().map_or("", |location| &location.file);
    let parts: Vec<&str> = file.split(['/', '\\']).collect();
    let is_its = |directory: &str| {
        let version = directory.strip_prefix(package);
        version.is_some_and(|rest| rest.is_empty() || rest.starts_with("-0.") || rest.starts_with("-1."))
    };
    parts.windows(2).any(|pair| is_its(pair[0]) && pair[1] == "src")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SourceLocation;

    #[test]
    fn who_has_called_a_pointer_is_the_owner() {
        let frame = |function: &str, file: &str| Frame {
            function: function.to_owned(),
            location: Some(SourceLocation { file: file.to_owned(), line: 1, column: 1 }),
        };
        for (function, file, tells) in [
            ("<icb_std::sync::arc::Arc<T> as core::clone::Clone>::clone", "", false),
            ("clone<u8>", "/home/a/icb/icb-std/src/sync/arc/weak.rs", false),
            ("lock<u8>", "/home/a/icb/icb-std/src/sync/mutex.rs", true),
            ("drop_in_place<icb_std::sync::arc::Arc<u8>>", "/rustc/0/library/core/src/ptr/mod.rs", false),
            ("drop_in_place<icb_std::thread::Thread>", "/rustc/0/library/core/src/ptr/mod.rs", true),
            ("mine", "src/sync/arc/mod.rs", true),
        ] {
            assert_eq!(tells_owner(&frame(function, file)), tells, "{function} {file}");
        }
    }

    #[test]
    fn own_code_is_known_by_its_name_or_its_file() {
        for (function, file, own) in [
            ("icb_std::sync::arc::drop", "", true),
            ("<icb_core::runtime::Handle as X>::y", "", true),
            ("drop", "/home/a/icb/icb-std/src/sync/arc/mod.rs", true),
            ("drop", "/r/icb-core-0.1.0/src/clock.rs", true),
            ("drop", "icb-std/src/thread/packet.rs", true),
            ("drop", "/home/a/icb/icb-std/tests/a.rs", false),
            ("drop", "/home/a/my-icb-std/src/a.rs", false),
            ("mine::icb_std::drop", "src/lib.rs", false),
            (
                "drop_in_place<icb_std::thread::packet::Packet<()>>",
                "/rustc/0/library/core/src/ptr/mod.rs",
                true,
            ),
            (
                "core::ptr::drop_in_place<icb_std::sync::Mutex<u8>>",
                "/rustc/0/library/core/src/ptr/mod.rs",
                true,
            ),
            (
                "core::ptr::drop_in_place::<icb_std::sync::Mutex<u8>>",
                "/rustc/0/library/core/src/ptr/mod.rs",
                true,
            ),
            ("push<icb_std::sync::Mutex<u8>>", "/rustc/0/library/alloc/src/vec/mod.rs", false),
        ] {
            let location = SourceLocation { file: file.to_owned(), line: 1, column: 1 };
            let frame = Frame { function: function.to_owned(), location: Some(location) };
            assert_eq!(is_own_frame(&frame), own, "{function} {file}");
        }
    }
}
