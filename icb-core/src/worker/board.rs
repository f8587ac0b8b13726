//! What has become of the items that processes share: which wait, which are at work, which are done before their turn. It starts
//! no process and talks to none.

use super::team::Tokens;
use crate::reduction::{Done, Item, Look, News};
use crate::varint::{Reader, write};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Items that a process is given at a time, at most.
const MAX_BATCH: usize = 8;
/// Nodes of the ways to items that are sent to a process that has not answered: with some ten bytes each they fit into a
/// socket, so that nobody waits for one who waits for him.
const MAX_NODES_ON_THE_WAY: usize = 1_500;
/// Items that are done before their turn, at most: as much may be held in memory, and in vain if one before them fails.
const MAX_AHEAD: usize = 2_048;
/// How often a process without a token asks for one.
const BETWEEN_TOKENS: Duration = Duration::from_millis(5);

/// The board, and who waits for something to change there.
#[derive(Default)]
pub(super) struct Shared {
    board: Mutex<Board>,
    /// There are items, or it is over: for those who hand them out.
    pub(super) changed: Condvar,
    /// What is needed next is there: for the search.
    pub(super) arrived: Condvar,
}

/// The items.
#[derive(Default)]
pub(super) struct Board {
    bound: Option<u32>,
    /// Items that nobody does yet: what the search has offered, and what it will come to once it has taken over what is done
    /// already. The first is needed first, or nearly.
    waiting: BTreeMap<Rank, (u128, Item)>,
    /// Items that the search has offered so far.
    offered: u64,
    /// What has become of each item.
    fates: HashMap<u128, Fate>,
    /// Extras that have been found, here or by the search.
    found: HashSet<u128>,
    done_count: usize,
    /// What is known of the item, by its key, that the search is about to do itself.
    again: Option<(u128, Again)>,
    /// What the search waits for.
    pub(super) needed: Option<u128>,
    /// What has not been told yet, if anybody has asked.
    news: Option<Vec<(u128, Option<Vec<u8>>)>>,
    /// Processes that have not gone, or are to be replaced.
    pub(super) alive: usize,
    /// Those that are to be replaced, by their numbers.
    pub(super) left: Vec<usize>,
    /// The one whose thread may end: it is about to be joined.
    pub(super) dismissed: Option<usize>,
    /// Counts dismissals: what was assigned before the last one is of no use.
    epoch: u64,
    pub(super) over: bool,
}

/// When an item is needed: what was offered later comes first, and then what is left of an item after the item.
pub(super) type Rank = Vec<u64>;

/// What has become of an item.
enum Fate {
    /// Nobody does it yet.
    Waiting(Rank),
    /// Some process is at it, or will be.
    Assigned,
    /// It is done, or to be done here.
    Done(Result<Box<Done>, Again>),
}

/// What is known of an item that the search has to do itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Again {
    /// What has been done of it before something happened; empty: nothing.
    pub(super) begun: Arc<[u8]>,
    /// What the next execution finds out about memory, as [`CoroutineProgram::promoted_text`](crate::runtime::CoroutineProgram::promoted_text) tells
    /// it; empty: nothing, or it is not known.
    pub(super) learned: String,
}

impl Again {
    /// Appends it.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        write(bytes, self.begun.len() as u64);
        bytes.extend_from_slice(&self.begun);
        bytes.extend_from_slice(self.learned.as_bytes());
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Option<Again> {
        let length = reader.length()?;
        let begun = reader.take(length)?.into();
        let learned = String::from_utf8(reader.take(reader.left())?.to_vec()).ok()?;
        Some(Again { begun, learned })
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread of this process waits to be joined. A thread that ends holds locks of `std`, and changes what `std` keeps in statics: no process may
    /// be forked meanwhile, and no execution run.
    pub(super) fn wait_to_end(&self, member: usize) {
        let mut board = self.lock();
        while !board.over && board.dismissed != Some(member) {
            board = self.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What is to be done together.
pub(super) struct Batch {
    pub(super) bound: u32,
    pub(super) items: Vec<Asked>,
}

/// An item that a process has been asked for.
pub(super) struct Asked {
    key: u128,
    rank: Rank,
    pub(super) item: Item,
    /// Of the board that it was taken from.
    epoch: u64,
}

impl Board {
    /// The search offers these. The last is needed first, and before all that were offered earlier.
    pub(super) fn offer(&mut self, bound: u32, items: &[(u64, Item)]) {
        if self.alive == 0 {
            return;
        }
        self.bound = Some(bound);
        for (_, item) in items {
            let key = item.key();
            match self.fates.get(&key) {
                Some(Fate::Waiting(rank)) => drop(self.waiting.remove(rank)),
                // It has been begun before the search has come to it.
                Some(_) => continue,
                None => {}
            }
            self.offered += 1;
            self.add(vec![u64::MAX - self.offered], key, item.clone());
        }
    }

    /// The search has found these extras.
    pub(super) fn note_found(&mut self, keys: &[u128]) {
        self.found.extend(keys);
    }

    /// What the search needs to know of the item whose turn it is; `None`: it has to wait.
    pub(super) fn look(&mut self, key: u128) -> Option<Look> {
        match self.fates.get(&key) {
            None => Some(Look::Here),
            Some(Fate::Done(_)) => {
                self.done_count -= 1;
                match self.fates.remove(&key) {
                    Some(Fate::Done(Ok(done))) => Some(Look::Done(done)),
                    Some(Fate::Done(Err(again))) => {
                        self.again = Some((key, again));
                        Some(Look::Here)
                    }
                    _ => Some(Look::Here),
                }
            }
            Some(Fate::Waiting(_)) if self.alive == 0 => {
                self.forget(key);
                Some(Look::Here)
            }
            Some(_) => None,
        }
    }

    /// What is known of the item with this key, which the search is about to do itself.
    pub(super) fn take_again(&mut self, key: u128) -> Option<Again> {
        self.again.take().filter(|(of, _)| *of == key).map(|(_, again)| again)
    }

    /// The search knows by itself what the item comes to.
    pub(super) fn forget(&mut self, key: u128) {
        match self.fates.remove(&key) {
            Some(Fate::Done(_)) => self.done_count -= 1,
            Some(Fate::Waiting(rank)) => drop(self.waiting.remove(&rank)),
            _ => {}
        }
    }

    /// What has become of items, since this was last asked, whose turn has not come.
    pub(super) fn tell_news(&mut self, tell: &mut dyn FnMut(u128, News<'_>)) {
        for (key, begun) in self.news.replace(Vec::new()).unwrap_or_default() {
            match (begun, self.fates.get(&key)) {
                (Some(begun), _) => tell(key, News::Begun(&begun)),
                (None, Some(Fate::Done(Ok(done)))) => tell(key, News::Done(done)),
                // The search has taken it over, or will do it itself.
                (None, _) => {}
            }
        }
    }

    /// Nothing is needed any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.fates.clear();
        self.found.clear();
        self.done_count = 0;
        self.again = None;
        self.news.iter_mut().for_each(Vec::clear);
        self.epoch += 1;
    }

    /// A process has answered for an item, which may have to be done by the search itself. Whether the search waits for it.
    pub(super) fn answer(&mut self, asked: &Asked, done: Result<Done, Again>) -> bool {
        let keyed = |items: Vec<Item>| items.into_iter().map(|item| (item.key(), item)).collect::<Vec<_>>();
        let left = done.as_ref().ok().map(|done| {
            let (item, remains) = (&asked.item, &done.remains);
            let next = item.next(remains).into_iter().collect();
            (keyed(item.parts(remains)), keyed(item.extras(remains)), keyed(next))
        });
        if self.take(asked.key, asked.epoch, done)
            && let Some((parts, extras, next)) = left
        {
            self.look_ahead(&asked.rank, parts, extras, next);
        }
        self.needed == Some(asked.key)
    }

    /// A process says how far it has come with an item.
    pub(super) fn note_begun(&mut self, asked: &Asked, begun: Vec<u8>) {
        if asked.epoch == self.epoch
            && let Some(news) = &mut self.news
        {
            news.push((asked.key, Some(begun)));
        }
    }

    /// The process is gone that was asked for these.
    pub(super) fn give_up(&mut self, asked: impl IntoIterator<Item = Asked>) {
        for asked in asked {
            self.take(asked.key, asked.epoch, Err(Again::default()));
        }
        self.alive -= 1;
    }

    /// The process with this number has left, and had been asked for these: somebody else does them, and another process takes its place.
    pub(super) fn put_back(&mut self, member: usize, asked: impl IntoIterator<Item = Asked>) {
        for Asked { key, rank, item, epoch } in asked {
            if self.is_assigned(key, epoch) {
                self.add(rank, key, item);
            }
        }
        self.left.push(member);
    }

    /// What has become of an item. Whether somebody wants to know.
    fn take(&mut self, key: u128, epoch: u64, done: Result<Done, Again>) -> bool {
        if !self.is_assigned(key, epoch) {
            return false;
        }
        if let Some(news) = self.news.as_mut().filter(|_| done.is_ok()) {
            news.push((key, None));
        }
        self.fates.insert(key, Fate::Done(done.map(Box::new)));
        self.done_count += 1;
        true
    }

    /// What an item leaves can be done before the search has come to it.
    fn look_ahead(
        &mut self,
        rank: &Rank,
        parts: Vec<(u128, Item)>,
        mut extras: Vec<(u128, Item)>,
        next: Vec<(u128, Item)>,
    ) {
        extras.retain(|(key, _)| self.found.insert(*key));
        let all = parts.into_iter().chain(extras.into_iter().rev()).chain(next);
        for (position, (key, item)) in (0..).zip(all) {
            if !self.fates.contains_key(&key) {
                let mut rank = rank.clone();
                rank.push(position);
                self.add(rank, key, item);
            }
        }
    }

    fn add(&mut self, rank: Rank, key: u128, item: Item) {
        self.fates.insert(key, Fate::Waiting(rank.clone()));
        self.waiting.insert(rank, (key, item));
    }

    /// Whether some process is to answer for the item, and what it says is of use.
    fn is_assigned(&self, key: u128, epoch: u64) -> bool {
        epoch == self.epoch && matches!(self.fates.get(&key), Some(Fate::Assigned))
    }

    /// Whether nobody does the item yet, though somebody is to.
    pub(super) fn is_waiting(&self, key: u128) -> bool {
        matches!(self.fates.get(&key), Some(Fate::Waiting(_)))
    }

    /// So much is done before its turn that nothing is begun but what the search waits for.
    pub(super) fn is_far_ahead(&self) -> bool {
        self.done_count >= MAX_AHEAD
    }

    /// Items for a process: some of those that are needed first, but not all that there are; at least one, unless it is `busy`, when
    /// it gets none that it would have to listen for.
    fn next_items(&mut self, busy: bool) -> Vec<Asked> {
        let share = self.waiting.len().div_ceil(2 * self.alive.max(1)).clamp(1, MAX_BATCH);
        let mut items = Vec::new();
        let mut nodes = 0;
        while items.len() < share
            && let Some(first) = self.next_waiting().and_then(|rank| self.waiting.get_key_value(rank))
        {
            let (rank, (key, item)) = first;
            nodes += item.depth() + item.begun_byte_count() / 10;
            if busy && nodes > MAX_NODES_ON_THE_WAY {
                break;
            }
            let (rank, key) = (rank.clone(), *key);
            let Some((_, item)) = self.waiting.remove(&rank) else { break };
            self.fates.insert(key, Fate::Assigned);
            items.push(Asked { key, rank, item, epoch: self.epoch });
        }
        items
    }

    /// The item that a process is to do next: what the search waits for; else the first, unless much is done before its turn.
    fn next_waiting(&self) -> Option<&Rank> {
        if let Some(Fate::Waiting(rank)) = self.needed.and_then(|key| self.fates.get(&key)) {
            return Some(rank);
        }
        let (first, _) = self.waiting.first_key_value().filter(|_| !self.is_far_ahead())?;
        Some(first)
    }

    /// Whether there is something for a process to do.
    fn has_items(&self) -> bool {
        self.next_waiting().is_some()
    }
}

/// Waits for items, and for leave to do them; unless the process is `busy`, when there are just some or none. The outer
/// `None`: there are none; the inner one: it is over.
pub(super) fn next_batch(shared: &Shared, tokens: Option<&dyn Tokens>, busy: bool) -> Option<Option<Batch>> {
    let mut board = shared.lock();
    loop {
        if board.over {
            return Some(None);
        }
        if let Some(bound) = board.bound.filter(|_| board.has_items()) {
            if busy || tokens.is_none_or(Tokens::take) {
                let items = board.next_items(busy);
                if !items.is_empty() {
                    return Some(Some(Batch { bound, items }));
                }
                // What there is is not for one who is busy.
                return None;
            }
            let waited = shared.changed.wait_timeout(board, BETWEEN_TOKENS);
            board = waited.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        if busy {
            return None;
        }
        board = shared.changed.wait(board).unwrap_or_else(PoisonError::into_inner);
    }
}
