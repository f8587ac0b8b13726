//! What executions have found out about which memory is shared, and how it is handed on: to another program of this process, or to another process.

use super::address_map::{Places, WatchedPlaces};
use super::execution::Execution;
use super::memory_troubles::Owner;
use super::program::CoroutineProgram;
use super::{image, shared_stacks, surroundings};
use crate::program::End;

/// What executions have found out about which memory is shared.
#[derive(Clone, Debug, Default)]
pub struct Promoted {
    /// Places where accesses are scheduling points.
    pub(super) places: Places,
    pub(super) stacks: shared_stacks::SharedStacks,
    /// Places where it matters who has called the function that they are in.
    pub(super) watched: WatchedPlaces,
    /// The times of writes of atomic variables matter.
    pub(super) keeps_writes: bool,
}

impl Execution {
    /// The execution is given up and the search begins anew, if it has shown something new. Whether it has.
    pub(super) fn begins_anew(&mut self, is_news: bool) -> bool {
        if is_news {
            self.promotion = true;
            self.stop(End::GivenUp);
        }
        is_news
    }
}

impl CoroutineProgram {
    /// What the executions have found out about which memory is shared, to be handed to another program of the same
    /// process (a replay).
    #[must_use]
    pub fn promoted(&self) -> Promoted {
        self.running.with(|e| Promoted {
            places: e.promoted.clone(),
            stacks: e.shared_stacks.clone(),
            watched: e.memory_notes.watched.clone(),
            keeps_writes: e.mixed.keeps_writes,
        })
    }

    /// The places that have been made scheduling points, as another process of the same binary knows them, for [`Schedule::points`](crate::trace::Schedule::points).
    #[must_use]
    pub fn promoted_points(&self) -> Vec<u64> {
        self.running.with(|e| e.promoted_points())
    }

    /// Takes over promoted places from another process of the same binary.
    pub fn promote_points(&mut self, points: &[u64]) {
        self.running.with(|e| e.promote_points(points));
    }

    /// What the executions have found out, as another process of the same binary can read it.
    #[must_use]
    pub fn promoted_text(&self) -> String {
        let line = |mut numbers: Vec<u64>| {
            numbers.sort_unstable();
            numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")
        };
        self.running.with(|e| {
            let points = e.promoted.iter().map(|&place| image::relative(place) as u64);
            let points = points.chain(e.shared_stacks.to_points());
            let watched = |own: bool| {
                let is_own = |place: &usize| e.memory_notes.owners.get(place) == Some(&Owner::Own);
                let places = e.memory_notes.watched.iter().filter(|place| is_own(place) == own);
                line(places.map(|place| image::relative(place) as u64).collect())
            };
            let writes = u8::from(e.mixed.keeps_writes);
            format!("{}\n{}\n{writes}\n{}\n", line(points.collect()), watched(false), watched(true))
        })
    }

    /// Takes over what another process of the same binary has found out; what is no such text is passed over.
    pub fn take_over_text(&mut self, text: &str) {
        let mut lines = text.lines();
        let mut numbers = || -> Vec<u64> {
            lines.next().unwrap_or("").split(' ').filter_map(|word| word.parse().ok()).collect()
        };
        let (points, watched, writes, own) = (numbers(), numbers(), numbers(), numbers());
        self.promote_points(&points);
        let places = |numbers: Vec<u64>| numbers.into_iter().map(|place| image::absolute(place as usize));
        self.running.with(|e| {
            for place in places(watched) {
                e.memory_notes.watched.insert(place);
            }
            // Whose they are takes long to look up.
            for place in places(own) {
                e.memory_notes.watched.insert(place);
                e.memory_notes.owners.insert(place, Owner::Own);
            }
            e.mixed.keeps_writes |= writes == [1];
        });
    }

    /// Takes over what another program has found out.
    pub fn set_promoted(&mut self, promoted: Promoted) {
        self.running.with(|e| {
            (e.promoted, e.shared_stacks) = (promoted.places, promoted.stacks);
            e.memory_notes.watched = promoted.watched;
            e.mixed.keeps_writes = promoted.keeps_writes;
            surroundings::note_promoted(&e.promoted);
        });
    }
}
