//! Observers: a recorder of complete traces, and a recorder of what a nondeterministic test would change.

use crate::program::{Observer, Place, StepEvent};
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
            note: event.note.map(str::to_owned),
            location: event
                .location
                .filter(|_| event.operation.action != Action::Begin)
                .and_then(Place::location),
            preempted,
            preempted_thread,
            accesses: event.accesses.to_vec(),
            backtrace: std::mem::take(&mut self.backtrace),
        };
        self.add(TracePiece::Step(Box::new(step)));
    }

    fn thread(&mut self, info: ThreadInfo) {
        self.add(TracePiece::Thread(info));
    }

    fn object(&mut self, info: ObjectInfo) {
        self.add(TracePiece::Object(info));
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
        let first = (0..count).find(|&i| self.steps.get(i) != other.steps.get(i))?;
        let side = |signature: &Signature| match (signature.steps.get(first), signature.places.get(first)) {
            (Some(Noted { thread, operation, .. }), Some(place)) => {
                let place = place.and_then(Place::location);
                let place = place.map_or(String::new(), |place| format!(" at {}:{}", place.file, place.line));
                format!("{thread} performed {:?}{place}", operation.action)
            }
            _ => "it was over".to_owned(),
        };
        Some(format!(
            "at step {first} the test did two different things with one schedule (first time: {}; second time: {}): it depends on \
             something outside the model (the real clock, random hashing, an address, a global, a file)",
            side(self),
            side(other)
        ))
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
