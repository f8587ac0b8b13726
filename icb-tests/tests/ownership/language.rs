//! Small programs: what each thread does, and what it has.

use icb_tests::told::Random;

/// A block of operations, by its index.
pub(crate) type Block = usize;

/// One thing that a thread does. What it has not got (a guard, an owner, a handle) it does nothing with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    /// Tells whether the block has panicked.
    Catch(Block),
    Panic,
    /// What a destructor does at the end of the block that this stands in.
    Defer(Block),
    /// What is spawned in the block directly is spawned in the scope.
    Scope(Block),
    Spawn(usize),
    /// Tells whether the thread has panicked.
    Join(usize),
    /// Tells whether the thread's closure is over.
    IsFinished(usize),
    DropHandle(usize),
    /// Tells whether the thread unwinds.
    IsPanicking,
    /// The variable becomes this.
    Store(u8),
    /// Tells the variable's value, and passes over what comes next if that is 0.
    Load,
    /// These tell what the variable was before.
    Add,
    Swap(u8),
    Exchange(u8, u8),
    Update,
    /// Tells the value and whether the mutex is poisoned.
    Lock,
    TryLock,
    Unlock,
    /// Sets what the mutex guards.
    Put(u8),
    IsPoisoned,
    ClearPoison,
    /// Waits while what the mutex guards is 0.
    WaitWhile,
    NotifyOne,
    NotifyAll,
    Read,
    TryRead,
    Write,
    TryWrite,
    /// From a writer to a reader.
    WriteToRead,
    /// Lets the read-write lock go.
    Release,
    IsLockPoisoned,
    ClearLockPoison,
    CallOnce(Block),
    CallOnceForce(Block),
    IsCompleted,
    /// Waits until it is completed.
    Await,
    AwaitForce,
    AwaitValue,
    /// `get_or_init`, with a block before the value.
    Initialise(u8, Block),
    Set(u8),
    Get,
    /// Of the lazy value: it is what the variable was before it was counted up, and the initialiser panics if that is the
    /// program's `lazy_panics_at`.
    Force,
    Clone,
    Drop,
    Downgrade,
    DropWeak,
    Upgrade,
    StrongCount,
    WeakStrongCount,
    WeakCount,
    WeakWeakCount,
    TryUnwrap,
    IntoInner,
    GetMut,
    /// Makes the thread's own values: what their destructors do comes at its end.
    TouchFirst,
    TouchSecond,
    /// `try_with`: tells whether there still is a value.
    TryTouchFirst,
    TryTouchSecond,
    /// Makes the first of them, and moves an owner into it.
    Keep,
    /// Thread 0 only.
    Park,
    /// Thread 0.
    Unpark,
    Arrive,
    Send(u8),
    /// With an owner in the message, if the thread has one.
    SendOwner(u8),
    TrySend(u8),
    Receive,
    TryReceive,
    /// Receives until all senders have gone.
    Iterate,
    /// Receives what there is.
    TryIterate,
    DropSender,
    DropReceiver,
}

/// What is drawn when a program is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Draw {
    Catch,
    Panic,
    Defer,
    Scope,
    IsFinished,
    DropHandle,
    IsPanicking,
    Store,
    Load,
    Add,
    Swap,
    Exchange,
    Update,
    /// Or unlocks.
    Lock,
    TryLock,
    Put,
    IsPoisoned,
    ClearPoison,
    WaitWhile,
    NotifyOne,
    NotifyAll,
    Read,
    TryRead,
    Write,
    TryWrite,
    WriteToRead,
    Release,
    IsLockPoisoned,
    ClearLockPoison,
    CallOnce,
    CallOnceForce,
    IsCompleted,
    Await,
    Initialise,
    Set,
    Get,
    Force,
    Clone,
    Drop,
    Downgrade,
    DropWeak,
    Upgrade,
    StrongCount,
    WeakStrongCount,
    WeakCount,
    WeakWeakCount,
    TryUnwrap,
    IntoInner,
    GetMut,
    Touch,
    Keep,
    Park,
    Unpark,
    Arrive,
    Transfer,
    TransferOwner,
    TryTransfer,
    Iterate,
    TryIterate,
    DropEnd,
}

#[derive(Clone, Debug)]
pub(crate) struct ThreadProgram {
    pub(crate) body: Block,
    /// It is given an owner, a `Weak`, a sender, if its parent has one.
    pub(crate) owns: bool,
    pub(crate) weak: bool,
    pub(crate) sends: bool,
    pub(crate) receives: bool,
    /// Its result has a destructor.
    pub(crate) returns: bool,
    /// Threads whose handles it is given, if its parent has them.
    pub(crate) handles: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) blocks: Vec<Vec<Op>>,
    /// Thread 0 catches what its block panics with.
    pub(crate) threads: Vec<ThreadProgram>,
    /// What the destructors of the shared value, of a message, of a thread's result, and of the thread's own values do.
    pub(crate) value_end: Block,
    pub(crate) message_end: Block,
    pub(crate) result_end: Block,
    pub(crate) local_ends: [Block; 2],
    pub(crate) lazy_panics_at: u8,
    /// `None`: the channel is unbounded.
    pub(crate) capacity: Option<usize>,
}

impl Program {
    pub(crate) fn has(&self, is_so: impl Fn(Op) -> bool) -> bool {
        self.blocks.iter().flatten().any(|&op| is_so(op))
    }
}

/// Threads that the barrier waits for each time.
pub(crate) const PARTIES: usize = 2;

/// What a program is made with.
struct Making<'a> {
    random: Random,
    draws: &'a [Draw],
    count: usize,
    blocks: Vec<Vec<Op>>,
    receiver: usize,
}

/// Where an operation stands.
#[derive(Clone, Copy)]
struct Place {
    thread: usize,
    /// Within how many blocks.
    depth: usize,
    /// A mutex or lock may be held by a block around this one.
    holds: bool,
}

pub(crate) fn generate(seed: u64, draws: &[Draw]) -> Program {
    let mut random = Random::new(seed, 99);
    let count = 2 + random.below(2);
    let receiver = random.below(count);
    // A thread is spawned by thread 0, or by the one before.
    let parents: Vec<usize> = (0..count).map(|me| if me == 2 && random.one_in(3) { 1 } else { 0 }).collect();
    let mut making = Making { random, draws, count, blocks: vec![Vec::new()], receiver };
    let mut threads = Vec::new();
    for me in 0..count {
        let length = if count == 2 { 2 + making.random.below(3) } else { 1 + making.random.below(3) };
        let place = Place { thread: me, depth: 0, holds: false };
        let mut ops = making.ops(length, place);
        let children: Vec<usize> = (1..count).filter(|&child| parents[child] == me).collect();
        making.add_children(&mut ops, me, &children);
        let body = making.add(ops);
        let random = &mut making.random;
        threads.push(ThreadProgram {
            body,
            owns: me == 0 || !random.one_in(5),
            weak: random.one_in(2),
            sends: me == 0 || !random.one_in(5),
            receives: me == receiver || receiver == 2 && me == parents[2],
            returns: draws.contains(&Draw::DropHandle) && random.one_in(2),
            handles: Vec::new(),
        });
    }
    // The handle of a thread goes to its younger sister now and then, who joins it.
    if count == 3 && parents[2] == 0 && making.random.one_in(3) {
        threads[2].handles.push(1);
        let body = &mut making.blocks[threads[2].body];
        body.insert(making.random.below(body.len() + 1), Op::Join(1));
    }
    let [value_end, message_end, result_end, first, second] = std::array::from_fn(|which| {
        let length = if which == 1 { 1 } else { 1 + making.random.below(2) };
        let mut ops: Vec<Op> = (0..length).map(|_| making.end_op(0)).collect();
        if which == 3 && making.random.one_in(3) {
            ops.push(Op::TryTouchSecond);
        }
        if which == 4 && making.random.one_in(3) {
            ops.push(Op::TryTouchFirst);
        }
        making.add(ops)
    });
    let lazy_panics_at = making.random.value();
    let capacity = [None, None, Some(0), Some(1), Some(2)][making.random.below(5)];
    Program {
        blocks: making.blocks,
        threads,
        value_end,
        message_end,
        result_end,
        local_ends: [first, second],
        lazy_panics_at,
        capacity,
    }
}

/// What a block has in hand, as far as that is known.
#[derive(Default)]
struct Has {
    mutex: bool,
    lock: bool,
    given: bool,
}

impl Has {
    fn can_do(&self, op: Op) -> bool {
        match op {
            Op::Lock | Op::TryLock => !self.mutex,
            Op::Unlock | Op::Put(_) | Op::WaitWhile => self.mutex,
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite => !self.lock,
            Op::Release | Op::WriteToRead => self.lock,
            Op::DropSender | Op::DropReceiver => !self.given,
            _ => true,
        }
    }

    fn does(&mut self, op: Op) {
        match op {
            Op::Lock | Op::TryLock => self.mutex = true,
            Op::Unlock => self.mutex = false,
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite => self.lock = true,
            Op::Release => self.lock = false,
            Op::DropSender | Op::DropReceiver => self.given = true,
            _ => {}
        }
    }
}

impl Making<'_> {
    fn add(&mut self, ops: Vec<Op>) -> Block {
        self.blocks.push(ops);
        self.blocks.len() - 1
    }

    /// Threads are spawned before most of what their parent does, and joined after most of it; or in a scope, or not joined at all.
    fn add_children(&mut self, ops: &mut Vec<Op>, me: usize, children: &[usize]) {
        let in_scope = self.draws.contains(&Draw::Scope) && !children.is_empty() && !self.random.one_in(3);
        if in_scope {
            let mut inner = std::mem::take(ops);
            // A panic goes through what is held around the scope.
            let locks = self.draws.contains(&Draw::Lock) && self.random.one_in(2);
            if locks {
                inner.retain(|op| !matches!(op, Op::Lock | Op::Unlock));
            }
            for &child in children.iter().rev() {
                inner.insert(0, Op::Spawn(child));
            }
            for &child in children {
                if self.random.one_in(2) {
                    inner.push(Op::Join(child));
                }
            }
            let mut scope = vec![Op::Scope(self.add(inner))];
            if locks {
                scope.insert(0, Op::Lock);
            }
            // What is outside the scope comes after it.
            let place = Place { thread: me, depth: 2, holds: false };
            let caught = self.random.one_in(2);
            *ops = if caught { vec![Op::Catch(self.add(scope))] } else { scope };
            ops.push(self.op(place));
            return;
        }
        let first = self.random.below(2.min(ops.len()) + 1) * usize::from(self.random.one_in(3));
        for &child in children.iter().rev() {
            ops.insert(first, Op::Spawn(child));
        }
        for &child in children {
            if !self.random.one_in(4) {
                ops.push(Op::Join(child));
            }
        }
        if me == 0 && self.random.one_in(2) {
            let place = Place { thread: me, depth: 2, holds: false };
            ops.push(self.op(place));
        }
    }

    fn ops(&mut self, length: usize, mut place: Place) -> Vec<Op> {
        let (mut ops, mut panics) = (Vec::new(), false);
        let mut has = Has::default();
        for _ in 0..length {
            let mut op = self.op(place);
            for _ in 0..3 {
                if has.can_do(op) {
                    break;
                }
                op = self.op(place);
            }
            has.does(op);
            place.holds |= has.mutex || has.lock;
            // A panic comes last, and not all the time.
            if op == Op::Panic {
                panics = true;
            } else {
                ops.push(op);
            }
        }
        if panics && (place.depth > 0 || place.thread > 0) {
            ops.push(Op::Panic);
        }
        ops
    }

    fn block(&mut self, mut place: Place) -> Block {
        place.depth += 1;
        let length = 1 + self.random.below(2);
        let ops = self.ops(length, place);
        self.add(ops)
    }

    /// What an initialiser does: nothing that waits for others.
    fn initialiser(&mut self) -> Block {
        let length = 1 + self.random.below(2);
        let mut ops: Vec<Op> =
            (0..length).map(|_| [Op::Add, Op::Load, Op::Store(1)][self.random.below(3)]).collect();
        if self.random.one_in(2) {
            ops.push(Op::Panic);
        }
        self.add(ops)
    }

    /// What a destructor does.
    fn end_op(&mut self, depth: usize) -> Op {
        let has = |draw| self.draws.contains(&draw);
        let mut ops = vec![Op::Add, Op::Store(2), Op::Add];
        if has(Draw::Park) {
            ops.extend([Op::Unpark, Op::Unpark]);
        }
        if has(Draw::Lock) {
            ops.extend([Op::Lock, Op::TryLock]);
        }
        if has(Draw::WaitWhile) {
            ops.push(Op::NotifyAll);
        }
        if has(Draw::IsPanicking) {
            ops.push(Op::IsPanicking);
        }
        let count = ops.len() + usize::from(has(Draw::Panic) && depth == 0);
        if let Some(&op) = ops.get(self.random.below(count)) {
            return op;
        }
        // A panic within a destructor stays there.
        let mut ops = vec![self.end_op(1)];
        ops.extend((!self.random.one_in(4)).then_some(Op::Panic));
        Op::Catch(self.add(ops))
    }

    fn op(&mut self, place: Place) -> Op {
        let Place { thread, depth, holds } = place;
        let receives = thread == self.receiver;
        let draw = self.draws[self.random.below(self.draws.len())];
        match draw {
            Draw::Catch | Draw::Scope if depth >= 2 => Op::Add,
            Draw::Scope if depth == 1 => Op::Scope(self.block(place)),
            Draw::Scope => {
                let scope = Op::Scope(self.block(Place { depth: 1, ..place }));
                Op::Catch(self.add(vec![scope]))
            }
            Draw::Catch => Op::Catch(self.block(place)),
            Draw::Panic => Op::Panic,
            Draw::Defer => {
                let length = 1 + self.random.below(2);
                let ops = (0..length).map(|_| self.end_op(0)).collect();
                Op::Defer(self.add(ops))
            }
            Draw::IsFinished => Op::IsFinished(1 + self.random.below(self.count - 1)),
            Draw::DropHandle => Op::DropHandle(1 + self.random.below(self.count - 1)),
            Draw::IsPanicking => Op::IsPanicking,
            Draw::Store => Op::Store(self.random.value()),
            Draw::Load => Op::Load,
            Draw::Add => Op::Add,
            Draw::Swap => Op::Swap(self.random.value()),
            Draw::Exchange => Op::Exchange(self.random.value(), self.random.value()),
            Draw::Update => Op::Update,
            Draw::Lock | Draw::Read | Draw::Write if holds && depth > 0 => Op::IsPoisoned,
            Draw::Lock if self.random.one_in(4) => Op::Unlock,
            Draw::Lock => Op::Lock,
            Draw::TryLock => Op::TryLock,
            Draw::Put => Op::Put(self.random.value()),
            Draw::IsPoisoned => Op::IsPoisoned,
            Draw::ClearPoison => Op::ClearPoison,
            Draw::WaitWhile => Op::WaitWhile,
            Draw::NotifyOne => Op::NotifyOne,
            Draw::NotifyAll => Op::NotifyAll,
            Draw::Read => Op::Read,
            Draw::TryRead => Op::TryRead,
            Draw::Write => Op::Write,
            Draw::TryWrite => Op::TryWrite,
            Draw::WriteToRead => Op::WriteToRead,
            Draw::Release => Op::Release,
            Draw::IsLockPoisoned => Op::IsLockPoisoned,
            Draw::ClearLockPoison => Op::ClearLockPoison,
            Draw::CallOnce => Op::CallOnce(self.initialiser()),
            Draw::CallOnceForce => Op::CallOnceForce(self.initialiser()),
            Draw::IsCompleted => Op::IsCompleted,
            Draw::Await => [Op::Await, Op::AwaitForce, Op::AwaitValue][self.random.below(3)],
            Draw::Initialise => Op::Initialise(self.random.value(), self.initialiser()),
            Draw::Set => Op::Set(self.random.value()),
            Draw::Get => Op::Get,
            Draw::Force => Op::Force,
            Draw::Clone => Op::Clone,
            Draw::Drop => Op::Drop,
            Draw::Downgrade => Op::Downgrade,
            Draw::DropWeak => Op::DropWeak,
            Draw::Upgrade => Op::Upgrade,
            Draw::StrongCount => Op::StrongCount,
            Draw::WeakStrongCount => Op::WeakStrongCount,
            Draw::WeakCount => Op::WeakCount,
            Draw::WeakWeakCount => Op::WeakWeakCount,
            Draw::TryUnwrap => Op::TryUnwrap,
            Draw::IntoInner => Op::IntoInner,
            Draw::GetMut => Op::GetMut,
            Draw::Touch if self.random.one_in(2) => Op::TouchFirst,
            Draw::Touch => Op::TouchSecond,
            Draw::Keep => Op::Keep,
            Draw::Park if thread == 0 => Op::Park,
            Draw::Park | Draw::Unpark => Op::Unpark,
            Draw::Arrive => Op::Arrive,
            Draw::Transfer | Draw::TransferOwner if receives => Op::Receive,
            Draw::TransferOwner => Op::SendOwner(self.random.value()),
            Draw::Transfer => Op::Send(self.random.value()),
            Draw::TryTransfer if receives => Op::TryReceive,
            Draw::TryTransfer => Op::TrySend(self.random.value()),
            Draw::Iterate if receives => Op::Iterate,
            Draw::TryIterate if receives => Op::TryIterate,
            Draw::Iterate | Draw::TryIterate => Op::Send(self.random.value()),
            Draw::DropEnd if receives => Op::DropReceiver,
            Draw::DropEnd => Op::DropSender,
        }
    }
}
