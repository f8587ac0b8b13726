//! The search with partial-order reduction as a stack of work items. Each bound is one item at first, and most are over
//! before it is cut up; what is cut up can be shared out.
//!
//! Items are *committed* in one order, whoever does them and whenever: the last one found first. Everything that is
//! reported comes from commits, so that counts, and which failure is found first, do not depend on how many take part. What
//! ends in anything but executions that pass is done again here when its turn comes.

use super::crew::{Crew, Look, Wants};
use super::doing::{Doing, Done};
use super::partial_order::{Item, PartialOrder, Remains};
use super::sharing::Sharing;
use crate::program::{Absorbed, BranchPoint, Chooser, Elsewhere, Outcome, SchedulingPoint, Strategy};
use crate::trace::{Ownership, Shard, ShardPart, ThreadId};
use std::collections::HashSet;

/// The search.
pub struct SplitSearch<'a> {
    doing: Doing,
    crew: Option<&'a mut dyn Crew>,
    /// The crew does the first item of a bound as well.
    delegates: bool,
    sharing: Option<Sharing>,
    waiting: Vec<(u64, Item)>,
    /// The item that is being done here.
    inside: Option<(u64, Item)>,
    /// Executions of it, if somebody wants to know.
    here: Done,
    next_number: u64,
    /// Extras that have been found before.
    found: HashSet<u128>,
    committed: u64,
    /// The bound has left something out.
    cut: bool,
    /// The next execution has been asked for, and is there.
    asked: bool,
    prepared: bool,
}

impl std::fmt::Debug for SplitSearch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SplitSearch").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl<'a> SplitSearch<'a> {
    /// The search, done here alone.
    #[must_use]
    pub fn new(search: PartialOrder) -> Self {
        Self::of_items(Doing::new(search))
    }

    /// The search, with items that are made in this way.
    #[must_use]
    pub fn of_items(doing: Doing) -> Self {
        let mut split = SplitSearch {
            doing,
            crew: None,
            delegates: false,
            sharing: None,
            waiting: Vec::new(),
            inside: None,
            here: Done::default(),
            next_number: 0,
            found: HashSet::new(),
            committed: 0,
            cut: false,
            asked: false,
            prepared: false,
        };
        split.begin_bound();
        split
    }

    /// Shares the items out.
    #[must_use]
    pub fn with_crew(mut self, crew: &'a mut dyn Crew) -> Self {
        self.delegates = crew.does_everything();
        self.crew = Some(crew);
        self.delegate();
        self
    }

    /// Does this part of the search only.
    #[must_use]
    pub fn shard(mut self, shard: Shard) -> Self {
        self.sharing = Some(Sharing::new(shard));
        self.begin_bound();
        self
    }

    /// What has been done of the bound, where it is one part of several.
    #[must_use]
    pub fn shard_part(&self) -> Option<ShardPart> {
        self.sharing.as_ref().map(Sharing::result)
    }

    /// Items of this bound so far.
    #[must_use]
    pub fn committed(&self) -> u64 {
        self.committed
    }

    fn begin_bound(&mut self) {
        if let Some(crew) = &mut self.crew {
            crew.dismiss();
        }
        self.waiting.clear();
        self.found.clear();
        self.inside = None;
        self.committed = 0;
        self.cut = false;
        self.prepared = false;
        if let Some(sharing) = &mut self.sharing {
            sharing.begin();
            sharing.open(self.next_number, &Item::root(), Ownership::Plan);
        }
        self.push(Item::root());
        self.delegate();
    }

    /// Tells those who do everything of the bound that has begun.
    fn delegate(&mut self) {
        if self.delegates {
            self.offer(0);
        }
    }

    fn push(&mut self, item: Item) {
        self.waiting.push((self.next_number, item));
        self.next_number += 1;
    }

    /// The item has come to its end.
    fn commit(&mut self, number: u64, item: &Item, done: &Done) {
        self.committed += 1;
        self.cut |= done.cut;
        if let Some(crew) = &mut self.crew {
            crew.commit(number, item, done);
        }
        let first = self.waiting.len();
        let extras = self.new_extras(item, done);
        let next = item.next(&done.remains);
        // Those that begin early are the largest: they come first, and the end of the bound is small pieces.
        let parts = item.parts(&done.remains).into_iter().rev();
        if self.sharing.is_some() {
            self.push_share(number, item, done, extras, next.into_iter().chain(parts).collect());
        } else {
            next.into_iter().chain(extras).chain(parts).for_each(|item| self.push(item));
        }
        self.offer(first);
    }

    /// Tells those who do items of the ones that are new, from this one on.
    fn offer(&mut self, first: usize) {
        let Some(crew) = &mut self.crew else { return };
        let first = match crew.wants() {
            Wants::Nothing => return,
            Wants::New => first,
            Wants::All => {
                crew.found(&self.found.iter().copied().collect::<Vec<_>>());
                0
            }
        };
        if self.waiting.len() > first {
            crew.offer(self.doing.search().bound(), &self.waiting[first..]);
        }
    }

    /// What the item has found to be needed elsewhere, as the first one.
    fn new_extras(&mut self, item: &Item, done: &Done) -> Vec<Item> {
        let mut extras = item.extras(&done.remains);
        let mut keys = Vec::new();
        extras.retain(|extra| {
            let key = extra.key();
            let new = self.found.insert(key);
            keys.extend(new.then_some(key));
            new
        });
        if let Some(crew) = self.crew.as_mut().filter(|_| !keys.is_empty()) {
            crew.found(&keys);
        }
        extras
    }

    /// The same where only a part of the search is done.
    fn push_share(&mut self, number: u64, item: &Item, done: &Done, extras: Vec<Item>, parts: Vec<Item>) {
        let bound = self.doing.search().is_bounded().then(|| self.bound());
        let Some(mut sharing) = self.sharing.take() else { return };
        let piece = sharing.count(number, item, done);
        if sharing.is_planning() {
            extras.into_iter().chain(parts).for_each(|item| sharing.add_to_pool(item));
            if let Some(next) = sharing.next_of_plan(bound) {
                sharing.open(self.next_number, &next, Ownership::Plan);
                self.push(next);
            } else {
                for (index, item) in sharing.deal(bound) {
                    sharing.open(self.next_number, &item, Ownership::Share(index));
                    self.push(item);
                }
            }
        } else {
            for item in extras {
                if sharing.is_within(piece, &item) {
                    sharing.assign(self.next_number, piece);
                } else {
                    sharing.open(self.next_number, &item, Ownership::Extra);
                }
                self.push(item);
            }
            for item in parts {
                sharing.assign(self.next_number, piece);
                self.push(item);
            }
        }
        self.sharing = Some(sharing);
    }

    /// Whether something is left to do in this bound.
    fn is_unfinished(&self) -> bool {
        self.inside.is_some() || !self.waiting.is_empty()
    }

    /// Begins the item whose turn it is here, or goes on with it: what has been done of it, if it is not to be done again.
    fn enter_next(&mut self, max_executions: u64) -> Option<Elsewhere> {
        let (number, item) = self.waiting.pop()?;
        let begun = self.crew.as_mut().and_then(|crew| crew.begun(&item));
        self.here = match begun {
            Some(begun) => self.doing.enter(item.clone().begun(begun)),
            None => self.doing.enter(item.clone()),
        };
        if self.here.figures.trail.len() as u64 > max_executions && !self.delegates {
            // The limit falls into it: that is where it stops.
            self.here = self.doing.enter(item.clone());
        }
        self.inside = Some((number, item));
        Some(self.here.figures.clone()).filter(|figures| !figures.trail.is_empty())
    }

    /// Now and then, puts down what has been done of the item that is being done here.
    fn save(&mut self) {
        if let (Some(crew), Some((_, item))) = (&mut self.crew, &self.inside)
            && self.doing.is_to_be_saved()
        {
            crew.save(item, &self.doing.save(&self.here));
        }
    }

    /// The item that was done here is over.
    fn leave(&mut self, remains: Remains) {
        let Some((number, item)) = self.inside.take() else { return };
        let mut done = std::mem::take(&mut self.here);
        done.remains = remains;
        done.cut = self.doing.search_mut().take_cut();
        self.commit(number, &item, &done);
    }
}

impl Strategy for SplitSearch<'_> {
    fn begin(&mut self) -> bool {
        // Whoever does not ask what others have done is told that there are no others.
        if !std::mem::take(&mut self.asked) {
            while matches!(self.absorb(u64::MAX), Absorbed::Waiting) {}
            self.asked = false;
        }
        std::mem::take(&mut self.prepared)
    }

    fn absorb(&mut self, max_executions: u64) -> Absorbed {
        self.asked = true;
        if self.delegates && max_executions == 0 && self.is_unfinished() {
            // The next execution would be one too many: it is there, and not run.
            self.prepared = true;
            return Absorbed::Nothing;
        }
        loop {
            if self.inside.is_some() {
                self.save();
                match self.doing.prepare() {
                    None => {
                        self.prepared = true;
                        return Absorbed::Nothing;
                    }
                    Some(remains) => self.leave(remains),
                }
            }
            let Some((number, item)) = self.waiting.last() else {
                if let Some(crew) = &mut self.crew {
                    crew.end();
                }
                return Absorbed::Nothing;
            };
            let look = self.crew.as_mut().map_or(Look::Here, |crew| crew.look(*number, item));
            match look {
                Look::Pending => return Absorbed::Waiting,
                Look::Done(done) if done.figures.trail.len() as u64 <= max_executions => {
                    if let Some((number, item)) = self.waiting.pop() {
                        self.commit(number, &item, &done);
                    }
                    return Absorbed::Done(Box::new(done.figures));
                }
                Look::Done(done) if self.delegates => {
                    return Absorbed::Done(Box::new(done.figures.up_to(max_executions)));
                }
                // The limit falls into it: that is where it stops.
                Look::Done(_) | Look::Here => {
                    if let Some(begun) = self.enter_next(max_executions) {
                        return Absorbed::Done(Box::new(begun.up_to(max_executions)));
                    }
                }
            }
        }
    }

    fn end(&mut self, outcome: &Outcome) {
        self.doing.end(outcome);
        if self.crew.is_some() || self.sharing.is_some() {
            self.here.figures.note(outcome);
        }
    }

    fn bound(&self) -> u32 {
        self.doing.search().bound()
    }

    fn advance(&mut self) -> bool {
        if self.cut {
            self.doing.search_mut().note_cut();
        }
        let goes_on = self.doing.search_mut().advance();
        if goes_on {
            self.begin_bound();
        }
        goes_on
    }

    fn max_bound(&self) -> Option<u32> {
        self.doing.search().max_bound()
    }

    fn is_exhausted(&self) -> bool {
        let all = self.sharing.as_ref().is_none_or(|sharing| !sharing.leaves_something_out());
        all && !self.cut && self.doing.search().is_exhausted()
    }

    fn progress(&self) -> (u64, Option<f64>) {
        let (left, done) = self.doing.search().progress();
        (left + self.waiting.len() as u64, done)
    }

    fn restart(&mut self) {
        self.doing.search_mut().restart();
        self.begin_bound();
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self.doing.chooser()
    }
}

impl Chooser for SplitSearch<'_> {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.doing.chooser().choose_thread(point)
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        self.doing.chooser().choose_branch(point)
    }
}
