//! Happens-before between threads: what each thread has seen of the others.
//!
//! Follows C11/C++20 (as Rust adopts it): a release store heads a release sequence that read-modify-writes of any
//! ordering continue and any other store ends; an acquire load that reads from the sequence joins its clock;
//! fences work through relaxed accesses; a relaxed access by itself orders nothing. SeqCst accesses are acquire
//! and release; their total order is the order of execution. Not modelled: consume. Which values can be read besides the
//! latest one is for `history` to say.

use crate::clock::{INLINE, VectorClock};
use crate::trace::Ordering;

/// What one thread has seen.
#[derive(Debug, Default)]
pub struct ThreadClock {
    /// Its clock. Its own entry advances at each release, so that what comes after a release is told apart from
    /// what comes before it.
    pub clock: VectorClock,
    /// What its relaxed reads have met; an acquire fence joins it.
    unfenced: VectorClock,
    has_unfenced: bool,
    /// Its clock at the last release fence; relaxed stores publish it.
    fence: VectorClock,
    has_fence: bool,
}

impl ThreadClock {
    /// A thread that begins with what `parent` has seen.
    #[inline]
    pub fn begin(&mut self, thread: usize, parent: Option<&VectorClock>) {
        match parent {
            Some(parent) => self.clock.clone_from(parent),
            None => self.clock.clear(),
        }
        self.clock.tick(thread);
        self.has_unfenced = false;
        self.has_fence = false;
    }

    /// [`begin`](Self::begin) and the spawn that `parent` goes on from, if that takes no more than a copy of few threads; else
    /// nothing is done.
    #[inline(always)]
    pub fn begin_shortly(&mut self, thread: usize, spawner: usize, parent: &mut ThreadClock) -> bool {
        let few = thread < INLINE && parent.clock.publish_few(spawner, &mut self.clock);
        if few {
            self.clock.tick_inline(thread);
            self.has_unfenced = false;
            self.has_fence = false;
        }
        few
    }

    /// Publishes into `target`, replacing what it held, and advances.
    #[inline]
    pub fn release_into(&mut self, thread: usize, target: &mut VectorClock) {
        target.clone_from(&self.clock);
        self.clock.tick(thread);
    }

    /// Publishes into `target`, in addition to what it holds, and advances.
    #[inline]
    pub fn release_join(&mut self, thread: usize, target: &mut VectorClock) {
        target.join(&self.clock);
        self.clock.tick(thread);
    }

    /// Joins what was published.
    #[inline]
    pub fn acquire(&mut self, source: &VectorClock) {
        self.clock.join(source);
    }

    /// A relaxed read-modify-write, whose release sequence has published `target`.
    #[inline]
    pub fn update_relaxed(&mut self, target: &mut VectorClock) {
        self.meet(target);
        if self.has_fence {
            target.join(&self.fence);
        }
    }

    /// An atomic load.
    #[inline]
    pub fn load(&mut self, sync: &AtomicClock, order: Ordering) {
        if !sync.published {
            return;
        }
        if order.acquires() {
            self.clock.join(&sync.clock);
        } else {
            self.meet(&sync.clock);
        }
    }

    /// [`load`](Self::load), if that takes no more than a join of few threads; else nothing is done.
    #[inline(always)]
    pub fn load_shortly(&mut self, sync: &AtomicClock, order: Ordering) -> bool {
        !sync.published || (order.acquires() && self.clock.join_few(&sync.clock))
    }

    /// [`load`](Self::load) and [`continue_sequence`](Self::continue_sequence), if that takes no more than joins of few threads;
    /// else nothing is done that would not be done then.
    #[inline(always)]
    pub fn modify_shortly(&mut self, thread: usize, sync: &mut AtomicClock, order: Ordering) -> bool {
        // Who acquires has seen all that was published: what is published then is what has been seen.
        if !order.releases() || self.has_fence || (sync.published && !order.acquires()) {
            return false;
        }
        if sync.published && !self.clock.join_few(&sync.clock) {
            return false;
        }
        let few = self.clock.publish_few(thread, &mut sync.clock);
        sync.published |= few;
        few
    }

    /// [`store`](Self::store), if that takes no more than a copy of few threads; else nothing is done.
    #[inline(always)]
    pub fn store_shortly(&mut self, thread: usize, sync: &mut AtomicClock, order: Ordering) -> bool {
        if !order.releases() {
            sync.published &= self.has_fence;
            return !self.has_fence;
        }
        let few = self.clock.publish_few(thread, &mut sync.clock);
        sync.published |= few;
        few
    }

    /// A relaxed read of what was published.
    #[cold]
    pub fn meet(&mut self, clock: &VectorClock) {
        if !self.has_unfenced {
            self.unfenced.clear();
            self.has_unfenced = true;
        }
        self.unfenced.join(clock);
    }

    /// Whether a store with this ordering publishes anything.
    #[must_use]
    pub fn publishes(&self, order: Ordering) -> bool {
        order.releases() || self.has_fence
    }

    /// An atomic store: begins a new release sequence or ends the old one.
    #[inline]
    pub fn store(&mut self, thread: usize, sync: &mut AtomicClock, order: Ordering) {
        if order.releases() {
            self.release_into(thread, &mut sync.clock);
            sync.published = true;
        } else if self.has_fence {
            sync.clock.clone_from(&self.fence);
            sync.published = true;
        } else {
            sync.published = false;
        }
    }

    /// The write half of a read-modify-write: continues the release sequence.
    #[inline]
    pub fn continue_sequence(&mut self, thread: usize, sync: &mut AtomicClock, order: Ordering) {
        if order.releases() || self.has_fence {
            if !sync.published {
                sync.clock.clear();
                sync.published = true;
            }
            if order.releases() {
                self.release_join(thread, &mut sync.clock);
            } else {
                sync.clock.join(&self.fence);
            }
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: usize, order: Ordering) {
        if order.acquires() && self.has_unfenced {
            self.clock.join(&self.unfenced);
        }
        if order.releases() {
            self.fence.clone_from(&self.clock);
            self.has_fence = true;
            self.clock.tick(thread);
        }
    }

    /// What happens before its latest release fence.
    #[must_use]
    pub fn before_fence(&self) -> &VectorClock {
        &self.fence
    }
}

/// What an atomic variable's current value was released with.
#[derive(Clone, Debug, Default)]
pub struct AtomicClock {
    clock: VectorClock,
    published: bool,
}

impl AtomicClock {
    /// A variable that nobody has written.
    #[inline]
    pub fn clear(&mut self) {
        self.published = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    /// Runs steps of three threads on two variables and says whether thread 0's beginning is seen by thread 2.
    struct World {
        threads: [ThreadClock; 3],
        variables: [AtomicClock; 2],
    }

    impl World {
        fn new() -> Self {
            let mut world = World {
                threads: Default::default(),
                variables: [AtomicClock::default(), AtomicClock::default()],
            };
            for (index, thread) in world.threads.iter_mut().enumerate() {
                thread.begin(index, None);
            }
            world
        }
        fn store(&mut self, t: usize, v: usize, order: Ordering) {
            self.threads[t].store(t, &mut self.variables[v], order);
        }
        fn load(&mut self, t: usize, v: usize, order: Ordering) {
            self.threads[t].load(&self.variables[v], order);
        }
        fn rmw(&mut self, t: usize, v: usize, order: Ordering) {
            self.threads[t].load(&self.variables[v], order);
            self.threads[t].continue_sequence(t, &mut self.variables[v], order);
        }
        fn sees(&self, t: usize, of: usize) -> bool {
            self.threads[t].clock.get(of) >= 1
        }
    }

    #[test]
    fn message_passing_needs_release_and_acquire() {
        for (store, load, ordered) in [
            (Release, Acquire, true),
            (SeqCst, SeqCst, true),
            (Release, Relaxed, false),
            (Relaxed, Acquire, false),
            (Relaxed, Relaxed, false),
        ] {
            let mut world = World::new();
            world.store(0, 0, store);
            world.load(2, 0, load);
            assert_eq!(world.sees(2, 0), ordered, "{store:?} {load:?}");
        }
    }

    #[test]
    fn release_sequences_go_on_through_read_modify_writes_only() {
        let mut world = World::new();
        world.store(0, 0, Release);
        world.rmw(1, 0, Relaxed);
        world.load(2, 0, Acquire);
        assert!(world.sees(2, 0) && !world.sees(2, 1));

        let mut world = World::new();
        world.store(0, 0, Release);
        world.store(1, 0, Relaxed);
        world.load(2, 0, Acquire);
        assert!(!world.sees(2, 0));

        let mut world = World::new();
        world.store(0, 0, Release);
        world.rmw(1, 0, AcqRel);
        world.load(2, 0, Acquire);
        assert!(world.sees(2, 0) && world.sees(2, 1));
    }

    #[test]
    fn fences_work_through_relaxed_accesses() {
        let mut world = World::new();
        world.threads[0].fence(0, Release);
        world.store(0, 0, Relaxed);
        world.load(2, 0, Relaxed);
        assert!(!world.sees(2, 0));
        world.threads[2].fence(2, Acquire);
        assert!(world.sees(2, 0));

        let mut world = World::new();
        world.store(0, 0, Relaxed);
        world.threads[0].fence(0, Release);
        world.load(2, 0, Relaxed);
        world.threads[2].fence(2, SeqCst);
        assert!(!world.sees(2, 0), "the fence comes after the store");
    }

    #[test]
    fn what_follows_a_release_is_not_published_by_it() {
        let mut world = World::new();
        world.store(0, 0, Release);
        let after = world.threads[0].clock.epoch(0);
        world.load(2, 0, Acquire);
        assert!(!after.happens_before(&world.threads[2].clock));
    }
}
