//! Items and remains as bytes: for other processes, and for a file. Numbers are LEB128 varints.

use super::footprint::Footprint;
use super::item::{Extra, Item, Leg, Part, Remains};
use super::node::Sleeper;
use crate::program::ThreadSet;
use crate::trace::{Access, Mode, ObjectId};
use crate::varint::{Reader, write};
use std::sync::Arc;

impl Item {
    /// Appends the item; a reader knows the one before it.
    pub fn encode(&self, before: &Item, bytes: &mut Vec<u8>) {
        let pairs = self.way.iter().zip(&before.way);
        let common = pairs.take_while(|(mine, theirs)| Arc::ptr_eq(mine, theirs)).count();
        write(bytes, common as u64);
        write(bytes, (self.way.len() - common) as u64);
        self.way[common..].iter().for_each(|leg| leg.encode(bytes));
        write_choices(bytes, &self.later);
        let begun = self.begun.as_deref().unwrap_or_default();
        write(bytes, begun.len() as u64);
        bytes.extend_from_slice(begun);
    }

    /// Reads an item that follows another one. `None`: these are not the bytes of one.
    pub fn decode(before: &Item, reader: &mut Reader<'_>) -> Option<Item> {
        let mut way = before.way.get(..reader.length()?)?.to_vec();
        for _ in 0..reader.length()? {
            way.push(Arc::new(Leg::decode(reader)?));
        }
        let later = read_choices(reader)?;
        let begun = reader.length().and_then(|length| reader.take(length))?;
        Some(Item { way, later, begun: (!begun.is_empty()).then(|| begun.into()) })
    }
}

impl Remains {
    /// Appends what is left.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        write(bytes, self.base as u64);
        write(bytes, self.legs.len() as u64);
        self.legs.iter().for_each(|leg| leg.encode(bytes));
        write(bytes, self.parts.len() as u64);
        for Part { depth, leg, later } in &self.parts {
            write(bytes, *depth as u64);
            leg.encode(bytes);
            write_choices(bytes, later);
        }
        write(bytes, u64::from(self.sleeper.is_some()));
        self.sleeper.iter().for_each(|sleeper| sleeper.encode(bytes));
        write(bytes, self.extras.len() as u64);
        for extra in &self.extras {
            write(bytes, extra.depth as u64);
            write(bytes, extra.thread as u64);
            write(bytes, u64::from(extra.cost));
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(reader: &mut Reader<'_>) -> Option<Remains> {
        let mut remains = Remains { base: reader.length()?, ..Remains::default() };
        for _ in 0..reader.length()? {
            remains.legs.push(Arc::new(Leg::decode(reader)?));
        }
        for _ in 0..reader.length()? {
            let (depth, leg) = (reader.length()?, Arc::new(Leg::decode(reader)?));
            remains.parts.push(Part { depth, leg, later: read_choices(reader)? });
        }
        if reader.number()? != 0 {
            remains.sleeper = Some(Sleeper::decode(reader)?);
        }
        for _ in 0..reader.length()? {
            let (depth, thread) = (reader.length()?, reader.length()?);
            remains.extras.push(Extra { depth, thread, cost: reader.number()? as u32 });
        }
        Some(remains)
    }
}

impl Leg {
    fn encode(&self, bytes: &mut Vec<u8>) {
        write(bytes, self.thread as u64);
        write(bytes, u64::from(self.cost));
        write(bytes, self.outcomes.len() as u64);
        self.outcomes.iter().for_each(|&outcome| write(bytes, u64::from(outcome)));
        write(bytes, self.sleepers.len() as u64);
        self.sleepers.iter().for_each(|sleeper| sleeper.encode(bytes));
        write(bytes, self.asleep as u64);
        write(bytes, self.shared as u64);
        write_set(bytes, &self.known);
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Leg> {
        let (thread, cost) = (reader.length()?, reader.number()? as u32);
        let outcomes =
            (0..reader.length()?).map(|_| reader.number().map(|n| n as u32)).collect::<Option<_>>()?;
        let sleepers: Vec<Sleeper> =
            (0..reader.length()?).map(|_| Sleeper::decode(reader)).collect::<Option<_>>()?;
        let mut count = || reader.length().filter(|&count| count <= sleepers.len());
        let (asleep, shared) = (count()?, count()?);
        Some(Leg { thread, outcomes, sleepers, asleep, shared, known: read_set(reader)?, cost })
    }
}

/// Choices at a node, each with its cost.
fn write_choices(bytes: &mut Vec<u8>, choices: &[(usize, u32)]) {
    write(bytes, choices.len() as u64);
    for &(thread, cost) in choices {
        write(bytes, thread as u64);
        write(bytes, u64::from(cost));
    }
}

fn read_choices(reader: &mut Reader<'_>) -> Option<Vec<(usize, u32)>> {
    (0..reader.length()?).map(|_| Some((reader.length()?, reader.number()? as u32))).collect()
}

impl Sleeper {
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        write(bytes, self.thread as u64);
        write(bytes, self.object_count as u64);
        write(bytes, self.new.map_or(0, |mode| mode_number(mode) + 1) << 1 | u64::from(self.early));
        write_footprint(bytes, &self.footprint);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Option<Sleeper> {
        let (thread, object_count) = (reader.length()?, reader.length()?);
        let number = reader.number()?;
        let new = match number >> 1 {
            0 => None,
            mode => Some(mode_of(mode - 1)?),
        };
        Some(Sleeper {
            thread,
            footprint: read_footprint(reader)?,
            object_count,
            new,
            early: number & 1 == 1,
        })
    }
}

pub(super) fn write_footprint(bytes: &mut Vec<u8>, footprint: &Footprint) {
    write(bytes, footprint.iter().count() as u64);
    for access in footprint.iter() {
        write(bytes, (access.object.index() as u64) << 2 | mode_number(access.mode));
    }
}

pub(super) fn read_footprint(reader: &mut Reader<'_>) -> Option<Footprint> {
    let mut footprint = Footprint::default();
    for _ in 0..reader.length()? {
        let number = reader.number()?;
        let object = ObjectId::new((number >> 2) as usize);
        footprint.add(Access { object, mode: mode_of(number & 3)? });
    }
    Some(footprint)
}

pub(super) fn write_set(bytes: &mut Vec<u8>, set: &ThreadSet) {
    write(bytes, set.len() as u64);
    set.iter().for_each(|thread| write(bytes, thread as u64));
}

pub(super) fn read_set(reader: &mut Reader<'_>) -> Option<ThreadSet> {
    (0..reader.length()?).map(|_| reader.length()).collect()
}

const fn mode_number(mode: Mode) -> u64 {
    match mode {
        Mode::Read => 0,
        Mode::Update => 1,
        Mode::Write => 2,
    }
}

const fn mode_of(number: u64) -> Option<Mode> {
    match number {
        0 => Some(Mode::Read),
        1 => Some(Mode::Update),
        2 => Some(Mode::Write),
        _ => None,
    }
}
