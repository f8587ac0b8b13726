//! Doing one work item: its executions one after the other, until it is over or has become so long that it is cut up.

use super::partial_order::{Item, PartialOrder, Remains};
use crate::program::{Chooser, Elsewhere, End, Outcome, Program, Strategy};
use crate::varint::{Reader, write};

/// Executions after which an item is cut up. Smaller ones can be shared out better, larger ones waste less.
const MAX_EXECUTIONS: u64 = 256;
/// The same for a search without a bound, where cutting up costs some executions.
const MAX_EXECUTIONS_UNBOUNDED: u64 = 2_048;
/// The same for the whole search at first: most are over by then.
const MAX_FIRST_EXECUTIONS: u64 = 2_048;
/// Steps after which an item is cut up.
const MAX_STEPS: u64 = 200_000;

/// An item at work.
#[derive(Debug)]
pub struct Doing {
    search: PartialOrder,
    /// Overrides the limits above; for tests.
    max_executions: Option<u64>,
    executions: u64,
    steps: u64,
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
    /// What had been seen of the program; see [`PartialOrder::tries_to_send`].
    pub tries_to_send: bool,
}

impl Doing {
    /// Items of this search.
    #[must_use]
    pub fn new(search: PartialOrder) -> Self {
        Doing { search, max_executions: None, executions: 0, steps: 0 }
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

    /// Begins an item.
    pub fn enter(&mut self, item: Item) {
        self.search.enter(item);
        self.executions = 0;
        self.steps = 0;
    }

    /// Prepares the item's next execution; or says what it leaves.
    pub fn prepare(&mut self) -> Option<Remains> {
        if self.executions >= self.limit() || self.steps >= MAX_STEPS {
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

    /// Does a whole item. `None`: something happened in it that whoever owns the search has to see.
    pub fn run(&mut self, item: Item, program: &mut dyn Program) -> Option<Done> {
        let mut done = Done::default();
        self.enter(item);
        self.search.take_cut();
        loop {
            if let Some(remains) = self.prepare() {
                done.remains = remains;
                done.cut = self.search.take_cut();
                done.tries_to_send = self.search.tries_to_send();
                return Some(done);
            }
            let outcome = program.run(self.search.chooser(), None);
            self.end(&outcome);
            let failed = matches!(outcome.end, End::Failed(_));
            if failed || outcome.promoted || self.search.begins_anew() {
                return None;
            }
            done.figures.note(&outcome);
        }
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
            u64::from(self.cut) | u64::from(self.tries_to_send) << 1,
        ];
        numbers.iter().for_each(|&number| write(bytes, number));
        figures.trail.iter().for_each(|state| bytes.extend_from_slice(&state.to_le_bytes()));
        self.remains.encode(bytes);
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub fn decode(reader: &mut Reader<'_>) -> Option<Done> {
        let count = reader.length()?;
        let (step_count, max_steps) = (reader.number()?, reader.number()?);
        let (max_threads, flags) = (reader.number()? as u32, reader.number()?);
        let states = reader.take(count.checked_mul(16)?)?.chunks_exact(16);
        let trail = states.map(|state| u128::from_le_bytes(std::array::from_fn(|i| state[i]))).collect();
        let figures = Elsewhere { trail, step_count, max_steps, max_threads };
        let remains = Remains::decode(reader)?;
        Some(Done { figures, remains, cut: flags & 1 != 0, tries_to_send: flags & 2 != 0 })
    }
}
