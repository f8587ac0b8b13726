//! `mpsc`.

use super::nudge;
use super::s::sync::atomic::{AtomicU32, Ordering::SeqCst};
use super::s::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use super::s::sync::{Arc, Mutex};
use super::s::thread;
use std::time::Duration;

const SHORT: Duration = Duration::from_micros(300);

fn try_recv(r: &mpsc::Receiver<u32>) -> String {
    match r.try_recv() {
        Ok(v) => format!("{v}"),
        Err(TryRecvError::Empty) => "empty".into(),
        Err(TryRecvError::Disconnected) => "gone".into(),
    }
}

fn recv(r: &mpsc::Receiver<u32>) -> String {
    r.recv().map_or("gone".into(), |v| format!("{v}"))
}

fn recv_for(r: &mpsc::Receiver<u32>, time: Duration) -> String {
    match r.recv_timeout(time) {
        Ok(v) => format!("{v}"),
        Err(RecvTimeoutError::Timeout) => "timeout".into(),
        Err(RecvTimeoutError::Disconnected) => "gone".into(),
    }
}

fn try_send(s: &mpsc::SyncSender<u32>, v: u32) -> String {
    match s.try_send(v) {
        Ok(()) => "sent".into(),
        Err(TrySendError::Full(v)) => format!("full{v}"),
        Err(TrySendError::Disconnected(v)) => format!("gone{v}"),
    }
}

fn send(s: &mpsc::SyncSender<u32>, v: u32) -> String {
    s.send(v).map_or_else(|e| format!("gone{}", e.0), |()| "sent".into())
}

/// Counts its drops.
struct Counted(Arc<AtomicU32>, u32);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(self.1, SeqCst);
    }
}

fn try_send_and_receive(capacity: usize, receive: fn(&mpsc::Receiver<u32>) -> String) -> String {
    let (s, r) = mpsc::sync_channel(capacity);
    let t = thread::spawn(move || {
        nudge();
        let a = try_send(&s, 1);
        nudge();
        let b = try_send(&s, 2);
        nudge();
        format!("{a} {b}")
    });
    nudge();
    let a = receive(&r);
    nudge();
    let b = receive(&r);
    nudge();
    drop(r);
    format!("{a} {b} / {}", t.join().unwrap())
}

pub(crate) fn rendezvous_try_send_recv() -> String {
    try_send_and_receive(0, recv)
}
pub(crate) fn rendezvous_try_send_try_recv() -> String {
    try_send_and_receive(0, try_recv)
}
pub(crate) fn rendezvous_try_send_recv_timeout() -> String {
    try_send_and_receive(0, |r| recv_for(r, SHORT))
}
pub(crate) fn rendezvous_try_send_recv_at_once() -> String {
    try_send_and_receive(0, |r| recv_for(r, Duration::ZERO))
}
pub(crate) fn one_try_send_recv() -> String {
    try_send_and_receive(1, recv)
}
pub(crate) fn one_try_send_try_recv() -> String {
    try_send_and_receive(1, try_recv)
}
pub(crate) fn one_try_send_recv_timeout() -> String {
    try_send_and_receive(1, |r| recv_for(r, SHORT))
}
pub(crate) fn two_try_send_recv_at_once() -> String {
    try_send_and_receive(2, |r| recv_for(r, Duration::ZERO))
}

fn sends_and_a_drop(capacity: usize) -> String {
    let (s, r) = mpsc::sync_channel(capacity);
    let t = thread::spawn(move || {
        let mut told = String::new();
        for v in 1..=3 {
            nudge();
            told += &send(&s, v);
        }
        told
    });
    nudge();
    let a = recv_for(&r, SHORT);
    nudge();
    let b = try_recv(&r);
    nudge();
    drop(r);
    format!("{a} {b} / {}", t.join().unwrap())
}

pub(crate) fn rendezvous_sends_and_a_drop() -> String {
    sends_and_a_drop(0)
}
pub(crate) fn one_sends_and_a_drop() -> String {
    sends_and_a_drop(1)
}
pub(crate) fn two_sends_and_a_drop() -> String {
    sends_and_a_drop(2)
}

fn two_senders(capacity: usize) -> String {
    let (s, r) = mpsc::sync_channel(capacity);
    let s2 = s.clone();
    let a = thread::spawn(move || {
        nudge();
        let x = send(&s, 1);
        nudge();
        x + &try_send(&s, 2)
    });
    let b = thread::spawn(move || {
        nudge();
        send(&s2, 3)
    });
    nudge();
    let x = recv(&r);
    nudge();
    let y = try_recv(&r);
    nudge();
    drop(r);
    format!("{x} {y} / {} {}", a.join().unwrap(), b.join().unwrap())
}

pub(crate) fn rendezvous_two_senders() -> String {
    two_senders(0)
}
pub(crate) fn one_two_senders() -> String {
    two_senders(1)
}

/// A sender that is done goes on before the receiver does.
pub(crate) fn rendezvous_what_a_sender_knows() -> String {
    let (s, r) = mpsc::sync_channel(0);
    let x = Arc::new(AtomicU32::new(0));
    let x2 = x.clone();
    let t = thread::spawn(move || {
        nudge();
        let a = send(&s, 1);
        nudge();
        format!("{a}{}", x2.swap(1, SeqCst))
    });
    nudge();
    let a = recv(&r);
    let b = x.swap(2, SeqCst);
    format!("{a} {b} / {}", t.join().unwrap())
}

pub(crate) fn unbounded_two_senders() -> String {
    let (s, r) = mpsc::channel();
    let s2 = s.clone();
    let a = thread::spawn(move || {
        nudge();
        let x = s.send(1).is_ok();
        nudge();
        format!("{x} {}", s.send(2).is_ok())
    });
    let b = thread::spawn(move || {
        nudge();
        s2.send(3).is_ok()
    });
    nudge();
    let x = try_recv(&r);
    nudge();
    let y = recv_for(&r, SHORT);
    nudge();
    let z = recv(&r);
    nudge();
    drop(r);
    format!("{x} {y} {z} / {} {}", a.join().unwrap(), b.join().unwrap())
}

pub(crate) fn unbounded_iterators() -> String {
    let (s, r) = mpsc::channel();
    let s2 = s.clone();
    let a = thread::spawn(move || {
        nudge();
        let _ = s.send(1);
        nudge();
        let _ = s.send(2);
    });
    let b = thread::spawn(move || {
        nudge();
        let _ = s2.send(3);
        nudge();
        drop(s2);
    });
    nudge();
    let x: Vec<u32> = r.try_iter().collect();
    nudge();
    let y: Vec<u32> = r.into_iter().collect();
    a.join().unwrap();
    b.join().unwrap();
    format!("{x:?} {y:?}")
}

fn where_messages_go(capacity: Option<usize>) -> String {
    let count = Arc::new(AtomicU32::new(0));
    let (told, seen) = (count.clone(), count.clone());
    let message = move |v| Counted(told.clone(), v);
    let t;
    let receive: Box<dyn FnOnce() -> bool>;
    if let Some(capacity) = capacity {
        let (s, r) = mpsc::sync_channel(capacity);
        t = thread::spawn(move || {
            nudge();
            let a = s.send(message(1)).map_err(std::mem::forget).is_ok();
            nudge();
            let b = s.try_send(message(10)).map_err(std::mem::forget).is_ok();
            nudge();
            format!("{a} {b}")
        });
        receive = Box::new(move || {
            nudge();
            let got = r.try_recv().map(std::mem::forget).is_ok();
            nudge();
            drop(r);
            got
        });
    } else {
        let (s, r) = mpsc::channel();
        t = thread::spawn(move || {
            nudge();
            let a = s.send(message(1)).map_err(std::mem::forget).is_ok();
            nudge();
            let b = s.send(message(10)).map_err(std::mem::forget).is_ok();
            nudge();
            format!("{a} {b}")
        });
        receive = Box::new(move || {
            nudge();
            let got = r.try_recv().map(std::mem::forget).is_ok();
            nudge();
            drop(r);
            got
        });
    }
    let got = receive();
    let now = seen.load(SeqCst);
    let sent = t.join().unwrap();
    format!("{got} {now} / {sent} {}", seen.load(SeqCst))
}

pub(crate) fn unbounded_where_messages_go() -> String {
    where_messages_go(None)
}
pub(crate) fn one_where_messages_go() -> String {
    where_messages_go(Some(1))
}
pub(crate) fn two_where_messages_go() -> String {
    where_messages_go(Some(2))
}
pub(crate) fn rendezvous_where_messages_go() -> String {
    where_messages_go(Some(0))
}

/// The token of a thread that waits for a message and then parks.
pub(crate) fn a_token_and_a_message() -> String {
    let (s, r) = mpsc::channel();
    let t = thread::spawn(move || {
        nudge();
        let a = recv(&r);
        nudge();
        thread::park();
        a
    });
    nudge();
    t.thread().unpark();
    nudge();
    let _ = s.send(1);
    t.join().unwrap()
}

pub(crate) fn a_message_and_a_token() -> String {
    let (s, r) = mpsc::sync_channel(1);
    let t = thread::spawn(move || {
        let a = recv(&r);
        nudge();
        thread::park();
        a
    });
    nudge();
    let _ = s.send(1);
    t.thread().unpark();
    t.join().unwrap()
}

pub(crate) fn a_token_and_a_rendezvous() -> String {
    let (s, r) = mpsc::sync_channel(0);
    let t = thread::spawn(move || {
        nudge();
        let a = send(&s, 1);
        nudge();
        thread::park();
        a
    });
    nudge();
    t.thread().unpark();
    nudge();
    recv(&r) + &t.join().unwrap()
}

pub(crate) fn a_token_and_a_place() -> String {
    let (s, r) = mpsc::sync_channel(1);
    let t = thread::spawn(move || {
        let a = send(&s, 1);
        nudge();
        let a = a + &send(&s, 2);
        nudge();
        thread::park();
        a
    });
    nudge();
    t.thread().unpark();
    nudge();
    recv(&r) + &recv(&r) + &t.join().unwrap()
}

pub(crate) fn a_token_and_a_timed_receive() -> String {
    let (s, r) = mpsc::channel::<u32>();
    let t = thread::spawn(move || {
        nudge();
        let a = recv_for(&r, SHORT);
        thread::park();
        a
    });
    nudge();
    t.thread().unpark();
    let a = t.join().unwrap();
    drop(s);
    a
}

/// A stray wake-up: who received has been unparked.
pub(crate) fn park_after_a_message() -> String {
    let (s, r) = mpsc::channel();
    let x = Arc::new(AtomicU32::new(0));
    let x2 = x.clone();
    let t = thread::spawn(move || {
        let a = recv(&r);
        nudge();
        thread::park();
        format!("{a}{}", x2.load(SeqCst))
    });
    nudge();
    let _ = s.send(1);
    nudge();
    x.store(1, SeqCst);
    t.thread().unpark();
    t.join().unwrap()
}

/// The receiver behind a mutex, as in thread pools.
pub(crate) fn a_shared_receiver() -> String {
    let (s, r) = mpsc::channel();
    let r = Arc::new(Mutex::new(r));
    let threads = [r.clone(), r].map(|r| {
        thread::spawn(move || {
            nudge();
            match r.try_lock() {
                Ok(r) => {
                    nudge();
                    recv(&r)
                }
                Err(_) => "busy".into(),
            }
        })
    });
    nudge();
    let _ = s.send(1);
    nudge();
    drop(s);
    let told = threads.map(|t| t.join().unwrap());
    told.join(" ")
}

/// A handle that is forgotten never goes.
pub(crate) fn a_forgotten_sender() -> String {
    let (s, r) = mpsc::channel::<u32>();
    let t = thread::spawn(move || {
        nudge();
        std::mem::forget(s);
    });
    let a = recv_for(&r, SHORT);
    t.join().unwrap();
    a + &try_recv(&r)
}

/// Everybody has known of the message before: nobody waits, and the token stays.
pub(crate) fn a_token_and_what_is_there() -> String {
    let (s, r) = mpsc::channel();
    thread::current().unpark();
    let t = thread::spawn(move || {
        nudge();
        s.send(1).is_ok()
    });
    let sent = t.join().unwrap();
    let a = recv(&r);
    thread::park();
    format!("{sent} {a}")
}

/// A token that is given after the message has been taken stays.
pub(crate) fn a_token_for_an_answer() -> String {
    let (s, r) = mpsc::channel();
    let taken = Arc::new(AtomicU32::new(0));
    let taken2 = taken.clone();
    let t = thread::spawn(move || {
        let a = recv(&r);
        taken2.store(1, SeqCst);
        nudge();
        thread::park();
        a
    });
    nudge();
    let _ = s.send(1);
    while taken.load(SeqCst) == 0 {
        thread::yield_now();
    }
    t.thread().unpark();
    t.join().unwrap()
}
