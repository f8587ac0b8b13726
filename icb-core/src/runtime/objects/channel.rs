//! `mpsc` channels. The messages themselves are in the mirrored type; here is how many there are, what was
//! published with each, and who is left at either end.
//!
//! A send happens before the receive of its message, or before the end of the receiver, which drops what it has not
//! received. In a bounded channel a receive also happens before the send
//! that takes its place; the first messages take places that were free from the beginning. A receiver of a rendezvous (capacity 0)
//! that finds no message says in a step of its own that it waits. A sender that finds it so hands its message over and goes on; another one
//! waits in a second step until its message is taken, and nobody's `try_send` succeeds. All that is done to a rendezvous is done under a lock
//! of `std`'s, so whoever comes to send comes after all receives before, and after what a receiver that waits has done; whoever waits until its message is taken then comes after that receive alone.
//!
//! Whoever finds nobody at the other end comes after that end in a rendezvous, and where he sends to an unbounded channel. Elsewhere `std` looks by a relaxed load
//! if he has not had to wait, and nothing says that he has. Whoever is the last to let go of the channel frees it, and comes after the others.
//!
//! `std` parks whoever waits, which may cost it a token that `unpark` has given it: see `is_token_gone`. Whether one has waited is no
//! step; it has in some execution if nothing says that what it waited for was there when it came.

use super::{Effect, State};
use crate::clock::VectorClock;
use crate::program::FoundChannel;
use crate::runtime::execution::Execution;
use crate::runtime::threads::Readiness;
use crate::trace::{Access, Action, Mode, ObjectId, Operation};
use std::collections::VecDeque;

/// State of a channel.
#[derive(Debug, Default)]
pub(crate) struct Channel {
    capacity: Option<usize>,
    /// What was published with each message in it, oldest first.
    messages: VecDeque<VectorClock>,
    /// What was published when places became free; of a rendezvous, when messages were taken, from the first one on.
    places: VecDeque<VectorClock>,
    /// Places that no message has been in yet: the next messages wait for none to be taken.
    unused: usize,
    spare: Vec<VectorClock>,
    senders: usize,
    receiver: bool,
    /// What senders published that are gone.
    senders_end: VectorClock,
    /// What the receiver published when it went.
    receiver_end: VectorClock,
    /// When each thread has first seen that nobody is at the other end, by its own clock.
    end_seen: VectorClock,
    /// The receiver has said that it waits: a rendezvous `try_send` can succeed.
    receiver_waits: bool,
    sent: u64,
    taken: u64,
}

impl Channel {
    pub(super) fn clear(&mut self) {
        self.spare.extend(self.messages.drain(..));
        self.spare.extend(self.places.drain(..));
        self.senders_end.clear();
        self.receiver_end.clear();
        self.end_seen.clear();
        self.sent = 0;
        self.taken = 0;
        self.receiver_waits = false;
    }

    pub(super) fn initialise(
        &mut self,
        capacity: Option<usize>,
        length: usize,
        senders: usize,
        receiver: bool,
    ) {
        self.capacity = capacity;
        self.unused = capacity.map_or(0, |capacity| capacity.saturating_sub(length));
        self.messages.extend((0..length).map(|_| VectorClock::new()));
        self.sent = length as u64;
        self.senders = senders;
        self.receiver = receiver;
    }

    pub(super) fn can_send(&self) -> bool {
        !self.receiver || !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.capacity.is_some_and(|capacity| capacity > 0 && self.messages.len() >= capacity)
    }

    /// The next place of a bounded channel: what was published when it became free, if a message has been there. A rendezvous has none.
    fn take_place(&mut self) -> Option<VectorClock> {
        if self.unused > 0 {
            self.unused -= 1;
            return None;
        }
        if self.capacity == Some(0) { None } else { self.places.pop_front() }
    }

    pub(super) fn can_receive(&self) -> bool {
        !self.messages.is_empty() || self.senders == 0
    }

    /// What could take effect now. Of a rendezvous it is not known: to come there is a step of its own.
    fn find(&self) -> Option<FoundChannel> {
        let is_rendezvous = self.capacity == Some(0);
        (!is_rendezvous).then(|| FoundChannel { can_send: self.can_send(), can_receive: self.can_receive() })
    }

    pub(super) fn is_taken(&self, ticket: u64) -> bool {
        self.taken > ticket || !self.receiver
    }
}

impl Execution {
    pub(super) fn channel(&self, channel: ObjectId) -> &Channel {
        match &self.object_ref(channel).state {
            State::Channel(channel) => channel,
            other => unreachable!("a channel's slot holds {other:?}"),
        }
    }

    fn channel_mut(&mut self, channel: ObjectId) -> &mut Channel {
        match &mut self.object_mut(channel).state {
            State::Channel(channel) => channel,
            other => unreachable!("a channel's slot holds {other:?}"),
        }
    }

    fn finish_channel(&mut self, operation: Operation, mode: Mode, note: Option<&'static str>) {
        if mode == Mode::Write {
            self.note_change(operation.object);
        } else {
            self.note_read(operation.object);
        }
        self.finish_single(operation, Access { object: operation.object, mode }, None, None, note);
    }

    /// Tells what is found at a channel by the step that is about to be taken there.
    fn find_channel(&mut self, channel: ObjectId) {
        if let Some(found) = self.channel(channel).find() {
            self.tell_found_channel(found);
        }
    }

    /// `Refused`, if it was not only tried: nobody waits for the message yet.
    pub(super) fn send(&mut self, operation: Operation) -> Effect {
        self.find_channel(operation.object);
        let me = self.current;
        let trying = operation.action == Action::TrySend;
        let channel = self.channel_mut(operation.object);
        if !channel.receiver {
            let is_ordered = channel.capacity.is_none_or(|capacity| capacity == 0);
            // It cannot have waited where it knew of a place that has been free since.
            let channel = self.channel(operation.object);
            let knows_place = channel.unused > 0
                || channel.places.front().is_some_and(|place| place.le(&self.threads[me].clock.clock));
            let may_wait = !trying && !is_ordered && !knows_place;
            self.see_end(operation.object, is_ordered, may_wait);
            self.finish_channel(operation, Mode::Read, Some("disconnected"));
            return Effect::Disconnected;
        }
        let rendezvous = channel.capacity == Some(0);
        let no_partner = rendezvous && !(channel.receiver_waits && channel.messages.is_empty());
        if trying && (channel.is_full() || no_partner) {
            self.finish_channel(operation, Mode::Read, Some("full"));
            return Effect::Refused;
        }
        let ticket = channel.sent;
        channel.sent += 1;
        let place = channel.take_place();
        let mut message = channel.spare.pop().unwrap_or_default();
        if let Some(place) = place {
            if !trying && !place.le(&self.threads[me].clock.clock) {
                self.note_parked_within();
            }
            self.threads[me].clock.acquire(&place);
            self.channel_mut(operation.object).spare.push(place);
        }
        if rendezvous {
            self.threads[me].clock.acquire(&self.objects[operation.object.index()].clock);
        }
        self.threads[me].clock.release_into(me, &mut message);
        self.channel_mut(operation.object).messages.push_back(message);
        self.threads[me].ticket = ticket;
        self.finish_channel(operation, Mode::Write, None);
        if no_partner { Effect::Refused } else { Effect::Done }
    }

    pub(super) fn send_finish(&mut self, operation: Operation) -> Effect {
        let me = self.current;
        let ticket = self.threads[me].ticket;
        self.note_parked_within();
        let State::Channel(channel) = &self.objects[operation.object.index()].state else {
            return Effect::Done;
        };
        if let Some(taken) = channel.places.get(ticket as usize) {
            self.threads[me].clock.acquire(taken);
            self.finish_channel(operation, Mode::Read, None);
            Effect::Done
        } else {
            self.threads[me].clock.acquire(&channel.receiver_end);
            self.finish_channel(operation, Mode::Read, Some("disconnected"));
            Effect::Disconnected
        }
    }

    pub(super) fn receive(&mut self, operation: Operation) -> Effect {
        self.find_channel(operation.object);
        let me = self.current;
        let expired = self.threads[me].expired.take();
        let may_wait = match operation.action {
            Action::Receive { timed } => !timed || !self.threads[me].timeout.is_zero(),
            _ => false,
        };
        let channel = self.channel_mut(operation.object);
        let waited = std::mem::take(&mut channel.receiver_waits);
        if let Some(message) = channel.messages.pop_front() {
            channel.taken += 1;
            let bounded = channel.capacity.is_some();
            let rendezvous = channel.capacity == Some(0);
            self.threads[me].end_wait();
            // It cannot have waited for what it knew of.
            if may_wait && !message.le(&self.threads[me].clock.clock) {
                self.note_parked_within();
            }
            self.threads[me].clock.acquire(&message);
            let object = &mut self.objects[operation.object.index()];
            let State::Channel(channel) = &mut object.state else { return Effect::Done };
            if bounded {
                let mut place = channel.spare.pop().unwrap_or_default();
                self.threads[me].clock.release_into(me, &mut place);
                if rendezvous {
                    object.clock.join(&place);
                }
                channel.places.push_back(place);
            }
            channel.spare.push(message);
            if may_wait && rendezvous {
                // Whoever hands a message to a receiver that waits goes on before that wakes.
                self.note_parked_within();
            }
            self.finish_channel(operation, Mode::Write, None);
            return Effect::Done;
        }
        if channel.senders == 0 {
            let is_ordered = channel.capacity == Some(0);
            self.see_end(operation.object, is_ordered, may_wait);
            self.finish_channel(operation, Mode::Read, Some("disconnected"));
            return Effect::Disconnected;
        }
        if operation.action == Action::ReceiveBegin {
            self.channel_mut(operation.object).receiver_waits = true;
            let object = &mut self.objects[operation.object.index()];
            self.threads[me].clock.release_join(me, &mut object.clock);
            self.finish_channel(operation, Mode::Write, Some("waits"));
            return Effect::Refused;
        }
        if may_wait {
            self.note_parked_within();
        }
        if expired == Some(Readiness::Timeout) {
            self.expire();
            // Of a rendezvous: nobody's `try_send` succeeds any more.
            let mode = if waited { Mode::Write } else { Mode::Read };
            self.finish_channel(operation, mode, Some("timed out"));
            return Effect::TimedOut;
        }
        self.finish_channel(operation, Mode::Read, Some("empty"));
        Effect::Refused
    }

    /// The running thread has noticed that nobody is left at the other end, perhaps after it has waited.
    fn see_end(&mut self, channel: ObjectId, is_ordered: bool, may_wait: bool) {
        let me = self.current;
        let State::Channel(channel) = &mut self.objects[channel.index()].state else { return };
        let clock = &mut self.threads[me].clock;
        let end = if channel.receiver { &channel.senders_end } else { &channel.receiver_end };
        let seen = (0..self.thread_count).map(|thread| channel.end_seen.epoch(thread));
        let is_known = seen.filter(|seen| seen.time > 0).any(|seen| seen.happens_before(&clock.clock));
        // It cannot have waited where it knew of the end.
        let may_wait = may_wait && !is_known && !end.le(&clock.clock);
        if is_ordered {
            clock.acquire(end);
        }
        if channel.end_seen.get(me) == 0 {
            channel.end_seen.set_as_in(me, &clock.clock);
        }
        if may_wait {
            self.note_parked_within();
        }
    }

    /// `late`: the channel is unbounded, and its messages have destructors. `Refused`: the last sender and the receiver go, and which of the two
    /// drops what was not received is still to be seen.
    pub(super) fn channel_end(&mut self, operation: Operation, late: bool) -> Effect {
        self.find_channel(operation.object);
        let me = self.current;
        let State::Channel(channel) = &mut self.objects[operation.object.index()].state else {
            return Effect::Done;
        };
        let clock = &mut self.threads[me].clock;
        let mut effect = Effect::Done;
        match operation.action {
            Action::SenderClone => channel.senders += 1,
            Action::SenderDrop => {
                channel.senders = channel.senders.saturating_sub(1);
                if channel.senders == 0 {
                    clock.acquire(&channel.senders_end);
                    clock.acquire(&channel.receiver_end);
                    if late && channel.receiver && !channel.messages.is_empty() {
                        effect = Effect::Refused;
                    }
                }
                clock.release_join(me, &mut channel.senders_end);
            }
            _ if late && channel.senders == 0 && !channel.messages.is_empty() => {
                channel.receiver = false;
                effect = Effect::Refused;
            }
            _ => {
                channel.receiver = false;
                // It drops them.
                channel.messages.iter().for_each(|message| clock.acquire(message));
                channel.spare.extend(channel.messages.drain(..));
                if channel.senders == 0 {
                    clock.acquire(&channel.senders_end);
                }
                clock.release_join(me, &mut channel.receiver_end);
            }
        }
        self.finish_channel(operation, Mode::Write, None);
        effect
    }
}
