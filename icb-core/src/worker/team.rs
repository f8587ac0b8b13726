//! Processes that do work items: forks of this one, each with an address space of its own, so that statics and
//! whatever else the program under test keeps stay private.
//!
//! A fork is taken between two executions. It has the closure, and everything else, as they are here, so that nothing has to
//! lead there again. A thread for each process hands it a few items at a time and takes back what they came to; a
//! process that dies has its items done here, where it is seen how.

use crate::reduction::{Crew, Doing, Done, Item, Look, Terms};
use crate::varint::{Reader, write};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Items that a process is given at a time, at most.
const MAX_BATCH: usize = 8;
/// A process is asked for more while it has fewer items than this to answer for.
const MAX_ASKED: usize = 4;
/// Nodes of the ways to items that are sent to a process that has not answered: with some ten bytes each they fit into a
/// socket, so that nobody waits for one who waits for him.
const MAX_NODES_ON_THE_WAY: usize = 1_500;
/// How long the search waits before it looks at the clock again.
const WAIT: Duration = Duration::from_millis(50);
/// How often a process without a token asks for one.
const BETWEEN_TOKENS: Duration = Duration::from_millis(5);

/// What a new process does with its end of the line.
pub(super) type Serve<'a> = Box<dyn Fn(UnixStream) + 'a>;

/// The processes, and what has become of the items.
pub(super) struct Team<'a> {
    count: usize,
    serve: Serve<'a>,
    tokens: Option<Arc<dyn Tokens>>,
    /// Set while nothing runs here.
    resting: Arc<AtomicBool>,
    members: Vec<Member>,
    shared: Arc<Shared>,
    started: bool,
}

/// Leave to run, where processes of several tests share the cores.
pub(super) trait Tokens: Send + Sync {
    /// Takes one, if there is one.
    fn take(&self) -> bool;
    /// Gives it back.
    fn give(&self);
}

struct Member {
    pid: libc::pid_t,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    terms: Option<Terms>,
    /// The last is needed first.
    waiting: Vec<(u64, Item)>,
    assigned: HashSet<u64>,
    /// `None`: to be done here.
    results: HashMap<u64, Option<Box<Done>>>,
    alive: usize,
    /// Counts dismissals: what was assigned before the last one is of no use.
    epoch: u64,
    over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Team<'a> {
    /// A team of so many processes, which are started when there is something to share out. `resting` is set while the
    /// search waits for them.
    pub(super) fn new(
        count: usize,
        tokens: Option<Arc<dyn Tokens>>,
        resting: Arc<AtomicBool>,
        serve: Serve<'a>,
    ) -> Self {
        let shared = Arc::default();
        Team { count, serve, tokens, resting, members: Vec::new(), shared, started: false }
    }

    /// Starts the processes. If that fails there are fewer, or none.
    fn start(&mut self) {
        self.started = true;
        let mut streams = Vec::new();
        for _ in 0..self.count {
            let Ok((here, there)) = UnixStream::pair() else { break };
            let parent = std::process::id();
            // SAFETY: the child does nothing but explore, on this thread, and ends without returning from here. What it
            // needs of the other threads' state is the allocator, which the C library makes safe across a fork; no execution
            // is under way.
            let pid = unsafe { libc::fork() };
            match pid {
                -1 => break,
                0 => {
                    drop(here);
                    streams.clear();
                    self.be_child(parent, there);
                }
                _ => streams.push((pid, here)),
            }
        }
        self.shared.lock().alive = streams.len();
        for (index, (pid, stream)) in streams.into_iter().enumerate() {
            let shared = self.shared.clone();
            // The first works in place of this process, which waits meanwhile.
            let tokens = self.tokens.clone().filter(|_| index > 0);
            let hand = move || hand_out(stream, &shared, tokens.as_deref());
            let thread = std::thread::Builder::new().name("icb-team".into()).spawn(hand);
            if thread.is_err() {
                self.shared.lock().alive -= 1;
            }
            self.members.push(Member { pid, thread: thread.ok() });
        }
    }

    /// What a new process does until this one ends.
    fn be_child(&self, parent: u32, stream: UnixStream) -> ! {
        #[cfg(target_os = "linux")]
        // SAFETY: plain system calls; the second tells whether the parent has ended before the first took effect.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                libc::_exit(0);
            }
        }
        let served = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.serve)(stream)));
        // SAFETY: ends the process at once; nothing of the parent's is to be run down here.
        unsafe { libc::_exit(i32::from(served.is_err())) }
    }
}

impl Crew for Team<'_> {
    fn offer(&mut self, terms: Terms, items: &[(u64, Item)]) {
        if !self.started {
            self.start();
        }
        let mut state = self.shared.lock();
        if state.alive > 0 {
            state.terms = Some(terms);
            state.waiting.extend_from_slice(items);
            self.shared.changed.notify_all();
        }
    }

    fn look(&mut self, number: u64, _: &Item) -> Look {
        let mut state = self.shared.lock();
        loop {
            if let Some(result) = state.results.remove(&number) {
                return result.map_or(Look::Here, Look::Done);
            }
            let waits = state.waiting.last().is_some_and(|(waiting, _)| *waiting == number);
            if waits && state.alive == 0 {
                state.waiting.pop();
            }
            if !(state.assigned.contains(&number) || (waits && state.alive > 0)) {
                return Look::Here;
            }
            self.resting.store(true, Ordering::Relaxed);
            let waited = self.shared.changed.wait_timeout(state, WAIT);
            self.resting.store(false, Ordering::Relaxed);
            let (after, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = after;
            if timeout.timed_out() && !state.results.contains_key(&number) {
                return Look::Pending;
            }
        }
    }

    fn dismiss(&mut self) {
        let mut state = self.shared.lock();
        state.waiting.clear();
        state.assigned.clear();
        state.results.clear();
        state.epoch += 1;
    }
}

impl Drop for Team<'_> {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_all();
        for member in &mut self.members {
            // SAFETY: a child of this process that has not been waited for.
            unsafe { libc::kill(member.pid, libc::SIGKILL) };
            if let Some(thread) = member.thread.take() {
                // It has nothing left to say.
                let _ = thread.join();
            }
            // SAFETY: waits for that child; a null status is allowed.
            unsafe { libc::waitpid(member.pid, std::ptr::null_mut(), 0) };
        }
    }
}

/// Hands items to one process for as long as there are any. The process is given the next ones before it has answered for
/// those that it is at, so that it need not wait for them.
fn hand_out(stream: UnixStream, shared: &Shared, tokens: Option<&dyn Tokens>) {
    let mut line = Line { stream, before: Item::root(), asked: VecDeque::new() };
    loop {
        while line.has_room() {
            let Some(batch) = next_batch(shared, tokens, !line.asked.is_empty()) else { break };
            let Some(batch) = batch else { return };
            if line.ask(batch).is_err() {
                return line.give_up(shared, tokens);
            }
        }
        let Ok(done) = line.answer() else { return line.give_up(shared, tokens) };
        let Some((number, epoch)) = line.asked.pop_front() else { return };
        if let Some(tokens) = tokens.filter(|_| line.asked.is_empty()) {
            tokens.give();
        }
        shared.lock().take(number, epoch, done);
        shared.changed.notify_all();
    }
}

/// What is to be done together.
struct Batch {
    terms: Terms,
    /// Of the state that it was taken from.
    epoch: u64,
    items: Vec<(u64, Item)>,
}

impl State {
    /// What has become of an item; `None`: to be done here.
    fn take(&mut self, number: u64, epoch: u64, done: Option<Done>) {
        if epoch == self.epoch {
            self.assigned.remove(&number);
            self.results.insert(number, done.map(Box::new));
        }
    }
}

/// Waits for items, and for leave to do them; unless the process is `busy`, when there are just some or none. The outer
/// `None`: there are none; the inner one: it is over.
fn next_batch(shared: &Shared, tokens: Option<&dyn Tokens>, busy: bool) -> Option<Option<Batch>> {
    let mut state = shared.lock();
    loop {
        if state.over {
            return Some(None);
        }
        if let Some(terms) = state.terms.filter(|_| !state.waiting.is_empty()) {
            if busy || tokens.is_none_or(Tokens::take) {
                let share = state.waiting.len().div_ceil(2 * state.alive.max(1)).clamp(1, MAX_BATCH);
                let share = if busy { short(&state.waiting, share) } else { share };
                if share == 0 {
                    return None;
                }
                let first = state.waiting.len() - share;
                let mut items = state.waiting.split_off(first);
                items.reverse();
                state.assigned.extend(items.iter().map(|(number, _)| *number));
                return Some(Some(Batch { terms, epoch: state.epoch, items }));
            }
            let waited = shared.changed.wait_timeout(state, BETWEEN_TOKENS);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        if busy {
            return None;
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// How many of the last items, and `most` of them, can be sent to a process that may not be listening.
fn short(items: &[(u64, Item)], most: usize) -> usize {
    let mut nodes = 0;
    let fits = |item: &Item| {
        nodes += item.depth();
        nodes <= MAX_NODES_ON_THE_WAY
    };
    items.iter().rev().take(most).map(|(_, item)| item).map(fits).take_while(|&fits| fits).count()
}

/// The line to a process.
struct Line {
    stream: UnixStream,
    /// The last item that was sent.
    before: Item,
    /// Items that it has not answered for, and of which state they were taken from.
    asked: VecDeque<(u64, u64)>,
}

impl Line {
    /// Whether more can be asked.
    fn has_room(&self) -> bool {
        self.asked.len() < MAX_ASKED
    }

    fn ask(&mut self, batch: Batch) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes, u64::from(batch.terms.bound));
        write(&mut bytes, u64::from(batch.terms.tries_to_send));
        write(&mut bytes, batch.items.len() as u64);
        for (number, item) in batch.items {
            item.encode(&self.before, &mut bytes);
            self.before = item;
            self.asked.push_back((number, batch.epoch));
        }
        send(&mut self.stream, &bytes)
    }

    /// What the first item that was asked for has come to. `None`: it has to be done again here.
    fn answer(&mut self) -> io::Result<Option<Done>> {
        let answer = receive(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut reader = Reader::new(&answer);
        match reader.number() {
            Some(0) => Ok(None),
            Some(_) => Ok(Some(Done::decode(&mut reader).ok_or(io::ErrorKind::InvalidData)?)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The process is gone: what it was asked for is done here.
    fn give_up(self, shared: &Shared, tokens: Option<&dyn Tokens>) {
        if let Some(tokens) = tokens.filter(|_| !self.asked.is_empty()) {
            tokens.give();
        }
        let mut state = shared.lock();
        for &(number, epoch) in &self.asked {
            state.take(number, epoch, None);
        }
        state.alive -= 1;
        shared.changed.notify_all();
    }
}

/// Does items for another process until it hangs up. `resting` is set while there are none.
pub(super) fn serve(
    mut stream: UnixStream,
    doing: &mut Doing,
    program: &mut dyn crate::program::Program,
    resting: &AtomicBool,
) -> io::Result<()> {
    let mut before = Item::root();
    while let Some(bytes) = receive(&mut stream)? {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let mut reader = Reader::new(&bytes);
        let bound = reader.number().ok_or_else(bad)? as u32;
        let tries_to_send = reader.number().ok_or_else(bad)? != 0;
        resting.store(false, Ordering::Relaxed);
        for _ in 0..reader.length().ok_or_else(bad)? {
            let item = Item::decode(&before, &mut reader).ok_or_else(bad)?;
            doing.search_mut().join(bound, tries_to_send);
            let mut answer = Vec::new();
            match doing.run(item.clone(), program) {
                Some(done) => {
                    write(&mut answer, 1);
                    done.encode(&mut answer);
                }
                None => write(&mut answer, 0),
            }
            before = item;
            send(&mut stream, &answer)?;
        }
        resting.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn send(stream: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
    stream.write_all(bytes)
}

/// `None`: the other side has hung up.
fn receive(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
    stream.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}
