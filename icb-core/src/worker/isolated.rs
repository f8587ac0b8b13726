//! Executions in processes of their own: each is the first of its process, a fork of one that runs none. So nothing that an execution leaves behind
//! (memory that is never freed, what a `static` of C or of the real `std` holds) is there in the next one.

use super::board::Again;
use super::fork::in_a_fork;
use super::line::Hand;
use crate::observe::{Recorder, Signature, SignaturePiece};
use crate::program::{Chooser, End, Observer, Outcome, Program};
use crate::reduction::{Doing, Done, Item, Ran};
use crate::runtime::{CoroutineProgram, files_are_made, makes_files};
use crate::search::Replay;
use crate::trace::{Failure, FailureKind, Schedule, Trace};
use crate::varint::Reader;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What has been done of an item is told as often.
const BETWEEN_TELLING: Duration = Duration::from_millis(400);

/// What the search, and those who do its items elsewhere, know in common.
#[derive(Default)]
pub(super) struct Knowledge {
    /// What the next execution of the search has found out about which memory is shared, where it was run elsewhere and has to be run again.
    next: Cell<Option<String>>,
    /// What has been learned of memory.
    learned: RefCell<String>,
    /// Those who do items do not know it.
    is_news: Cell<bool>,
}

impl Knowledge {
    /// The next execution of the search finds this out.
    pub(super) fn expect(&self, learned: Option<String>) {
        self.next.set(learned);
    }

    /// Whether something has been learned since this was last asked.
    pub(super) fn take_news(&self) -> bool {
        self.is_news.take()
    }

    /// Hands what has been learned to a program.
    pub(super) fn teach(&self, program: &mut CoroutineProgram) {
        program.take_over_text(&self.learned.borrow());
    }

    fn learn(&self, text: &str, program: &mut CoroutineProgram) {
        program.take_over_text(text);
        // With what had been learned before.
        *self.learned.borrow_mut() = program.promoted_text();
        self.is_news.set(true);
    }
}

/// Does the executions of items in forks of this process.
pub(super) struct Forking<'a> {
    doing: Doing,
    program: &'a mut CoroutineProgram,
    patience: Duration,
    told: Instant,
}

impl<'a> Forking<'a> {
    /// Does them in this way; an execution that takes longer than `patience` is left to the search.
    pub(super) fn new(doing: Doing, program: &'a mut CoroutineProgram, patience: Duration) -> Self {
        Forking { doing, program, patience, told: Instant::now() }
    }

    /// What the next execution of an item comes to. `None`: its process has died.
    fn next_execution(&mut self, bound: u32, item: Item) -> Option<Came> {
        let (doing, program) = (&mut self.doing, &mut *self.program);
        let told = bytes_of(self.patience, || {
            doing.search_mut().join(bound);
            match doing.run_one(item, program) {
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
        })?;
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
    fn work(&mut self, bound: u32, item: Item, tell: &mut dyn FnMut(Vec<u8>)) -> Result<Done, Again> {
        let mut begun: Arc<[u8]> = item.clone().take_begun().unwrap_or_default();
        loop {
            let stands = if begun.is_empty() { item.clone() } else { item.clone().begun(begun.clone()) };
            let learned = match self.next_execution(bound, stands) {
                Some(Came::Done(done)) => return Ok(done),
                Some(Came::Begun(further)) => {
                    begun = further;
                    if self.told.elapsed() >= BETWEEN_TELLING {
                        self.told = Instant::now();
                        tell(begun.to_vec());
                    }
                    continue;
                }
                Some(Came::Ended(learned)) => learned,
                // It is seen how where it is done again.
                None => String::new(),
            };
            return Err(Again { begun, learned });
        }
    }
}

/// What `work` comes to in a fork, as bytes.
fn bytes_of(patience: Duration, work: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
    // SAFETY: bytes lead nowhere.
    unsafe { in_a_fork(patience, work) }
}

/// A program of whose executions this process runs at most one, the last: what the others come to is found out in forks. Where a fork dies of its
/// execution, that is run here, and it is seen how.
pub(super) struct Isolated<'a> {
    program: &'a mut CoroutineProgram,
    knowledge: Rc<Knowledge>,
    patience: Duration,
    /// That of the execution that was run here, with its trace.
    trace: Option<Trace>,
}

/// A piece of what a fork tells of the default execution.
#[derive(Clone, Copy)]
enum Told {
    Signature(SignaturePiece),
    MakesFiles,
    Failed(FailureKind),
    /// Of the failure's message, or of what was learned.
    Byte(u8),
    Learned,
}

impl<'a> Isolated<'a> {
    /// This program.
    pub(super) fn new(
        program: &'a mut CoroutineProgram,
        knowledge: Rc<Knowledge>,
        patience: Duration,
    ) -> Self {
        Isolated { program, knowledge, patience, trace: None }
    }

    /// The trace of the execution that was run here, which has failed.
    pub(super) fn take_trace(&mut self) -> Option<Trace> {
        self.trace.take()
    }

    /// Whether something holds of it, which is found out in a fork.
    pub(super) fn whether(&mut self, holds: impl FnOnce(&mut CoroutineProgram) -> bool) -> bool {
        let told = bytes_of(self.patience, || vec![u8::from(holds(self.program))]);
        told.is_some_and(|told| told == [1])
    }

    /// Finds out what an execution with this schedule learns of memory, so that it learns nothing when it is run here.
    pub(super) fn rehearse(&mut self, schedule: &Schedule) {
        loop {
            let text = bytes_of(self.patience, || {
                let outcome = self.program.run(&mut Replay::new(schedule), Some(&mut Recorder::new()));
                let learned = outcome.promoted.then(|| self.program.promoted_text());
                learned.unwrap_or_default().into_bytes()
            });
            match text.and_then(|text| String::from_utf8(text).ok()).filter(|text| !text.is_empty()) {
                Some(text) => self.knowledge.learn(&text, self.program),
                None => return,
            }
        }
    }

    /// The default execution, in a fork.
    fn elsewhere(&mut self) -> Option<(Signature, Outcome)> {
        let program = &mut *self.program;
        let work = || {
            let (signature, outcome) = program.default_execution();
            let mut told: Vec<Told> = signature.pieces().map(Told::Signature).collect();
            told.extend(files_are_made().then_some(Told::MakesFiles));
            let text = match outcome.end {
                _ if outcome.promoted => {
                    told.push(Told::Learned);
                    program.promoted_text()
                }
                End::Failed(failure) => {
                    told.push(Told::Failed(failure.kind));
                    failure.message
                }
                End::Passed | End::GivenUp => String::new(),
            };
            told.extend(text.bytes().map(Told::Byte));
            told
        };
        // SAFETY: pieces of signatures lead to the image only, the others nowhere.
        let told = unsafe { in_a_fork(self.patience, work) }?;
        let (mut signature, mut text, mut failed) = (Signature::new(), Vec::new(), None);
        let mut outcome =
            Outcome { end: End::Passed, step_count: 0, thread_count: 0, fingerprint: 0, promoted: false };
        for piece in told {
            match piece {
                Told::Signature(piece) => signature.add(piece),
                Told::MakesFiles => makes_files(),
                Told::Failed(kind) => failed = Some(kind),
                Told::Learned => outcome.promoted = true,
                Told::Byte(byte) => text.push(byte),
            }
        }
        let text = String::from_utf8(text).unwrap_or_default();
        if outcome.promoted {
            self.knowledge.learn(&text, self.program);
        } else if let Some(kind) = failed {
            outcome.end = End::Failed(Box::new(Failure::new(kind, text)));
        }
        Some((signature, outcome))
    }
}

impl Program for Isolated<'_> {
    fn run(&mut self, chooser: &mut dyn Chooser, _: Option<&mut dyn Observer>) -> Outcome {
        if let Some(text) = self.knowledge.next.take() {
            self.knowledge.learn(&text, self.program);
            return Outcome {
                end: End::GivenUp,
                step_count: 0,
                thread_count: 0,
                fingerprint: 0,
                promoted: true,
            };
        }
        let mut recorder = Recorder::new();
        let outcome = self.program.run(chooser, Some(&mut recorder));
        self.trace = Some(recorder.into_trace());
        outcome
    }

    fn default_execution(&mut self) -> (Signature, Outcome) {
        loop {
            match self.elsewhere() {
                Some((_, outcome)) if outcome.promoted => {}
                Some(told) => return told,
                None => return self.program.default_execution(),
            }
        }
    }

    fn label(&mut self, bound: u32, execution: u64) {
        self.program.label(bound, execution);
    }
}
