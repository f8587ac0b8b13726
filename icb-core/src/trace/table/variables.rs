//! What the source calls an object. A name is not used where the source gives it to another object at the same place
//! (`from.balance` in a function that is called for several accounts), so what a report says fits every line it shows.

use super::frames::{Sources, is_machinery_file, is_of_program};
use super::parameters::Function;
use super::spelling::{bare, expression_at, readable};
use crate::trace::{Action, DeadlockEntry, Frame, ObjectClass, ObjectId, SourceLocation, ThreadId, Trace};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Callers that are asked for a name.
const MAX_CALLERS: usize = 2;

/// What an object is called.
pub(super) struct Variable {
    pub(super) name: String,
    /// The source calls another object so too, somewhere in the trace: the name needs the object's number.
    pub(super) is_shared: bool,
}

/// The variable or field path of each object that has one.
pub(super) fn variables(
    trace: &Trace,
    waiting: &[DeadlockEntry],
    sources: &Sources<'_>,
) -> HashMap<ObjectId, Variable> {
    let uses: Vec<Spelled<'_>> = uses(trace, waiting)
        .into_iter()
        .filter_map(|(used, count)| Spelled::of(used, count, sources))
        .collect();
    let spellings = Spellings::of(trace, &uses);
    let mut by_object: BTreeMap<ObjectId, Vec<&Spelled<'_>>> = BTreeMap::new();
    uses.iter().for_each(|spelled| by_object.entry(spelled.used.object).or_default().push(spelled));
    by_object
        .into_iter()
        .filter_map(|(object, uses)| Some((object, spellings.best(object, &uses)?)))
        .collect()
}

/// Where an object is used, by whom, and from where: the innermost place first.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Use<'a> {
    object: ObjectId,
    thread: ThreadId,
    places: Vec<&'a SourceLocation>,
}

/// The uses of objects, and how often each occurs.
fn uses<'a>(trace: &'a Trace, waiting: &'a [DeadlockEntry]) -> HashMap<Use<'a>, usize> {
    let mut uses = HashMap::new();
    let mut note = |object: ObjectId, thread, places: Vec<&'a SourceLocation>| {
        if object.is_some() && !places.is_empty() {
            *uses.entry(Use { object, thread, places }).or_default() += 1;
        }
    };
    let of_program: Vec<Option<&SourceLocation>> = trace.frames.iter().map(place_of_program).collect();
    // Who parks names nobody.
    let names_one = |action| !is_end_of_scope(action) && !matches!(action, Action::Park { .. });
    for step in trace.steps.iter().filter(|step| names_one(step.operation.action)) {
        let frames = step.backtrace.iter();
        let frames = frames.map(|&position| of_program.get(position as usize).copied().flatten());
        note(step.operation.object, step.thread, places(step.location.as_ref(), frames));
    }
    for entry in waiting.iter().filter(|entry| names_one(entry.operation.action)) {
        let frames = entry.backtrace.iter().map(place_of_program);
        note(entry.operation.object, entry.thread, places(entry.location.as_ref(), frames));
    }
    uses
}

/// Where a frame is, if it is one of the program under test.
fn place_of_program(frame: &Frame) -> Option<&SourceLocation> {
    frame.location.as_ref().filter(|_| is_of_program(frame))
}

/// A place in the program, and those that have led there without any machinery between them; the innermost frame is
/// the place itself.
fn places<'a>(
    place: Option<&'a SourceLocation>,
    frames: impl Iterator<Item = Option<&'a SourceLocation>>,
) -> Vec<&'a SourceLocation> {
    let Some(place) = place.filter(|place| !is_machinery_file(&place.file)) else { return Vec::new() };
    let callers = frames.map_while(|frame| frame).skip(1).take(MAX_CALLERS);
    std::iter::once(place).chain(callers).collect()
}

/// A name that an object might have.
struct Candidate<'a> {
    name: String,
    /// What of it would fit each of several objects that are called so.
    field: Option<String>,
    /// Where the source gives it.
    place: &'a SourceLocation,
    /// It is said where the object is used; otherwise by a caller.
    is_direct: bool,
    /// Its first word is a parameter, which may be another thing at the next call.
    of_parameter: bool,
}

/// A use with the names that the source has for its object: first the one where it is used.
struct Spelled<'a> {
    used: Use<'a>,
    count: usize,
    candidates: Vec<Candidate<'a>>,
}

impl<'a> Spelled<'a> {
    fn of(used: Use<'a>, count: usize, sources: &Sources<'_>) -> Option<Self> {
        let mut candidates = Vec::new();
        // A wrapper's own `self.0` says nothing: whoever calls the wrapper may say more.
        let named = |place: &&SourceLocation| {
            let expression = expression_at(place, sources)?;
            readable(&expression).map(|_| expression)
        };
        let (mut depth, mut expression) =
            used.places.iter().enumerate().find_map(|(depth, place)| Some((depth, named(place)?)))?;
        loop {
            let at = used.places[depth];
            let function = Function::around(at, sources);
            if let Some(name) = readable(&expression) {
                candidates.push(Candidate {
                    field: field_of(&expression, &name).map(str::to_owned),
                    name,
                    place: at,
                    is_direct: candidates.is_empty() && depth == 0,
                    of_parameter: function.as_ref().is_some_and(|function| function.takes(&expression)),
                });
            }
            let caller = used.places.get(depth + 1);
            let given = function
                .zip(caller)
                .and_then(|(function, caller)| function.given(&expression, caller, sources));
            // Which element it is the caller does not say either.
            let is_element = candidates.last().is_some_and(|said| said.name.contains('…'));
            let Some(given) = given.filter(|_| !is_element) else { break };
            (depth, expression) = (depth + 1, given);
        }
        Some(Spelled { used, count, candidates })
    }
}

/// Everything that the source of a trace says, to tell which names fit one object only.
struct Spellings<'a> {
    classes: HashMap<ObjectId, ObjectClass>,
    /// What is called so at one place: objects of one class.
    at_places: HashMap<(&'a SourceLocation, &'a str, Option<ObjectClass>), BTreeSet<ObjectId>>,
    /// What is called so anywhere; reference counts are told from what they are about.
    anywhere: HashMap<(&'a str, bool), BTreeSet<ObjectId>>,
    /// What is called something that ends so: `of.freed` ends with `freed`.
    endings: HashMap<&'a str, BTreeSet<ObjectId>>,
}

impl<'a> Spellings<'a> {
    fn of(trace: &Trace, uses: &'a [Spelled<'a>]) -> Self {
        let classes = trace.objects.iter().map(|info| (info.id, info.class)).collect();
        let mut spellings = Spellings {
            classes,
            at_places: HashMap::new(),
            anywhere: HashMap::new(),
            endings: HashMap::new(),
        };
        for spelled in uses {
            let object = spelled.used.object;
            let class = spellings.classes.get(&object).copied();
            for candidate in &spelled.candidates {
                let name = candidate.name.as_str();
                spellings.at_places.entry((candidate.place, name, class)).or_default().insert(object);
                if class != Some(ObjectClass::Thread) {
                    spellings.anywhere.entry((name, is_count(class))).or_default().insert(object);
                    endings(name).for_each(|ending| {
                        spellings.endings.entry(ending).or_default().insert(object);
                    });
                }
            }
        }
        spellings
    }

    /// Whether another object has the name at the same place.
    fn is_ambiguous(&self, object: ObjectId, candidate: &Candidate<'_>) -> bool {
        let class = self.classes.get(&object).copied();
        let objects = self.at_places.get(&(candidate.place, candidate.name.as_str(), class));
        objects.is_some_and(|objects| objects.len() > 1)
    }

    /// The best of the names that an object has in its uses.
    fn best(&self, object: ObjectId, uses: &[&Spelled<'_>]) -> Option<Variable> {
        let direct = || uses.iter().filter_map(|spelled| spelled.candidates.first());
        let names: BTreeSet<&str> = direct().map(|candidate| candidate.name.as_str()).collect();
        let fields: BTreeSet<Option<&str>> = direct().map(|candidate| candidate.field.as_deref()).collect();
        let votes = self.votes(object, uses);
        let class = self.classes.get(&object).copied();
        let variable = |name: String| {
            let objects = self.anywhere.get(&(name.as_str(), is_count(class)));
            let is_shared = objects.is_some_and(|objects| objects.iter().any(|other| *other != object));
            Variable { name, is_shared }
        };
        let best = votes.iter().max_by_key(|(name, vote)| {
            let is_only_one = names.len() == 1 && names.contains(*name);
            let thread = std::cmp::Reverse(vote.thread);
            (is_only_one || !vote.of_parameter, vote.direct, vote.by_callers, thread)
        });
        match best {
            // What several parameters are called is their own; a field may be the same in all of them.
            Some((name, vote)) if vote.of_parameter && names.len() > 1 => {
                let field = fields.first().copied().flatten().filter(|_| fields.len() == 1);
                Some(variable(field.unwrap_or(name).to_owned()))
            }
            Some((name, _)) => Some(variable((*name).to_owned())),
            None => Some(Variable { name: most_used_field(uses)?, is_shared: true }),
        }
    }

    /// The names that no other object has where this one has them.
    fn votes<'b>(&self, object: ObjectId, uses: &[&'b Spelled<'_>]) -> BTreeMap<&'b str, Vote> {
        let candidates = || uses.iter().flat_map(|spelled| &spelled.candidates);
        let ambiguous: BTreeSet<&str> = candidates()
            .filter(|candidate| self.is_ambiguous(object, candidate))
            .map(|candidate| candidate.name.as_str())
            .collect();
        let mut votes: BTreeMap<&str, Vote> = BTreeMap::new();
        for spelled in uses {
            for candidate in &spelled.candidates {
                let name = candidate.name.as_str();
                if !ambiguous.contains(name) {
                    votes.entry(name).or_insert_with(|| Vote::none(spelled)).count_in(spelled, candidate);
                }
            }
        }
        for (name, vote) in &mut votes {
            if vote.direct > 0 {
                vote.direct += self.longer(name, uses);
            }
        }
        votes
    }

    /// How often an object has a longer name that ends with this one, if no other object has such a name.
    fn longer(&self, name: &str, uses: &[&Spelled<'_>]) -> usize {
        if self.endings.get(name).is_none_or(|objects| objects.len() > 1) {
            return 0;
        }
        let direct = uses.iter().filter_map(|spelled| Some((spelled.count, spelled.candidates.first()?)));
        let longer = direct.filter(|(_, said)| endings(&said.name).skip(1).any(|ending| ending == name));
        longer.map(|(count, _)| count).sum()
    }
}

/// How often an object is called so, and by which thread first.
struct Vote {
    direct: usize,
    by_callers: usize,
    thread: ThreadId,
    of_parameter: bool,
}

impl Vote {
    fn none(spelled: &Spelled<'_>) -> Self {
        Vote { direct: 0, by_callers: 0, thread: spelled.used.thread, of_parameter: true }
    }

    fn count_in(&mut self, spelled: &Spelled<'_>, candidate: &Candidate<'_>) {
        match candidate.is_direct {
            true => self.direct += spelled.count,
            false => self.by_callers += spelled.count,
        }
        self.thread = self.thread.min(spelled.used.thread);
        self.of_parameter &= candidate.of_parameter;
    }
}

/// The field that most uses of an object name.
fn most_used_field(uses: &[&Spelled<'_>]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for spelled in uses {
        if let Some(field) = spelled.candidates.first().and_then(|said| said.field.as_deref()) {
            *counts.entry(field).or_default() += spelled.count;
        }
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count);
    most.map(|(field, _)| field.to_owned())
}

/// A path, and what of it stands behind each of its first words.
fn endings(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, rest)| rest))
}

const fn is_count(class: Option<ObjectClass>) -> bool {
    matches!(class, Some(ObjectClass::Count))
}

/// What of a name says something of each of several objects that are called so: a field (`balance` of `from.balance`),
/// or what they are elements of (`accounts[…]`).
fn field_of<'a>(expression: &str, name: &'a str) -> Option<&'a str> {
    if name.contains('…') || bare(expression).starts_with("self.") {
        return Some(name);
    }
    let (_, field) = name.split_once('.')?;
    field.starts_with(|c: char| c.is_alphabetic() || c == '_').then_some(field)
}

/// Steps that stand where a value goes out of scope, or where a thread begins, not where one is named.
pub(super) fn is_end_of_scope(action: Action) -> bool {
    matches!(
        action,
        Action::Unlock
            | Action::ReadUnlock
            | Action::WriteUnlock
            | Action::CountDown
            | Action::CountLast
            | Action::SenderDrop
            | Action::ReceiverDrop
            | Action::Begin
            | Action::Spawn
            | Action::Join
            | Action::Reacquire { .. }
    )
}

#[cfg(test)]
mod tests;
