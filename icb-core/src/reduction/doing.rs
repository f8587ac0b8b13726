//! Doing one work item: its executions one after the other, until it is over or has become so long that it is cut up.

use super::partial_order::{Item, PartialOrder, Remains};
use crate::program::{Chooser, Elsewhere, End, Outcome, Program, Strategy};
use crate::varint::{Reader, write};
use std::time::{Duration, Instant};

/// Executions after which an item is cut up. Smaller ones can be shared out better, larger ones waste less.
const MAX_EXECUTIONS: u64 = 256;
/// The same for a search without a bound, where cutting up costs some executions.
const MAX_EXECUTIONS_UNBOUNDED: u64 = 2_048;
/// The same for the whole search at first: most are over by then.
const MAX_FIRST_EXECUTIONS: u64 = 2_048;
/// Steps after which an item is cut up.
const MAX_STEPS: u64 = 200_000;
/// What has been done of an item is put down as often, where somebody keeps it.
pub(crate) const BETWEEN_SAVES: Duration = Duration::from_millis(400);
/// Executions that take longer than this are followed by a look at the clock.
const LONG: Duration = Duration::from_millis(20);
const MAX_STRIDE: u64 = 256;

/// An item at work.
#[derive(Debug)]
pub struct Doing {
    search: PartialOrder,
    /// Overrides the limits above; for tests.
    max_executions: Option<u64>,
    executions: u64,
    steps: u64,
    clock: Clock,
}

/// When it is time to put down what has been done of an item. Most items are over long before.
#[derive(Debug)]
struct Clock {
    saved: Instant,
    looked: Instant,
    /// The clock is looked at after so many executions of the item,
    look_at: u64,
    /// and then after so many more.
    stride: u64,
}

impl Clock {
    fn start(executions: u64) -> Clock {
        let now = Instant::now();
        Clock { saved: now, looked: now, look_at: executions + 1, stride: 1 }
    }

    #[cold]
    fn look(&mut self, executions: u64) -> bool {
        let now = Instant::now();
        self.stride = if now - self.looked < LONG {
            (self.stride * 2).min(MAX_STRIDE)
        } else {
            (self.stride / 2).max(1)
        };
        self.looked = now;
        self.look_at = executions + self.stride;
        let due = now - self.saved >= BETWEEN_SAVES;
        if due {
            self.saved = now;
        }
        due
    }
}

/// What an item has come to, if none of its executions has failed.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// Its executions.
    pub figures: Elsewhere,
    /// What it leaves.
    pub remains: Remains,
    /// Whether the bound has left something out.
    pub cut: bool,
}

/// What one execution of an item has come to.
#[derive(Debug)]
pub enum Ran {
    /// The item is over.
    Done(Box<Done>),
    /// It is not: where it stands, for [`Item::begun`].
    Begun(Vec<u8>),
    /// Something happened that whoever owns the search has to see.
    Ended(Box<Outcome>),
}

impl Doing {
    /// Items of this search.
    #[must_use]
    pub fn new(search: PartialOrder) -> Self {
        Doing { search, max_executions: None, executions: 0, steps: 0, clock: Clock::start(0) }
    }

    /// Cuts items up after so many executions.
    #[must_use]
    pub fn max_executions(mut self, count: u64) -> Self {
        self.max_executions = Some(count);
        self
    }

    /// The search.
    #[must_use]
    pub fn search(&self) -> &PartialOrder {
        &self.search
    }

    /// The search.
    pub fn search_mut(&mut self) -> &mut PartialOrder {
        &mut self.search
    }

    /// Begins an item, or goes on with it: what has been done of it.
    pub fn enter(&mut self, mut item: Item) -> Done {
        let begun = item.take_begun();
        let done = begun.and_then(|begun| self.go_on(item.clone(), &begun));
        let done = done.unwrap_or_else(|| {
            self.search.enter(item);
            (self.executions, self.steps) = (0, 0);
            Done::default()
        });
        self.clock = Clock::start(self.executions);
        done
    }

    /// `None`: these are not the bytes that [`save`](Self::save) writes.
    fn go_on(&mut self, item: Item, begun: &[u8]) -> Option<Done> {
        let mut reader = Reader::new(begun);
        (self.executions, self.steps) = (reader.number()?, reader.number()?);
        let done = Done::decode(&mut reader)?;
        self.search.go_on(item, &mut reader)?;
        reader.is_empty().then_some(done)
    }

    /// Whether what has been done of the item should be put down now.
    #[inline]
    pub fn is_to_be_saved(&mut self) -> bool {
        self.executions >= self.clock.look_at && self.clock.look(self.executions) && self.can_be_saved()
    }

    /// Whether the item is between two of its executions.
    #[must_use]
    pub fn can_be_saved(&self) -> bool {
        self.executions > 0 && !self.is_full()
    }

    /// Where the item stands, for [`Item::begun`]; `done` is what it has come to so far.
    #[must_use]
    pub fn save(&mut self, done: &Done) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, self.executions);
        write(&mut bytes, self.steps);
        done.encode(&mut bytes);
        self.search.save(&mut bytes);
        bytes
    }

    fn is_full(&self) -> bool {
        self.executions >= self.limit() || self.steps >= MAX_STEPS
    }

    /// Prepares the item's next execution; or says what it leaves.
    pub fn prepare(&mut self) -> Option<Remains> {
        if self.is_full() {
            return Some(self.search.cut_up());
        }
        if !self.search.begin() {
            return Some(self.search.remains());
        }
        self.executions += 1;
        None
    }

    fn limit(&self) -> u64 {
        match self.max_executions {
            Some(max) => max,
            None if self.search.item().depth() == 0 => MAX_FIRST_EXECUTIONS,
            None if self.search.is_bounded() => MAX_EXECUTIONS,
            None => MAX_EXECUTIONS_UNBOUNDED,
        }
    }

    /// An execution is over.
    pub fn end(&mut self, outcome: &Outcome) {
        self.search.end(outcome);
        self.steps += outcome.step_count;
    }

    /// The search, as the one who chooses.
    pub fn chooser(&mut self) -> &mut dyn Chooser {
        self.search.chooser()
    }

    /// Does a whole item. `None`: something happened in it that whoever owns the search has to see. Tells now and then what
    /// has been done of it.
    pub fn run(
        &mut self,
        item: Item,
        program: &mut dyn Program,
        tell: &mut dyn FnMut(Vec<u8>),
    ) -> Option<Done> {
        self.search.take_cut();
        let mut done = self.enter(item);
        loop {
            if self.is_to_be_saved() {
                tell(self.save(&done));
            }
            if let Some(remains) = self.prepare() {
                return Some(self.finish(done, remains));
            }
            if self.execute(program, &mut done).is_some() {
                return None;
            }
        }
    }

    /// Does the next execution of an item only, if there is one.
    pub fn run_one(&mut self, item: Item, program: &mut dyn Program) -> Ran {
        self.search.take_cut();
        let mut done = self.enter(item);
        if let Some(remains) = self.prepare() {
            return Ran::Done(Box::new(self.finish(done, remains)));
        }
        if let Some(ended) = self.execute(program, &mut done) {
            return Ran::Ended(Box::new(ended));
        }
        // Before the next one is prepared: whoever goes on does that.
        let begun = if self.can_be_saved() { self.save(&done) } else { Vec::new() };
        match self.prepare() {
            Some(remains) => Ran::Done(Box::new(self.finish(done, remains))),
            None => Ran::Begun(begun),
        }
    }

    /// Runs the execution that has been prepared. What it came to, if whoever owns the search has to see that.
    fn execute(&mut self, program: &mut dyn Program, done: &mut Done) -> Option<Outcome> {
        let outcome = program.run(self.search.chooser(), None);
        self.end(&outcome);
        if outcome.promoted || matches!(outcome.end, End::Failed(_)) {
            return Some(outcome);
        }
        done.figures.note(&outcome);
        None
    }

    /// The item is over.
    fn finish(&mut self, done: Done, remains: Remains) -> Done {
        Done { remains, cut: self.search.take_cut(), ..done }
    }
}

impl Done {
    /// Appends it.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let figures = &self.figures;
        let numbers = [
            figures.trail.len() as u64,
            figures.step_count,
            figures.max_steps,
            u64::from(figures.max_threads),
            u64::from(self.cut),
        ];
        numbers.iter().for_each(|&number| write(bytes, number));
        figures.trail.iter().for_each(|state| bytes.extend_from_slice(&state.to_le_bytes()));
        self.remains.encode(bytes);
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(reader: &mut Reader<'_>) -> Option<Done> {
        let count = reader.length()?;
        let (step_count, max_steps) = (reader.number()?, reader.number()?);
        let (max_threads, cut) = (reader.number()? as u32, reader.number()? != 0);
        let (states, _) = reader.take(count.checked_mul(16)?)?.as_chunks();
        let trail = states.iter().map(|&state| u128::from_le_bytes(state)).collect();
        let figures = Elsewhere { trail, step_count, max_steps, max_threads };
        let remains = Remains::decode(reader)?;
        Some(Done { figures, remains, cut })
    }
}
