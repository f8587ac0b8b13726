//! All states that a program can come to, one step of one thread after another.

use super::Told;
use super::language::{Block, Op, PARTIES, Program};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Programs with more states are passed over.
const MAX_STATES: usize = 100_000;

/// A message's number is higher by this if there is an owner in it.
const OWNS: u8 = 4;

/// What a thread does next, and after that: the last of these comes first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Item {
    Run(Run),
    End(Frame),
    Do(Step),
}

/// The rest of a block.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Run {
    block: Block,
    at: usize,
    /// How many panics were under way when it began.
    panics: u8,
}

/// What a block leaves at its end, one step after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Frame {
    kind: Kind,
    /// It is held; whether the thread was unwinding already when it took it.
    mutex: Option<bool>,
    writes: Option<bool>,
    reads: bool,
    /// Threads of the scope whose handles are here.
    scoped: Vec<usize>,
    deferred: Vec<Block>,
    panics: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Catch,
    Scope,
    Once,
    Initialise(u8),
    Destructor,
    Body,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Step {
    Begin,
    /// These are no steps of their own: what the thread has goes; its closure is over; its own values go; it has ended.
    Goes,
    Closed,
    Over,
    Locals,
    Ended,
    DropSender,
    DropReceiver,
    /// One end of an unbounded channel has gone, and the second one to come here drops the messages.
    Second,
    DropOwner,
    /// One that was in something else.
    DropInner,
    DropWeak,
    DropHandle(usize),
    CloneSender(usize),
    CloneOwner(usize),
    DowngradeFor(usize),
    Spawn(usize),
    /// Until its threads' closures are over; its own has panicked.
    WaitForScope {
        panicked: bool,
    },
    Wait,
    LockAgain,
    LeaveBarrier,
    MakeLazy,
    LeaveLazy(Option<u8>),
    LeaveSet(u8),
    Iterate,
    TryIterate,
    /// Its part in a rendezvous is over.
    Sent(u8),
    Received {
        again: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Once {
    New,
    Running,
    Poisoned,
    Done(u8),
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct ThreadState {
    left: Vec<Item>,
    /// Panics under way: a destructor may catch one of its own meanwhile.
    panics: u8,
    /// Its closure is over, and has panicked.
    is_closed: bool,
    has_panicked: bool,
    has_ended: bool,
    is_joined: bool,
    /// Somebody else has to let it go on.
    waits: bool,
    /// Readers wait for it.
    waits_to_write: bool,
    token: bool,
    sends: bool,
    receives: bool,
    owners: u8,
    weaks: u8,
    handles: Vec<usize>,
    /// Of its scopes, each by how many are around it: threads that it has not joined.
    scoped: Vec<(usize, usize)>,
    /// Whose scope it is in, and which.
    scope: Option<(usize, usize)>,
    /// Its result, which nobody has taken; and whether nobody can any more.
    has_result: bool,
    is_detached: bool,
    /// Its own values, in the order in which they were made.
    locals: Vec<usize>,
    /// What has come of its rendezvous.
    given: u8,
    gone: Vec<usize>,
    /// There is an owner in the first of them.
    keeps: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    threads: Vec<ThreadState>,
    told: Told,
    variable: u8,
    is_locked: bool,
    value: u8,
    is_poisoned: bool,
    /// Who waits for the condition variable.
    waiting: Vec<usize>,
    readers: u8,
    is_written: bool,
    is_lock_poisoned: bool,
    once: Once,
    once_lock: Once,
    lazy: Once,
    owners: u8,
    weaks: u8,
    arrived: Vec<usize>,
    messages: VecDeque<u8>,
    is_half_gone: bool,
    /// Of a rendezvous: who waits for its message to be taken, and who for a message.
    sending: VecDeque<(usize, u8)>,
    receiving: Option<usize>,
}

/// What the threads have been told when none can go on; with at most so many preemptions, if there is a bound. `None`: there are too many states.
pub(crate) fn outcomes(program: &Program, bound: Option<u32>) -> Option<BTreeSet<Told>> {
    let machine = Machine { program };
    // Who has run last matters where preemptions are counted.
    let first = (machine.first(), 0);
    let mut seen = HashMap::from([(first.clone(), 0)]);
    let (mut left, mut outcomes) = (VecDeque::from([(first, 0)]), BTreeSet::new());
    while let Some(((state, last), preemptions)) = left.pop_front() {
        if seen[&(state.clone(), last)] < preemptions {
            continue;
        }
        let steps: Vec<_> = (0..state.threads.len()).map(|me| machine.steps(&state, me)).collect();
        if steps.iter().all(Vec::is_empty) {
            outcomes.insert(state.told.clone());
        }
        let could_go_on = !steps[last].is_empty();
        for (me, next) in steps.into_iter().enumerate() {
            let cost = u32::from(me != last && could_go_on);
            for next in next {
                let (next, preemptions) = match bound {
                    Some(_) => ((next, me), preemptions + cost),
                    None => ((next, 0), 0),
                };
                let is_known = seen.get(&next).is_some_and(|&known| known <= preemptions);
                if is_known || bound.is_some_and(|bound| preemptions > bound) {
                    continue;
                }
                seen.insert(next.clone(), preemptions);
                left.push_back((next, preemptions));
            }
        }
        if seen.len() > MAX_STATES {
            return None;
        }
    }
    Some(outcomes)
}

struct Machine<'a> {
    program: &'a Program,
}

impl Machine<'_> {
    fn first(&self) -> State {
        let count = self.program.threads.len();
        let mut state = State {
            threads: vec![ThreadState::default(); count],
            told: vec![Vec::new(); count],
            variable: 0,
            is_locked: false,
            value: 0,
            is_poisoned: false,
            waiting: Vec::new(),
            readers: 0,
            is_written: false,
            is_lock_poisoned: false,
            once: Once::New,
            once_lock: Once::New,
            lazy: Once::New,
            owners: 1,
            weaks: 0,
            arrived: Vec::new(),
            messages: VecDeque::new(),
            is_half_gone: false,
            sending: VecDeque::new(),
            receiving: None,
        };
        let main = &mut state.threads[0];
        (main.sends, main.receives, main.owners) = (true, true, 1);
        main.left.extend([Step::Ended, Step::Locals, Step::Goes].map(Item::Do));
        state.begin(0, Kind::Catch, self.program.threads[0].body);
        self.settle(state, 0).remove(0)
    }

    /// What it can do next, up to where others can come in between; nothing if it has to wait.
    fn steps(&self, state: &State, me: usize) -> Vec<State> {
        self.step(state.clone(), me).into_iter().flat_map(|next| self.settle(next, me)).collect()
    }

    /// While it unwinds nobody comes in between, as long as it does not have to wait.
    fn settle(&self, mut state: State, me: usize) -> Vec<State> {
        self.prepare(&mut state, me);
        if state.threads[me].panics > 0 {
            let next = self.step(state.clone(), me);
            if !next.is_empty() {
                return next.into_iter().flat_map(|next| self.settle(next, me)).collect();
            }
        }
        vec![state]
    }

    /// Does what is no step, up to the next one.
    fn prepare(&self, state: &mut State, me: usize) {
        loop {
            let thread = &mut state.threads[me];
            match thread.left.last_mut() {
                None => return,
                Some(Item::Run(run)) => {
                    let Some(&op) =
                        self.program.blocks[run.block].get(run.at).filter(|_| run.panics == thread.panics)
                    else {
                        thread.left.pop();
                        continue;
                    };
                    if self.is_step(state, me, op) {
                        return;
                    }
                    state.pass(me);
                    self.does_at_once(state, me, op);
                }
                Some(Item::End(frame)) => {
                    let unwinds = thread.panics > frame.panics;
                    if frame.mutex.is_some() || frame.writes.is_some() || frame.reads {
                        return;
                    }
                    if !frame.scoped.is_empty() {
                        let handles = std::mem::take(&mut frame.scoped);
                        thread
                            .left
                            .extend(handles.into_iter().rev().map(|other| Item::Do(Step::DropHandle(other))));
                        continue;
                    }
                    if !frame.deferred.is_empty() {
                        let block = frame.deferred.remove(0);
                        state.begin(me, Kind::Destructor, block);
                        continue;
                    }
                    match frame.kind {
                        Kind::Once | Kind::Initialise(_) => return,
                        Kind::Destructor => _ = thread.left.pop(),
                        Kind::Catch => {
                            thread.panics = frame.panics;
                            thread.left.pop();
                            state.told[me].push(unwinds.into());
                        }
                        Kind::Scope => {
                            thread.panics = frame.panics;
                            thread.left.pop();
                            let scope = state.scope_count(me);
                            let thread = &mut state.threads[me];
                            if thread.scoped.iter().any(|&(which, _)| which == scope) {
                                thread.left.push(Item::Do(Step::WaitForScope { panicked: unwinds }));
                            } else {
                                thread.panics += u8::from(unwinds);
                            }
                        }
                        Kind::Body => *thread.left.last_mut().unwrap() = Item::Do(Step::Goes),
                    }
                }
                Some(Item::Do(step)) => {
                    let step = step.clone();
                    match step {
                        Step::Goes => {
                            thread.left.pop();
                            let handles = std::mem::take(&mut thread.handles);
                            let owned = handles.into_iter().rev().map(Step::DropHandle);
                            let owned = owned.chain((0..thread.weaks).map(|_| Step::DropWeak));
                            let owned = owned.chain((0..thread.owners).map(|_| Step::DropOwner));
                            let owned = owned.chain(thread.receives.then_some(Step::DropReceiver));
                            let owned: Vec<_> =
                                owned.chain(thread.sends.then_some(Step::DropSender)).collect();
                            thread.left.extend(owned.into_iter().map(Item::Do));
                        }
                        Step::Closed => {
                            thread.has_panicked |= std::mem::take(&mut thread.panics) > 0;
                            if self.asks_for_ends() {
                                return;
                            }
                            thread.left.pop();
                            self.close(state, me);
                        }
                        Step::Over => {
                            thread.left.pop();
                            thread.is_closed = true;
                        }
                        Step::Locals => match thread.locals.pop() {
                            Some(which) => {
                                thread.gone.push(which);
                                if which == 0 && std::mem::take(&mut thread.keeps) {
                                    thread.left.push(Item::Do(Step::DropInner));
                                }
                                state.begin(me, Kind::Destructor, self.program.local_ends[which]);
                            }
                            None => _ = thread.left.pop(),
                        },
                        Step::Ended => {
                            thread.left.pop();
                            thread.has_ended = true;
                        }
                        _ => return,
                    }
                }
            }
        }
    }

    /// Whether it is one that others can tell; what the thread does not have is no step.
    fn is_step(&self, state: &State, me: usize, op: Op) -> bool {
        let (thread, frame) = (&state.threads[me], state.frame(me));
        let locks = frame.reads || frame.writes.is_some();
        match op {
            Op::Catch(_)
            | Op::Panic
            | Op::Defer(_)
            | Op::Scope(_)
            | Op::Spawn(_)
            | Op::Put(_)
            | Op::IsPanicking
            | Op::Keep => false,
            Op::TouchFirst | Op::TouchSecond | Op::TryTouchFirst | Op::TryTouchSecond => false,
            Op::Join(other) | Op::IsFinished(other) | Op::DropHandle(other) => {
                frame.scoped.contains(&other) || thread.handles.contains(&other)
            }
            Op::Lock | Op::TryLock => frame.mutex.is_none(),
            Op::Unlock => frame.mutex.is_some(),
            Op::WaitWhile => frame.mutex.is_some() && state.value == 0,
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite => !locks,
            Op::WriteToRead => frame.writes.is_some(),
            Op::Release => locks,
            Op::Clone
            | Op::Drop
            | Op::Downgrade
            | Op::StrongCount
            | Op::WeakCount
            | Op::TryUnwrap
            | Op::IntoInner
            | Op::GetMut => thread.owners > 0,
            Op::DropWeak | Op::Upgrade | Op::WeakStrongCount | Op::WeakWeakCount => thread.weaks > 0,
            Op::Send(_) | Op::SendOwner(_) | Op::TrySend(_) | Op::DropSender => thread.sends,
            Op::Receive | Op::TryReceive | Op::Iterate | Op::TryIterate | Op::DropReceiver => thread.receives,
            _ => true,
        }
    }

    fn does_at_once(&self, state: &mut State, me: usize, op: Op) {
        let thread = &state.threads[me];
        match op {
            Op::Panic => state.threads[me].panics += 1,
            Op::Catch(block) => state.begin(me, Kind::Catch, block),
            Op::IsPanicking => state.told[me].push((thread.panics > 0).into()),
            Op::Scope(block) => state.begin(me, Kind::Scope, block),
            Op::Spawn(child) => {
                let given = &self.program.threads[child];
                let owns = thread.owners > 0;
                let steps = [
                    Some(Step::Spawn(child)),
                    (owns && given.weak).then_some(Step::DowngradeFor(child)),
                    (owns && given.owns).then_some(Step::CloneOwner(child)),
                    (thread.sends && given.sends).then_some(Step::CloneSender(child)),
                ];
                state.threads[me].left.extend(steps.into_iter().flatten().map(Item::Do));
            }
            Op::Defer(block) => state.frame_mut(me).deferred.push(block),
            Op::Put(value) if state.frame(me).mutex.is_some() => state.value = value,
            Op::TouchFirst | Op::TouchSecond | Op::TryTouchFirst | Op::TryTouchSecond | Op::Keep => {
                let which = usize::from(matches!(op, Op::TouchSecond | Op::TryTouchSecond));
                let is_there = !thread.gone.contains(&which);
                if is_there && !thread.locals.contains(&which) {
                    state.threads[me].locals.push(which);
                }
                let thread = &mut state.threads[me];
                if op == Op::Keep && thread.owners > 0 && !thread.keeps {
                    thread.keeps = true;
                    thread.owners -= 1;
                }
                if matches!(op, Op::TryTouchFirst | Op::TryTouchSecond) {
                    state.told[me].push(is_there.into());
                }
            }
            Op::WaitWhile if state.frame(me).mutex.is_some() => state.told[me].push(state.value),
            _ => {}
        }
    }

    /// The next step, which there is; nothing if the thread has to wait.
    fn step(&self, mut next: State, me: usize) -> Vec<State> {
        let thread = &mut next.threads[me];
        if thread.waits {
            return Vec::new();
        }
        match thread.left.last().cloned() {
            None => Vec::new(),
            Some(Item::Run(run)) => {
                let op = self.program.blocks[run.block][run.at];
                self.does(next, me, op)
            }
            Some(Item::End(_)) => {
                next.leave(me);
                vec![next]
            }
            Some(Item::Do(step)) => {
                thread.left.pop();
                self.does_step(next, me, step)
            }
        }
    }

    fn does_step(&self, mut next: State, me: usize, step: Step) -> Vec<State> {
        let thread = &mut next.threads[me];
        match step {
            Step::Begin => {}
            Step::Closed => self.close(&mut next, me),
            Step::Goes | Step::Over | Step::Locals | Step::Ended => unreachable!("it is no step"),
            Step::DropSender => self.drop_sender(&mut next, me),
            Step::DropReceiver => self.drop_receiver(&mut next, me),
            Step::Second if next.is_half_gone => self.drop_messages(&mut next, me),
            Step::Second => next.is_half_gone = true,
            Step::DropOwner => self.drop_owner(&mut next, me),
            Step::DropInner => self.owner_goes(&mut next, me),
            Step::DropWeak => next.drop_weak(me),
            Step::DropHandle(other) => self.drop_handle(&mut next, me, other),
            Step::CloneSender(child) => next.threads[child].sends = true,
            Step::CloneOwner(child) => {
                next.threads[child].owners += 1;
                next.owners += 1;
            }
            Step::DowngradeFor(child) => {
                next.threads[child].weaks += 1;
                next.weaks += 1;
            }
            Step::Spawn(child) => self.spawn(&mut next, me, child),
            Step::WaitForScope { panicked } => {
                let scope = next.scope_count(me);
                let scoped = next.threads[me].scoped.extract_if(.., |(which, _)| *which == scope);
                let scoped: Vec<_> = scoped.map(|(_, other)| other).collect();
                if scoped.iter().any(|&other| !next.threads[other].is_closed) {
                    return Vec::new();
                }
                let panicked = panicked
                    || scoped.iter().any(|&other| {
                        let other = &next.threads[other];
                        other.has_panicked && !other.is_joined
                    });
                next.threads[me].panics += u8::from(panicked);
            }
            Step::Wait => next.wait(me),
            Step::LockAgain if next.is_locked => return Vec::new(),
            Step::LockAgain => {
                next.is_locked = true;
                next.frame_mut(me).mutex = Some(false);
                if next.is_poisoned {
                    next.told[me].push(10 + next.value);
                } else if next.value == 0 {
                    next.threads[me].left.push(Item::Do(Step::Wait));
                } else {
                    next.told[me].push(next.value);
                }
            }
            Step::LeaveBarrier => next.told[me].push(0),
            Step::MakeLazy => {
                let value = next.count_up();
                let is_made = value != self.program.lazy_panics_at;
                next.threads[me].panics += u8::from(!is_made);
                next.threads[me].left.push(Item::Do(Step::LeaveLazy(is_made.then_some(value))));
            }
            Step::LeaveLazy(None) => next.lazy = Once::Poisoned,
            Step::LeaveLazy(Some(value)) => {
                next.lazy = Once::Done(value);
                next.told[me].push(30 + value);
            }
            Step::LeaveSet(value) => {
                next.once_lock = Once::Done(value);
                next.told[me].push(1);
            }
            Step::Sent(message) => {
                let given = thread.given;
                next.told[me].push(given);
                if given == 0 {
                    self.drop_message(&mut next, me, message);
                }
            }
            Step::Received { again } => {
                let given = thread.given;
                thread.left.extend((again && given != 9).then_some(Item::Do(Step::Iterate)));
                if given == 9 {
                    next.told[me].push(9);
                } else {
                    next.told[me].push(given % OWNS);
                    self.drop_message(&mut next, me, given);
                }
            }
            Step::Iterate | Step::TryIterate => match next.take() {
                Some(message) => {
                    next.threads[me].left.push(Item::Do(step));
                    next.told[me].push(message % OWNS);
                    self.drop_message(&mut next, me, message);
                }
                None if step == Step::Iterate && next.has_senders() => return self.awaits(next, me, true),
                None => next.told[me].push(9),
            },
        }
        vec![next]
    }

    fn does(&self, mut next: State, me: usize, op: Op) -> Vec<State> {
        next.pass(me);
        let mut told = None;
        match op {
            Op::Catch(_)
            | Op::Panic
            | Op::Defer(_)
            | Op::Scope(_)
            | Op::Spawn(_)
            | Op::Put(_)
            | Op::IsPanicking
            | Op::Keep => unreachable!(),
            Op::TouchFirst | Op::TouchSecond | Op::TryTouchFirst | Op::TryTouchSecond => unreachable!(),
            Op::Join(other) => {
                if !next.threads[other].has_ended {
                    return Vec::new();
                }
                next.lets_go(me, other);
                next.threads[other].is_joined = true;
                next.threads[me].scoped.retain(|&(_, thread)| thread != other);
                told = Some(next.threads[other].has_panicked.into());
                if std::mem::take(&mut next.threads[other].has_result) {
                    self.destroy(&mut next, me, self.program.result_end);
                }
            }
            Op::IsFinished(other) => told = Some(next.threads[other].is_closed.into()),
            Op::DropHandle(other) => {
                next.lets_go(me, other);
                self.drop_handle(&mut next, me, other);
            }
            Op::Store(value) => next.variable = value,
            Op::Load => {
                told = Some(next.variable);
                if next.variable == 0 {
                    next.pass(me);
                }
            }
            Op::Add => told = Some(next.count_up()),
            Op::Swap(value) => told = Some(std::mem::replace(&mut next.variable, value)),
            Op::Exchange(old, new) => {
                told = Some(next.variable);
                next.variable = if next.variable == old { new } else { next.variable };
            }
            Op::Update => {
                told = Some(if next.variable == 0 { 9 } else { next.variable });
                next.variable = next.variable.saturating_sub(1);
            }
            Op::Lock if next.is_locked => return Vec::new(),
            Op::TryLock if next.is_locked => told = Some(2),
            Op::Lock | Op::TryLock => {
                next.is_locked = true;
                next.frame_mut(me).mutex = Some(next.threads[me].panics > 0);
                let is_poisoned = u8::from(next.is_poisoned);
                told = Some(if op == Op::Lock { 10 * is_poisoned + next.value } else { is_poisoned });
            }
            Op::Unlock | Op::Release => next.leave(me),
            Op::IsPoisoned => told = Some(next.is_poisoned.into()),
            Op::ClearPoison => next.is_poisoned = false,
            Op::WaitWhile => next.wait(me),
            Op::NotifyOne | Op::NotifyAll => return next.notify(op == Op::NotifyAll),
            Op::Read | Op::TryRead | Op::Write | Op::TryWrite => return self.lock(next, me, op),
            Op::WriteToRead => {
                let frame = next.frame_mut(me);
                (frame.writes, frame.reads) = (None, true);
                (next.is_written, next.readers) = (false, 1);
            }
            Op::IsLockPoisoned => told = Some(next.is_lock_poisoned.into()),
            Op::ClearLockPoison => next.is_lock_poisoned = false,
            Op::CallOnce(block) | Op::CallOnceForce(block) => match next.once {
                Once::Running => return Vec::new(),
                Once::Done(_) => told = Some(1),
                Once::Poisoned if matches!(op, Op::CallOnce(_)) => next.threads[me].panics += 1,
                Once::New | Once::Poisoned => {
                    if matches!(op, Op::CallOnceForce(_)) {
                        told = Some((next.once == Once::Poisoned).into());
                    }
                    next.once = Once::Running;
                    next.begin(me, Kind::Once, block);
                }
            },
            Op::Await | Op::AwaitForce => match next.once {
                Once::Done(_) => told = Some(1),
                Once::Poisoned if op == Op::Await => next.threads[me].panics += 1,
                _ => return Vec::new(),
            },
            Op::AwaitValue => match next.once_lock {
                Once::Done(value) => told = Some(20 + value),
                _ => return Vec::new(),
            },
            Op::IsCompleted => told = Some(matches!(next.once, Once::Done(_)).into()),
            Op::Initialise(..) | Op::Set(_) if next.once_lock == Once::Running => return Vec::new(),
            Op::Initialise(value, block) => match next.once_lock {
                Once::Done(value) => told = Some(20 + value),
                _ => {
                    next.once_lock = Once::Running;
                    next.begin(me, Kind::Initialise(value), block);
                }
            },
            Op::Set(value) => match next.once_lock {
                Once::Done(_) => told = Some(0),
                _ => {
                    next.once_lock = Once::Running;
                    next.threads[me].left.push(Item::Do(Step::LeaveSet(value)));
                }
            },
            Op::Get => told = Some(if let Once::Done(value) = next.once_lock { value } else { 9 }),
            Op::Force => match next.lazy {
                Once::Running => return Vec::new(),
                Once::Done(value) => told = Some(30 + value),
                Once::Poisoned => next.threads[me].panics += 1,
                Once::New => {
                    next.lazy = Once::Running;
                    next.threads[me].left.push(Item::Do(Step::MakeLazy));
                }
            },
            Op::Clone => {
                next.owners += 1;
                next.threads[me].owners += 1;
            }
            Op::Drop => self.drop_owner(&mut next, me),
            Op::Downgrade => {
                next.weaks += 1;
                next.threads[me].weaks += 1;
            }
            Op::DropWeak => next.drop_weak(me),
            Op::Upgrade => {
                let is_there = u8::from(next.owners > 0);
                next.owners += is_there;
                next.threads[me].owners += is_there;
                told = Some(is_there);
            }
            Op::StrongCount | Op::WeakStrongCount => told = Some(next.owners),
            Op::WeakCount => told = Some(next.weaks),
            Op::WeakWeakCount => told = Some(if next.owners == 0 { 0 } else { next.weaks }),
            Op::TryUnwrap | Op::IntoInner => {
                let is_last = next.owners == 1;
                told = Some(is_last.into());
                if is_last || op == Op::IntoInner {
                    self.drop_owner(&mut next, me);
                }
            }
            Op::GetMut => told = Some((next.owners == 1 && next.weaks == 0).into()),
            Op::Park if !next.threads[me].token => return Vec::new(),
            Op::Park => {
                next.threads[me].token = false;
                told = Some(7);
            }
            Op::Unpark => next.threads[0].token = true,
            Op::Arrive if next.arrived.len() + 1 == PARTIES => {
                for other in std::mem::take(&mut next.arrived) {
                    next.threads[other].waits = false;
                }
                told = Some(1);
            }
            Op::Arrive => {
                next.arrived.push(me);
                next.threads[me].waits = true;
                next.threads[me].left.push(Item::Do(Step::LeaveBarrier));
            }
            Op::Send(value) | Op::SendOwner(value) | Op::TrySend(value) => {
                let owns = matches!(op, Op::SendOwner(_)) && next.threads[me].owners > 0;
                next.threads[me].owners -= u8::from(owns);
                return self.send(
                    next,
                    me,
                    value + if owns { OWNS } else { 0 },
                    matches!(op, Op::TrySend(_)),
                );
            }
            Op::Receive | Op::TryReceive => match next.take() {
                Some(message) => {
                    told = Some(message % OWNS);
                    self.drop_message(&mut next, me, message);
                }
                None if !next.has_senders() => told = Some(9),
                None if op == Op::TryReceive => told = Some(8),
                None => return self.awaits(next, me, false),
            },
            Op::Iterate | Op::TryIterate => {
                return self.does_step(
                    next,
                    me,
                    if op == Op::Iterate { Step::Iterate } else { Step::TryIterate },
                );
            }
            Op::DropSender => self.drop_sender(&mut next, me),
            Op::DropReceiver => self.drop_receiver(&mut next, me),
        }
        next.told[me].extend(told);
        vec![next]
    }

    /// A writer that finds readers keeps others from reading.
    fn lock(&self, mut next: State, me: usize, op: Op) -> Vec<State> {
        let is_awaited = next.threads.iter().any(|thread| thread.waits_to_write);
        let can_read = !next.is_written && !is_awaited;
        let can_write = !next.is_written && next.readers == 0;
        let is_poisoned = u8::from(next.is_lock_poisoned);
        let unwinds = next.threads[me].panics > 0;
        match op {
            Op::Read | Op::TryRead if can_read => {
                next.readers += 1;
                next.frame_mut(me).reads = true;
                next.told[me].push(is_poisoned);
            }
            Op::Write | Op::TryWrite if can_write => {
                next.is_written = true;
                next.threads[me].waits_to_write = false;
                next.frame_mut(me).writes = Some(unwinds);
                next.told[me].push(is_poisoned);
            }
            Op::TryRead | Op::TryWrite => next.told[me].push(2),
            Op::Write if next.readers > 0 && !next.threads[me].waits_to_write => {
                next.threads[me].waits_to_write = true;
                next.again(me);
            }
            _ => return Vec::new(),
        }
        vec![next]
    }

    fn spawn(&self, next: &mut State, me: usize, child: usize) {
        let given = &self.program.threads[child];
        let parent = &mut next.threads[me];
        let receives = given.receives && std::mem::take(&mut parent.receives);
        let handles: Vec<_> = parent.handles.extract_if(.., |other| given.handles.contains(other)).collect();
        let scope = match next.frame(me).kind {
            Kind::Scope => Some((me, next.scope_count(me) - 1)),
            Kind::Body => next.threads[me].scope,
            _ => None,
        };
        if let Some((owner, which)) = scope {
            next.frame_mut(me).scoped.push(child);
            next.threads[owner].scoped.push((which, child));
        } else {
            next.threads[me].handles.push(child);
        }
        let thread = &mut next.threads[child];
        thread.scope = scope;
        thread.receives = receives;
        thread.handles = handles;
        thread.left.extend([Step::Ended, Step::Locals, Step::Closed].map(Item::Do));
        next.begin(child, Kind::Body, given.body);
        next.threads[child].left.push(Item::Do(Step::Begin));
    }

    fn send(&self, mut next: State, me: usize, message: u8, trying: bool) -> Vec<State> {
        let is_full = self.program.capacity.is_some_and(|capacity| next.messages.len() >= capacity);
        let told = if next.receiving.is_some() {
            next.hand(message);
            1
        } else if !next.has_receiver() {
            0
        } else if !is_full {
            next.messages.push_back(message);
            1
        } else if trying {
            2
        } else if self.program.capacity == Some(0) {
            next.sending.push_back((me, message));
            next.threads[me].waits = true;
            next.threads[me].left.push(Item::Do(Step::Sent(message)));
            return vec![next];
        } else {
            return Vec::new();
        };
        next.told[me].push(told);
        if told != 1 {
            self.drop_message(&mut next, me, message);
        }
        vec![next]
    }

    fn drop_message(&self, next: &mut State, me: usize, message: u8) {
        next.threads[me].left.extend((message >= OWNS).then_some(Item::Do(Step::DropInner)));
        self.destroy(next, me, self.program.message_end);
    }

    /// There is no message yet.
    fn awaits(&self, mut next: State, me: usize, again: bool) -> Vec<State> {
        if self.program.capacity != Some(0) {
            return Vec::new();
        }
        next.receiving = Some(me);
        next.threads[me].waits = true;
        next.threads[me].left.push(Item::Do(Step::Received { again }));
        vec![next]
    }

    /// A destructor.
    fn destroy(&self, next: &mut State, me: usize, block: Block) {
        next.begin(me, Kind::Destructor, block);
    }

    fn drop_owner(&self, next: &mut State, me: usize) {
        next.threads[me].owners -= 1;
        self.owner_goes(next, me);
    }

    fn owner_goes(&self, next: &mut State, me: usize) {
        next.owners -= 1;
        if next.owners == 0 {
            self.destroy(next, me, self.program.value_end);
        }
    }

    /// Its closure is over.
    fn close(&self, next: &mut State, me: usize) {
        let thread = &mut next.threads[me];
        let returns = !thread.has_panicked && self.program.threads[me].returns;
        if returns && thread.is_detached {
            thread.left.push(Item::Do(Step::Over));
            self.destroy(next, me, self.program.result_end);
        } else {
            thread.has_result = returns;
            thread.is_closed = true;
        }
    }

    /// Whether somebody can tell when a thread's closure is over: that is a step then.
    fn asks_for_ends(&self) -> bool {
        self.program.has(|op| matches!(op, Op::IsFinished(_)))
    }

    /// Who comes second, the thread or whoever drops its handle, drops its result.
    fn drop_handle(&self, next: &mut State, me: usize, other: usize) {
        next.threads[other].is_detached = true;
        if std::mem::take(&mut next.threads[other].has_result) {
            self.destroy(next, me, self.program.result_end);
        }
    }

    fn drop_sender(&self, next: &mut State, me: usize) {
        next.threads[me].sends = false;
        if !next.has_senders() && next.receiving.is_some() {
            next.hand(9);
        }
        if self.program.capacity.is_none() && !next.has_senders() && next.has_receiver() {
            next.threads[me].left.push(Item::Do(Step::Second));
        }
    }

    fn drop_receiver(&self, next: &mut State, me: usize) {
        next.threads[me].receives = false;
        for (sender, _) in std::mem::take(&mut next.sending) {
            (next.threads[sender].waits, next.threads[sender].given) = (false, 0);
        }
        if self.program.capacity.is_none() && !next.has_senders() {
            next.threads[me].left.push(Item::Do(Step::Second));
        } else {
            self.drop_messages(next, me);
        }
    }

    fn drop_messages(&self, next: &mut State, me: usize) {
        for message in std::mem::take(&mut next.messages).into_iter().rev() {
            self.drop_message(next, me, message);
        }
    }
}

impl State {
    fn frame_mut(&mut self, me: usize) -> &mut Frame {
        let frames = self.threads[me].left.iter_mut().rev();
        let mut frames =
            frames.filter_map(|item| if let Item::End(frame) = item { Some(frame) } else { None });
        frames.next().expect("a block has a frame")
    }

    fn frame(&self, me: usize) -> &Frame {
        let frames = self.threads[me].left.iter().rev();
        let mut frames =
            frames.filter_map(|item| if let Item::End(frame) = item { Some(frame) } else { None });
        frames.next().expect("a block has a frame")
    }

    fn begin(&mut self, me: usize, kind: Kind, block: Block) {
        let panics = self.threads[me].panics;
        let frame = Frame {
            kind,
            mutex: None,
            writes: None,
            reads: false,
            scoped: Vec::new(),
            deferred: Vec::new(),
            panics,
        };
        self.threads[me].left.extend([Item::End(frame), Item::Run(Run { block, at: 0, panics })]);
    }

    /// The operation is done, or passed over.
    fn pass(&mut self, me: usize) {
        if let Some(Item::Run(run)) = self.threads[me].left.last_mut() {
            run.at += 1;
        }
    }

    fn again(&mut self, me: usize) {
        if let Some(Item::Run(run)) = self.threads[me].left.last_mut() {
            run.at -= 1;
        }
    }

    /// What the block holds goes, or the block is left.
    fn leave(&mut self, me: usize) {
        let panics = self.threads[me].panics;
        let frame = self.frame_mut(me);
        let (kind, unwinds) = (frame.kind, panics > frame.panics);
        if let Some(was_unwinding) = frame.mutex.take() {
            self.is_locked = false;
            self.is_poisoned |= panics > 0 && !was_unwinding;
        } else if let Some(was_unwinding) = frame.writes.take() {
            self.is_written = false;
            self.is_lock_poisoned |= panics > 0 && !was_unwinding;
        } else if std::mem::take(&mut frame.reads) {
            self.readers -= 1;
        } else {
            self.threads[me].left.pop();
            match kind {
                Kind::Once if unwinds => self.once = Once::Poisoned,
                Kind::Once => {
                    self.once = Once::Done(0);
                    self.told[me].push(1);
                }
                Kind::Initialise(_) if unwinds => self.once_lock = Once::Poisoned,
                Kind::Initialise(value) => {
                    self.once_lock = Once::Done(value);
                    self.told[me].push(20 + value);
                }
                _ => unreachable!("it is no step"),
            }
        }
    }

    fn wait(&mut self, me: usize) {
        self.is_locked = false;
        self.frame_mut(me).mutex = None;
        self.waiting.push(me);
        self.waiting.sort_unstable();
        self.threads[me].waits = true;
        self.threads[me].left.push(Item::Do(Step::LockAgain));
    }

    fn notify(self, all: bool) -> Vec<State> {
        let woken = |whom: &[usize]| {
            let mut next = self.clone();
            next.waiting.retain(|other| !whom.contains(other));
            for &other in whom {
                next.threads[other].waits = false;
            }
            next
        };
        if all || self.waiting.is_empty() {
            return vec![woken(&self.waiting)];
        }
        self.waiting.iter().map(|&other| woken(&[other])).collect()
    }

    /// The next message.
    fn take(&mut self) -> Option<u8> {
        let Some((sender, value)) = self.sending.pop_front() else { return self.messages.pop_front() };
        (self.threads[sender].waits, self.threads[sender].given) = (false, 1);
        Some(value)
    }

    /// Whoever waits to receive gets this.
    fn hand(&mut self, value: u8) {
        if let Some(receiver) = self.receiving.take() {
            (self.threads[receiver].waits, self.threads[receiver].given) = (false, value);
        }
    }

    fn count_up(&mut self) -> u8 {
        self.variable += 1;
        self.variable - 1
    }

    /// How many scopes it is in of its own.
    fn scope_count(&self, me: usize) -> usize {
        let is_scope = |item: &&Item| matches!(item, Item::End(frame) if frame.kind == Kind::Scope);
        self.threads[me].left.iter().filter(is_scope).count()
    }

    /// It has no handle of the other one any more.
    fn lets_go(&mut self, me: usize, other: usize) {
        self.frame_mut(me).scoped.retain(|&thread| thread != other);
        self.threads[me].handles.retain(|&thread| thread != other);
    }

    fn drop_weak(&mut self, me: usize) {
        self.threads[me].weaks -= 1;
        self.weaks -= 1;
    }

    fn has_senders(&self) -> bool {
        self.threads.iter().any(|thread| thread.sends)
    }

    fn has_receiver(&self) -> bool {
        self.threads.iter().any(|thread| thread.receives)
    }
}
