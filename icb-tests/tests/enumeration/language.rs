//! Small programs: what each thread does, and what it has.

use icb_tests::told::Random;

/// One thing that a thread does. What it has not got (an end of the channel, a guard) it does nothing with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Send(u8),
    TrySend(u8),
    Receive,
    TryReceive,
    ReceiveTimeout,
    DropSender,
    DropReceiver,
    Park,
    ParkTimeout,
    Unpark(usize),
    Arrive,
    Lock,
    Unlock,
    Wait,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    Read,
    TryRead,
    Write,
    TryWrite,
    /// Lets the read-write lock go.
    Release,
    IsFinished(usize),
    /// `get_or_init`; the initialiser tells the variable's value.
    Initialise(u8),
    Set(u8),
    Get,
    /// The variable becomes 1.
    Store,
    /// Tells the variable's value, and passes over what comes next if that is 0.
    Load,
}

/// What is drawn when a program is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Draw {
    /// The receiver receives, others send.
    Transfer,
    TryTransfer,
    ReceiveTimeout,
    DropEnd,
    Park,
    ParkTimeout,
    Unpark,
    /// Or unlocks.
    Lock,
    Wait,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    Read,
    TryRead,
    Write,
    TryWrite,
    Release,
    IsFinished,
    Initialise,
    Set,
    Get,
    Store,
    Load,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// `None`: the channel is unbounded.
    pub(crate) capacity: Option<usize>,
    /// Thread 0 starts the others, and then waits for those that are not left alone.
    pub(crate) threads: Vec<Vec<Op>>,
    /// Who has a sender.
    pub(crate) sends: Vec<bool>,
    /// Who has the receiver.
    pub(crate) receiver: usize,
    /// Whose handle is dropped at once.
    pub(crate) detached: Vec<bool>,
}

impl Program {
    /// Whether what some thread does is of this kind.
    pub(crate) fn has(&self, is_so: impl Fn(&[Op]) -> bool) -> bool {
        self.threads.iter().any(|ops| is_so(ops))
    }

    /// Threads that the barrier waits for.
    pub(crate) fn parties(&self) -> usize {
        self.threads.iter().flatten().filter(|op| **op == Op::Arrive).count()
    }
}

pub(crate) fn generate(seed: u64, draws: &[Draw]) -> Program {
    let mut random = Random::new(seed, 77);
    let count = 2 + random.below(2);
    let capacity = [None, Some(0), Some(0), Some(1), Some(2)][random.below(5)];
    let receiver = random.below(count);
    let sends: Vec<bool> =
        (0..count).map(|me| if me == receiver { random.one_in(4) } else { !random.one_in(6) }).collect();
    let has_barrier = random.one_in(4);
    let mut threads = Vec::new();
    for (me, &sends) in sends.iter().enumerate() {
        let length = 1 + random.below(if count == 2 { 5 } else { 3 });
        let mut ops: Vec<Op> =
            (0..length).map(|_| op(&mut random, draws, me, count, me == receiver, sends)).collect();
        if has_barrier && !random.one_in(3) {
            ops.insert(random.below(ops.len() + 1), Op::Arrive);
        }
        threads.push(ops);
    }
    let detached = (0..count).map(|me| me > 0 && random.one_in(4)).collect();
    Program { capacity, threads, sends, receiver, detached }
}

fn op(random: &mut Random, draws: &[Draw], me: usize, count: usize, receives: bool, sends: bool) -> Op {
    match draws[random.below(draws.len())] {
        Draw::Transfer if receives && !(sends && random.one_in(3)) => Op::Receive,
        Draw::Transfer => Op::Send(random.value()),
        Draw::TryTransfer if receives => Op::TryReceive,
        Draw::TryTransfer => Op::TrySend(random.value()),
        Draw::ReceiveTimeout if receives => Op::ReceiveTimeout,
        Draw::ReceiveTimeout => Op::Send(random.value()),
        Draw::DropEnd if receives => Op::DropReceiver,
        Draw::DropEnd => Op::DropSender,
        Draw::Park => Op::Park,
        Draw::ParkTimeout => Op::ParkTimeout,
        // Handles of those that were started before are at hand.
        Draw::Unpark => Op::Unpark(random.below(if me == 0 { count } else { me })),
        Draw::Lock if random.one_in(2) => Op::Lock,
        Draw::Lock => Op::Unlock,
        Draw::Wait => Op::Wait,
        Draw::WaitTimeout => Op::WaitTimeout,
        Draw::NotifyOne => Op::NotifyOne,
        Draw::NotifyAll => Op::NotifyAll,
        Draw::Read => Op::Read,
        Draw::TryRead => Op::TryRead,
        Draw::Write => Op::Write,
        Draw::TryWrite => Op::TryWrite,
        Draw::Release => Op::Release,
        Draw::IsFinished => Op::IsFinished(1 + random.below(count - 1)),
        Draw::Initialise => Op::Initialise(random.value()),
        Draw::Set => Op::Set(random.value()),
        Draw::Get => Op::Get,
        Draw::Store => Op::Store,
        Draw::Load => Op::Load,
    }
}
