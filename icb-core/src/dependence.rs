//! Which operations conflict: the one place that says so.
//!
//! The *dependence order* of an execution is program order plus the order of conflicting operations (same object,
//! not both reads). It serves fingerprints and reductions, and is not happens-before: a relaxed access takes part
//! in it like any other.

use crate::trace::{Access, Action, Mode, Operation};

/// How an operation that has not been performed yet may touch its object, whatever its outcome. The footprint of
/// a performed step can be smaller: a failed `compare_exchange` or `try_lock` only reads.
#[must_use]
#[inline]
pub fn mode(action: Action) -> Option<Mode> {
    match action {
        Action::Load(_)
        | Action::CellRead
        | Action::OnceCheck
        | Action::OnceWait
        | Action::OnceWaitForce
        | Action::IsPoisoned
        | Action::Join
        | Action::Begin
        | Action::CountRead
        | Action::BarrierLeave => Some(Mode::Read),
        Action::ReadLock | Action::ReadUnlock | Action::CountUp | Action::CountDown => Some(Mode::Update),
        Action::Yield
        | Action::SpinLoop
        | Action::Sleep
        | Action::SleepUntil
        | Action::Choose
        | Action::Nop => None,
        _ => Some(Mode::Write),
    }
}

/// The accesses of an operation that has not been performed yet.
///
/// Where loads may read stale values, the total order of SeqCst operations is an object too. SeqCst fences write it (a fence names it as
/// its only object; other fences have none, and touch nothing). SeqCst accesses to variables name it as their other object and read it:
/// what they may read depends on the fences before them, and not on each other, except that a SeqCst load must not read an older value
/// than a SeqCst load of the same variable before it. So these count as writes of their variable.
pub fn accesses(operation: Operation) -> impl Iterator<Item = Access> {
    let Operation { action, object, other } = operation;
    let mode = if is_ordered_load(operation) { Some(Mode::Write) } else { mode(action) };
    let first = mode.filter(|_| object.is_some()).map(|mode| Access { object, mode });
    let second_mode = if is_atomic(action) { Mode::Read } else { Mode::Write };
    let second = other.is_some().then_some(Access { object: other, mode: second_mode });
    first.into_iter().chain(second)
}

/// Calls `see` with each of the [`accesses`] of the operation.
#[inline]
pub fn for_each_access(operation: Operation, mut see: impl FnMut(Access)) {
    if operation.other.is_some() {
        return accesses(operation).for_each(see);
    }
    if let Some(mode) = mode(operation.action).filter(|_| operation.object.is_some()) {
        see(Access { object: operation.object, mode });
    }
}

fn is_atomic(action: Action) -> bool {
    matches!(
        action,
        Action::Load(_) | Action::Store(_) | Action::ReadModifyWrite(_) | Action::CompareExchange { .. }
    )
}

/// A load that is part of the total order of SeqCst operations, where that is an object.
fn is_ordered_load(operation: Operation) -> bool {
    matches!(operation.action, Action::Load(_)) && operation.other.is_some()
}

/// Whether two accesses touch the same object and do not commute.
#[must_use]
pub fn accesses_conflict(a: Access, b: Access) -> bool {
    let commute = a.mode == b.mode && a.mode != Mode::Write;
    a.object == b.object && a.object.is_some() && !commute
}

/// Whether two operations of different threads may not commute: in doubt, yes.
#[must_use]
pub fn conflicts(a: Operation, b: Operation) -> bool {
    accesses(a).any(|x| accesses(b).any(|y| accesses_conflict(x, y)))
}

/// Fingerprint of the dependence order of an execution: each step is hashed with the hash of its predecessor in
/// its thread and with the hashes of the steps it depends on, so that the hash of a thread's last step stands for
/// its whole causal past (a Merkle hash of the happens-before graph; MSR-TR-2007-12, §3.3, hashes the same graph
/// by tuples). Objects enter only through the steps that touched them, so their numbers do not matter.
///
/// Two independent 64-bit lanes: among n executions two different states collide with probability about n²/2¹²⁹.
#[derive(Debug, Default)]
pub struct DependenceHash {
    threads: Vec<ThreadHash>,
    objects: Vec<ObjectHash>,
}

type Lanes = [u64; 2];

/// The hash of a thread's last step.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadHash(Lanes);

/// What the hash of the next step on an object depends on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObjectHash {
    /// What the newest accesses depend on.
    base: Lanes,
    /// Sum over the newest accesses, which commute with each other; their order does not matter.
    newest: Lanes,
    /// How they touch the object. `Write`: there are none since the last write, which `base` is.
    mode: Newest,
}

/// How the newest accesses of an object touch it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Newest {
    #[default]
    Write,
    Read,
    Update,
}

impl ObjectHash {
    /// The next access is of this mode: it depends on everything before, unless it commutes with the newest ones.
    #[inline(always)]
    fn turn(&mut self, mode: Newest) {
        if self.mode != mode || mode == Newest::Write {
            if self.mode != Newest::Write {
                // The sum is one of hashes, so this much mixing will do.
                self.base = [
                    self.base[0].rotate_left(23) ^ self.newest[0],
                    self.base[1].rotate_left(41) ^ self.newest[1],
                ];
            }
            self.newest = [0, 0];
            self.mode = mode;
        }
    }

    /// An access of the current mode, by a step with this hash.
    #[inline]
    fn note(&mut self, hash: Lanes) {
        if self.mode == Newest::Write {
            self.base = hash;
        } else {
            self.newest = add(self.newest, hash);
        }
    }
}

#[inline]
const fn newest(mode: Mode) -> Newest {
    match mode {
        Mode::Read => Newest::Read,
        Mode::Update => Newest::Update,
        Mode::Write => Newest::Write,
    }
}

const KEYS: [u64; 4] =
    [0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F, 0xD6E8_FEB8_6659_FD93, 0xA0761D6478BD642F];

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline]
fn mix(a: Lanes, b: Lanes) -> Lanes {
    [
        fold(a[0] ^ KEYS[0], b[0].wrapping_add(KEYS[1])).wrapping_add(a[0].rotate_left(17)),
        fold(a[1] ^ KEYS[2], b[1].wrapping_add(KEYS[3])).wrapping_add(a[1].rotate_left(29)),
    ]
}

#[inline]
fn add(a: Lanes, b: Lanes) -> Lanes {
    [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
}

impl ThreadHash {
    /// A new thread, named by its parent and the index of its spawn.
    #[must_use]
    #[inline]
    pub fn begin(parent: Option<ThreadHash>, spawn_index: u64) -> ThreadHash {
        ThreadHash(match parent {
            Some(parent) => mix(parent.0, [spawn_index + 1, spawn_index + 1]),
            None => [spawn_index + 1, spawn_index + 7],
        })
    }

    /// A step of this thread that touches one object.
    #[inline(always)]
    pub fn step(&mut self, object: &mut ObjectHash, mode: Mode) {
        let mode = newest(mode);
        if object.mode != mode {
            object.turn(mode);
        }
        self.0 = mix(self.0, object.base);
        object.note(self.0);
    }

    /// A step that touches any number of objects, which are met one by one, and then told of it; `tag` tells apart outcomes
    /// that nothing else does.
    #[inline]
    pub fn begin_step(&mut self, tag: u64) {
        self.0 = mix(self.0, [tag, tag ^ KEYS[1]]);
    }

    /// See [`begin_step`](Self::begin_step).
    #[inline]
    pub fn meet(&mut self, object: &mut ObjectHash, mode: Mode) {
        object.turn(newest(mode));
        self.0 = mix(self.0, object.base);
    }

    /// See [`begin_step`](Self::begin_step).
    #[inline]
    pub fn tell(self, object: &mut ObjectHash) {
        object.note(self.0);
    }
}

/// Of the state that threads have come to.
#[must_use]
pub fn fingerprint(threads: impl Iterator<Item = ThreadHash>) -> u128 {
    let sum = threads.fold([0, 0], |sum, hash| add(sum, mix(hash.0, [KEYS[1], KEYS[0]])));
    (u128::from(sum[0]) << 64) | u128::from(sum[1])
}

impl DependenceHash {
    /// Forgets everything; keeps what is allocated.
    pub fn clear(&mut self) {
        self.threads.clear();
        self.objects.clear();
    }

    /// A new thread, named by its parent and the index of its spawn.
    pub fn thread(&mut self, parent: Option<usize>, spawn_index: u64) {
        self.threads.push(ThreadHash::begin(parent.map(|parent| self.threads[parent]), spawn_index));
    }

    /// A new object.
    pub fn object(&mut self) {
        self.objects.push(ObjectHash::default());
    }

    /// A step that touches one object.
    pub fn step(&mut self, thread: usize, access: Access) {
        self.threads[thread].step(&mut self.objects[access.object.index()], access.mode);
    }

    /// A step that touches any number of objects; `tag` tells apart outcomes that nothing else does.
    pub fn step_many(&mut self, thread: usize, accesses: &[Access], tag: u64) {
        let hash = &mut self.threads[thread];
        hash.begin_step(tag);
        for access in accesses {
            hash.meet(&mut self.objects[access.object.index()], access.mode);
        }
        for access in accesses {
            hash.tell(&mut self.objects[access.object.index()]);
        }
    }

    /// Of the state that the execution has come to.
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        fingerprint(self.threads.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::ObjectId;

    const R: Mode = Mode::Read;
    const W: Mode = Mode::Write;
    const U: Mode = Mode::Update;

    fn fingerprint(steps: &[(usize, usize, Mode)]) -> u128 {
        let mut hash = DependenceHash::default();
        hash.thread(None, 0);
        hash.thread(None, 1);
        hash.object();
        hash.object();
        for &(thread, object, mode) in steps {
            hash.step(thread, Access { object: ObjectId::new(object), mode });
        }
        hash.fingerprint()
    }

    #[test]
    fn equivalent_executions_have_one_fingerprint() {
        let a = fingerprint(&[(0, 0, W), (1, 1, W), (0, 1, R)]);
        assert_eq!(a, fingerprint(&[(1, 1, W), (0, 0, W), (0, 1, R)]));
        assert_ne!(a, fingerprint(&[(0, 0, W), (0, 1, R), (1, 1, W)]));
        let updates = fingerprint(&[(0, 0, U), (1, 0, U), (0, 0, R)]);
        assert_eq!(updates, fingerprint(&[(1, 0, U), (0, 0, U), (0, 0, R)]));
        assert_ne!(updates, fingerprint(&[(0, 0, U), (0, 0, R), (1, 0, U)]));
        let reads = fingerprint(&[(0, 0, R), (1, 0, R), (0, 0, W)]);
        assert_eq!(reads, fingerprint(&[(1, 0, R), (0, 0, R), (0, 0, W)]));
        assert_ne!(reads, fingerprint(&[(0, 0, R), (0, 0, W), (1, 0, R)]));
    }

    #[test]
    fn conflicts_need_one_object_and_one_write() {
        use crate::trace::Ordering::SeqCst;
        let load = |object| Operation::new(Action::Load(SeqCst), ObjectId::new(object));
        let store = |object| Operation::new(Action::Store(SeqCst), ObjectId::new(object));
        assert!(
            !conflicts(load(0), load(0)) && conflicts(load(0), store(0)) && !conflicts(store(1), store(0))
        );
        let fence = Operation::new(Action::Fence(SeqCst), ObjectId::NONE);
        assert!(!conflicts(fence, fence));
        let order = ObjectId::new(9);
        let fence = Operation::new(Action::Fence(SeqCst), order);
        let ordered = |action, object| Operation::with_other(action, ObjectId::new(object), order);
        let [one, same, other] = [0, 0, 1].map(|object| ordered(Action::Load(SeqCst), object));
        assert!(conflicts(fence, fence) && conflicts(fence, one) && conflicts(one, same));
        assert!(!conflicts(one, other) && !conflicts(other, ordered(Action::Store(SeqCst), 0)));
        assert!(!conflicts(fence, load(0)) && !conflicts(fence, store(0)));
        let wait = Operation::with_other(Action::Wait { timed: false }, ObjectId::new(3), ObjectId::new(4));
        assert!(conflicts(wait, Operation::new(Action::Lock, ObjectId::new(4))));
    }
}
