//! The open files that threads of an execution wait for one another in (event counters, pipes, sockets), and the objects of the model that they are. What is done to a file
//! may be an event for who waits for another one: for the other end of it, say. Files of which this is so are a [`Group`], and each group is one object: a pipe, a pair of
//! sockets or a connection is one with both its ends, a counter is one, and [`Group::REST`] is all others (listeners, messages that find their ways by addresses) and the addresses.
//!
//! Who waits for files of several groups at a time makes all of them one object, and so does whoever makes an interest list (`epoll(7)`): in this execution, if threads have not used other groups
//! in it yet, else in all of them, and the search begins anew.

use crate::door::{self, OwnGuard, OwnLock};
use crate::status::{Identity, identity};
use crate::streams::{SO_TYPE, SOCK_DGRAM, option};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::system::{self, system};
use ::std::ffi::{c_int, c_long};
use ::std::sync::PoisonError;
use ::std::sync::atomic::{AtomicBool, Ordering};
use ::std::time::Duration;

/// So many groups of an execution are told apart; from then on some have an object in common.
const MAX_GROUPS: usize = 64;
/// So many groups that a thread makes have the same numbers in each execution, whatever other threads make meanwhile.
const GROUPS_OF_THREAD: usize = 8;

/// Each is held while it is looked whether there are events in its group, and while something is done that may make one, or be the end of one.
static FILE_EVENTS: [Mutex<()>; MAX_GROUPS] = [const { Mutex::new(()) }; MAX_GROUPS];
/// Something has been done in the group that may be an event for somebody.
static FILE_READY: [Condvar; MAX_GROUPS] = [const { Condvar::of_epoll() }; MAX_GROUPS];

/// What holds a group.
pub(crate) type Held = MutexGuard<'static, ()>;

/// Files of which one may become ready by what is done to another one: one object of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Group(u8);

impl Group {
    /// Those that are in no other one.
    pub(crate) const REST: Group = Group(0);

    /// Takes what is held while files of the group are asked.
    pub(crate) fn hold(self) -> Held {
        if self != Group::REST {
            files().groups_are_used = true;
        }
        FILE_EVENTS[usize::from(self.0)].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something has been done in the group, or for so long. `true`: that time is over.
    pub(crate) fn wait_for_change(self, held: Held, duration: Option<Duration>) -> (Held, bool) {
        let ready = &FILE_READY[usize::from(self.0)];
        let Some(duration) = duration else {
            return (ready.wait(held).unwrap_or_else(PoisonError::into_inner), false);
        };
        let (held, result) = ready.wait_timeout(held, duration).unwrap_or_else(PoisonError::into_inner);
        (held, result.timed_out())
    }

    /// Wakes all who wait in the group; the caller holds it.
    pub(crate) fn tell(self) {
        FILE_READY[usize::from(self.0)].notify_all();
    }

    /// Asks while nobody else does something in the group.
    pub(crate) fn alone<R>(self, ask: impl FnOnce() -> R) -> R {
        door::without_unwinding(|| {
            let _held = self.hold();
            ask()
        })
    }

    /// Does what may be an event for somebody in the group.
    pub(crate) fn ask_and_tell(self, ask: impl FnOnce() -> c_long) -> c_long {
        self.alone(|| {
            let result = ask();
            self.tell();
            result
        })
    }
}

/// One of the files that only the process itself writes to.
#[derive(Clone, Copy)]
struct Known {
    file: c_int,
    /// Which it was before it was closed: whether that has happened already is not asked.
    identity: Identity,
    /// There is another end, or there are others like it. A duplicate (`dup(2)`) of such a file is the same one.
    has_other_end: bool,
    group: Group,
}

/// What the running execution has made.
pub(crate) struct Files {
    /// Those that only the process itself writes to, and that have not been closed. Whoever does may wake somebody.
    inside: Vec<c_int>,
    /// Those, and those that have been closed.
    known: Vec<Known>,
    /// Those that have not been closed, and which they are.
    made: Vec<Made>,
    /// Those that wait for connections.
    listeners: Vec<c_int>,
    /// The connections that nobody has accepted yet: to which listener, and the group that each is.
    connections: Vec<(Identity, Group)>,
    /// Interest lists.
    lists: Vec<c_int>,
    /// These have been made.
    groups: [bool; MAX_GROUPS],
    /// Something has been done in a group that is not the rest.
    groups_are_used: bool,
    /// All files are one group, the rest.
    are_one: bool,
    /// Such a socket is waited for.
    pub(crate) has_sockets: bool,
    /// Something is waited for that others write to.
    pub(crate) has_outside: bool,
    /// It is known that all this is to be forgotten.
    is_known: bool,
}

/// An open file, which one it is, and the thread of the system that runs the execution that has made it.
type Made = (c_int, Identity, usize);

const NONE: Files = Files {
    inside: Vec::new(),
    known: Vec::new(),
    made: Vec::new(),
    listeners: Vec::new(),
    connections: Vec::new(),
    lists: Vec::new(),
    groups: [false; MAX_GROUPS],
    groups_are_used: false,
    are_one: false,
    has_sockets: false,
    has_outside: false,
    is_known: false,
};

impl Files {
    /// A file of the execution's own.
    fn insert(&mut self, file: c_int, has_other_end: bool, group: Group) {
        self.inside.push(file);
        self.known.push(Known { file, identity: identity(file), has_other_end, group });
        self.note_made(file);
    }

    fn note_made(&mut self, file: c_int) {
        self.made.retain(|made| made.0 != file);
        self.made.push((file, identity(file), door::carrier()));
    }

    /// A new group. Its number does not depend on what other threads make, as far as there are enough.
    fn new_group(&mut self) -> Group {
        let thread = door::current().map_or(0, |thread| thread.index());
        let number = |n: usize| 1 + (thread * GROUPS_OF_THREAD + n) % (MAX_GROUPS - 1);
        let number = (0..MAX_GROUPS).map(number).find(|&n| !self.groups[n]).unwrap_or(number(0));
        self.groups[number] = true;
        Group(number as u8)
    }

    /// What is known of this file. A number that has been closed is known, until something else has got it.
    fn known(&self, file: c_int) -> Option<&Known> {
        if self.known.is_empty() {
            return None;
        }
        let now = identity(file);
        let is_it = |known: &&Known| known.file == file && [known.identity, [0, 0]].contains(&now);
        let is_end = |known: &&Known| known.has_other_end && known.identity == now;
        self.known.iter().rev().find(is_it).or_else(|| self.known.iter().rev().find(is_end))
    }

    pub(crate) fn is_known(&self, file: c_int) -> bool {
        self.known(file).is_some()
    }

    pub(crate) fn is_socket(&self, file: c_int) -> bool {
        let now = identity(file);
        self.known.iter().any(|known| known.has_other_end && known.identity == now)
    }

    pub(crate) fn is_inside(&self, file: c_int) -> bool {
        self.inside.contains(&file) || self.is_socket(file)
    }

    pub(crate) fn is_list(&self, file: c_int) -> bool {
        self.lists.contains(&file)
    }

    /// Which object of the model this file is.
    pub(crate) fn group(&self, file: c_int) -> Group {
        if self.are_one { Group::REST } else { self.known(file).map_or(Group::REST, |known| known.group) }
    }
}

static FILES: OwnLock<Files> = OwnLock::new(NONE);

/// Never held at a step.
pub(crate) fn files() -> OwnGuard<'static, Files> {
    FILES.lock()
}

/// In an execution: notes something about its files, which are gone when it is over.
pub(crate) fn note(change: impl FnOnce(&mut Files)) {
    note_new(&[], change);
}

/// In an execution: notes something about these files that it has just made.
fn note_new(made: &[c_int], change: impl FnOnce(&mut Files)) {
    // Their numbers are no longer those of what was left.
    made.iter().for_each(|&file| note_not_left(file));
    let mut files = files();
    if door::forget_at_end(&mut files.is_known, forget) {
        files.are_one |= door::files_are_one();
        IS_ANY_MADE.store(true, Ordering::Relaxed);
        if IS_ANY_LEFT.load(Ordering::Relaxed) {
            door::aside(close_what_is_left);
        }
    }
    change(&mut files);
}

/// All files are one group from now on.
pub(crate) fn make_one() {
    let mut groups_are_used = false;
    note(|files| {
        groups_are_used = files.groups_are_used && !files.are_one;
        files.are_one = true;
    });
    if groups_are_used {
        door::make_files_one();
        door::go_no_further(false);
    }
}

/// What executions have left open whose threads could not be unwound. Statics that are put back afterwards may close some of it yet.
static LEFT: OwnLock<Vec<Made>> = OwnLock::new(Vec::new());
static IS_ANY_LEFT: AtomicBool = AtomicBool::new(false);
/// Some execution of the process has made files.
static IS_ANY_MADE: AtomicBool = AtomicBool::new(false);

/// The execution is over. Threads that were left where they were have left their files open, too, and there are only so many: they are closed when the next
/// execution here makes some.
fn forget() {
    let gone = ::std::mem::replace(&mut *files(), NONE);
    if door::stacks_were_left() {
        let here = door::carrier();
        door::aside(|| LEFT.lock().extend(gone.made.iter().filter(|made| made.2 == here)));
        IS_ANY_LEFT.store(true, Ordering::Relaxed);
    }
}

/// Closes what earlier executions on this thread of the system have left open.
#[cold]
fn close_what_is_left() {
    let here = door::carrier();
    let left: Vec<Made> = LEFT.lock().extract_if(.., |made| made.2 == here).collect();
    for (file, made, _) in left {
        if identity(file) == made {
            // SAFETY: nobody goes on who knows it.
            unsafe { system(system::CLOSE, file as usize, 0, 0, 0, 0, 0) };
        }
    }
}

/// In an execution: this counter of events has been made.
pub(crate) fn note_counter(counter: c_int) {
    note_new(&[counter], |files| {
        let group = files.new_group();
        files.insert(counter, false, group);
    });
}

/// In an execution: these two have been made, the ends of one thing.
pub(crate) fn note_pair(pair: [c_int; 2]) {
    // Messages may go elsewhere, too, by addresses.
    let is_one = option(pair[0], SO_TYPE, 0_i32) != Some(SOCK_DGRAM);
    note_new(&pair, |files| {
        let group = if is_one { files.new_group() } else { Group::REST };
        pair.into_iter().for_each(|one| files.insert(one, true, group));
    });
}

/// In an execution: this interest list has been made.
pub(crate) fn note_list(list: c_int) {
    note_new(&[list], |files| {
        files.lists.push(list);
        files.note_made(list);
    });
    make_one();
}

/// In an execution: this socket gets messages that are sent to its address.
pub(crate) fn note_receiver(socket: c_int) {
    note_new(&[socket], |files| files.insert(socket, true, Group::REST));
}

/// In an execution: this socket waits for connections.
pub(crate) fn note_listener(listener: c_int) {
    note_new(&[listener], |files| {
        files.insert(listener, true, Group::REST);
        files.listeners.push(listener);
    });
}

/// In an execution: this socket has been connected to one of these listeners.
pub(crate) fn note_connected(socket: c_int, listeners: &[c_int]) {
    let mut identities: Vec<Identity> = listeners.iter().map(|&listener| identity(listener)).collect();
    identities.dedup();
    note_new(&[socket], |files| {
        // Where the system chooses one, who accepts it is not known.
        let group = if identities.len() == 1 { files.new_group() } else { Group::REST };
        files.insert(socket, true, group);
        files.connections.extend(identities.first().map(|&listener| (listener, group)));
    });
}

/// In an execution: this listener has given this socket. Connections are accepted in the order in which they were made.
pub(crate) fn note_accepted(listener: c_int, socket: c_int) {
    let listener = identity(listener);
    note_new(&[socket], |files| {
        let first = files.connections.iter().position(|connection| connection.0 == listener);
        let group = first.map_or(Group::REST, |first| files.connections.remove(first).1);
        files.insert(socket, true, group);
    });
}

/// This file is about to be closed, or shut down. Where a listener is, who has connected to it, and was not accepted, may see that.
fn about_to_end(file: c_int) {
    let may_be_seen = {
        let files = files();
        let end = (!files.connections.is_empty()).then(|| identity(file));
        files.connections.iter().any(|connection| Some(connection.0) == end)
    };
    if may_be_seen {
        make_one();
    }
}

/// The file is closed, by a thread of an execution or by somebody else (the destructor of a static): its number may be that of another one soon.
pub(crate) fn note_closed(file: c_int) {
    if door::IS_FORKED.load(Ordering::Relaxed) {
        return;
    }
    if IS_ANY_MADE.load(Ordering::Relaxed) {
        let mut files = files();
        files.inside.retain(|&known| known != file);
        files.listeners.retain(|&known| known != file);
        files.made.retain(|made| made.0 != file);
    }
    note_not_left(file);
}

/// What has this number now was not left by an earlier execution.
fn note_not_left(file: c_int) {
    if IS_ANY_LEFT.load(Ordering::Relaxed) {
        LEFT.lock().retain(|made| made.0 != file);
    }
}

/// Another process is started, which may have the pipes that there are: what it does to them is no part of the model.
#[cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]
pub(crate) fn forget_pipes() {
    let mut files = files();
    let pipes: Vec<c_int> =
        files.inside.iter().copied().filter(|&file| crate::status::is_pipe(file)).collect();
    let identities: Vec<Identity> = pipes.iter().map(|&file| identity(file)).collect();
    files.inside.retain(|file| !pipes.contains(file));
    files.known.retain(|known| !pipes.contains(&known.file) && !identities.contains(&known.identity));
}

/// Whether some socket that waits for connections is this one.
pub(crate) fn is_listener(socket: c_int) -> bool {
    !listeners(|own| own == socket || identity(own) == identity(socket)).is_empty()
}

/// The sockets that wait for connections of which this is so.
pub(crate) fn listeners(is: impl Fn(c_int) -> bool) -> Vec<c_int> {
    files().listeners.iter().copied().filter(|&own| is(own)).collect()
}

/// Whether this is so of some file of the execution's own that has not been closed.
pub(crate) fn is_any_inside(is: impl Fn(c_int) -> bool) -> bool {
    files().inside.iter().any(|&own| is(own))
}

/// Does something to a file. If it is one of the execution's own: alone, as it depends on what others do to it; and wakes all who wait for events, if they may see
/// it: a socket has another end, where there is room again after a read.
pub(crate) fn ask_alone(file: c_int, ask: impl FnOnce() -> c_long) -> c_long {
    if !door::is_modelled() || !files().is_known(file) {
        return ask();
    }
    let (group, is_socket) = {
        let files = files();
        (files.group(file), files.is_socket(file))
    };
    if is_socket { group.ask_and_tell(ask) } else { group.alone(ask) }
}

/// Does something to a file that may be an event for somebody, if it is one of the execution's own.
pub(crate) fn answer_to_all(file: c_int, ask: impl FnOnce() -> c_long) -> c_long {
    if !door::is_modelled() || !files().is_known(file) {
        return ask();
    }
    let group = files().group(file);
    group.ask_and_tell(ask)
}

/// Closes a file, or shuts it down: who is at the other end may see it.
pub(crate) fn end(file: c_int, ask: impl FnOnce() -> c_long) -> c_long {
    if door::is_modelled() {
        about_to_end(file);
    }
    ask_alone(file, ask)
}
