//! The nodes of the search: one for each step of the current execution, with what is left to do there.

use super::events::Event;
use super::footprint::Footprint;
use super::pending::Pending;
use crate::program::ThreadSet;
use crate::trace::Mode;

/// A thread that need not run while nothing conflicts with its footprint: that is covered by an execution already run.
///
/// Objects have the number of their first use. One that was first used after the node where the thread went to sleep
/// has other numbers in other executions, so that any object that is new since then may be it.
#[derive(Clone, Debug, Default)]
pub(super) struct Sleeper {
    pub(super) thread: usize,
    /// Objects known where the thread went to sleep.
    pub(super) footprint: Footprint,
    /// Number of objects known there.
    pub(super) object_count: usize,
    /// How it touches others, if it does; `Write` if in several ways.
    pub(super) new: Option<Mode>,
    /// It is its going on early that is covered.
    pub(super) early: bool,
}

impl Sleeper {
    pub(super) fn new(thread: usize, footprint: &Footprint, object_count: usize, early: bool) -> Self {
        let new = footprint.mode_of_new(object_count);
        Sleeper { thread, footprint: footprint.below(object_count), object_count, new, early }
    }

    pub(super) fn copy_from(&mut self, other: &Sleeper) {
        self.thread = other.thread;
        self.footprint.copy_from(&other.footprint);
        self.object_count = other.object_count;
        self.new = other.new;
        self.early = other.early;
    }

    pub(super) fn conflicts(&self, other: &Footprint) -> bool {
        self.footprint.conflicts(other)
            || self.new.is_some_and(|mine| {
                let theirs = other.mode_of_new(self.object_count);
                theirs.is_some_and(|theirs| mine != theirs || mine == Mode::Write)
            })
    }

    /// Whether both touch some object.
    pub(super) fn meets(&self, other: &Footprint) -> bool {
        (self.new.is_some() && other.object_count() > self.object_count) || self.footprint.meets(other)
    }
}

/// An outcome chosen inside the node's step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Branch {
    pub(super) chosen: u32,
    pub(super) count: u32,
    pub(super) costly: bool,
    pub(super) place: u64,
}

/// The state before a step, and what is to be tried there.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) enabled: ThreadSet,
    /// Threads that could go on early, at a cost.
    pub(super) early: ThreadSet,
    /// Objects known here are numbered below this.
    pub(super) object_count: usize,
    /// Only waits whose time may be over can go on.
    pub(super) freed: bool,
    /// Nobody could go on of their own accord: who is enabled is let on, and would not be if somebody had gone on early before.
    pub(super) let_on: bool,
    pub(super) previous: Option<usize>,
    pub(super) previous_yielded: bool,
    /// The thread that ran before is blocked here: what it wants to touch.
    pub(super) previous_blocked: bool,
    pub(super) previous_pending: Footprint,
    /// Preemptions and the like of the steps before.
    pub(super) cost: u32,
    pub(super) todo: ThreadSet,
    pub(super) done: ThreadSet,
    /// Members of `done` that were not run because they slept.
    pub(super) slept: ThreadSet,
    pub(super) sleep: Vec<Sleeper>,
    /// So many of them slept already when the node was made.
    pub(super) inherited_count: usize,
    pub(super) chosen: usize,
    pub(super) place: u64,
    /// Number of its step.
    pub(super) number: u64,
    /// Its decisions start here in the script.
    pub(super) script: usize,
    pub(super) branches: Vec<Branch>,
    /// What the chosen thread's step touches, over all its outcomes.
    pub(super) step: Footprint,
    /// What its uninterrupted run from here touches, over all outcomes of the steps in it.
    pub(super) block: Footprint,
    /// Right after its step the chosen thread could not go on at once: it was blocked, had ended or had yielded.
    pub(super) stops: bool,
    /// With another outcome of its step it could.
    pub(super) has_gone_on: bool,
    /// The bound allows nothing here but that the thread that ran before goes on.
    pub(super) spent: bool,
}

impl Node {
    /// Makes the slot a new node.
    pub(super) fn reset(&mut self) {
        self.todo.clear();
        self.done.clear();
        self.slept.clear();
        self.branches.clear();
        self.step.clear();
        self.block.clear();
        self.stops = false;
        self.has_gone_on = false;
        self.previous_pending.clear();
    }

    /// The node's chosen thread is about to be another one, or the same with other outcomes.
    pub(super) fn choose(&mut self, thread: usize) {
        self.chosen = thread;
        self.todo.insert(thread);
        self.branches.clear();
        self.step.clear();
        self.block.clear();
        self.stops = false;
        self.has_gone_on = false;
    }

    /// Who sleeps after the parent's step sleeps here, but for those whom the step wakes.
    #[inline]
    pub(super) fn inherit(&mut self, parent: &Node, event: &Event, bounded: bool, pending: &Pending) {
        if parent.sleep.is_empty() {
            if !self.sleep.is_empty() {
                self.sleep.clear();
            }
        } else {
            self.inherit_some(parent, event, bounded, pending);
        }
    }

    /// Whether the node's step, which is this event, wakes everybody who sleeps there, and nobody of them sleeps with its going on early.
    #[inline]
    pub(super) fn wakes_all(&self, event: &Event, bounded: bool, pending: &Pending) -> bool {
        (0..self.sleep.len())
            .all(|position| !self.sleep[position].early && self.wakes(position, event, bounded, pending))
    }

    /// Whether somebody who sleeps with its going on early before this node sleeps here no more.
    #[inline]
    pub(super) fn has_woken_early(&self, parent: &Node) -> bool {
        let sleeps =
            |thread: usize| self.sleep.iter().any(|sleeper| sleeper.early && sleeper.thread == thread);
        parent.sleep.iter().any(|sleeper| sleeper.early && !sleeps(sleeper.thread))
    }

    /// Whether the node's step, which is this event, wakes the sleeper at this position.
    fn wakes(&self, position: usize, event: &Event, bounded: bool, pending: &Pending) -> bool {
        let sleeper = &self.sleep[position];
        let blocked = bounded && self.previous_blocked && self.previous != Some(self.chosen);
        // A step that goes on early is possible only while somebody else could go on: what was done before it in the
        // covering execution may have made it impossible.
        (self.is_early(self.chosen) && !self.somebody_stays(sleeper, pending))
            || sleeper.thread == self.chosen
            || (event.counts_down && sleeper.meets(&event.footprint))
            || sleeper.conflicts(&event.footprint)
            || (blocked && position < self.inherited_count && sleeper.conflicts(&self.previous_pending))
    }

    /// Whether somebody else than who has been chosen could still go on here after what the sleeper does.
    fn somebody_stays(&self, sleeper: &Sleeper, pending: &Pending) -> bool {
        let stays = |thread: usize| {
            thread != self.chosen
                && thread != sleeper.thread
                && !sleeper.conflicts(&pending.footprint(thread))
        };
        !self.freed && self.enabled.iter().any(stays)
    }

    fn inherit_some(&mut self, parent: &Node, event: &Event, bounded: bool, pending: &Pending) {
        let mut used = 0;
        for (position, sleeper) in parent.sleep.iter().enumerate() {
            let has_changed = sleeper.early && !self.is_early(sleeper.thread);
            if has_changed || parent.wakes(position, event, bounded, pending) {
                continue;
            }
            if used == self.sleep.len() {
                self.sleep.push(Sleeper::default());
            }
            self.sleep[used].copy_from(sleeper);
            used += 1;
        }
        self.sleep.truncate(used);
    }

    /// Whether the bound, which is this, allows nothing here but that the thread that ran before goes on.
    pub(super) fn is_spent(&self, budget: Option<u32>) -> bool {
        let continues = self.previous.is_some_and(|previous| self.enabled.contains(previous));
        budget == Some(self.cost) && continues && !self.previous_yielded
    }

    /// Everybody is to be tried here.
    pub(super) fn add_all(&mut self) {
        let Node { enabled, todo, .. } = self;
        enabled.iter().for_each(|thread| todo.insert(thread));
    }

    /// Whether everybody is to be tried here anyway.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.enabled.is_within(&self.todo)
    }

    /// Whether nothing but what was chosen was ever to be tried here.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.branches.is_empty() && self.todo.is_only(self.chosen)
    }

    /// Whether the thread that ran before goes on here, with a step that costs nothing whatever its outcome.
    #[inline]
    pub(super) fn goes_on_plainly(&self) -> bool {
        self.previous == Some(self.chosen) && self.early.is_empty() && self.branches.is_empty()
    }

    /// Whether somebody is still to be tried after the choice.
    pub(super) fn has_left(&self) -> bool {
        self.todo.iter().any(|thread| thread != self.chosen && !self.done.contains(thread))
    }

    /// What it costs to let the thread run here.
    #[inline(always)]
    pub(super) fn switch_cost(&self, thread: usize) -> u32 {
        if self.previous == Some(thread) && self.early.is_empty() {
            return 0;
        }
        self.cost_of_another(thread)
    }

    #[inline(never)]
    fn cost_of_another(&self, thread: usize) -> u32 {
        let preempts = self.previous.is_some_and(|previous| {
            previous != thread && !self.previous_yielded && self.enabled.contains(previous)
        });
        u32::from(preempts) + u32::from(self.is_early(thread))
    }

    #[inline]
    pub(super) fn is_early(&self, thread: usize) -> bool {
        self.early.contains(thread) && !self.enabled.contains(thread)
    }

    /// What the outcomes chosen inside the step cost.
    pub(super) fn branch_cost(&self) -> u32 {
        self.branches.iter().filter(|branch| branch.costly && branch.chosen != 0).count() as u32
    }

    /// Whether the thread sleeps here because of what was run elsewhere.
    pub(super) fn inherited(&self, thread: usize) -> bool {
        let sleeps = self.sleep.iter().any(|sleeper| sleeper.thread == thread);
        sleeps && (!self.done.contains(thread) || self.slept.contains(thread))
    }

    /// Sleeping threads are not run, except where the thread before is blocked on something that the sleeper would
    /// release: its blocking gave a free switch that the covering execution did not have.
    pub(super) fn is_asleep(&self, thread: usize, bounded: bool) -> bool {
        let is_it = |sleeper: &&Sleeper| sleeper.thread == thread && sleeper.early == self.is_early(thread);
        let Some(sleeper) = self.sleep.iter().find(is_it) else { return false };
        !(bounded && self.previous_blocked && sleeper.conflicts(&self.previous_pending))
    }
}
