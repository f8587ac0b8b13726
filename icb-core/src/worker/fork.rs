//! Forks of this process, taken between two executions. What they do is said by whoever takes them.

use crate::trace::Death;
use std::io::{Error, ErrorKind, pipe};
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Facts that forks of this process tell it, and each other, by the way: each is a bit that is set once.
#[derive(Debug)]
pub(super) struct Facts {
    bits: NonNull<AtomicU32>,
}

impl Facts {
    /// None yet. `None`: there is no memory that forks could share.
    pub(super) fn new() -> Option<Facts> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANON);
        // SAFETY: new memory, zeroed, at no place in particular.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<AtomicU32>(), access, kind, -1, 0) };
        if page == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(page.cast()).map(|bits| Facts { bits })
    }

    fn bits(&self) -> &AtomicU32 {
        // SAFETY: mapped until it is dropped, and of an atomic's alignment.
        unsafe { self.bits.as_ref() }
    }

    /// These are so.
    pub(super) fn tell(&self, bits: u32) {
        self.bits().fetch_or(bits, Ordering::Relaxed);
    }

    /// Those that have been told.
    pub(super) fn told(&self) -> u32 {
        self.bits().load(Ordering::Relaxed)
    }
}

impl Drop for Facts {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody has access any more. A fork has a mapping of its own.
        unsafe { libc::munmap(self.bits.as_ptr().cast(), size_of::<AtomicU32>()) };
    }
}

/// `fork`, of which the program is not told: not the function of this name that `icb-std` defines, which calls what the program has registered for
/// forks of its own.
///
/// # Safety
/// As `fork`.
pub(super) unsafe fn fork_unnoticed() -> libc::pid_t {
    // SAFETY: a C string. The next function of the name, after the program's, is the C library's.
    let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"fork".as_ptr()) };
    if real.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { libc::fork() };
    }
    // SAFETY: the C library's function has this type; the caller's promise.
    unsafe { std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> libc::pid_t>(real)() }
}

/// What a fork begins with: it ends when its `parent` does. Elsewhere than on Linux it sees that from what it reads or writes.
pub(super) fn end_with(parent: u32) {
    #[cfg(target_os = "linux")]
    // SAFETY: plain system calls; the second tells whether the parent has ended before the first took effect.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            libc::_exit(0);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
}

/// How a fork ends, and who has nothing more to do: nothing of its parent's is run down. Nobody unwinds into what the parent does.
pub(super) fn do_and_end(work: impl FnOnce()) -> ! {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(i32::from(done.is_err())) }
}

/// What `work` comes to in a fork of this process, which does nothing else, unless it has not come to anything for so long (zero: it may take any time).
///
/// # Safety
/// Values of this type lead nowhere but to what is the same in both processes, such as the image.
pub(super) unsafe fn in_a_fork<T: Copy>(
    patience: Duration,
    work: impl FnOnce() -> Vec<T>,
) -> Result<Vec<T>, Untold> {
    let (reader, writer) = pipe().map_err(|_| Untold::NotBegun)?;
    let parent = std::process::id();
    // SAFETY: the child does its work on this thread, and ends without returning from here. What it needs of the other threads' state is the allocator,
    // which the C library makes safe across a fork; no execution is under way.
    let pid = match unsafe { fork_unnoticed() } {
        -1 => return Err(Untold::NotBegun),
        0 => {
            drop(reader);
            end_with(parent);
            do_and_end(|| {
                // Where nobody reads any more, nobody needs it.
                let _ = send_all(writer.as_fd(), &work());
            });
        }
        pid => pid,
    };
    drop(writer);
    if !tells(reader.as_fd(), patience) {
        end(pid);
        return Err(Untold::NotYet);
    }
    // SAFETY: the fork has sent these; the caller's promise.
    let told = unsafe { receive_all(reader.as_fd()) };
    end(pid);
    told.ok_or(Untold::Died)
}

/// What is left of a fork that has ended, as some are expected to in the middle of their work.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Left<T> {
    /// What it has said, one thing after another.
    pub(super) said: Vec<Vec<T>>,
    /// How it has ended. `None`: it had not, there was no more time.
    pub(super) death: Option<Death>,
}

/// The same, for work that may end its process, which says things before. No core is left of it. `None`: the fork could not be made.
///
/// # Safety
/// As for [`in_a_fork`].
pub(super) unsafe fn in_a_fork_that_may_die<T: Copy>(
    patience: Duration,
    work: impl FnOnce(&dyn Fn(&[T])),
) -> Option<Left<T>> {
    let (reader, writer) = pipe().ok()?;
    let parent = std::process::id();
    // SAFETY: as in `in_a_fork`.
    let pid = match unsafe { fork_unnoticed() } {
        -1 => return None,
        0 => {
            drop(reader);
            end_with(parent);
            leave_no_core();
            do_and_end(|| {
                // What goes wrong here is not to be taken for what the program does.
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    work(&|values| drop(send_all(writer.as_fd(), values)));
                }));
                if done.is_err() {
                    // SAFETY: ends the process at once.
                    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
                }
            });
        }
        pid => pid,
    };
    drop(writer);
    let limit = (!patience.is_zero()).then(|| Instant::now() + patience);
    let mut said = Vec::new();
    loop {
        let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        // Zero would be any time.
        if left.is_some_and(|left| left.is_zero()) || !tells(reader.as_fd(), left.unwrap_or_default()) {
            break;
        }
        // SAFETY: the fork has sent these; the caller's promise.
        match unsafe { receive_all(reader.as_fd()) } {
            Some(values) => said.push(values),
            None => break,
        }
    }
    Some(Left { said, death: end(pid) })
}

/// This process leaves no core when it dies, nor tells whoever collects them.
fn leave_no_core() {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
    }
}

/// Why a fork has told nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Untold {
    /// It could not be made.
    NotBegun,
    /// It has ended before.
    Died,
    /// There was no more time.
    NotYet,
}

/// A fork of this process that waits until it is asked something, once. What happens here meanwhile, it knows nothing of.
#[derive(Debug)]
pub(super) struct Asked<Q> {
    pid: libc::pid_t,
    stream: UnixStream,
    question: PhantomData<Q>,
}

impl<Q: Copy> Asked<Q> {
    /// One that answers so. `None`: it could not be made.
    ///
    /// # Safety
    /// As for [`in_a_fork`], of questions.
    pub(super) unsafe fn new(answer: impl FnOnce(&[Q]) -> Vec<u8>) -> Option<Self> {
        let (here, there) = UnixStream::pair().ok()?;
        let parent = std::process::id();
        // SAFETY: as in `in_a_fork`.
        let pid = match unsafe { fork_unnoticed() } {
            -1 => return None,
            0 => {
                drop(here);
                end_with(parent);
                do_and_end(|| {
                    // SAFETY: the parent has sent these; the caller's promise.
                    if let Some(question) = unsafe { receive_all(there.as_fd()) } {
                        let _ = send_all(there.as_fd(), &answer(&question));
                    }
                });
            }
            pid => pid,
        };
        Some(Asked { pid, stream: here, question: PhantomData })
    }

    /// Its answer. `None`: it has died, or there is none for so long (zero: it may take any time).
    pub(super) fn ask(self, question: &[Q], patience: Duration) -> Option<Vec<u8>> {
        let stream = self.stream.as_fd();
        send_all(stream, question).ok()?;
        // SAFETY: the fork has sent bytes.
        if tells(stream, patience) { unsafe { receive_all(stream) } } else { None }
    }
}

impl<Q> Drop for Asked<Q> {
    fn drop(&mut self) {
        end(self.pid);
    }
}

/// Ends a fork of this process that has not been waited for: what it would do now is of no use. How it had ended before, if it had.
pub(super) fn end(pid: libc::pid_t) -> Option<Death> {
    let mut status = 0;
    // SAFETY: plain system calls; the status is written to.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        while libc::waitpid(pid, &raw mut status, 0) == -1 && retry().is_ok() {}
    }
    if libc::WIFEXITED(status) {
        return Some(Death::Code(libc::WEXITSTATUS(status)));
    }
    Some(Death::Signal(libc::WTERMSIG(status))).filter(|death| *death != Death::Signal(libc::SIGKILL))
}

/// Waits until there is something to read, or the other end is closed. `false`: not for so long.
fn tells(stream: BorrowedFd<'_>, patience: Duration) -> bool {
    let limit = (!patience.is_zero()).then(|| Instant::now() + patience);
    loop {
        let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()).as_millis());
        let left = left.map_or(-1, |left| libc::c_int::try_from(left).unwrap_or(libc::c_int::MAX));
        let mut asked = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        match unsafe { libc::poll(&raw mut asked, 1, left) } {
            -1 if retry().is_ok() => {}
            0 if left == 0 => return false,
            0 => {}
            // What is wrong, if something is, is seen where it is read.
            _ => return true,
        }
    }
}

/// The same, for work that comes to bytes.
pub(super) fn in_a_fork_to_bytes(
    patience: Duration,
    work: impl FnOnce() -> Vec<u8>,
) -> Result<Vec<u8>, Untold> {
    // SAFETY: bytes lead nowhere.
    unsafe { in_a_fork(patience, work) }
}

/// Writes values as they lie in memory.
fn send<T: Copy>(stream: BorrowedFd<'_>, values: &[T]) -> Result<(), Error> {
    let (start, size) = (values.as_ptr().cast::<libc::c_void>(), size_of_val(values));
    let mut sent = 0;
    while sent < size {
        // SAFETY: the memory of the values, from what has been sent on. The system does not mind what is between fields.
        match unsafe { libc::write(stream.as_raw_fd(), start.byte_add(sent), size - sent) } {
            -1 => retry()?,
            count => sent += count.unsigned_abs(),
        }
    }
    Ok(())
}

/// Reads so many values that were sent.
///
/// # Safety
/// They were sent as values of this type, and are such in this process too.
unsafe fn receive<T: Copy>(stream: BorrowedFd<'_>, count: usize) -> Result<Vec<T>, Error> {
    let mut values: Vec<T> = Vec::with_capacity(count);
    let (start, size) = (values.as_mut_ptr().cast::<libc::c_void>(), count * size_of::<T>());
    let mut received = 0;
    while received < size {
        // SAFETY: room of the vector, from what has been received on.
        match unsafe { libc::read(stream.as_raw_fd(), start.byte_add(received), size - received) } {
            -1 => retry()?,
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => received += count.unsigned_abs(),
        }
    }
    // SAFETY: so many have been received; the caller's promise.
    unsafe { values.set_len(count) };
    Ok(values)
}

/// Sends how many values there are, and the values.
fn send_all<T: Copy>(stream: BorrowedFd<'_>, values: &[T]) -> Result<(), Error> {
    send(stream, &[values.len()])?;
    send(stream, values)
}

/// Reads all values that were sent: by their number, not to the end, since what the program has started in a fork may hold the other end open. `None`: they are
/// not there.
///
/// # Safety
/// As for [`receive`].
unsafe fn receive_all<T: Copy>(stream: BorrowedFd<'_>) -> Option<Vec<T>> {
    // SAFETY: the caller's promise; their number has been sent first.
    unsafe {
        let count = receive::<usize>(stream, 1).ok()?;
        receive(stream, *count.first()?).ok()
    }
}

/// A call that was only interrupted is made again.
fn retry() -> Result<(), Error> {
    let error = Error::last_os_error();
    if error.kind() == ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_known_to_all() {
        let facts = Facts::new().unwrap();
        for bits in [4, 1] {
            let tell = || {
                facts.tell(bits);
                vec![facts.told()]
            };
            // SAFETY: numbers lead nowhere.
            assert!(unsafe { in_a_fork(Duration::ZERO, tell) }.is_ok());
        }
        assert_eq!(facts.told(), 5);
    }

    #[test]
    fn who_is_asked_knows_nothing_of_what_has_happened_since() {
        let mut number = 1_u8;
        // SAFETY: numbers lead nowhere.
        let asked = unsafe { Asked::new(|question: &[u8]| question.iter().map(|n| n + number).collect()) };
        number = 100;
        assert_eq!(asked.unwrap().ask(&[1, 2], Duration::ZERO), Some(vec![2, 3]));
        assert_eq!(number, 100);
        // SAFETY: as above.
        let dies = unsafe { Asked::new(|_: &[u8]| std::process::abort()) };
        assert_eq!(dies.unwrap().ask(&[1], Duration::ZERO), None);
        // SAFETY: as above.
        let waits = unsafe {
            Asked::new(|_: &[u8]| {
                std::thread::sleep(Duration::from_secs(60));
                Vec::new()
            })
        };
        assert_eq!(waits.unwrap().ask(&[1], Duration::from_millis(20)), None);
    }

    #[test]
    fn what_a_fork_tells_arrives_and_what_it_changes_does_not() {
        let mut number = 1_u64;
        let mut change = || {
            number += 1;
            vec![number; 100_000]
        };
        // SAFETY: numbers lead nowhere; the second one ends the fork.
        unsafe {
            assert_eq!(in_a_fork(Duration::ZERO, &mut change), Ok(vec![2; 100_000]));
            assert_eq!(in_a_fork::<u8>(Duration::ZERO, || libc::_exit(0)), Err(Untold::Died));
            assert_eq!(in_a_fork::<u8>(Duration::ZERO, || std::process::abort()), Err(Untold::Died));
            assert_eq!(in_a_fork(Duration::ZERO, Vec::<u8>::new), Ok(Vec::new()));
            let wait = || vec![libc::pause()];
            assert_eq!(in_a_fork(Duration::from_millis(20), wait), Err(Untold::NotYet));
        }
        assert_eq!(number, 1);
    }

    #[test]
    fn how_a_fork_dies_is_known_and_what_it_has_said() {
        let left = |work: &dyn Fn()| {
            let say_and_do = |say: &dyn Fn(&[u8])| {
                say(&[1, 2]);
                work();
                say(&[]);
            };
            // SAFETY: numbers lead nowhere; some of the forks end.
            let left = unsafe { in_a_fork_that_may_die(Duration::from_millis(500), say_and_do) }.unwrap();
            assert_eq!(left.said[0], [1, 2]);
            (left.said.len(), left.death)
        };
        assert_eq!(left(&|| {}), (2, Some(Death::Code(0))));
        assert_eq!(left(&|| std::process::abort()), (1, Some(Death::Signal(libc::SIGABRT))));
        // SAFETY: ends the fork.
        assert_eq!(left(&|| unsafe { libc::_exit(3) }), (1, Some(Death::Code(3))));
        // It has not died of the program.
        assert_eq!(left(&|| panic!("an error")), (1, None));
        let wait = || {
            // SAFETY: waits for a signal.
            let _ = unsafe { libc::pause() };
        };
        assert_eq!(left(&wait), (1, None));
    }
}
