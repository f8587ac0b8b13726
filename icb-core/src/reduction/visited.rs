//! Iterative context bounding with a table: Algorithm 1 of Musuvathi and Qadeer, *Iterative Context Bounding for Systematic
//! Testing of Multithreaded Programs*, PLDI 2007, whose table holds pairs of a state and the thread that runs there.
//!
//! A state is the dependence order of what has been done (MSR-TR-2007-12, §3.3), of which the future is a function; it is
//! kept as a fingerprint of 128 bits: two different ones of n are taken for one with a probability of about n²/2¹²⁹. The bounds are
//! searched one after the other, so a pair is met first where it costs least: each is executed once, over all bounds, and
//! the bound at which a state is first met is its context bound exactly (Algorithms 1 and 2 of the report compute the
//! same numbers). Nothing is left out but what is known to have been done, so this serves to check the reductions that
//! keep no table, and to count states. Its memory grows with their number.
//!
//! Where the paper keeps states it keeps the choices that lead to them, as a tree, and runs them again.

use crate::dependence::{DependenceHash, ThreadHash, fingerprint};
use crate::program::{
    BranchPoint, Chooser, LetOn, Outcome, SchedulingPoint, Strategy, Taken, divergence_message,
};
use crate::trace::{Access, Mode, ObjectId, ThreadId};
use std::collections::HashSet;

/// A choice, and the one before it.
#[derive(Clone, Copy, Debug)]
struct Choice {
    before: u32,
    /// The thread, or the outcome inside a step.
    option: u32,
}

/// The root of the tree of choices.
const START: u32 = u32::MAX;

/// Something to be run: a choice, and everything before it.
#[derive(Clone, Copy, Debug)]
struct Item {
    choice: u32,
    /// The pair that it is, if that has to be run only where nobody else has done so meanwhile.
    pair: Option<u128>,
}

/// The search.
#[derive(Debug)]
pub struct Visited {
    /// `None`: until nothing is left.
    max_bound: Option<u32>,
    bound: u32,
    /// The first bound that is asked for.
    first: u32,
    /// It, or the bound at which everything has begun anew: those below it are searched as a part of it.
    begun_anew_at: u32,
    /// Threads wait for each other in loops, and somebody is let on. Which one that is depends on the order in which threads were
    /// spawned and let on before: states are told apart by it, before they are looked up.
    lets_on: bool,
    /// That has only just been seen: everything begins anew.
    anew: bool,
    tree: Vec<Choice>,
    /// To be run at this bound, the newest first.
    current: Vec<Item>,
    /// To be run at the bounds after it.
    later: Vec<Vec<Item>>,
    /// Pairs of a state and a thread that have been run, or are in `current`.
    pairs: HashSet<u128>,
    states: HashSet<u128>,
    /// States whose context bound is the bound of this index.
    state_counts: Vec<u64>,
    started: bool,
    /// The last bound has left something out.
    cut: bool,
    // The running execution.
    script: Vec<u32>,
    cursor: usize,
    at: u32,
    state: DependenceHash,
    object_count: usize,
    spawn_counts: Vec<u64>,
    /// By thread, the same in all executions: threads are numbered in the order in which they are spawned, which may be another one
    /// where the state is the same.
    names: Vec<ThreadHash>,
    previous: Option<usize>,
    /// By thread the steps that it has taken.
    step_counts: Vec<u64>,
    /// Which steps were those of somebody who was let on. How often and when that was decides when a thread is taken to wait again.
    let_on_steps: u64,
    /// Outcomes chosen inside the step, and whether it goes on early: they tell apart what accesses do not.
    tag: u64,
    /// A thread has been chosen and has not taken its step yet.
    is_in_step: bool,
    divergence: Option<String>,
}

impl Visited {
    /// A search of the bounds 0 to `max_bound`; `None`: of everything.
    #[must_use]
    pub fn new(max_bound: Option<u32>) -> Self {
        Visited {
            max_bound,
            bound: 0,
            first: 0,
            begun_anew_at: 0,
            lets_on: false,
            anew: false,
            tree: Vec::new(),
            current: Vec::new(),
            later: Vec::new(),
            pairs: HashSet::new(),
            states: HashSet::new(),
            state_counts: vec![0],
            started: false,
            cut: false,
            script: Vec::new(),
            cursor: 0,
            at: START,
            state: DependenceHash::default(),
            object_count: 0,
            spawn_counts: Vec::new(),
            names: Vec::new(),
            previous: None,
            step_counts: Vec::new(),
            let_on_steps: 0,
            tag: 0,
            is_in_step: false,
            divergence: None,
        }
    }

    /// Begins at the bound: those below it are searched as a part of it, since each pair is to be met first where it costs least.
    #[must_use]
    pub fn from_bound(mut self, bound: u32) -> Self {
        (self.first, self.begun_anew_at) = (bound, bound);
        self
    }

    /// States reached with a context bound of exactly 0, 1, 2, …, terminal or not.
    #[must_use]
    pub fn state_counts(&self) -> &[u64] {
        &self.state_counts
    }

    fn add(&mut self, option: u32) -> u32 {
        let choice = u32::try_from(self.tree.len()).expect("fewer than 2³² choices fit into memory");
        self.tree.push(Choice { before: self.at, option });
        choice
    }

    /// Keeps a choice for the bound that can afford it.
    fn keep(&mut self, option: u32, cost: u32, pair: Option<u128>) {
        if self.max_bound.is_some_and(|max| self.bound + cost > max) {
            self.cut = true;
            return;
        }
        let item = Item { choice: self.add(option), pair };
        let Some(ahead) = (cost as usize).checked_sub(1) else { return self.current.push(item) };
        if self.later.len() <= ahead {
            self.later.resize_with(ahead + 1, Vec::new);
        }
        self.later[ahead].push(item);
    }

    /// The choices that lead to an item.
    fn read_script(&mut self, item: Item) {
        self.script.clear();
        let mut at = item.choice;
        while at != START {
            let choice = self.tree[at as usize];
            self.script.push(choice.option);
            at = choice.before;
        }
        self.script.reverse();
        self.at = item.choice;
    }

    /// The thread of the step before has spawned those that are new; all others exist from the start.
    fn introduce(&mut self, thread_count: usize) {
        while self.names.len() < thread_count {
            let index = match self.previous {
                Some(parent) => self.spawn_counts[parent],
                None => self.names.len() as u64,
            };
            self.state.thread(self.previous, index);
            let parent = self.previous.map(|parent| self.names[parent]);
            self.names.push(ThreadHash::begin(parent, index));
            if let Some(parent) = self.previous {
                self.spawn_counts[parent] += 1;
            }
            self.spawn_counts.push(0);
            self.step_counts.push(0);
        }
    }

    fn know(&mut self, object: ObjectId) {
        while self.object_count <= object.index() {
            self.state.object();
            self.object_count += 1;
        }
    }

    /// The thread that took the last step has done this too.
    fn add_part(&mut self, access: Access, tag: u64) {
        let Some(thread) = self.previous else { return };
        self.know(access.object);
        self.state.step_many(thread, &[access], tag);
    }

    /// A state that is met for the first time in this execution: everything that has not been run from it is kept, but for
    /// one thread that goes on at once.
    fn visit(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        let state = self.state.fingerprint();
        if self.states.insert(state) {
            self.state_counts[self.bound as usize] += 1;
        }
        let state = self.told_apart(state, point.let_on);
        let default = point.default_choice();
        let mut chosen = None;
        let others = point.enabled.iter().chain(point.worth_letting_on()).filter(|&t| t != default.index());
        for thread in std::iter::once(default.index()).chain(others) {
            let cost = point.cost(ThreadId::new(thread));
            let pair = pair(state, self.names[thread]);
            if self.pairs.contains(&pair) {
                continue;
            }
            if cost > 0 {
                self.keep(thread as u32, cost, Some(pair));
                continue;
            }
            self.pairs.insert(pair);
            if chosen.is_none() {
                chosen = Some(thread);
            } else {
                self.keep(thread as u32, 0, None);
            }
        }
        let thread = chosen?;
        self.at = self.add(thread as u32);
        Some(ThreadId::new(thread))
    }

    /// The state as it is looked up.
    fn told_apart(&mut self, state: u128, let_on: LetOn) -> u128 {
        let is_let_on = let_on != LetOn::default();
        self.anew |= is_let_on && !self.lets_on;
        self.lets_on |= is_let_on;
        if !self.lets_on {
            return state;
        }
        let thread = let_on.thread.map_or(0, |thread| thread.index() as u128 + 1);
        let history = u128::from(let_on.history) << 64 | u128::from(self.let_on_steps);
        let names = self.names.iter().fold(history ^ thread << 96, |all, &name| pair(all, name));
        pair(state ^ names, ThreadHash::begin(None, 0))
    }

    /// The thread's next step is that of somebody who was let on.
    fn note_let_on(&mut self, thread: usize) {
        let step = fingerprint(std::iter::once(ThreadHash::begin(
            Some(self.names[thread]),
            self.step_counts[thread],
        )));
        self.let_on_steps = self.let_on_steps.wrapping_add(step as u64);
    }

    fn scripted(&mut self) -> Option<u32> {
        let option = self.script.get(self.cursor).copied();
        self.cursor += 1;
        option
    }

    fn diverge(&mut self, step: u64) {
        self.divergence.get_or_insert_with(|| divergence_message(step));
    }
}

/// A state, and the thread of this name that runs there.
fn pair(state: u128, thread: ThreadHash) -> u128 {
    const KEY: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let thread = fingerprint(std::iter::once(thread));
    (state ^ thread.wrapping_mul(KEY)).wrapping_mul(KEY | 1).rotate_left(61)
}

impl Chooser for Visited {
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId> {
        self.introduce(point.pending.len());
        let chosen = match self.scripted() {
            Some(thread) => {
                let thread = thread as usize;
                if !point.enabled.contains(thread) && !point.early.contains(thread) {
                    self.diverge(point.step);
                    return None;
                }
                Some(ThreadId::new(thread))
            }
            None => self.visit(point),
        };
        self.tag = chosen.map_or(0, |thread| u64::from(point.is_early(thread)));
        if let Some(thread) = chosen.filter(|&thread| point.let_on.thread == Some(thread)) {
            self.note_let_on(thread.index());
        }
        self.is_in_step = true;
        chosen
    }

    fn choose_branch(&mut self, point: &BranchPoint) -> u32 {
        let chosen = match self.scripted() {
            Some(option) if option < point.count => option,
            Some(_) => {
                self.diverge(0);
                0
            }
            None => {
                for option in 1..point.count {
                    self.keep(option, point.cost(option), None);
                }
                self.at = self.add(0);
                0
            }
        };
        self.tag = self.tag.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(chosen) + 2);
        if !self.is_in_step {
            // The step has been taken: nothing but this tells apart what its thread does next.
            let thread = point.thread.index();
            self.introduce(thread + 1);
            self.state.step_many(thread, &[], std::mem::take(&mut self.tag));
        }
        chosen
    }

    fn wants_every_point(&self) -> bool {
        true
    }

    fn stepped(&mut self, step: &Taken<'_>) {
        step.accesses.iter().for_each(|access| self.know(access.object));
        let thread = step.thread.index();
        self.previous = Some(thread);
        self.step_counts[thread] += 1;
        self.state.step_many(thread, step.accesses, self.tag);
        self.tag = 0;
        self.is_in_step = false;
    }

    fn ended(&mut self, thread: ThreadId, object: ObjectId) {
        self.know(object);
        self.state.step_many(thread.index(), &[Access { object, mode: Mode::Write }], 1);
    }

    fn freed(&mut self, object: ObjectId) {
        self.add_part(Access { object, mode: Mode::Write }, 2);
    }

    fn looked_at(&mut self, object: ObjectId) {
        self.add_part(Access { object, mode: Mode::Read }, 3);
    }

    fn touched(&mut self, access: Access) {
        if !self.is_in_step {
            self.add_part(access, 4);
        }
    }

    fn over(&mut self, point: &SchedulingPoint<'_>, _: Option<ThreadId>) {
        self.introduce(point.pending.len());
        if self.states.insert(self.state.fingerprint()) {
            self.state_counts[self.bound as usize] += 1;
        }
    }

    fn divergence(&self) -> Option<String> {
        self.divergence.clone()
    }
}

impl Strategy for Visited {
    fn begin(&mut self) -> bool {
        if self.anew {
            let begun_anew_at = self.bound();
            let Visited { lets_on, max_bound, first, .. } = *self;
            *self = Visited { lets_on, first, begun_anew_at, ..Visited::new(max_bound) };
        }
        self.cursor = 0;
        self.script.clear();
        self.at = START;
        self.state.clear();
        self.spawn_counts.clear();
        self.names.clear();
        self.object_count = 0;
        self.previous = None;
        self.step_counts.clear();
        self.let_on_steps = 0;
        self.tag = 0;
        self.is_in_step = false;
        if !self.started {
            self.started = true;
            return true;
        }
        loop {
            while let Some(item) = self.current.pop() {
                if item.pair.is_none_or(|pair| self.pairs.insert(pair)) {
                    self.read_script(item);
                    return true;
                }
            }
            if self.bound >= self.begun_anew_at || !self.advance() {
                return false;
            }
        }
    }

    fn end(&mut self, _: &Outcome) {}

    fn bound(&self) -> u32 {
        self.bound.max(self.begun_anew_at)
    }

    fn advance(&mut self) -> bool {
        if self.max_bound.is_some_and(|max| self.bound >= max) || self.later.iter().all(Vec::is_empty) {
            return false;
        }
        self.current = self.later.remove(0);
        self.bound += 1;
        self.state_counts.push(0);
        true
    }

    fn max_bound(&self) -> Option<u32> {
        self.max_bound
    }

    fn is_exhausted(&self) -> bool {
        !self.cut && self.later.iter().all(Vec::is_empty)
    }

    fn progress(&self) -> (u64, Option<f64>) {
        (self.current.len() as u64, None)
    }

    fn restart(&mut self) {
        *self = Visited::new(self.max_bound).from_bound(self.first);
    }

    fn chooser(&mut self) -> &mut dyn Chooser {
        self
    }
}
