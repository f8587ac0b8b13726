//! Which object of one execution is which of another: numbers and names depend on the schedule, what each thread does in turn does
//! so less.

use icb_core::trace::table::{action_name, object_names, step_keys};
use icb_core::trace::{Failure, ObjectId, ObjectInfo, Step, ThreadId};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// The objects of the second execution that are those of the first.
pub(super) fn pairs(first: &Failure, second: &Failure, roots: &[PathBuf]) -> HashMap<ObjectId, ObjectId> {
    let mut pairs = Pairs {
        steps: [&first.trace.steps, &second.trace.steps],
        infos: [first, second].map(|failure| infos(failure)),
        of_second: HashMap::new(),
        taken: HashSet::new(),
    };
    let threads = threads(first, second);
    let places = [marks(first), marks(second)];
    pairs.join_statics();
    pairs.join_beginnings(&threads, &places);
    pairs.join_aligned(&threads, &places);
    // Of two versions of a test the places are others.
    let keys =
        [first, second].map(|failure| step_keys(failure, roots).into_iter().map(|(_, key)| key).collect());
    pairs.join_aligned(&threads, &keys);
    pairs.join_namesakes([first, second].map(|failure| object_names(failure, roots)));
    pairs.of_second
}

/// What a thread is called in every execution: by its place in the tree of spawns.
pub(super) fn path(failure: &Failure, thread: ThreadId) -> String {
    let info = failure.trace.threads.iter().find(|info| info.id == thread);
    info.map_or_else(|| thread.to_string(), |info| info.path.clone())
}

fn infos(failure: &Failure) -> HashMap<ObjectId, &ObjectInfo> {
    failure.trace.objects.iter().map(|info| (info.id, info)).collect()
}

/// The positions of the steps of each thread that both executions have.
fn threads(first: &Failure, second: &Failure) -> Vec<[Vec<usize>; 2]> {
    let [first, mut second] = [first, second].map(|failure| {
        let mut own: HashMap<ThreadId, Vec<usize>> = HashMap::new();
        for (position, step) in failure.trace.steps.iter().enumerate() {
            own.entry(step.thread).or_default().push(position);
        }
        let mut by_path: Vec<(String, Vec<usize>)> =
            own.into_iter().map(|(thread, steps)| (path(failure, thread), steps)).collect();
        by_path.sort();
        by_path
    });
    let mut both = Vec::new();
    for (path, steps) in first {
        if let Some(at) = second.iter().position(|(other, _)| *other == path) {
            both.push([steps, second.swap_remove(at).1]);
        }
    }
    both
}

/// What each step does, and where. Whether a drop is the last one depends on the schedule.
fn marks(failure: &Failure) -> Vec<String> {
    let mark = |step: &Step| {
        let action = action_name(step.operation.action).trim_end_matches(" the last");
        let place = step.location.as_ref().map_or(String::new(), ToString::to_string);
        format!("{action} {place}")
    };
    failure.trace.steps.iter().map(mark).collect()
}

/// What is known so far.
struct Pairs<'a> {
    steps: [&'a [Step]; 2],
    infos: [HashMap<ObjectId, &'a ObjectInfo>; 2],
    of_second: HashMap<ObjectId, ObjectId>,
    /// Those of the first that have one.
    taken: HashSet<ObjectId>,
}

impl Pairs<'_> {
    fn can_be_joined(&self, first: ObjectId, second: ObjectId) -> bool {
        let [kind_of_first, kind_of_second] = [(0, first), (1, second)].map(|(side, object)| {
            let info = self.infos[side].get(&object);
            info.map(|info| (info.class, &info.type_name, &info.symbol))
        });
        let are_objects = first.is_some() && second.is_some();
        let are_free = !self.taken.contains(&first) && !self.of_second.contains_key(&second);
        are_objects && are_free && kind_of_first == kind_of_second
    }

    fn join(&mut self, first: ObjectId, second: ObjectId) {
        if self.can_be_joined(first, second) {
            self.taken.insert(first);
            self.of_second.insert(second, first);
        }
    }

    /// Those that two steps are about, if these are the same.
    fn of_steps(&self, [first, second]: [usize; 2]) -> [(ObjectId, ObjectId); 2] {
        let (first, second) = (self.steps[0][first].operation, self.steps[1][second].operation);
        [(first.object, second.object), (first.other, second.other)]
    }

    /// Statics, which have names of their own.
    fn join_statics(&mut self) {
        let statics = |side: usize| {
            let mut named: Vec<ObjectId> =
                self.infos[side].values().filter(|info| info.symbol.is_some()).map(|info| info.id).collect();
            named.sort();
            named
        };
        let (first, second) = (statics(0), statics(1));
        for one in first {
            for &other in &second {
                self.join(one, other);
            }
        }
    }

    /// As long as a thread does the same, and has not read anything else, it does so to the same objects. What comes first in the execution
    /// comes first: it is the most certain.
    fn join_beginnings(&mut self, threads: &[[Vec<usize>; 2]], marks: &[Vec<String>; 2]) {
        let mut same: Vec<[usize; 2]> = Vec::new();
        for [first, second] in threads {
            for (&one, &other) in first.iter().zip(second) {
                if marks[0][one] != marks[1][other] {
                    break;
                }
                same.push([one, other]);
                if self.steps[0][one].read != self.steps[1][other].read {
                    break;
                }
            }
        }
        same.sort_unstable();
        for steps in same {
            for (first, second) in self.of_steps(steps) {
                self.join(first, second);
            }
        }
    }

    /// Those that most steps of the same threads say are the same, where steps with the same mark are set beside each other.
    fn join_aligned(&mut self, threads: &[[Vec<usize>; 2]], marks: &[Vec<String>; 2]) {
        let mut votes: HashMap<(ObjectId, ObjectId), (usize, [usize; 2])> = HashMap::new();
        for positions in threads {
            for steps in aligned(positions, marks) {
                for (first, second) in self.of_steps(steps) {
                    if self.can_be_joined(first, second) {
                        let (count, earliest) = votes.entry((first, second)).or_insert((0, steps));
                        *count += 1;
                        *earliest = steps.min(*earliest);
                    }
                }
            }
        }
        let mut votes: Vec<_> = votes.into_iter().collect();
        votes.sort_by_key(|&(_, (count, earliest))| (std::cmp::Reverse(count), earliest));
        for ((first, second), _) in votes {
            self.join(first, second);
        }
    }

    /// What is left, if it has the same name: what one thread does to an object in one execution, others may do in the other.
    fn join_namesakes(&mut self, [first, second]: [HashMap<ObjectId, String>; 2]) {
        let mut first: Vec<_> = first.into_iter().collect();
        first.sort();
        for (one, name) in first {
            let same = second.iter().filter(|(_, other)| **other == name).map(|(object, _)| *object).min();
            if let Some(other) = same {
                self.join(one, other);
            }
        }
    }
}

/// The steps of a thread that stand beside each other.
fn aligned(positions: &[Vec<usize>; 2], marks: &[Vec<String>; 2]) -> Vec<[usize; 2]> {
    let own =
        |side: usize| -> Vec<&str> { positions[side].iter().map(|&at| marks[side][at].as_str()).collect() };
    let mut beside = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, &own(0), &own(1)) {
        if let DiffOp::Equal { old_index, new_index, len } = operation {
            let both =
                (0..len).map(|offset| [positions[0][old_index + offset], positions[1][new_index + offset]]);
            beside.extend(both);
        }
    }
    beside
}
