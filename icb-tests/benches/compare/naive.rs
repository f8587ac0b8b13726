//! Context bounding as a plug-in of shuttle: what one gets without an engine of one's own. A depth-first search of
//! the executions with at most so many preemptions, each run from its start.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};

/// One scheduling point with more than one affordable choice.
#[derive(Debug)]
struct Level {
    step: usize,
    chosen: TaskId,
    chosen_cost: u32,
    /// Choices not yet tried are at `options[first..]` of the level, up to where the next level's begin.
    first: usize,
}

/// The search. It runs `rounds` times over, so that what shuttle sets up once a run does not count.
#[derive(Debug)]
pub(crate) struct AtMostPreemptions {
    bound: u32,
    rounds: u64,
    levels: Vec<Level>,
    options: Vec<(TaskId, u32)>,
    started: bool,
    step: usize,
    next_level: usize,
    spent: u32,
}

impl AtMostPreemptions {
    /// All executions with at most `bound` preemptions, `rounds` times.
    pub(crate) fn new(bound: u32, rounds: u64) -> Self {
        AtMostPreemptions {
            bound,
            rounds,
            levels: Vec::new(),
            options: Vec::new(),
            started: false,
            step: 0,
            next_level: 0,
            spent: 0,
        }
    }

    /// Takes the deepest choice not yet tried. False: there is none.
    fn backtrack(&mut self) -> bool {
        while let Some(level) = self.levels.last_mut() {
            if self.options.len() > level.first {
                let (task, cost) = self.options.pop().expect("just seen");
                level.chosen = task;
                level.chosen_cost = cost;
                return true;
            }
            self.levels.pop();
        }
        false
    }
}

impl Scheduler for AtMostPreemptions {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.started && !self.backtrack() {
            self.rounds -= 1;
        }
        if self.rounds == 0 {
            return None;
        }
        self.started = true;
        self.step = 0;
        self.next_level = 0;
        self.spent = 0;
        Some(Schedule::new(0))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, yielding: bool) -> Option<TaskId> {
        let step = self.step;
        self.step += 1;
        if let Some(level) = self.levels.get(self.next_level)
            && level.step == step
        {
            self.next_level += 1;
            self.spent += level.chosen_cost;
            return Some(level.chosen);
        }
        let going_on =
            current.filter(|&current| !yielding && runnable.iter().any(|task| task.id() == current));
        let default = going_on.unwrap_or_else(|| runnable[0].id());
        let cost = u32::from(going_on.is_some());
        // Up to the last level the choices are those of an execution before: nothing new is found there.
        if self.next_level == self.levels.len() && runnable.len() > 1 && self.spent + cost <= self.bound {
            let first = self.options.len();
            let others = runnable.iter().rev().map(|task| task.id()).filter(|&id| id != default);
            self.options.extend(others.map(|id| (id, cost)));
            self.levels.push(Level { step, chosen: default, chosen_cost: 0, first });
            self.next_level += 1;
        }
        Some(default)
    }

    fn next_u64(&mut self) -> u64 {
        unreachable!("the programs draw no random numbers")
    }
}
