//! The programs with the mirrored objects.

use super::language::{Op, Program};
use icb_std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use icb_std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError};
use icb_std::sync::{Barrier, Condvar, Mutex, OnceLock, RwLock};
use icb_std::thread::{self, JoinHandle, Thread};
use icb_tests::told::Telling;
use std::sync::Arc;
use std::time::Duration;

const WHILE: Duration = Duration::from_millis(1);

#[derive(Clone)]
enum AnySender {
    Bounded(SyncSender<u8>),
    Unbounded(Sender<u8>),
}

impl AnySender {
    fn send(&self, value: u8) -> bool {
        match self {
            AnySender::Bounded(sender) => sender.send(value).is_ok(),
            AnySender::Unbounded(sender) => sender.send(value).is_ok(),
        }
    }

    fn try_send(&self, value: u8) -> u8 {
        match self {
            AnySender::Bounded(sender) => match sender.try_send(value) {
                Ok(()) => 1,
                Err(TrySendError::Full(_)) => 2,
                Err(TrySendError::Disconnected(_)) => 0,
            },
            AnySender::Unbounded(sender) => sender.send(value).is_ok().into(),
        }
    }
}

struct Shared {
    variable: AtomicU8,
    barrier: Barrier,
    mutex: Mutex<()>,
    condvar: Condvar,
    lock: RwLock<()>,
    once: OnceLock<u8>,
}

/// What one thread has.
struct Own {
    me: usize,
    ops: Vec<Op>,
    sender: Option<AnySender>,
    receiver: Option<Receiver<u8>>,
    /// Those started before, and thread 0.
    threads: Vec<Thread>,
    shared: Arc<Shared>,
    telling: Telling,
}

pub(crate) fn run(program: &Program, telling: &Telling) {
    let (sender, receiver) = match program.capacity {
        Some(capacity) => {
            let (sender, receiver) = mpsc::sync_channel(capacity);
            (AnySender::Bounded(sender), receiver)
        }
        None => {
            let (sender, receiver) = mpsc::channel();
            (AnySender::Unbounded(sender), receiver)
        }
    };
    let shared = Arc::new(Shared {
        variable: AtomicU8::new(0),
        barrier: Barrier::new(program.parties()),
        mutex: Mutex::new(()),
        condvar: Condvar::new(),
        lock: RwLock::new(()),
        once: OnceLock::new(),
    });
    let mut senders: Vec<_> = program.sends.iter().map(|&sends| sends.then(|| sender.clone())).collect();
    drop(sender);
    let mut receiver = Some(receiver);
    let mut own = |me: usize, threads: &[Thread]| Own {
        me,
        ops: program.threads[me].clone(),
        sender: senders[me].take(),
        receiver: if program.receiver == me { receiver.take() } else { None },
        threads: threads.to_vec(),
        shared: shared.clone(),
        telling: telling.clone(),
    };
    let (mut threads, mut handles) = (vec![thread::current()], Vec::new());
    for me in 1..program.threads.len() {
        let own = own(me, &threads);
        let handle = thread::spawn(move || own.run(&[]));
        threads.push(handle.thread().clone());
        if !program.detached[me] {
            handles.push((me, handle));
        }
    }
    own(0, &threads).run(&handles);
    for (_, handle) in handles {
        handle.join().unwrap();
    }
}

impl Own {
    fn tell(&self, what: u8) {
        self.telling.lock().unwrap().0[self.me].push(what);
    }

    fn run(mut self, handles: &[(usize, JoinHandle<()>)]) {
        let shared = self.shared.clone();
        let (mut guard, mut reads, mut writes) = (None, None, None);
        let mut next = 0;
        while let Some(&op) = self.ops.get(next) {
            next += 1;
            let holds = reads.is_some() || writes.is_some();
            match op {
                Op::Send(value) => {
                    self.tell(self.sender.as_ref().map_or(9, |sender| sender.send(value).into()))
                }
                Op::TrySend(value) => {
                    self.tell(self.sender.as_ref().map_or(9, |sender| sender.try_send(value)))
                }
                Op::Receive => {
                    self.tell(self.receiver.as_ref().map_or(9, |r| r.recv().map_or(0, |v| 10 + v)))
                }
                Op::TryReceive => self.tell(self.receiver.as_ref().map_or(9, |r| match r.try_recv() {
                    Ok(value) => 10 + value,
                    Err(TryRecvError::Empty) => 2,
                    Err(TryRecvError::Disconnected) => 0,
                })),
                Op::ReceiveTimeout => {
                    self.tell(self.receiver.as_ref().map_or(9, |r| match r.recv_timeout(WHILE) {
                        Ok(value) => 10 + value,
                        Err(RecvTimeoutError::Timeout) => 2,
                        Err(RecvTimeoutError::Disconnected) => 0,
                    }));
                }
                Op::DropSender => self.sender = None,
                Op::DropReceiver => self.receiver = None,
                Op::Park => {
                    thread::park();
                    self.tell(7);
                }
                Op::ParkTimeout => {
                    thread::park_timeout(WHILE);
                    self.tell(8);
                }
                Op::Unpark(thread) => self.threads[thread].unpark(),
                Op::Arrive => self.tell(shared.barrier.wait().is_leader().into()),
                Op::Lock if guard.is_none() => guard = Some(shared.mutex.lock().unwrap()),
                Op::Lock => {}
                Op::Unlock => guard = None,
                Op::Wait => {
                    if let Some(held) = guard.take() {
                        guard = Some(shared.condvar.wait(held).unwrap());
                        self.tell(6);
                    }
                }
                Op::WaitTimeout => {
                    if let Some(held) = guard.take() {
                        let (held, result) = shared.condvar.wait_timeout(held, WHILE).unwrap();
                        guard = Some(held);
                        self.tell(if result.timed_out() { 5 } else { 6 });
                    }
                }
                Op::NotifyOne => shared.condvar.notify_one(),
                Op::NotifyAll => shared.condvar.notify_all(),
                Op::Read | Op::TryRead | Op::Write | Op::TryWrite if holds => {}
                Op::Read => reads = Some(shared.lock.read().unwrap()),
                Op::Write => writes = Some(shared.lock.write().unwrap()),
                Op::TryRead => {
                    reads = shared.lock.try_read().ok();
                    self.tell(reads.is_some().into());
                }
                Op::TryWrite => {
                    writes = shared.lock.try_write().ok();
                    self.tell(writes.is_some().into());
                }
                Op::Release => (reads, writes) = (None, None),
                Op::IsFinished(thread) => {
                    if let Some((_, handle)) = handles.iter().find(|(other, _)| *other == thread) {
                        self.tell(handle.is_finished().into());
                    }
                }
                Op::Initialise(value) => {
                    let initialise = || {
                        self.tell(shared.variable.load(SeqCst));
                        value
                    };
                    let value = *shared.once.get_or_init(initialise);
                    self.tell(20 + value);
                }
                Op::Set(value) => self.tell(shared.once.set(value).is_ok().into()),
                Op::Get => self.tell(shared.once.get().map_or(2, |value| 10 + value)),
                Op::Store => shared.variable.store(1, SeqCst),
                Op::Load => {
                    let value = shared.variable.load(SeqCst);
                    self.tell(value);
                    next += usize::from(value == 0);
                }
            }
        }
        drop((reads, writes));
        drop(guard);
        self.sender = None;
        self.receiver = None;
    }
}
