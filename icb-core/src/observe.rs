//! Observers: a recorder of complete traces, and a recorder of what a nondeterministic test would change.

use crate::memory::window;
use crate::program::{
    BranchPoint, Chooser, OUTSIDE_THE_MODEL, Observer, Outcome, Place, Program, Reused, SchedulingPoint,
    StepEvent,
};
use crate::trace::table::is_of_program;
use crate::trace::{
    Action, Frame, ObjectClass, ObjectInfo, Operation, Step, Switch, ThreadId, ThreadInfo, Trace, TracePiece,
};
use std::collections::HashMap;

/// Told of each piece of a trace.
type Listener<'a> = Box<dyn FnMut(TracePiece) + 'a>;

/// Records a trace, with backtraces at preemptions.
#[derive(Default)]
pub struct Recorder<'a> {
    listener: Option<Listener<'a>>,
    trace: Trace,
    preempted: Option<(ThreadId, Vec<Frame>)>,
    previous: Option<ThreadId>,
    /// Pointers read or written, in the order in which they came up.
    pointers: Vec<u64>,
    /// Position in the trace of each frame told so far.
    frames: HashMap<Frame, u32>,
    /// Of the step that is told next.
    backtrace: Vec<u32>,
    /// Says how many bytes have been printed.
    printed: Option<Box<dyn FnMut() -> usize + 'a>>,
    /// Addresses that have been used again.
    reused: Vec<Reused>,
}

impl std::fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("trace", &self.trace).finish_non_exhaustive()
    }
}

impl<'a> Recorder<'a> {
    /// Nothing recorded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells the listener of every piece as it is recorded.
    #[must_use]
    pub fn telling(listener: impl FnMut(TracePiece) + 'a) -> Self {
        Recorder { listener: Some(Box::new(listener)), ..Self::default() }
    }

    /// Each step is to bear how many bytes had been printed when it was taken.
    pub fn watch_printed(&mut self, length: impl FnMut() -> usize + 'a) {
        self.printed = Some(Box::new(length));
    }

    fn add(&mut self, piece: TracePiece) {
        if let Some(listener) = &mut self.listener {
            listener(piece.clone());
        }
        piece.add_to(&mut self.trace);
    }

    /// What was recorded.
    #[must_use]
    pub fn into_trace(self) -> Trace {
        self.trace
    }

    fn words(&mut self, operation: Operation, bits: Option<u64>) -> Option<String> {
        let bits = bits?;
        if operation.action == Action::Choose {
            return Some(bits.to_string());
        }
        let info = self.trace.objects.get(operation.object.index())?;
        if info.class != ObjectClass::Atomic {
            return Some(bits.to_string());
        }
        let name = info.type_name.as_str();
        Some(match name {
            "AtomicBool" => (bits != 0).to_string(),
            "AtomicI8" => (bits as i8).to_string(),
            "AtomicI16" => (bits as i16).to_string(),
            "AtomicI32" => (bits as i32).to_string(),
            "AtomicI64" | "AtomicIsize" => (bits as i64).to_string(),
            _ if name.starts_with("AtomicPtr") => {
                // Addresses differ from run to run; which pointers are the same does not.
                if bits == 0 {
                    return Some("null".to_owned());
                }
                let known = self.pointers.iter().position(|&pointer| pointer == bits);
                let number = known.unwrap_or_else(|| {
                    self.pointers.push(bits);
                    self.pointers.len() - 1
                });
                format!("pointer {}", number + 1)
            }
            _ => bits.to_string(),
        })
    }

    /// What is to be said of an exchange that succeeds because the address which it expects is used again: another block lies there than
    /// when its thread has read the variable.
    fn takes_another(&self, event: &StepEvent<'_>) -> Option<String> {
        let Action::CompareExchange { .. } = event.operation.action else { return None };
        event.written?;
        // What a program keeps beside an address stands in the uppermost bits, or in those that alignment leaves.
        let address = usize::try_from(event.read? & (u64::MAX >> 16)).ok()?;
        let own =
            |step: &&Step| step.thread == event.thread && step.operation.object == event.operation.object;
        let read = self.trace.steps.iter().rev().find(own)?.index;
        let is_it = |reused: &&Reused| {
            reused.taken > read as u64 && (reused.start..reused.start + reused.size.max(1)).contains(&address)
        };
        let Reused { thread, freed, .. } = *self.reused.iter().find(is_it)?;
        let last = |step: &&Step| step.thread == thread && (step.index as u64) < freed;
        let after = self.trace.steps.iter().rev().find(last);
        let after = after.map_or(String::new(), |step| format!(" after step {}", step.index));
        Some(format!(
            "another block lies there than in step {read}: {thread} freed that one{after}, and got its address again"
        ))
    }
}

impl Observer for Recorder<'_> {
    fn step(&mut self, event: &StepEvent<'_>) {
        let preempted = if event.preemption { self.preempted.take() } else { None };
        let switch = match self.previous {
            Some(previous) if previous == event.thread => Switch::Stay,
            _ if event.preemption => Switch::Preemption,
            None => Switch::Stay,
            Some(_) => Switch::Free,
        };
        // A data access is part of the step before it: it is shown, and switches nothing.
        let (preempted_thread, preempted) = preempted.unzip();
        self.previous = Some(event.thread);
        let step = Step {
            index: event.index as usize,
            thread: event.thread,
            switch,
            operation: event.operation,
            early: event.early,
            branches: event.branches.to_vec(),
            read: self.words(event.operation, event.read),
            written: self.words(event.operation, event.written),
            note: event.note.map(str::to_owned).or_else(|| self.takes_another(event)),
            location: event
                .location
                .filter(|_| event.operation.action != Action::Begin)
                .and_then(Place::location),
            preempted,
            preempted_thread,
            accesses: event.accesses.to_vec(),
            backtrace: std::mem::take(&mut self.backtrace),
            printed_from: self.printed.as_mut().map(|length| length()),
        };
        self.add(TracePiece::Step(Box::new(step)));
    }

    fn thread(&mut self, info: ThreadInfo) {
        self.add(TracePiece::Thread(info));
    }

    fn object(&mut self, info: ObjectInfo) {
        self.add(TracePiece::Object(info));
    }

    fn reused(&mut self, reused: Reused) {
        self.reused.push(reused);
    }

    fn wants_backtraces(&self) -> bool {
        true
    }

    fn backtrace_of_step(&mut self, frames: &[Frame]) {
        // What the machinery does is of no use here, and most of a stack.
        let of_program: Vec<&Frame> = frames.iter().filter(|frame| is_of_program(frame)).collect();
        self.backtrace.clear();
        for frame in of_program {
            let position = match self.frames.get(frame) {
                Some(&position) => position,
                None => {
                    let position = self.frames.len() as u32;
                    self.frames.insert(frame.clone(), position);
                    self.add(TracePiece::Frame(frame.clone()));
                    position
                }
            };
            self.backtrace.push(position);
        }
    }

    fn backtrace(&mut self, thread: ThreadId, frames: Vec<Frame>) {
        self.preempted = Some((thread, frames));
    }
}

/// Chooses the default everywhere.
#[derive(Debug, Default)]
struct DefaultChoices;

impl Chooser for DefaultChoices {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        Some(point.default_choice())
    }
    fn choose_branch(&mut self, _: &BranchPoint) -> u32 {
        0
    }
}

/// What must be equal in two executions with one schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Noted {
    thread: ThreadId,
    operation: Operation,
    /// Address of the source location.
    place: usize,
    read: Option<u64>,
    written: Option<u64>,
}

/// The same, or one is the address of a block of the program, whatever its uppermost bits are: where an execution has left something behind, the
/// next one's block lies elsewhere.
fn is_like_value(one: Option<u64>, other: Option<u64>) -> bool {
    let is_address = |bits: u64| usize::try_from(bits & (u64::MAX >> 16)).is_ok_and(window::holds);
    one == other
        || one.is_some_and(is_address) && other.is_some()
        || other.is_some_and(is_address) && one.is_some()
}

/// A piece of a signature, for another process of the same image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignaturePiece(Piece);

#[derive(Clone, Copy, Debug)]
enum Piece {
    Step(Noted, Option<Place>),
    /// Whether it is as large as an address.
    Object(bool),
}

/// Records who did what where: equal in two executions with one schedule, unless the test is nondeterministic.
#[derive(Debug, Default)]
pub struct Signature {
    steps: Vec<Noted>,
    places: Vec<Option<Place>>,
    pointers: Vec<bool>,
}

impl Signature {
    /// Nothing recorded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The first step in which two executions differ, in words.
    #[must_use]
    pub fn difference(&self, other: &Signature) -> Option<String> {
        let count = self.steps.len().max(other.steps.len());
        let differ = |&step: &usize| match (self.steps.get(step), other.steps.get(step)) {
            (Some(here), Some(there)) => !here.is_like(there),
            _ => true,
        };
        let first = (0..count).find(differ)?;
        let (mut one, mut two) = (self.in_words(first), other.in_words(first));
        if one == two
            && let (Some(here), Some(there)) = (self.steps.get(first), other.steps.get(first))
        {
            let on_others = here.operation != there.operation;
            one += &here.details(on_others);
            two += &there.details(on_others);
        }
        Some(format!(
            "at step {first} the test did two different things with one schedule (first time: {one}; second time: {two}): it depends on \
             {OUTSIDE_THE_MODEL}",
        ))
    }

    /// That of the execution in which the default is chosen everywhere, and how that ended.
    pub(crate) fn of_default(program: &mut dyn Program) -> (Signature, Outcome) {
        let mut signature = Signature::new();
        let outcome = program.run(&mut DefaultChoices, Some(&mut signature));
        (signature, outcome)
    }

    /// The signature in pieces, none of which leads anywhere but to the image of this process.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = SignaturePiece> {
        let steps = self.steps.iter().zip(&self.places);
        let steps = steps.map(|(&noted, &place)| SignaturePiece(Piece::Step(noted, place)));
        steps.chain(self.pointers.iter().map(|&pointer| SignaturePiece(Piece::Object(pointer))))
    }

    /// Adds the next piece of a signature.
    pub(crate) fn add(&mut self, piece: SignaturePiece) {
        match piece.0 {
            Piece::Step(noted, place) => {
                self.steps.push(noted);
                self.places.push(place);
            }
            Piece::Object(pointer) => self.pointers.push(pointer),
        }
    }

    /// Whether something else is done in it, whatever the values are.
    pub(crate) fn goes_another_way(&self, other: &Signature) -> bool {
        let done = |noted: &Noted| (noted.thread, noted.operation, noted.place);
        !self.steps.iter().map(done).eq(other.steps.iter().map(done))
    }

    fn in_words(&self, step: usize) -> String {
        let (Some(noted), Some(place)) = (self.steps.get(step), self.places.get(step)) else {
            return "it was over".to_owned();
        };
        let place = place.and_then(Place::location);
        let place = place.map_or(String::new(), |place| format!(" at {}:{}", place.file, place.line));
        format!("{} performed {:?}{place}", noted.thread, noted.operation.action)
    }
}

impl Noted {
    /// The same, whatever the addresses are that integers hold.
    fn is_like(&self, other: &Noted) -> bool {
        let done = |noted: &Noted| (noted.thread, noted.operation, noted.place);
        done(self) == done(other)
            && is_like_value(self.read, other.read)
            && is_like_value(self.written, other.written)
    }

    /// What tells it from another step of the same thread at the same place.
    fn details(&self, on_others: bool) -> String {
        if on_others {
            let other = self.operation.other;
            let other = if other.is_some() { format!(" and {other}") } else { String::new() };
            return format!(" on object {}{other}", self.operation.object);
        }
        let part = |word: &str, bits: Option<u64>| bits.map(|bits| format!(", {word} {bits}"));
        [part("read", self.read), part("wrote", self.written)].into_iter().flatten().collect()
    }
}

impl Observer for Signature {
    fn step(&mut self, event: &StepEvent<'_>) {
        let place = event.location.map_or(0, Place::address);
        // Pointers differ from run to run without any harm.
        let pointer = self.pointers.get(event.operation.object.index()).copied().unwrap_or(false);
        let (read, written) = if pointer { (None, None) } else { (event.read, event.written) };
        self.steps.push(Noted { thread: event.thread, operation: event.operation, place, read, written });
        self.places.push(event.location);
    }

    fn object(&mut self, info: ObjectInfo) {
        // Integers of a pointer's size may hold addresses too.
        let sized = info.type_name.starts_with("AtomicPtr") || info.type_name.ends_with("size");
        self.pointers.push(sized);
    }
}

/// Counts what Theorem 1 speaks of: steps that may block, and preemptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Steps that may block, without the ends of threads.
    pub blocking: u64,
    /// Preemptions.
    pub preemptions: u32,
}

impl Observer for Shape {
    fn step(&mut self, event: &StepEvent<'_>) {
        self.blocking += u64::from(event.operation.action.is_blocking());
        self.preemptions += u32::from(event.preemption);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ObjectId, Ordering};

    #[test]
    fn what_differs_is_named() {
        let noted = |object: usize, read: u64| Noted {
            thread: ThreadId::MAIN,
            operation: Operation::new(Action::Load(Ordering::SeqCst), ObjectId::new(object)),
            place: 1,
            read: Some(read),
            written: None,
        };
        let signature = |step| Signature { steps: vec![step], places: vec![None], pointers: vec![false] };
        let difference = |a, b| signature(a).difference(&signature(b));
        assert_eq!(difference(noted(1, 2), noted(1, 2)), None);
        let objects = difference(noted(1, 2), noted(3, 2)).unwrap();
        assert!(
            objects.contains("Load(SeqCst) on object #1; second time: ") && objects.contains("#3)"),
            "{objects}"
        );
        let values = difference(noted(1, 2), noted(1, 4)).unwrap();
        assert!(values.contains(", read 2; second time: ") && values.contains(", read 4)"), "{values}");
    }
}
