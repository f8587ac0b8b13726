//! Dining philosophers who eat again and again: a cyclic state space, with a symmetry (around the table), and a deadlock
//! if all take the left fork first.

use icb_core::model::Model;

/// The table.
#[derive(Clone, Copy, Debug)]
pub struct Philosophers {
    /// How many.
    pub count: usize,
    /// The last one takes the right fork first.
    pub ordered: bool,
}

/// Where each philosopher stands: 0 thinks, 1 has the first fork, 2 eats, 3 has put down the first.
type Places = Vec<u8>;

impl Philosophers {
    /// The philosopher's first and second fork.
    fn forks(self, philosopher: usize) -> [usize; 2] {
        let right = (philosopher + 1) % self.count;
        if self.ordered && philosopher + 1 == self.count {
            [right, philosopher]
        } else {
            [philosopher, right]
        }
    }

    fn holds(self, places: &Places, philosopher: usize, fork: usize) -> bool {
        let [first, second] = self.forks(philosopher);
        let place = places[philosopher];
        (fork == first && matches!(place, 1 | 2)) || (fork == second && matches!(place, 2 | 3))
    }

    fn is_free(self, places: &Places, fork: usize) -> bool {
        !(0..self.count).any(|philosopher| self.holds(places, philosopher, fork))
    }
}

impl Model for Philosophers {
    type State = Places;

    fn initial_states(&self) -> Vec<Places> {
        vec![vec![0; self.count]]
    }

    fn thread_count(&self, _: &Places) -> usize {
        self.count
    }

    fn is_enabled(&self, places: &Places, thread: usize) -> bool {
        match places[thread] {
            place @ (0 | 1) => self.is_free(places, self.forks(thread)[usize::from(place)]),
            _ => true,
        }
    }

    fn has_ended(&self, _: &Places, _: usize) -> bool {
        false
    }

    fn step(&self, places: &mut Places, thread: usize, _: u32) -> Result<(), String> {
        places[thread] = (places[thread] + 1) % 4;
        Ok(())
    }

    fn may_block(&self, places: &Places, thread: usize) -> bool {
        places[thread] < 2
    }

    fn words(&self, places: &Places, thread: usize) -> String {
        let [first, second] = self.forks(thread);
        match places[thread] {
            0 => format!("take fork {first}"),
            1 => format!("take fork {second}"),
            2 => format!("put down fork {first}"),
            _ => format!("put down fork {second}"),
        }
    }

    fn heap_bytes(&self, places: &Places) -> usize {
        places.capacity()
    }

    /// Unless one of them is special, it does not matter who sits where: the smallest rotation.
    fn canonical(&self, places: &Places, thread: usize) -> Option<(Places, usize)> {
        if self.ordered {
            return None;
        }
        let rotated = |by: usize| (0..self.count).map(move |i| places[(i + by) % self.count]);
        let by = (0..self.count).min_by(|&a, &b| rotated(a).cmp(rotated(b)))?;
        Some((rotated(by).collect(), (thread + self.count - by) % self.count))
    }
}
