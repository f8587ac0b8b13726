//! Items whose executions have processes of their own, done one after the other.

use super::board::Again;
use super::fork::in_a_fork_to_bytes;
use super::isolated::Knowledge;
use super::line::Hand;
use crate::reduction::{BETWEEN_SAVES, Doing, Done, Item, Ran};
use crate::runtime::CoroutineProgram;
use crate::varint::Reader;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Does the executions of items in forks of this process.
pub(super) struct Forking<'a> {
    doing: Doing,
    program: &'a mut CoroutineProgram,
    knowledge: &'a Knowledge,
    patience: Duration,
    told: Instant,
}

impl<'a> Forking<'a> {
    /// Does them in this way; an execution that takes longer than `patience` is left to the search.
    pub(super) fn new(
        doing: Doing,
        program: &'a mut CoroutineProgram,
        knowledge: &'a Knowledge,
        patience: Duration,
    ) -> Self {
        Forking { doing, program, knowledge, patience, told: Instant::now() }
    }

    /// What the next execution of an item comes to. `None`: its process has died.
    fn next_execution(&mut self, bound: u32, item: Item) -> Option<Came> {
        let (doing, program, knowledge) = (&mut self.doing, &mut *self.program, self.knowledge);
        knowledge.prepare();
        let told = in_a_fork_to_bytes(self.patience, || {
            doing.search_mut().join(bound);
            let ran = doing.run_one(item, program);
            knowledge.tell_of(program);
            match ran {
                Ran::Done(done) => {
                    let mut bytes = vec![DONE];
                    done.encode(&mut bytes);
                    bytes
                }
                Ran::Begun(begun) => [&[BEGUN], &*begun].concat(),
                Ran::Ended(outcome) => {
                    let learned = outcome.promoted.then(|| program.promoted_text());
                    [&[ENDED], learned.unwrap_or_default().as_bytes()].concat()
                }
            }
        })
        .ok()?;
        match told.split_first()? {
            (&DONE, done) => Done::decode(&mut Reader::new(done)).map(Came::Done),
            (&BEGUN, begun) => Some(Came::Begun(begun.into())),
            (&ENDED, learned) => String::from_utf8(learned.to_vec()).ok().map(Came::Ended),
            _ => None,
        }
    }
}

// How what a fork tells begins.
const DONE: u8 = 0;
const BEGUN: u8 = 1;
const ENDED: u8 = 2;

/// What one execution of an item has come to.
enum Came {
    /// The item is over.
    Done(Done),
    /// It is not, and stands so.
    Begun(Arc<[u8]>),
    /// It has failed, or found out this.
    Ended(String),
}

impl Hand for Forking<'_> {
    fn work(&mut self, bound: u32, mut item: Item, tell: &mut dyn FnMut(Vec<u8>)) -> Result<Done, Again> {
        let learned = loop {
            match self.next_execution(bound, item.clone()) {
                Some(Came::Done(done)) => return Ok(done),
                Some(Came::Begun(begun)) => {
                    if self.told.elapsed() >= BETWEEN_SAVES {
                        self.told = Instant::now();
                        tell(begun.to_vec());
                    }
                    item = item.begun(begun);
                }
                Some(Came::Ended(learned)) => break learned,
                // It is seen how where it is done again.
                None => break String::new(),
            }
        };
        Err(Again { begun: item.take_begun().unwrap_or_default(), learned })
    }
}
