//! What the ends of a channel share: the queue of messages and who lives. In an execution the runtime says when an
//! operation may go on and what it led to, and the queue is then touched at once; outside, a lock and two condition
//! variables of the real world do the same.

use crate::door::{self, Action, Counts, Effect, Handle, InitialState, ObjectInit};
use ::std::any::type_name;
use ::std::cell::UnsafeCell;
use ::std::collections::VecDeque;
use ::std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use ::std::time::{Duration, Instant};

pub(super) struct Shared<T> {
    handle: Handle,
    /// `None`: unbounded. `Some(0)`: rendezvous.
    capacity: Option<usize>,
    state: UnsafeCell<State<T>>,
    /// Guards `state` outside executions.
    lock: Mutex<()>,
    /// A message has come, or the last sender has gone.
    not_empty: Condvar,
    /// A message has been taken, or the receiver has gone.
    not_full: Condvar,
}

struct State<T> {
    /// Each message with a number of its own.
    queue: VecDeque<(u64, T)>,
    next_number: u64,
    senders: usize,
    receiver: bool,
    /// The last sender, or the receiver, has gone for good where that has been a step of its own.
    half_gone: bool,
    /// Receivers that are blocked in the real world (at most one).
    waiting: usize,
}

/// What a receive led to.
pub(super) enum Received<T> {
    Message(T),
    /// Empty, or the time has run out.
    Nothing,
    Disconnected,
}

/// Why a message was not sent; it comes back.
pub(super) enum Refused<T> {
    Full(T),
    Disconnected(T),
}

impl<T> State<T> {
    fn push(&mut self, message: T) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        self.queue.push_back((number, message));
        number
    }

    fn pop(&mut self) -> Option<T> {
        self.queue.pop_front().map(|(_, message)| message)
    }

    fn contains(&self, number: u64) -> bool {
        self.queue.iter().any(|(other, _)| *other == number)
    }

    fn take_back(&mut self, number: u64) -> Option<T> {
        let index = self.queue.iter().position(|(other, _)| *other == number)?;
        self.queue.remove(index).map(|(_, message)| message)
    }
}

impl<T> Shared<T> {
    pub(super) fn new(capacity: Option<usize>) -> Shared<T> {
        let queue = VecDeque::new();
        Shared {
            handle: Handle::new(),
            capacity,
            state: UnsafeCell::new(State {
                queue,
                next_number: 0,
                senders: 1,
                receiver: true,
                half_gone: false,
                waiting: 0,
            }),
            lock: Mutex::new(()),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
        }
    }

    /// The state, for one look or one change.
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> R {
        // SAFETY: in an execution no other thread runs until the next operation, and `f` performs none; outside,
        // callers hold `lock`. `f` runs no code of the user, so it does not come here again.
        crate::door::unseen(|| f(unsafe { &mut *self.state.get() }))
    }

    fn locked(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn init(&self) -> ObjectInit {
        // Read before an operation is announced: the runtime takes it for the first state at the first use only.
        let state = self.with(|state| InitialState::Channel {
            capacity: self.capacity,
            length: state.queue.len(),
            senders: state.senders,
            receiver: state.receiver,
        });
        ObjectInit {
            state,
            type_name: type_name::<super::Receiver<T>>(),
            address: (&raw const *self).cast(),
            on_first_use: None,
        }
    }

    #[inline]
    #[track_caller]
    fn perform(&self, action: Action) -> Option<Effect> {
        if !crate::door::active() {
            return None;
        }
        self.handle.perform(self.init(), action)
    }

    #[track_caller]
    pub(super) fn send(&self, message: T) -> Result<(), T> {
        match self.perform(Action::Send) {
            None => self.send_outside(message),
            Some(Effect::Disconnected) => Err(message),
            Some(effect) => {
                let number = self.with(|state| state.push(message));
                if effect == Effect::Refused
                    && self.perform(Action::SendFinish) == Some(Effect::Disconnected)
                    && let Some(message) = self.with(|state| state.take_back(number))
                {
                    return Err(message);
                }
                Ok(())
            }
        }
    }

    #[track_caller]
    pub(super) fn try_send(&self, message: T) -> Result<(), Refused<T>> {
        match self.perform(Action::TrySend) {
            None => self.try_send_outside(message),
            Some(Effect::Disconnected) => Err(Refused::Disconnected(message)),
            Some(Effect::Refused) => Err(Refused::Full(message)),
            Some(_) => {
                self.with(|state| state.push(message));
                Ok(())
            }
        }
    }

    /// `recv`, or `recv_timeout`.
    #[track_caller]
    pub(super) fn receive(&self, timeout: Option<Duration>) -> Received<T> {
        if self.capacity == Some(0) {
            match self.perform(Action::ReceiveBegin) {
                None | Some(Effect::Refused) => {}
                Some(effect) => return self.received(effect),
            }
        }
        let effect = match door::limited(timeout) {
            _ if !door::active() => None,
            None => self.perform(Action::Receive { timed: false }),
            Some(timeout) => self.handle.perform_timed(self.init(), Action::Receive { timed: true }, timeout),
        };
        match effect {
            None => self.receive_outside(timeout.map(|timeout| Instant::now().checked_add(timeout))),
            Some(effect) => self.received(effect),
        }
    }

    #[track_caller]
    pub(super) fn try_receive(&self) -> Received<T> {
        door::note_registers();
        match self.perform(Action::TryReceive) {
            None => {
                let _lock = self.locked();
                match self.with(|state| (state.pop(), state.senders)) {
                    (Some(message), _) => {
                        self.not_full.notify_all();
                        Received::Message(message)
                    }
                    (None, 0) => Received::Disconnected,
                    (None, _) => Received::Nothing,
                }
            }
            Some(effect) => self.received(effect),
        }
    }

    fn received(&self, effect: Effect) -> Received<T> {
        match effect {
            Effect::Disconnected => Received::Disconnected,
            Effect::Refused | Effect::TimedOut => Received::Nothing,
            _ => Received::Message(self.with(State::pop).expect("the runtime has seen a message come")),
        }
    }

    #[track_caller]
    pub(super) fn clone_sender(&self) {
        let outside = self.perform(Action::SenderClone).is_none();
        let _lock = outside.then(|| self.locked());
        self.with(|state| state.senders += 1);
    }

    #[track_caller]
    pub(super) fn drop_sender(&self) {
        let effect = self.perform_end(Action::SenderDrop);
        let lock = effect.is_none().then(|| self.locked());
        self.with(|state| state.senders -= 1);
        if effect.is_none() {
            self.not_empty.notify_all();
        }
        drop(lock);
        if effect == Some(Effect::Refused) && self.comes_second() {
            drop(self.take_unread());
        }
    }

    #[track_caller]
    pub(super) fn drop_receiver(&self) {
        let effect = self.perform_end(Action::ReceiverDrop);
        let lock = effect.is_none().then(|| self.locked());
        self.with(|state| state.receiver = false);
        if effect.is_none() {
            self.not_full.notify_all();
        }
        // The senders of a rendezvous still wait, and take their messages back.
        let may_drop = self.capacity != Some(0) && (effect != Some(Effect::Refused) || self.comes_second());
        let unread = may_drop.then(|| self.take_unread());
        drop(lock);
        // Last, without the lock: this runs code of the user.
        drop(unread);
    }

    /// An end goes.
    #[track_caller]
    fn perform_end(&self, action: Action) -> Option<Effect> {
        if !door::active() {
            return None;
        }
        let late = self.capacity.is_none() && ::std::mem::needs_drop::<T>();
        self.handle.perform_with(self.init(), action, late)
    }

    /// The last sender and the receiver go, and there are messages: of an unbounded channel it is the second of the two that drops them, and to
    /// be the second is a step of its own. (The last sender does not look whether there is a receiver, and a receiver that finds no
    /// sender leaves them to the end of the channel.)
    #[track_caller]
    fn comes_second(&self) -> bool {
        let name = (&raw const *self).cast();
        door::count(name, type_name::<super::Receiver<T>>(), Action::CountUpdate, None);
        let second = self.with(|state| ::std::mem::replace(&mut state.half_gone, true));
        if second {
            door::count_acquired(name, Counts::Strong);
        }
        door::count_left(name, Counts::Strong);
        second
    }

    fn take_unread(&self) -> VecDeque<(u64, T)> {
        self.with(|state| ::std::mem::take(&mut state.queue))
    }
}

/// On real threads.
impl<T> Shared<T> {
    fn send_outside(&self, message: T) -> Result<(), T> {
        let mut lock = self.locked();
        let full = |state: &mut State<T>| match self.capacity {
            None | Some(0) => false,
            Some(capacity) => state.receiver && state.queue.len() >= capacity,
        };
        while self.with(full) {
            lock = self.not_full.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        if self.with(|state| !state.receiver) {
            return Err(message);
        }
        let number = self.with(|state| state.push(message));
        self.not_empty.notify_one();
        if self.capacity == Some(0) {
            while self.with(|state| state.receiver && state.contains(number)) {
                lock = self.not_full.wait(lock).unwrap_or_else(PoisonError::into_inner);
            }
            if let Some(message) = self.with(|state| state.take_back(number)) {
                return Err(message);
            }
        }
        Ok(())
    }

    fn try_send_outside(&self, message: T) -> Result<(), Refused<T>> {
        let _lock = self.locked();
        let (receiver, full) = self.with(|state| {
            let full = match self.capacity {
                None => false,
                Some(0) => state.queue.len() >= state.waiting,
                Some(capacity) => state.queue.len() >= capacity,
            };
            (state.receiver, full)
        });
        if !receiver {
            return Err(Refused::Disconnected(message));
        }
        if full {
            return Err(Refused::Full(message));
        }
        self.with(|state| state.push(message));
        self.not_empty.notify_one();
        Ok(())
    }

    /// `deadline`: `None` waits for ever, and so does a deadline that no clock can show.
    fn receive_outside(&self, deadline: Option<Option<Instant>>) -> Received<T> {
        let mut lock = self.locked();
        loop {
            if let Some(message) = self.with(State::pop) {
                self.not_full.notify_all();
                return Received::Message(message);
            }
            if self.with(|state| state.senders == 0) {
                return Received::Disconnected;
            }
            let left = deadline.flatten().map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Received::Nothing;
            }
            self.with(|state| state.waiting += 1);
            lock = match left {
                None => self.not_empty.wait(lock).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    self.not_empty.wait_timeout(lock, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            self.with(|state| state.waiting -= 1);
        }
    }
}
