//! An item that is half done, as bytes: where the search stands between two of its executions, so that somebody else, or a later
//! process, can go on from there. Events are not among them: the next execution makes them again.

use super::PartialOrder;
use super::additions::Deferred;
use super::encoding::{read_footprint, read_set, write_footprint, write_set};
use super::item::Item;
use super::node::{Branch, Node, Sleeper};
use crate::clock::VectorClock;
use crate::varint::{Reader, write};

impl PartialOrder {
    /// Appends where the item stands. To be called between two of its executions, if there is to be another one.
    pub fn save(&mut self, bytes: &mut Vec<u8>) {
        self.note_footprints(usize::MAX);
        write(bytes, u64::from(self.bound_pruned > 0));
        write(bytes, self.depth as u64);
        self.nodes[..self.depth].iter().for_each(|node| node.encode(bytes));
        write(bytes, self.deferred.len() as u64);
        let thread_count = self.events.thread_count();
        self.deferred.iter().for_each(|deferred| deferred.encode(thread_count, bytes));
    }

    /// Goes on with an item that stands so. `None`: these are not the bytes of one, and the item begins from its start.
    pub fn go_on(&mut self, item: Item, reader: &mut Reader<'_>) -> Option<()> {
        self.enter(item);
        let restored = self.restore(reader);
        if restored.is_none() {
            self.depth = 0;
            self.deferred.clear();
        }
        restored
    }

    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let pruned = reader.number()?;
        let depth = reader.length()?;
        for index in 0..depth {
            let node = Node::decode(reader)?;
            match self.nodes.get_mut(index) {
                Some(slot) => *slot = node,
                None => self.nodes.push(node),
            }
        }
        for _ in 0..reader.length()? {
            self.deferred.push(Deferred::decode(reader)?);
        }
        self.bound_pruned += pruned;
        self.depth = depth;
        self.started = true;
        self.without_events = true;
        Some(())
    }
}

impl Node {
    fn encode(&self, bytes: &mut Vec<u8>) {
        // All of them, but for where its decisions start, which the next execution finds again.
        let Node {
            enabled,
            early,
            object_count,
            freed,
            let_on,
            previous,
            previous_yielded,
            previous_blocked,
            ..
        } = self;
        let Node { previous_pending, cost, todo, done, slept, sleep, inherited_count, chosen, place, .. } =
            self;
        let Node { number, script: _, branches, step, block, stops, has_gone_on, spent, .. } = self;
        [enabled, early, todo, done, slept].iter().for_each(|set| write_set(bytes, set));
        let flags = [let_on, has_gone_on, spent, freed, previous_yielded, previous_blocked, stops];
        write(bytes, flags.iter().fold(0, |word, &&flag| word << 1 | u64::from(flag)));
        let numbers = [
            *object_count as u64,
            previous.map_or(0, |previous| previous as u64 + 1),
            u64::from(*cost),
            *inherited_count as u64,
            *chosen as u64,
            *number,
        ];
        numbers.iter().for_each(|&number| write(bytes, number));
        bytes.extend_from_slice(&place.to_le_bytes());
        [previous_pending, step, block].iter().for_each(|footprint| write_footprint(bytes, footprint));
        write(bytes, sleep.len() as u64);
        sleep.iter().for_each(|sleeper| sleeper.encode(bytes));
        write(bytes, branches.len() as u64);
        for branch in branches {
            write(bytes, u64::from(branch.chosen));
            write(bytes, u64::from(branch.count));
            write(bytes, u64::from(branch.costly));
            bytes.extend_from_slice(&branch.place.to_le_bytes());
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Node> {
        let (enabled, early, todo) = (read_set(reader)?, read_set(reader)?, read_set(reader)?);
        let (done, slept) = (read_set(reader)?, read_set(reader)?);
        let flags = reader.number()?;
        let flag = |position: u32| flags >> position & 1 != 0;
        let (object_count, previous) = (reader.length()?, reader.length()?.checked_sub(1));
        let (cost, inherited_count) = (reader.number()? as u32, reader.length()?);
        let (chosen, number, place) = (reader.length()?, reader.number()?, read_place(reader)?);
        let previous_pending = read_footprint(reader)?;
        let (step, block) = (read_footprint(reader)?, read_footprint(reader)?);
        let sleep = (0..reader.length()?).map(|_| Sleeper::decode(reader)).collect::<Option<_>>()?;
        let branches = (0..reader.length()?).map(|_| Branch::decode(reader)).collect::<Option<_>>()?;
        Some(Node {
            enabled,
            early,
            object_count,
            freed: flag(3),
            let_on: flag(6),
            previous,
            previous_yielded: flag(2),
            previous_blocked: flag(1),
            previous_pending,
            cost,
            todo,
            done,
            slept,
            sleep,
            inherited_count,
            chosen,
            place,
            number,
            script: 0,
            branches,
            step,
            block,
            stops: flag(0),
            has_gone_on: flag(5),
            spent: flag(4),
        })
    }
}

impl Branch {
    fn decode(reader: &mut Reader<'_>) -> Option<Branch> {
        let (chosen, count) = (reader.number()? as u32, reader.number()? as u32);
        Some(Branch { chosen, count, costly: reader.number()? != 0, place: read_place(reader)? })
    }
}

fn read_place(reader: &mut Reader<'_>) -> Option<u64> {
    reader.take(8)?.try_into().ok().map(u64::from_le_bytes)
}

impl Deferred {
    fn encode(&self, thread_count: usize, bytes: &mut Vec<u8>) {
        let numbers = [
            self.depth as u64,
            self.index as u64,
            self.thread as u64,
            u64::from(self.number),
            u64::from(self.taken_up),
            thread_count as u64,
        ];
        numbers.iter().for_each(|&number| write(bytes, number));
        (0..thread_count).for_each(|thread| write(bytes, u64::from(self.clock.get(thread))));
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Deferred> {
        let (depth, index, thread) = (reader.length()?, reader.length()?, reader.length()?);
        let (number, taken_up) = (reader.number()? as u32, reader.number()? != 0);
        let mut clock = VectorClock::new();
        for thread in 0..reader.length()? {
            clock.set(thread, reader.number()? as u32);
        }
        Some(Deferred { depth, index, thread, number, clock, taken_up })
    }
}
