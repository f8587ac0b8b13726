//! Operations, objects and threads in words.

use super::columns::place;
use super::frames::Sources;
use super::variables::{Variable, variables};
use crate::trace::{
    Action, DeadlockEntry, Failure, OF, ObjectClass, ObjectId, ObjectInfo, Operation, Ordering, SURROUNDINGS,
    ScheduleEntry, SourceLocation, Step, Switch, ThreadId, ThreadInfo, Trace,
};
use std::collections::HashMap;

/// How many words an operation gets, from many to few.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Detail {
    /// Memory orderings, where they are weaker than `SeqCst`, and type names.
    Full,
    /// Type names without their parameters.
    Names,
    /// Only the numbers of objects.
    Numbers,
}

impl Detail {
    pub(super) const ALL: [Detail; 3] = [Detail::Full, Detail::Names, Detail::Numbers];
}

/// What is called how in one trace.
pub(super) struct Names<'a> {
    trace: &'a Trace,
    threads: HashMap<ObjectId, ThreadId>,
    /// For each step that costs something: its first number and how many units it costs.
    costs: HashMap<usize, (u32, u32)>,
    /// The last entry with each number: data accesses bear that of the step that follows them.
    numbered: HashMap<usize, &'a Step>,
    /// What the source calls the objects.
    variables: HashMap<ObjectId, String>,
}

impl<'a> Names<'a> {
    pub(super) fn new(failure: &'a Failure, sources: &Sources<'_>) -> Self {
        let trace = &failure.trace;
        let variables = labels(trace, variables(trace, &failure.waiting, sources));
        Names { variables, ..Names::of_types(failure) }
    }

    /// Without what the source calls an object.
    pub(super) fn of_types(failure: &'a Failure) -> Self {
        let trace = &failure.trace;
        let numbered = trace.steps.iter().map(|step| (step.index, step)).collect();
        let (threads, costs, variables) = (thread_objects(trace), costs(trace), HashMap::new());
        Names { trace, threads, costs, numbered, variables }
    }

    /// What the source calls an object, and its type.
    pub(super) fn described(&self, object: ObjectId) -> Option<(&str, String)> {
        let info = self.trace.objects.iter().find(|info| info.id == object)?;
        let label = self.variables.get(&object)?;
        Some((label, short_type(&info.type_name)))
    }

    /// Where the first step with an object is taken; if there is none, where somebody waits for it.
    pub(super) fn first_used(
        &self,
        object: ObjectId,
        waiting: &'a [DeadlockEntry],
    ) -> Option<&'a SourceLocation> {
        let is_of = |operation: Operation| operation.object == object || operation.other == object;
        match self.trace.steps.iter().find(|step| is_of(step.operation)) {
            Some(step) => place(step, self.trace),
            None => waiting.iter().find(|entry| is_of(entry.operation))?.location.as_ref(),
        }
    }

    /// `T1 main.0 "reader"`.
    pub(super) fn thread(&self, thread: ThreadId) -> String {
        match self.trace.threads.iter().find(|info| info.id == thread) {
            Some(ThreadInfo { path, name: Some(name), .. }) => format!("{thread} {path} \"{name}\""),
            Some(ThreadInfo { path, name: None, .. }) => format!("{thread} {path}"),
            None => thread.to_string(),
        }
    }

    /// `main.0`.
    pub(super) fn path(&self, thread: ThreadId) -> String {
        let info = self.trace.threads.iter().find(|info| info.id == thread);
        info.map_or_else(|| thread.to_string(), |info| info.path.clone())
    }

    /// What a step does to which object, so that it can be found in another trace: objects without a name go by their
    /// type and by the thread that used them first, counted.
    pub(super) fn key(&self, step: &Step) -> String {
        let object = step.operation.object;
        let action = action_words(step.operation.action);
        if !object.is_some() || self.threads.contains_key(&object) {
            return action.to_owned();
        }
        let named =
            self.trace.objects.iter().find(|info| info.id == object).and_then(|info| info.symbol.as_ref());
        if let Some(name) = named.or_else(|| self.variables.get(&object)) {
            let bare = name.rsplit_once(" #").map_or(name.as_str(), |(bare, _)| bare);
            if bare == name {
                return format!("{action} {name}");
            }
            return format!(
                "{action} {bare} {}",
                self.place_among(object, |other| {
                    self.variables.get(&other).is_some_and(|other| other.starts_with(bare))
                })
            );
        }
        let kind = |object: ObjectId| {
            let info = self.trace.objects.iter().find(|info| info.id == object)?;
            let user = self.trace.steps.iter().find(|step| step.operation.object == object)?;
            Some((info.type_name.as_str(), user.thread))
        };
        let own = kind(object);
        let (type_name, user) = own.unwrap_or_default();
        let place = self.place_among(object, |other| kind(other) == own);
        format!("{action} {type_name} of {} {place}", self.path(user))
    }

    fn place_among(&self, object: ObjectId, alike: impl Fn(ObjectId) -> bool) -> usize {
        self.trace
            .objects
            .iter()
            .map(|info| info.id)
            .take_while(|id| *id != object)
            .filter(|id| alike(*id))
            .count()
    }

    /// Whether the step's number is its own.
    pub(super) fn has_number(&self, step: &Step) -> bool {
        !step.is_choice() && self.numbered.get(&step.index).is_some_and(|last| std::ptr::eq(*last, step))
    }

    /// First and last number of the units that the step costs, counted from 1 over the whole trace. Data accesses
    /// share the number of the step that they belong to, but never cost anything.
    pub(super) fn cost_range(&self, step: &Step) -> Option<(u32, u32)> {
        if step.switch != Switch::Preemption && !step.early && step.branches.is_empty() || step.is_choice() {
            return None;
        }
        self.costs.get(&step.index).map(|(first, count)| (*first, first + count - 1))
    }

    /// `Mutex<Queue> #2`, the name of a static, or `T1` for a thread.
    pub(super) fn object(&self, object: ObjectId, detail: Detail) -> String {
        if !object.is_some() {
            return String::new();
        }
        if let Some(thread) = self.threads.get(&object) {
            return thread.to_string();
        }
        let Some(info) = self.trace.objects.iter().find(|info| info.id == object) else {
            return object.to_string();
        };
        if let Some(label) = self.variables.get(&object).filter(|_| detail != Detail::Numbers) {
            return label.clone();
        }
        let short = short_type(&info.type_name);
        match detail {
            Detail::Full if !short.is_empty() => format!("{short} {object}"),
            Detail::Names if !short.is_empty() => {
                format!("{} {object}", short.split('<').next().unwrap_or_default())
            }
            _ => object.to_string(),
        }
    }

    /// `waits for Mutex #2, held by T1 main.0`.
    pub(super) fn waits(&self, entry: &DeadlockEntry) -> String {
        if !entry.words.is_empty() {
            // The words may begin with the thread, which stands before them anyway.
            let bare = entry.words.strip_prefix(&format!("{} ", entry.thread));
            return self.renamed(bare.unwrap_or(&entry.words));
        }
        let mut text = format!(
            "waits to {} {}",
            action_words(entry.operation.action),
            self.object(entry.operation.object, Detail::Full)
        );
        for (index, thread) in entry.held_by.iter().enumerate() {
            text += if index == 0 { ", held by " } else { " and " };
            text += &self.thread(*thread);
        }
        text
    }

    /// A text of the runtime, which knows objects by class and number, with the names that the source gives them.
    pub(super) fn renamed(&self, text: &str) -> String {
        let mut words: Vec<String> = Vec::new();
        for word in text.split(' ') {
            let number = word.trim_end_matches([',', ';', '.', ':', ')']);
            let object = number.strip_prefix('#').and_then(|number| number.parse().ok()).map(ObjectId::new);
            match object.and_then(|object| self.variables.get(&object)) {
                Some(label) => {
                    words.pop();
                    words.push(format!("{label}{}", &word[number.len()..]));
                }
                None => {
                    if let Some(own) = object.and_then(|object| self.other_name(object)) {
                        words.pop();
                        words.push(own.to_owned());
                    }
                    words.push(word.to_owned());
                }
            }
        }
        words.join(" ")
    }

    /// What a condition variable stands for that is none of the program's: a futex, say.
    fn other_name(&self, object: ObjectId) -> Option<&'a str> {
        let info = self.trace.objects.iter().find(|info| info.id == object)?;
        let is_other = info.class == ObjectClass::Condvar && !info.type_name.ends_with("Condvar");
        is_other.then_some(info.type_name.as_str()).filter(|name| !name.is_empty())
    }

    /// What is done to what threads share beside memory: `change the directories`.
    fn of_surroundings(&self, operation: Operation, detail: Detail) -> Option<String> {
        let what = self.surroundings(operation.object)?;
        let verb = if let Action::Load(_) = operation.action { "look at" } else { "change" };
        let object =
            if what.starts_with("the ") { what.to_owned() } else { self.object(operation.object, detail) };
        Some(format!("{verb} {object}"))
    }

    fn surroundings(&self, object: ObjectId) -> Option<&'a str> {
        let info = self.trace.objects.iter().find(|info| info.id == object)?;
        is_of_surroundings(info).then_some(info.type_name.as_str())
    }

    /// An operation: `load(Relaxed) AtomicBool #3`.
    pub(super) fn operation(&self, operation: Operation, detail: Detail) -> String {
        if let Some(words) = self.of_surroundings(operation, detail) {
            return words;
        }
        let mut text = action_words(operation.action).to_owned();
        let weak = ordering(operation.action).filter(|order| *order != Ordering::SeqCst);
        if let Some(order) = weak.filter(|_| detail == Detail::Full) {
            text += &format!("({order:?})");
        }
        let of_itself = matches!(operation.action, Action::Begin | Action::Park { .. } | Action::Choose);
        let object = self.object(operation.object, detail);
        if !object.is_empty() && !of_itself {
            text += &format!(" {object}");
        }
        text
    }

    /// The operation of a step with its values: `load AtomicBool #3 = true`.
    pub(super) fn step(&self, step: &Step, detail: Detail) -> String {
        let operation = step.operation;
        if let (Action::Nop, Some(note)) = (operation.action, &step.note) {
            // The step of a model: only the model can say what it does.
            return note.clone();
        }
        if let (true, Some(chosen), Some(note)) = (step.is_choice(), &step.read, &step.note) {
            return format!("choose({}) = {chosen}", note.strip_prefix(OF).unwrap_or(note));
        }
        let mut text = self.operation(operation, detail);
        match (&step.read, &step.written) {
            // How often it has been changed says nothing.
            _ if self.surroundings(operation.object).is_some() => {}
            (Some(read), Some(written)) => text += &format!(": {read} → {written}"),
            (Some(read), None) => text += &format!(" = {read}"),
            (None, Some(written)) => text += &format!(" := {written}"),
            (None, None) => {}
        }
        if operation.other.is_some() {
            text += &format!(" with {}", self.object(operation.other, detail));
        }
        let exchanges = matches!(
            operation.action,
            Action::ReadModifyWrite(_) | Action::CompareExchange { .. } | Action::Reacquire { .. }
        );
        let says_itself = matches!(operation.action, Action::Load(_)) || step.is_stale();
        let late = step.late_count();
        let chosen = self.chosen_waiter(step).filter(|_| late == 0);
        let notifies = late > 0 || chosen.is_some() || operation.action == Action::NotifyAll;
        let looks = operation.action == Action::CountRead;
        if !notifies && !looks && !exchanges && (step.read.is_none() || !says_itself) {
            for branch in &step.branches {
                text += &format!(" [branch {branch}]");
            }
        }
        if let Some(thread) = chosen {
            text += &format!(" (wakes {thread})");
        }
        let early = step.expires_early() || step.wakes_spuriously();
        let says_again = |note: &str| early && matches!(note, "timed out" | "woke spuriously");
        if step.expires_early() {
            text += " (expires)";
        } else if step.wakes_spuriously() {
            text += " (wakes spuriously)";
        } else if step.spins_on() {
            text += " (once more, in vain)";
        }
        if step.fails_spuriously() {
            text += " (fails spuriously)";
        } else if late > 0 && operation.action == Action::NotifyAll {
            text += &format!(" (too late for {late}: timed out)");
        } else if late > 0 {
            text += " (too late: timed out)";
        } else if let Some(note) = step.note.as_ref().filter(|note| !says_again(note)) {
            text += &format!(" ({note})");
        }
        text
    }

    /// Whom a `notify_one` has woken that had a choice.
    fn chosen_waiter(&self, step: &Step) -> Option<ThreadId> {
        if step.operation.action != Action::NotifyOne || step.branches.is_empty() {
            return None;
        }
        step.accesses.iter().find_map(|access| self.threads.get(&access.object).copied())
    }

    /// Whether the object stands for a thread.
    pub(super) fn is_thread(&self, object: ObjectId) -> bool {
        self.threads.contains_key(&object)
            || self.trace.objects.iter().any(|info| info.id == object && info.class == ObjectClass::Thread)
    }
}

/// Whether it stands for something that threads share beside memory.
fn is_of_surroundings(info: &ObjectInfo) -> bool {
    info.class == ObjectClass::Atomic && SURROUNDINGS.contains(&info.type_name.as_str())
}

/// The names, made different: objects of one name get their numbers, and an `Arc` is told from what is in it.
fn labels(trace: &Trace, mut variables: HashMap<ObjectId, Variable>) -> HashMap<ObjectId, String> {
    for info in trace.objects.iter().filter(|info| info.class == ObjectClass::Count) {
        if let Some(variable) = variables.get_mut(&info.id) {
            variable.name = format!("Arc {}", variable.name);
        }
    }
    // The name of a static is known for certain; of a part of it (`COUNT.0`) the source says more.
    for info in trace.objects.iter().filter(|info| !is_of_surroundings(info)) {
        if let Some(symbol) = &info.symbol {
            let name = last_segment(symbol);
            if !variables.get(&info.id).is_some_and(|known| known.name.starts_with(name)) {
                variables.insert(info.id, Variable { name: name.to_owned(), is_shared: false });
            }
        }
    }
    let mut uses: HashMap<String, usize> = HashMap::new();
    for variable in variables.values() {
        *uses.entry(variable.name.clone()).or_default() += 1;
    }
    let label = |(id, Variable { name, is_shared })| match is_shared || uses[&name] > 1 {
        true => (id, format!("{name} {id}")),
        false => (id, name),
    };
    variables.into_iter().map(label).collect()
}

/// Which thread an object of class `Thread` is: threads are numbered in the order of their spawns.
fn thread_objects(trace: &Trace) -> HashMap<ObjectId, ThreadId> {
    let mut threads = HashMap::new();
    let mut spawned = 0;
    for step in &trace.steps {
        let thread = match step.operation.action {
            Action::Spawn => {
                spawned += 1;
                ThreadId::new(spawned)
            }
            Action::Begin | Action::Park { .. } => step.thread,
            _ => continue,
        };
        if step.operation.object.is_some() {
            threads.insert(step.operation.object, thread);
        }
    }
    threads
}

/// Numbers the units that count against the bound, by step.
fn costs(trace: &Trace) -> HashMap<usize, (u32, u32)> {
    let mut costs: HashMap<usize, (u32, u32)> = HashMap::new();
    let mut next = 1;
    let mut steps = 0;
    for entry in trace.schedule.entries() {
        let units = match *entry {
            ScheduleEntry::Run { preemption, early, .. } => {
                steps += 1;
                u32::from(preemption) + u32::from(early)
            }
            ScheduleEntry::Branch { costly, .. } => u32::from(costly),
        };
        if units > 0 {
            let cost = costs.entry(steps - usize::from(steps > 0)).or_insert((next, 0));
            cost.1 += units;
            next += units;
        }
    }
    costs
}

fn ordering(action: Action) -> Option<Ordering> {
    match action {
        Action::Load(order)
        | Action::Store(order)
        | Action::ReadModifyWrite(order)
        | Action::Fence(order) => Some(order),
        Action::CompareExchange { success, .. } => Some(success),
        _ => None,
    }
}

/// An action as std names it.
pub(super) const fn action_words(action: Action) -> &'static str {
    match action {
        Action::Begin => "begin",
        Action::Spawn => "spawn",
        Action::Join => "join",
        Action::Park { timed: false } => "park",
        Action::Park { timed: true } => "park_timeout",
        Action::Unpark => "unpark",
        Action::Yield => "yield_now",
        Action::SpinLoop => "spin_loop",
        Action::Sleep | Action::SleepUntil => "sleep",
        Action::Choose => "choose",
        Action::Load(_) => "load",
        Action::Store(_) => "store",
        Action::ReadModifyWrite(_) => "update",
        Action::CompareExchange { weak: false, .. } => "compare_exchange",
        Action::CompareExchange { weak: true, .. } => "compare_exchange_weak",
        Action::Fence(_) => "fence",
        Action::Lock => "lock",
        Action::TryLock => "try_lock",
        Action::Unlock => "unlock",
        Action::ReadLock => "read-lock",
        Action::TryReadLock => "try_read",
        Action::ReadUnlock => "read-unlock",
        Action::WriteLock => "write-lock",
        Action::TryWriteLock => "try_write",
        Action::WriteUnlock => "write-unlock",
        Action::Downgrade => "downgrade",
        Action::Wait { timed: false } => "wait",
        Action::Wait { timed: true } => "wait_timeout",
        Action::Reacquire { .. } => "wake up from",
        Action::NotifyOne => "notify_one",
        Action::NotifyAll => "notify_all",
        Action::BarrierArrive => "arrive at",
        Action::BarrierLeave => "leave",
        Action::OnceEnter => "enter",
        Action::OnceLeave => "leave",
        Action::OnceCheck => "check",
        Action::OnceWait | Action::OnceWaitForce => "wait for",
        Action::Send => "send",
        Action::TrySend => "try_send",
        Action::SendFinish => "finish send",
        Action::ReceiveBegin | Action::Receive { timed: false } => "recv",
        Action::Receive { timed: true } => "recv_timeout",
        Action::TryReceive => "try_recv",
        Action::SenderClone => "clone sender of",
        Action::SenderDrop => "drop sender of",
        Action::ReceiverDrop => "drop receiver of",
        Action::IsPoisoned => "is_poisoned",
        Action::ClearPoison => "clear_poison",
        Action::CellRead => "read",
        Action::CellWrite => "write",
        Action::CellAccess => "access",
        Action::CountUp => "clone",
        Action::CountDown => "drop",
        Action::CountLast => "drop the last",
        Action::CountRead => "count",
        Action::CountUpdate => "upgrade",
        Action::Nop => "step",
    }
}

/// A type name without the paths of its parts: `std::sync::Mutex<app::Queue>` is `Mutex<Queue>`.
#[must_use]
pub(crate) fn short_type(name: &str) -> String {
    let mut short = String::new();
    let mut word = String::new();
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
        } else if character == ':' && characters.peek() == Some(&':') {
            characters.next();
            word.clear();
        } else {
            short += &std::mem::take(&mut word);
            short.push(character);
        }
    }
    short + &word
}

fn last_segment(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_lose_their_paths() {
        for (long, short) in [
            ("std::sync::Mutex<app::Queue>", "Mutex<Queue>"),
            ("AtomicUsize", "AtomicUsize"),
            ("Arc<dyn a::b::Task, (c::D, [e::F; 3])>", "Arc<dyn Task, (D, [F; 3])>"),
            ("", ""),
        ] {
            assert_eq!(short_type(long), short);
        }
    }
}
