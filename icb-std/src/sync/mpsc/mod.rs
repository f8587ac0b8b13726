//! `std::sync::mpsc`. Modelled: `send` (blocked while a bounded channel is full), `try_send`, `recv`, `try_recv`,
//! `recv_timeout`, the cloning and dropping of senders and the dropping of the receiver. A rendezvous (`sync_channel(0)`)
//! sends in two steps unless the receiver waits: offer the message; wait until it is taken. It receives in two if nothing is offered: say that it
//! waits (a `try_send` can now succeed); wait. Which of several blocked senders goes on is the scheduler's choice. Whoever
//! waits may lose the token that `unpark` has given it. Where the last sender of an unbounded channel and the receiver go
//! at the same time, either of them may drop what was not received, which is a step of its own if that has destructors. The
//! error types are `std`'s.
//!
//! A receive comes after the send of its message. Whoever finds nobody at the other end comes after that end in a rendezvous,
//! and where it sends to an unbounded channel. Elsewhere `std` may look by a relaxed load, so what only the end of a channel
//! orders is reported as a data race.
//!
//! Not modelled: the order in which `std` serves blocked senders, and how much memory its queues take in advance.

pub use ::std::sync::mpsc::*;

mod shared;

use self::shared::{Received, Refused, Shared};
use crate::door;
use ::std::fmt;
use ::std::panic::{RefUnwindSafe, UnwindSafe};
use ::std::time::Duration;

type Link<T> = ::std::sync::Arc<Shared<T>>;

/// Mirrors `std::sync::mpsc::channel`.
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let link = Link::new(Shared::new(None));
    (Sender { link: link.clone() }, Receiver { link })
}

/// Mirrors `std::sync::mpsc::sync_channel`.
#[must_use]
#[track_caller]
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let link = Link::new(Shared::new(Some(bound)));
    (SyncSender { link: link.clone() }, Receiver { link })
}

/// The traits and the counting that both kinds of senders share.
macro_rules! sender {
    ($($sender:ident)*) => { $(
        #[doc = concat!("Mirrors `std::sync::mpsc::", stringify!($sender), "`.")]
        pub struct $sender<T> {
            link: Link<T>,
        }

        // SAFETY: messages move between threads; the queue is reached by one thread at a time, see `Shared`.
        unsafe impl<T: Send> Send for $sender<T> {}
        // SAFETY: as above.
        unsafe impl<T: Send> Sync for $sender<T> {}
        impl<T> UnwindSafe for $sender<T> {}
        impl<T> RefUnwindSafe for $sender<T> {}

        impl<T> $sender<T> {
            #[doc = concat!("Mirrors `std::sync::mpsc::", stringify!($sender), "::send`.")]
            #[track_caller]
            pub fn send(&self, t: T) -> Result<(), SendError<T>> {
                door::handle_used(self);
                self.link.send(t).map_err(SendError)
            }
        }

        impl<T> Clone for $sender<T> {
            #[track_caller]
            fn clone(&self) -> $sender<T> {
                door::handle_used(self);
                self.link.clone_sender();
                $sender { link: self.link.clone() }
            }
        }

        impl<T> Drop for $sender<T> {
            fn drop(&mut self) {
                door::handle_used(self);
                self.link.drop_sender();
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender)).finish_non_exhaustive()
            }
        }
    )* };
}

sender!(Sender SyncSender);

impl<T> SyncSender<T> {
    /// Mirrors `std::sync::mpsc::SyncSender::try_send`.
    #[track_caller]
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        door::handle_used(self);
        self.link.try_send(t).map_err(|refused| match refused {
            Refused::Full(t) => TrySendError::Full(t),
            Refused::Disconnected(t) => TrySendError::Disconnected(t),
        })
    }
}

/// Mirrors `std::sync::mpsc::Receiver`.
pub struct Receiver<T> {
    link: Link<T>,
}

// SAFETY: messages move between threads; the queue is reached by one thread at a time, see `Shared`. There is no
// `Sync`, as in `std`: `Shared` has a cell.
unsafe impl<T: Send> Send for Receiver<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> Receiver<T> {
    /// Mirrors `std::sync::mpsc::Receiver::try_recv`.
    #[track_caller]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        door::handle_used(self);
        match self.link.try_receive() {
            Received::Message(t) => Ok(t),
            Received::Nothing => Err(TryRecvError::Empty),
            Received::Disconnected => Err(TryRecvError::Disconnected),
        }
    }

    /// Mirrors `std::sync::mpsc::Receiver::recv`.
    #[track_caller]
    pub fn recv(&self) -> Result<T, RecvError> {
        door::handle_used(self);
        match self.link.receive(None) {
            Received::Message(t) => Ok(t),
            Received::Nothing | Received::Disconnected => Err(RecvError),
        }
    }

    /// Mirrors `std::sync::mpsc::Receiver::recv_timeout`.
    #[track_caller]
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        door::handle_used(self);
        match self.link.receive(Some(timeout)) {
            Received::Message(t) => Ok(t),
            Received::Nothing => Err(RecvTimeoutError::Timeout),
            Received::Disconnected => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// Mirrors `std::sync::mpsc::Receiver::iter`.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter { rx: self }
    }

    /// Mirrors `std::sync::mpsc::Receiver::try_iter`.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter { rx: self }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        door::handle_used(self);
        self.link.drop_receiver();
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// Mirrors `std::sync::mpsc::Iter`.
#[derive(Debug)]
pub struct Iter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Mirrors `std::sync::mpsc::TryIter`.
#[derive(Debug)]
pub struct TryIter<'a, T: 'a> {
    rx: &'a Receiver<T>,
}

/// Mirrors `std::sync::mpsc::IntoIter`.
#[derive(Debug)]
pub struct IntoIter<T> {
    rx: Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.rx.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter { rx: self }
    }
}
