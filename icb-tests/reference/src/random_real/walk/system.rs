//! What programs of [`features`](crate::random_real::generate::features) ask the system for, as crates do that call it by themselves:
//! futexes, event counters, lists of events, and pairs of sockets.

use super::super::language::{Instruction, OBJECT_COUNT, Program};
use super::super::library::sync::atomic::{AtomicU32, Ordering};
use super::NOTHING;
use super::partings::Goodbye;
use std::ffi::{c_int, c_void};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of the socket of the list.
const SOCKET: u64 = OBJECT_COUNT as u64;

pub(super) struct System {
    futexes: [AtomicU32; OBJECT_COUNT],
    is_futex_used: bool,
    files: Option<Files>,
    key: Option<Key>,
}

/// Under it the system keeps something for each thread.
pub(super) struct Key(libc::pthread_key_t);

impl Key {
    fn new() -> Self {
        unsafe extern "C" fn drop_value(value: *mut c_void) {
            // SAFETY: `replace` has made it of a box, and nobody else is given it.
            drop(unsafe { Box::from_raw(value.cast::<Goodbye>()) });
        }
        let mut key = 0;
        // SAFETY: the place is valid, and so is the function for all values that are set.
        let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(drop_value)) };
        assert_eq!(failed, 0, "there is a key");
        Key(key)
    }

    /// Gives the calling thread this value; what it had before.
    pub(super) fn replace(&self, value: Goodbye) -> Option<Box<Goodbye>> {
        // SAFETY: the key is there as long as the execution is, and its values are boxes.
        unsafe {
            let before: *mut Goodbye = libc::pthread_getspecific(self.0).cast();
            libc::pthread_setspecific(self.0, Box::into_raw(Box::new(value)).cast());
            (!before.is_null()).then(|| Box::from_raw(before))
        }
    }
}

struct Files {
    list: c_int,
    counters: Vec<c_int>,
    /// The list knows the second one.
    sockets: Option<[c_int; 2]>,
    /// Those that are open. Nothing that a thread does depends on it.
    open: Mutex<Vec<c_int>>,
}

impl System {
    pub(super) fn new(program: &Program) -> Self {
        System {
            futexes: Default::default(),
            is_futex_used: program.uses_futexes(),
            files: program.uses_files().then(|| Files::new(program.uses_sockets())),
            key: program.uses_keys().then(Key::new),
        }
    }

    /// Closes all files: the execution is over.
    pub(super) fn close(&self) {
        self.files.iter().for_each(Files::close);
    }

    pub(super) const fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    pub(super) fn use_everything(&self) {
        if self.is_futex_used {
            for futex in &self.futexes {
                futex.load(Ordering::Relaxed);
                call_futex(futex, libc::FUTEX_WAKE, 1, None, 0);
            }
        }
    }

    /// What the operation came to, if it is to be seen.
    pub(super) fn perform(&self, instruction: Instruction) -> Option<u64> {
        use Instruction::*;
        match instruction {
            FutexStore(f, value) => self.futexes[f].store(value, Ordering::Release),
            FutexAdd(f) => return Some(self.futexes[f].fetch_add(1, Ordering::AcqRel).into()),
            FutexWait(f, value) => {
                return Some(call_futex(&self.futexes[f], libc::FUTEX_WAIT, value, None, 0));
            }
            FutexWaitTimeout(f, value) => {
                let time = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
                return Some(call_futex(&self.futexes[f], libc::FUTEX_WAIT, value, Some(&time), 0));
            }
            FutexWake(f, count) => {
                return Some(call_futex(&self.futexes[f], libc::FUTEX_WAKE, count, None, 0));
            }
            FutexWaitBits(f, value, bits) => {
                return Some(call_futex(&self.futexes[f], libc::FUTEX_WAIT_BITSET, value, None, bits));
            }
            FutexWaitBitsTimeout(f, value, bits) => {
                // A point in time, which has come long since where time is not the model's.
                let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
                return Some(call_futex(&self.futexes[f], libc::FUTEX_WAIT_BITSET, value, Some(&time), bits));
            }
            FutexWakeBits(f, count, bits) => {
                return Some(call_futex(&self.futexes[f], libc::FUTEX_WAKE_BITSET, count, None, bits));
            }
            _ => return self.files.as_ref().and_then(|files| files.perform(instruction)),
        }
        None
    }
}

fn call_futex(futex: &AtomicU32, action: c_int, value: u32, time: Option<&libc::timespec>, bits: u32) -> u64 {
    let time = time.map_or(std::ptr::null(), std::ptr::from_ref);
    let action = action | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the futex lives as long as the execution, and the time as long as the call.
    let result = unsafe {
        let futex = std::ptr::from_ref(futex);
        libc::syscall(libc::SYS_futex, futex, action, value, time, std::ptr::null::<u32>(), bits)
    };
    outcome(result as isize)
}

/// The result of a call of the system's: what it gave, or why it failed.
fn outcome(result: isize) -> u64 {
    match u64::try_from(result) {
        Ok(result) => result,
        Err(_) => NOTHING + std::io::Error::last_os_error().raw_os_error().unwrap_or_default() as u64,
    }
}

impl Files {
    fn new(with_sockets: bool) -> Self {
        // SAFETY: what is made belongs to this value, which closes it.
        let (list, counters) = unsafe {
            let list = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            let counter = || libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC);
            (list, (0..OBJECT_COUNT).map(|_| counter()).collect::<Vec<_>>())
        };
        let sockets = with_sockets.then(|| {
            let mut pair = [0; 2];
            let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            // SAFETY: there is room for two.
            let made = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) };
            assert_eq!(made, 0, "there are enough files");
            pair
        });
        let open = counters.iter().chain(sockets.iter().flatten()).chain([&list]).copied().collect();
        let files = Files { list, counters, sockets, open: Mutex::new(open) };
        for (number, &counter) in (0..).zip(&files.counters) {
            files.watch(counter, number);
        }
        if let Some([_, socket]) = sockets {
            files.watch(socket, SOCKET);
        }
        files
    }

    fn open(&self) -> MutexGuard<'_, Vec<c_int>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        // SAFETY: the files are this value's.
        self.open().drain(..).for_each(|file| drop(unsafe { OwnedFd::from_raw_fd(file) }));
    }

    fn watch(&self, file: c_int, number: u64) {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
        // SAFETY: the files are open, and the event is there.
        let added = unsafe { libc::epoll_ctl(self.list, libc::EPOLL_CTL_ADD, file, &raw mut event) };
        assert_eq!(added, 0, "the file can be waited for");
    }

    /// Which files have something.
    fn wait(&self, timeout: c_int) -> u64 {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; OBJECT_COUNT + 1];
        // SAFETY: there is room for so many.
        let count =
            unsafe { libc::epoll_wait(self.list, events.as_mut_ptr(), events.len() as c_int, timeout) };
        match usize::try_from(count) {
            Ok(count) => events[..count].iter().map(|event| 1 << { event.u64 }).sum(),
            Err(_) => outcome(-1),
        }
    }

    fn perform(&self, instruction: Instruction) -> Option<u64> {
        use Instruction::*;
        let mut number = 1_u64;
        let bytes = (&raw mut number).cast();
        Some(match (instruction, self.sockets) {
            // SAFETY: here and below, there are eight bytes.
            (EventWrite(e), _) => outcome(unsafe { libc::write(self.counters[e], bytes, 8) }),
            (EventRead(e), _) => {
                // SAFETY: as above.
                let result = unsafe { libc::read(self.counters[e], bytes, 8) };
                if result == 8 { number } else { outcome(result) }
            }
            (EventsWait, _) => self.wait(-1),
            (EventsWaitTimeout, _) => self.wait(10),
            (EventsPoll, _) => self.wait(0),
            (SocketSend, Some([socket, _])) => {
                // SAFETY: as above.
                outcome(unsafe { libc::send(socket, bytes, 2, libc::MSG_NOSIGNAL) })
            }
            // SAFETY: as above.
            (SocketReceive, Some([_, socket])) => outcome(unsafe { libc::recv(socket, bytes, 8, 0) }),
            (SocketClose, Some([socket, _])) => {
                // Before, as the execution may end in the middle of the call.
                self.open().retain(|&file| file != socket);
                // SAFETY: no program does it twice, and what is closed is not used by others but in vain.
                outcome(unsafe { libc::close(socket) } as isize)
            }
            _ => return None,
        })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.close();
    }
}
