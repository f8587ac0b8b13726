//! All states that a program can come to, one step of one thread after another.

use super::Told;
use super::language::{Op, Program};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Programs with more states are passed over.
const MAX_STATES: usize = 100_000;

/// What a thread does step by step, after its last operation too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Begin,
    Op(Op),
    ReleaseAll,
    /// Its end of the channel.
    Drop,
    /// It has ended once this is done.
    End,
    Join(usize),
}

/// What is left of an operation that is half done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Rest {
    /// It has waited for the condition variable; this is told.
    LockAgain(u8),
    /// It has begun to make this value: it tells the variable's, and then it is done.
    Tell(u8),
    Initialise(u8),
    Set(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Once {
    New,
    Running,
    Done(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ThreadState {
    /// Steps done.
    at: usize,
    /// Somebody else completes its operation.
    waits: bool,
    rest: Option<Rest>,
    told: Vec<u8>,
    sends: bool,
    token: bool,
    /// It has been parked by the channel in the operation that it is in, or has just come out of.
    parked_within: bool,
    reads: bool,
    /// Readers wait for it.
    waits_to_write: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    threads: Vec<ThreadState>,
    messages: VecDeque<u8>,
    receiver: bool,
    /// Of a rendezvous: who waits for its message to be taken, and who for a message.
    sending: VecDeque<(usize, u8)>,
    receiving: Option<usize>,
    arrived: Vec<usize>,
    /// Who waits for the condition variable.
    waiting: Vec<usize>,
    mutex: Option<usize>,
    writer: Option<usize>,
    once: Once,
    variable: u8,
}

/// What the threads have been told when none can go on; with at most so many preemptions, if there is a bound. `spurious`: who waits may wake up
/// for no reason. `None`: there are too many states.
pub(crate) fn outcomes(program: &Program, bound: Option<u32>, spurious: bool) -> Option<BTreeSet<Told>> {
    let machine = Machine::new(program);
    // Who has run last matters where preemptions are counted.
    let first = (machine.first(), 0);
    let mut seen = HashMap::from([(first.clone(), 0)]);
    let (mut left, mut outcomes) = (VecDeque::from([(first, 0)]), BTreeSet::new());
    while let Some(((state, last), preemptions)) = left.pop_front() {
        if seen[&(state.clone(), last)] < preemptions {
            continue;
        }
        let threads = 0..state.threads.len();
        let steps: Vec<Vec<State>> = threads.clone().map(|me| machine.steps(&state, me)).collect();
        let mut next = Vec::new();
        let is_stuck = steps.iter().all(Vec::is_empty);
        let is_over = !spurious || threads.clone().all(|me| !machine.goes_on(&state, me));
        let costs = |me: usize| u32::from(me != last && !steps[last].is_empty());
        for me in threads.clone() {
            next.extend(steps[me].iter().map(|next| (next.clone(), me, costs(me))));
            // As long as somebody can go on, a wait that is over too early costs as much as a preemption.
            next.extend(machine.timeout(&state, me).map(|next| (next, me, costs(me) + u32::from(!is_stuck))));
            if !is_over {
                next.extend(machine.wakes_up(&state, me).map(|next| (next, me, costs(me) + 1)));
            }
        }
        if next.is_empty() {
            outcomes.insert(state.threads.iter().map(|thread| thread.told.clone()).collect());
        }
        next.extend(threads.filter_map(|me| Some((machine.loses_token(&state, me)?, last, 0))));
        for (next, last, cost) in next {
            let (next, preemptions) = match bound {
                Some(_) => ((next, last), preemptions + cost),
                None => ((next, 0), 0),
            };
            if bound.is_some_and(|bound| preemptions > bound)
                || seen.get(&next).is_some_and(|&known| known <= preemptions)
            {
                continue;
            }
            seen.insert(next.clone(), preemptions);
            left.push_back((next, preemptions));
        }
        if seen.len() > MAX_STATES {
            return None;
        }
    }
    Some(outcomes)
}

struct Machine<'a> {
    program: &'a Program,
    code: Vec<Vec<Step>>,
}

impl Machine<'_> {
    fn new(program: &Program) -> Machine<'_> {
        let code = program.threads.iter().enumerate().map(|(me, ops)| {
            // Who has been started, but has not begun, can go on.
            let mut code: Vec<Step> = (me > 0).then_some(Step::Begin).into_iter().collect();
            code.extend(ops.iter().map(|&op| Step::Op(op)));
            // The sender goes before the receiver.
            code.extend([Step::ReleaseAll, Step::Op(Op::Unlock), Step::Op(Op::DropSender), Step::Drop]);
            if me > 0 {
                code.push(Step::End);
            } else {
                code.extend((1..program.threads.len()).filter(|&t| !program.detached[t]).map(Step::Join));
            }
            code
        });
        Machine { program, code: code.collect() }
    }

    fn first(&self) -> State {
        let thread = |&sends: &bool| ThreadState {
            at: 0,
            waits: false,
            rest: None,
            told: Vec::new(),
            sends,
            token: false,
            parked_within: false,
            reads: false,
            waits_to_write: false,
        };
        State {
            threads: self.program.sends.iter().map(thread).collect(),
            messages: VecDeque::new(),
            receiver: true,
            sending: VecDeque::new(),
            receiving: None,
            arrived: Vec::new(),
            waiting: Vec::new(),
            mutex: None,
            writer: None,
            once: Once::New,
            variable: 0,
        }
    }

    fn step(&self, state: &State, me: usize) -> Option<Step> {
        self.code[me].get(state.threads[me].at).copied()
    }

    fn is_rendezvous(&self) -> bool {
        self.program.capacity == Some(0)
    }

    /// Whether it is in an operation in which a channel parks it.
    fn may_be_parked_within(&self, state: &State, me: usize) -> bool {
        matches!(self.step(state, me), Some(Step::Op(Op::Send(_) | Op::Receive | Op::ReceiveTimeout)))
    }

    /// What comes of its being parked by a channel: it is, and then it takes any token that it is given before it goes on.
    fn loses_token(&self, state: &State, me: usize) -> Option<State> {
        let thread = &state.threads[me];
        let mut next = state.clone();
        if thread.parked_within && thread.token {
            next.threads[me].token = false;
            return Some(next);
        }
        let blocks = self.may_be_parked_within(state, me) && self.own_steps(state, me).is_empty();
        if thread.parked_within || !blocks {
            return None;
        }
        next.threads[me].parked_within = true;
        Some(next)
    }

    fn steps(&self, state: &State, me: usize) -> Vec<State> {
        // It comes back from where a channel has parked it.
        if state.threads[me].parked_within && !self.may_be_parked_within(state, me) {
            let mut next = state.clone();
            next.threads[me].parked_within = false;
            return vec![next];
        }
        let mut next = self.own_steps(state, me);
        for next in &mut next {
            next.threads[me].parked_within &= next.threads[me].at == state.threads[me].at;
        }
        next
    }

    /// Whether there is something left that it can do; who waits for a while only can go on in time. Its end belongs to what it has done before.
    fn goes_on(&self, state: &State, me: usize) -> bool {
        let mut state = state.clone();
        loop {
            let (thread, holds) = (&state.threads[me], state.mutex == Some(me));
            let locks = thread.reads || state.writer == Some(me);
            let has_receiver = self.program.receiver == me && state.receiver;
            let does_nothing = thread.rest.is_none()
                && match self.step(&state, me) {
                    None | Some(Step::End) => return false,
                    Some(Step::Begin | Step::Join(_)) => false,
                    Some(Step::ReleaseAll | Step::Op(Op::Release)) => !locks,
                    Some(Step::Drop | Step::Op(Op::DropReceiver)) => !has_receiver,
                    Some(Step::Op(op)) => match op {
                        Op::Unlock | Op::Wait | Op::WaitTimeout => !holds && !thread.waits,
                        Op::Lock => holds,
                        Op::Read | Op::TryRead | Op::Write | Op::TryWrite => locks,
                        Op::Send(_) | Op::TrySend(_) | Op::DropSender => !thread.sends,
                        Op::Receive | Op::TryReceive | Op::ReceiveTimeout => !has_receiver,
                        Op::IsFinished(other) => me != 0 || self.program.detached[other],
                        _ => false,
                    },
                };
            if !does_nothing {
                return !self.steps(&state, me).is_empty() || self.timeout(&state, me).is_some();
            }
            state.threads[me].at += 1;
        }
    }

    /// Its wait is over for want of time.
    fn timeout(&self, state: &State, me: usize) -> Option<State> {
        let mut next = state.clone();
        match self.step(state, me)? {
            Step::Op(Op::WaitTimeout) if state.waiting.contains(&me) => {
                next.waiting.retain(|&other| other != me);
                next.threads[me].waits = false;
                next.threads[me].rest = Some(Rest::LockAgain(5));
            }
            Step::Op(Op::ReceiveTimeout) if state.receiving == Some(me) => {
                next.receiving = None;
                next.threads[me].complete(2);
            }
            Step::Op(op @ (Op::ReceiveTimeout | Op::ParkTimeout)) if self.steps(state, me).is_empty() => {
                next.threads[me].complete(if op == Op::ReceiveTimeout { 2 } else { 8 });
            }
            _ => return None,
        }
        next.threads[me].parked_within &= next.threads[me].at == state.threads[me].at;
        Some(next)
    }

    /// It wakes up for no reason.
    fn wakes_up(&self, state: &State, me: usize) -> Option<State> {
        let mut next = state.clone();
        match self.step(state, me)? {
            Step::Op(Op::Wait | Op::WaitTimeout) if state.waiting.contains(&me) => {
                next.waiting.retain(|&other| other != me);
                next.threads[me].waits = false;
                next.threads[me].rest = Some(Rest::LockAgain(6));
            }
            Step::Op(op @ (Op::Park | Op::ParkTimeout)) if self.steps(state, me).is_empty() => {
                next.threads[me].complete(if op == Op::Park { 7 } else { 8 });
            }
            _ => return None,
        }
        Some(next)
    }

    /// What it can do next; nothing if it has to wait.
    fn own_steps(&self, state: &State, me: usize) -> Vec<State> {
        let mut next = state.clone();
        let thread = &state.threads[me];
        let Some(step) = self.step(state, me).filter(|_| !thread.waits) else { return Vec::new() };
        match (thread.rest, step) {
            (Some(Rest::LockAgain(_)), _) if state.mutex.is_some() => return Vec::new(),
            (Some(Rest::LockAgain(told)), _) => {
                next.mutex = Some(me);
                next.threads[me].complete(told);
            }
            (Some(Rest::Tell(value)), _) => {
                next.threads[me].told.push(state.variable);
                next.threads[me].rest = Some(Rest::Initialise(value));
            }
            (Some(Rest::Initialise(value)), _) => {
                next.once = Once::Done(value);
                next.threads[me].complete(20 + value);
            }
            (Some(Rest::Set(value)), _) => {
                next.once = Once::Done(value);
                next.threads[me].complete(1);
            }
            (None, Step::ReleaseAll) => next.release(me),
            (None, Step::Drop) => self.drop_receiver(&mut next, me),
            (None, Step::Begin | Step::End) => next.threads[me].at += 1,
            (None, Step::Join(other)) if state.threads[other].at == self.code[other].len() => {
                next.threads[me].at += 1;
            }
            (None, Step::Join(_)) => return Vec::new(),
            (None, Step::Op(op)) => return self.does(next, me, op),
        }
        vec![next]
    }

    fn does(&self, mut next: State, me: usize, op: Op) -> Vec<State> {
        match op {
            Op::Send(_) | Op::TrySend(_) if !next.threads[me].sends => next.threads[me].complete(9),
            Op::Receive | Op::TryReceive | Op::ReceiveTimeout
                if self.program.receiver != me || !next.receiver =>
            {
                next.threads[me].complete(9);
            }
            Op::Send(value) | Op::TrySend(value) => {
                return self.send(next, me, value, matches!(op, Op::TrySend(_)));
            }
            Op::Receive | Op::TryReceive | Op::ReceiveTimeout => return self.receive(next, me, op),
            Op::DropSender => next.drop_sender(me),
            Op::DropReceiver => self.drop_receiver(&mut next, me),
            Op::Park | Op::ParkTimeout if !next.threads[me].token => return Vec::new(),
            Op::Park | Op::ParkTimeout => {
                next.threads[me].token = false;
                next.threads[me].complete(if op == Op::Park { 7 } else { 8 });
            }
            Op::Unpark(thread) => {
                next.threads[thread].token = true;
                next.threads[me].at += 1;
            }
            Op::Arrive if next.arrived.len() + 1 == self.program.parties() => {
                for other in std::mem::take(&mut next.arrived) {
                    next.threads[other].complete(0);
                }
                next.threads[me].complete(1);
            }
            Op::Arrive => {
                next.arrived.push(me);
                next.arrived.sort_unstable();
                next.threads[me].waits = true;
            }
            Op::Lock if next.mutex.is_some_and(|owner| owner != me) => return Vec::new(),
            Op::Lock => {
                next.mutex = Some(me);
                next.threads[me].at += 1;
            }
            Op::Unlock => {
                next.mutex = next.mutex.filter(|&owner| owner != me);
                next.threads[me].at += 1;
            }
            Op::Wait | Op::WaitTimeout if next.mutex == Some(me) => {
                next.mutex = None;
                next.waiting.push(me);
                next.waiting.sort_unstable();
                next.threads[me].waits = true;
            }
            Op::Wait | Op::WaitTimeout => next.threads[me].at += 1,
            Op::NotifyOne | Op::NotifyAll => return notify(&next, me, op == Op::NotifyAll),
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite | Op::Release => return lock(next, me, op),
            Op::IsFinished(other) if me == 0 && !self.program.detached[other] => {
                let is_finished = next.threads[other].at == self.code[other].len();
                next.threads[me].complete(is_finished.into());
            }
            Op::IsFinished(_) => next.threads[me].at += 1,
            Op::Initialise(_) | Op::Set(_) if next.once == Once::Running => return Vec::new(),
            Op::Initialise(value) => match next.once {
                Once::Done(value) => next.threads[me].complete(20 + value),
                _ => {
                    next.once = Once::Running;
                    next.threads[me].rest = Some(Rest::Tell(value));
                }
            },
            Op::Set(value) if next.once == Once::New => {
                next.once = Once::Running;
                next.threads[me].rest = Some(Rest::Set(value));
            }
            Op::Set(_) => next.threads[me].complete(0),
            Op::Get => {
                let told = if let Once::Done(value) = next.once { 10 + value } else { 2 };
                next.threads[me].complete(told);
            }
            Op::Store => {
                next.variable = 1;
                next.threads[me].at += 1;
            }
            Op::Load => {
                let value = next.variable;
                next.threads[me].complete(value);
                if value == 0 && next.threads[me].at < self.program.threads[me].len() + usize::from(me > 0) {
                    next.threads[me].at += 1;
                }
            }
        }
        vec![next]
    }

    fn send(&self, mut next: State, me: usize, value: u8, trying: bool) -> Vec<State> {
        let is_full = self.program.capacity.is_some_and(|capacity| next.messages.len() >= capacity);
        if self.is_rendezvous()
            && let Some(receiver) = next.receiving.take()
        {
            next.threads[receiver].complete(10 + value);
            next.threads[me].complete(1);
        } else if !next.receiver {
            next.threads[me].complete(0);
        } else if !is_full {
            next.messages.push_back(value);
            next.threads[me].complete(1);
        } else if trying {
            next.threads[me].complete(2);
        } else if self.is_rendezvous() {
            next.sending.push_back((me, value));
            next.threads[me].waits = true;
        } else {
            return Vec::new();
        }
        vec![next]
    }

    fn receive(&self, mut next: State, me: usize, op: Op) -> Vec<State> {
        if let Some((sender, value)) = next.sending.pop_front() {
            next.threads[sender].complete(1);
            next.threads[me].complete(10 + value);
        } else if let Some(value) = next.messages.pop_front() {
            next.threads[me].complete(10 + value);
        } else if !next.threads.iter().any(|thread| thread.sends) {
            next.threads[me].complete(0);
        } else if op == Op::TryReceive {
            next.threads[me].complete(2);
        } else if self.is_rendezvous() {
            next.receiving = Some(me);
            next.threads[me].waits = true;
        } else {
            return Vec::new();
        }
        vec![next]
    }

    /// If it has the receiver.
    fn drop_receiver(&self, next: &mut State, me: usize) {
        next.threads[me].at += 1;
        if self.program.receiver == me {
            next.receiver = false;
            next.messages.clear();
            for (sender, _) in std::mem::take(&mut next.sending) {
                next.threads[sender].complete(0);
            }
        }
    }
}

impl ThreadState {
    /// Its operation is done, and this is told.
    fn complete(&mut self, told: u8) {
        self.told.push(told);
        self.rest = None;
        self.waits = false;
        self.at += 1;
    }
}

impl State {
    fn drop_sender(&mut self, me: usize) {
        self.threads[me].at += 1;
        let had = std::mem::take(&mut self.threads[me].sends);
        if had
            && !self.threads.iter().any(|thread| thread.sends)
            && let Some(receiver) = self.receiving.take()
        {
            self.threads[receiver].complete(0);
        }
    }

    fn release(&mut self, me: usize) {
        self.threads[me].reads = false;
        self.writer = self.writer.filter(|&writer| writer != me);
        self.threads[me].at += 1;
    }
}

fn notify(state: &State, me: usize, all: bool) -> Vec<State> {
    let woken = |whom: &[usize]| {
        let mut next = state.clone();
        next.waiting.retain(|other| !whom.contains(other));
        for &other in whom {
            next.threads[other].waits = false;
            next.threads[other].rest = Some(Rest::LockAgain(6));
        }
        next.threads[me].at += 1;
        next
    };
    if all || state.waiting.is_empty() {
        return vec![woken(&state.waiting)];
    }
    state.waiting.iter().map(|&other| woken(&[other])).collect()
}

/// A writer that finds readers keeps others from reading.
fn lock(mut next: State, me: usize, op: Op) -> Vec<State> {
    let is_read = next.threads.iter().any(|thread| thread.reads);
    let is_awaited = next.threads.iter().any(|thread| thread.waits_to_write);
    let (can_read, can_write) = (next.writer.is_none() && !is_awaited, next.writer.is_none() && !is_read);
    match op {
        Op::Release => next.release(me),
        _ if next.threads[me].reads || next.writer == Some(me) => next.threads[me].at += 1,
        Op::Read if !can_read => return Vec::new(),
        Op::Read => {
            next.threads[me].reads = true;
            next.threads[me].at += 1;
        }
        Op::TryRead => {
            next.threads[me].reads = can_read;
            next.threads[me].complete(can_read.into());
        }
        Op::TryWrite => {
            next.writer = if can_write { Some(me) } else { next.writer };
            next.threads[me].complete(can_write.into());
        }
        _ if can_write => {
            next.threads[me].waits_to_write = false;
            next.writer = Some(me);
            next.threads[me].at += 1;
        }
        _ if is_read && !next.threads[me].waits_to_write => next.threads[me].waits_to_write = true,
        _ => return Vec::new(),
    }
    vec![next]
}
