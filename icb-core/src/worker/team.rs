//! Processes that do work items: forks of this one, each with an address space of its own, so that statics and
//! whatever else the program under test keeps stay private.
//!
//! A fork is taken between two executions. It has the closure, and everything else, as they are here, so that nothing has to
//! lead there again. A thread for each process hands it a few items at a time and takes back what they came to; a
//! process that dies has its items done here, where it is seen how. One that has become too large, because executions
//! leave memory behind that is never freed, leaves, and another takes its place.

use super::beside;
use super::board::Shared;
use super::fork::{self, do_and_end, end_with, fork_unnoticed};
use super::isolated::Knowledge;
use super::line::hand_out;
use super::size::Size;
use crate::reduction::{Crew, Done, Item, Look, News, Wants};
use crate::runtime::files_are_made;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the search waits before it looks at the clock again.
const WAIT: Duration = Duration::from_millis(50);

/// So many times in a row a process may not be replaced before there is one less.
const MAX_FAILED_FORKS: u32 = 20;

/// What a new process does with its end of the line.
pub(super) type Serve<'a> = Box<dyn Fn(UnixStream) + 'a>;

/// The processes, and what has become of the items.
pub(super) struct Team<'a> {
    count: usize,
    serve: Serve<'a>,
    tokens: Option<Arc<dyn Tokens>>,
    /// Set while nothing runs here.
    resting: Arc<AtomicBool>,
    /// How large this process has become, as long as it does everything.
    alone: Option<Size>,
    /// What is known of executions in processes of their own; the search then runs none.
    isolated: Option<Rc<Knowledge>>,
    members: Vec<Member>,
    shared: Arc<Shared>,
    started: bool,
    failed_forks: u32,
}

/// Leave to run, where processes of several tests share the cores.
pub(super) trait Tokens: Send + Sync {
    /// Takes one, if there is one.
    fn take(&self) -> bool;
    /// Gives it back.
    fn give(&self);
}

struct Member {
    /// `None`: it has been waited for.
    pid: Option<libc::pid_t>,
    thread: Option<JoinHandle<()>>,
}

impl Member {
    /// Ends the process, if it is still there.
    fn end(&mut self) {
        let Some(pid) = self.pid.take() else { return };
        fork::end(pid);
        if let Some(thread) = self.thread.take() {
            // It has nothing left to say.
            let _ = thread.join();
        }
    }
}

impl<'a> Team<'a> {
    /// A team of so many processes, which are started when there is something to share out; a single one, when this process has become
    /// much larger than it is now. `resting` is set while the search waits for them.
    pub(super) fn new(
        count: usize,
        tokens: Option<Arc<dyn Tokens>>,
        resting: Arc<AtomicBool>,
        serve: Serve<'a>,
    ) -> Self {
        let shared = Arc::default();
        let alone = (count < 2).then(Size::of_the_search);
        Team {
            count,
            serve,
            tokens,
            resting,
            alone,
            isolated: None,
            members: Vec::new(),
            shared,
            started: false,
            failed_forks: 0,
        }
    }

    /// The processes run each execution in a process of its own, and this one none.
    pub(super) fn isolated(mut self, knowledge: Rc<Knowledge>) -> Self {
        self.alone = None;
        self.isolated = Some(knowledge);
        self
    }

    /// Starts the processes. If that fails there are fewer, or none.
    fn start(&mut self) {
        self.started = true;
        // What the test makes in the file system has the same names in all processes, which would meet there.
        let count = match &self.isolated {
            Some(knowledge) if knowledge.files_are_made() => 1,
            None if files_are_made() => 0,
            _ => self.count,
        };
        // All of them before the first thread: no other is then at work while this process is forked.
        let mut streams = Vec::new();
        while streams.len() < count
            && let Some(new) = self.fork(&mut streams)
        {
            streams.push(new);
        }
        self.shared.lock().alive = streams.len();
        for (index, (pid, stream)) in streams.into_iter().enumerate() {
            let thread = self.attend(index, stream);
            self.members.push(Member { pid: Some(pid), thread });
        }
    }

    /// One more process, and the line to it. It has no use for the `others` lines.
    fn fork(&self, others: &mut Vec<(libc::pid_t, UnixStream)>) -> Option<(libc::pid_t, UnixStream)> {
        let (here, there) = UnixStream::pair().ok()?;
        let parent = std::process::id();
        // SAFETY: the child does nothing but explore, on this thread, and ends without returning from here. What it
        // needs of the other threads' state is the allocator, which the C library makes safe across a fork; no execution
        // is under way.
        match unsafe { fork_unnoticed() } {
            -1 => None,
            0 => {
                drop(here);
                others.clear();
                self.be_child(parent, there);
            }
            pid => Some((pid, here)),
        }
    }

    /// A thread that hands items to the process with this number.
    fn attend(&self, index: usize, stream: UnixStream) -> Option<JoinHandle<()>> {
        let shared = self.shared.clone();
        // The first works in place of this process, which waits meanwhile.
        let tokens = self.tokens.clone().filter(|_| index > 0);
        let hand = move || hand_out(index, stream, &shared, tokens.as_deref());
        let thread = beside::start("icb-team", hand).ok();
        if thread.is_none() {
            self.shared.lock().alive -= 1;
        }
        thread
    }

    /// Others take the places of those that have left. (The lines to the rest are open in them too, which on Linux end with this process anyway;
    /// elsewhere nobody leaves.)
    fn replace(&mut self, left: Vec<usize>) {
        for index in left {
            self.shared.lock().dismissed = Some(index);
            self.shared.changed.notify_all();
            self.members[index].end();
            self.shared.lock().dismissed = None;
            if let Some((pid, stream)) = self.fork(&mut Vec::new()) {
                self.failed_forks = 0;
                let thread = self.attend(index, stream);
                self.members[index] = Member { pid: Some(pid), thread };
                continue;
            }
            let mut board = self.shared.lock();
            if self.failed_forks < MAX_FAILED_FORKS {
                // There may be memory for it later.
                board.left.push(index);
                self.failed_forks += 1;
            } else {
                board.alive -= 1;
            }
        }
    }

    /// Ends the processes. Those that are started later are forks of this process as it is then.
    fn disband(&mut self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
        self.members.iter_mut().for_each(Member::end);
        self.members.clear();
        self.shared = Arc::default();
        self.started = false;
    }

    /// What a new process does until this one ends.
    fn be_child(&self, parent: u32, stream: UnixStream) -> ! {
        end_with(parent);
        do_and_end(|| (self.serve)(stream));
    }
}

impl Crew for Team<'_> {
    fn wants(&mut self) -> Wants {
        let Some(size) = &mut self.alone else { return Wants::New };
        if !size.is_too_large() {
            return Wants::Nothing;
        }
        self.alone = None;
        Wants::All
    }

    fn does_everything(&self) -> bool {
        self.isolated.is_some()
    }

    fn begun(&mut self, item: &Item) -> Option<Arc<[u8]>> {
        let again = self.shared.lock().take_again(item.key())?;
        if let Some(knowledge) = &self.isolated {
            knowledge.expect(Some(again.learned).filter(|learned| !learned.is_empty()));
        }
        Some(again.begun).filter(|begun| !begun.is_empty())
    }

    fn offer(&mut self, bound: u32, items: &[(u64, Item)]) {
        if self.isolated.as_ref().is_some_and(|knowledge| knowledge.take_news()) {
            self.disband();
        }
        if !self.started {
            self.start();
        }
        self.shared.lock().offer(bound, items);
        self.shared.changed.notify_all();
    }

    fn found(&mut self, keys: &[u128]) {
        if self.alone.is_some() {
            return;
        }
        self.shared.lock().note_found(keys);
    }

    fn look(&mut self, _: u64, item: &Item) -> Look {
        if self.alone.is_some() {
            return Look::Here;
        }
        if let Some(knowledge) = &self.isolated
            && self.members.len() > 1
            && knowledge.files_are_made()
        {
            // They have been in each other's way: one of them begins anew.
            knowledge.begin_anew();
            return Look::Here;
        }
        let key = item.key();
        let left = std::mem::take(&mut self.shared.lock().left);
        self.replace(left);
        let mut board = self.shared.lock();
        let was_far_ahead = board.is_far_ahead();
        if let Some(look) = board.look(key) {
            if was_far_ahead {
                self.shared.changed.notify_all();
            }
            return look;
        }
        board.needed = Some(key);
        if board.is_waiting(key) {
            self.shared.changed.notify_all();
        }
        self.resting.store(true, Ordering::Relaxed);
        let waited = self.shared.arrived.wait_timeout(board, WAIT);
        self.resting.store(false, Ordering::Relaxed);
        waited.unwrap_or_else(PoisonError::into_inner).0.needed = None;
        // The search looks at the clock, and then here again.
        Look::Pending
    }

    fn commit(&mut self, _: u64, item: &Item, done: &Done) {
        if let Some(size) = &mut self.alone {
            return size.note(done.figures.trail.len());
        }
        let mut board = self.shared.lock();
        let was_far_ahead = board.is_far_ahead();
        board.forget(item.key());
        if was_far_ahead {
            self.shared.changed.notify_all();
        }
    }

    fn news(&mut self, tell: &mut dyn FnMut(u128, News<'_>)) {
        self.shared.lock().tell_news(tell);
    }

    fn dismiss(&mut self) {
        self.shared.lock().clear();
    }
}

impl Drop for Team<'_> {
    fn drop(&mut self) {
        self.disband();
    }
}
