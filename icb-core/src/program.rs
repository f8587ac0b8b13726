//! The seams: what can be run once under a chooser, what a chooser is shown, what an observer sees, what a strategy and
//! a reduction are.
//! This file holds the only definition of a preemption: [`SchedulingPoint::cost`].

pub use crate::thread_set::{ThreadSet, Threads};

use crate::trace::{
    Access, Failure, Frame, ObjectId, ObjectInfo, Operation, SourceLocation, ThreadId, ThreadInfo,
};
use std::num::NonZero;
use std::panic::Location;

/// At which operations the scheduler may switch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Granularity {
    /// Before every synchronization operation; data accesses are checked for races instead
    /// (PLDI 2007, §3.1, Theorems 2 and 3).
    #[default]
    SyncOnly,
    /// Before data accesses as well.
    EveryAccess,
}

/// A place in the program: a location of the source, or an instruction whose location is looked up when it is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// The address of a `Location`, whose lowest bit is 0, or an instruction's address times two, plus 1.
    word: NonZero<usize>,
}

impl Place {
    /// The place of the instruction before this address (a return address).
    #[must_use]
    #[inline]
    pub fn of_code(address: usize) -> Self {
        Place { word: NonZero::<usize>::MIN | (address << 1) }
    }

    /// Different for different places; relative addresses of these are equal in equal executions.
    #[must_use]
    #[inline]
    pub fn address(self) -> usize {
        if self.word.get() & 1 == 0 { self.word.get() } else { self.word.get() >> 1 }
    }

    /// The location in the source, if it is known.
    #[must_use]
    pub fn location(self) -> Option<SourceLocation> {
        if self.word.get() & 1 != 0 {
            return crate::symbols::location(self.address());
        }
        // SAFETY: words without the lowest bit are made only in `from`, of references that live for ever.
        let location: &Location<'static> = unsafe { &*std::ptr::with_exposed_provenance(self.word.get()) };
        Some(location.into())
    }

    /// The place as a word that is not 0.
    #[must_use]
    #[inline]
    pub(crate) fn word(self) -> usize {
        self.word.get()
    }

    /// The place whose word this is.
    ///
    /// # Safety
    /// The word was made by [`word`](Self::word), or is 0.
    pub(crate) unsafe fn from_word(word: usize) -> Option<Self> {
        NonZero::new(word).map(|word| Place { word })
    }
}

impl From<&'static Location<'static>> for Place {
    #[inline]
    fn from(location: &'static Location<'static>) -> Self {
        let address = std::ptr::from_ref(location).expose_provenance();
        // A `Location` holds a pointer, so its address is even; and no reference is null.
        Place { word: NonZero::new(address).unwrap_or(NonZero::<usize>::MIN) }
    }
}

/// A place where a thread must be chosen: immediately before an operation takes effect.
#[derive(Debug)]
pub struct SchedulingPoint<'a> {
    /// Number of the step that is to be taken.
    pub step: u64,
    /// Who took the step before; `None` at the start.
    pub previous: Option<ThreadId>,
    /// That step was a yield: leaving its thread is free.
    pub yielded: bool,
    /// Threads whose pending operation can take effect.
    pub enabled: &'a ThreadSet,
    /// Threads that could go on before their time, at a cost of 1: a timed wait expires, a wait wakes spuriously.
    pub early: &'a ThreadSet,
    /// Those of `early` that need not be let on: what they did next would be what they have just done. This may be found out in one execution and not in
    /// another one of the same schedule, so nothing that must be the same in both may depend on it.
    pub idle: &'a ThreadSet,
    /// The pending operation of every thread that has not ended, by thread number.
    pub pending: &'a [Operation],
    /// Since the point before, the pending operations of all threads but the one that took the step, and of new ones, are
    /// what they were. Where that is not certain: `false`.
    pub others_unchanged: bool,
    /// Objects that a thread's pending pause (or read in a spinning loop) waits for a change of, by thread number;
    /// may be shorter than `pending`.
    pub awaited: &'a [Vec<ObjectId>],
    /// Threads that have ended.
    pub ended: &'a ThreadSet,
    /// Identifies the place in the program (source locations of pending operations); equal in equal executions.
    pub place: u64,
    /// Who was let on where nobody could go on.
    pub let_on: LetOn,
}

/// Where nobody could go on, somebody who waits for a change may have been let on. What this still has to do with what comes: a function of
/// the order of all steps, not of dependent ones alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LetOn {
    /// It has just happened to this thread.
    pub thread: Option<ThreadId>,
    /// How often, and to whom, it has happened; 0 where that has nothing to do with what comes.
    pub history: u64,
}

impl SchedulingPoint<'_> {
    /// What it costs against the bound to let this thread take the next step.
    ///
    /// A *preemption* costs 1: the step before was taken by another thread that is still enabled and did not
    /// yield. Going on early costs 1.
    #[must_use]
    #[inline]
    pub fn cost(&self, thread: ThreadId) -> u32 {
        u32::from(self.is_preemption(thread)) + u32::from(self.is_early(thread))
    }

    /// Whether letting this thread take the next step preempts the one before.
    #[must_use]
    #[inline]
    pub fn is_preemption(&self, thread: ThreadId) -> bool {
        match self.previous {
            Some(previous) => previous != thread && !self.yielded && self.enabled.contains(previous.index()),
            None => false,
        }
    }

    /// The next step, to be written down until it has been taken: `previous` took the one before, `thread` takes it.
    #[inline]
    pub(crate) fn written_down(&self, previous: usize, thread: usize) -> Coasted {
        Coasted {
            number: self.step,
            place: self.place,
            enabled: self.enabled.word(),
            early: self.early.word(),
            ended: self.ended.word(),
            yielded: self.yielded,
            is_taken: false,
            pauses: false,
            previous: previous as u32,
            thread: thread as u32,
            thread_count: self.pending.len() as u32,
            wanted: self.pending[previous],
            operation: self.pending[previous],
            only: None,
        }
    }

    /// Threads that could go on early, if that may make a difference.
    pub fn worth_letting_on(&self) -> impl Iterator<Item = usize> + '_ {
        self.early.iter().filter(|&thread| !self.enabled.contains(thread) && !self.idle.contains(thread))
    }

    /// Whether nobody is left.
    #[must_use]
    pub fn all_ended(&self) -> bool {
        self.ended.len() == self.pending.len()
    }

    /// Whether every choice but the default one costs something.
    #[must_use]
    #[inline]
    pub fn leaving_costs(&self) -> bool {
        !self.yielded && self.previous.is_some_and(|previous| self.enabled.contains(previous.index()))
    }

    /// Whether this thread would go on early.
    #[must_use]
    #[inline]
    pub fn is_early(&self, thread: ThreadId) -> bool {
        !self.early.is_empty()
            && self.early.contains(thread.index())
            && !self.enabled.contains(thread.index())
    }

    /// The choice that costs nothing and keeps the execution moving: the thread that ran before if it can go on
    /// and has not yielded; after a yield the next thread in turn; else the lowest enabled one.
    #[must_use]
    #[inline]
    pub fn default_choice(&self) -> ThreadId {
        if let Some(previous) = self.previous {
            let previous = previous.index();
            if self.yielded {
                if let Some(next) = self.enabled.next_after(previous) {
                    return ThreadId::new(next);
                }
            } else if self.enabled.contains(previous) {
                return ThreadId::new(previous);
            }
        }
        ThreadId::new(self.enabled.first().unwrap_or(0))
    }
}

/// A place where one of several outcomes of a step must be chosen.
#[derive(Clone, Copy, Debug)]
pub struct BranchPoint {
    /// Who takes the step.
    pub thread: ThreadId,
    /// Which step.
    pub operation: Operation,
    /// Number of outcomes; outcome 0 is the default.
    pub count: u32,
    /// Whether every outcome but the default costs 1 (a spurious failure); else they are free.
    pub costly: bool,
}

impl BranchPoint {
    /// What the outcome costs against the bound.
    #[must_use]
    pub const fn cost(&self, index: u32) -> u32 {
        (self.costly && index != 0) as u32
    }
}

/// A decision that has been taken before the execution begins, because the execution repeats the beginning of an
/// earlier one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreseen {
    /// Identifies the point; an execution that comes to another one has diverged.
    pub place: u64,
    /// The thread, or the outcome.
    pub chosen: u32,
}

impl Foreseen {
    /// Identifies a scheduling point by its [`place`](SchedulingPoint::place) and the threads that can go on there.
    #[must_use]
    #[inline]
    pub fn place(place: u64, enabled: &ThreadSet, early: &ThreadSet) -> u64 {
        Self::place_of_words(place, enabled.digest(), early.digest())
    }

    #[inline]
    pub(crate) fn place_of_words(place: u64, enabled: u64, early: u64) -> u64 {
        place ^ enabled.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ early.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
    }
}

/// Who takes the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Choice {
    /// The thread.
    pub thread: ThreadId,
    /// It may be worth asking whether further steps can be taken without asking ([`Chooser::coasts`]).
    pub may_coast: bool,
}

/// What steps may be taken without asking the chooser; see [`Chooser::coasts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leave {
    /// Those that touch none of these objects, which are bits by number, nor one that has no bit.
    pub minded: u64,
    /// Only where nobody else can go on, not even early.
    pub alone: bool,
}

/// Chooses. Given the same choices, a program must do the same.
pub trait Chooser {
    /// The first decisions of the execution, in order, so that a program need not ask for them: where it comes to the
    /// place of the next one, it may take it as the answer. Before it asks, or where the place is another one, it
    /// says with [`skip`](Self::skip) how many it has taken. A program may ask for all of them instead.
    fn foreseen(&self) -> &[Foreseen] {
        &[]
    }

    /// So many of the [`foreseen`](Self::foreseen) decisions have been taken since the last question, or `skip`.
    fn skip(&mut self, _count: usize) {}

    /// Who takes the next step: a member of `point.enabled` or `point.early`. `None` gives the execution up.
    fn choose_thread(&mut self, point: &SchedulingPoint<'_>) -> Option<ThreadId>;

    /// [`choose_thread`](Self::choose_thread), by a program that would go on without asking where it may.
    fn choose_step(&mut self, point: &SchedulingPoint<'_>) -> Option<Choice> {
        self.choose_thread(point).map(|thread| Choice { thread, may_coast: false })
    }

    /// Which outcome the step has, below `point.count`.
    fn choose_branch(&mut self, point: &BranchPoint) -> u32;

    /// Whether it is asked even where only one thread can go on, and told of what happens.
    fn wants_every_point(&self) -> bool {
        false
    }

    /// Steps at the beginning of the execution that it knows already, because they repeat an earlier one. A program may treat
    /// it until then as one that does not want every point, and only ask for what is not [`foreseen`](Self::foreseen).
    fn known_steps(&self) -> u64 {
        0
    }

    /// Asked when a thread has been chosen ([`Choice::may_coast`]), or has taken its step: whether it would be let go on after that step.
    /// The program may then take further steps of that thread without asking or telling, as long as it can go on, has not paused, no
    /// operation of another thread becomes another one, and the [`Leave`] allows it. It writes them down behind those that it is lent, of
    /// which the last one is the thread's, and gives all back, by [`coasted`](Self::coasted), before it asks or tells anything else.
    fn coasts(&mut self, _steps: &mut Vec<Coasted>) -> Option<Leave> {
        None
    }

    /// The steps that were lent, and those taken since. The last one may not have been taken yet.
    fn coasted(&mut self, _steps: &mut Vec<Coasted>) {}

    /// A step has been taken (told only if [`wants_every_point`](Self::wants_every_point)).
    fn stepped(&mut self, _step: &Taken<'_>) {}

    /// The step that is told next is on a channel, and this is what could take effect there instead. A program need not tell it: who has not heard of it
    /// has to reckon with everything.
    fn found_channel(&mut self, _found: FoundChannel) {}

    /// The thread that took the last step has ended: its end, a write of `object`, belongs to that step (told only if
    /// [`wants_every_point`](Self::wants_every_point)).
    fn ended(&mut self, _thread: ThreadId, _object: ObjectId) {}

    /// The thread that took the last step has then freed the memory of `object`: a write of it that belongs to that step
    /// (told only if [`wants_every_point`](Self::wants_every_point)).
    fn freed(&mut self, _object: ObjectId) {}

    /// The thread that took the last step has then looked at `object`: a read of it that belongs to that step (told only if
    /// [`wants_every_point`](Self::wants_every_point)).
    fn looked_at(&mut self, _object: ObjectId) {}

    /// The thread that took the last step has then touched what no step is about: a part of that step, on which the order of what threads
    /// do may depend. (What is told of between a choice and the step is the mirrored library's own, and no part of anything. Told only if [`wants_every_point`](Self::wants_every_point).)
    fn touched(&mut self, _access: Access) {}

    /// The execution is over (told only if [`wants_every_point`](Self::wants_every_point)). `without` is the thread
    /// whose pending operation is not valid because it was running when the execution ended.
    fn over(&mut self, _point: &SchedulingPoint<'_>, _without: Option<ThreadId>) {}

    /// Something is wrong with the choices asked for so far: the program does not do what it did before.
    fn divergence(&self) -> Option<String> {
        None
    }
}

/// A step that is taken without asking the chooser; see [`Chooser::coasts`]. There are no more than 64 threads, and sets of threads are
/// words.
#[derive(Clone, Copy, Debug)]
pub struct Coasted {
    /// Number of the step.
    pub number: u64,
    /// [`SchedulingPoint::place`].
    pub place: u64,
    /// [`SchedulingPoint::enabled`].
    pub enabled: u64,
    /// [`SchedulingPoint::early`].
    pub early: u64,
    /// [`SchedulingPoint::ended`].
    pub ended: u64,
    /// [`SchedulingPoint::yielded`].
    pub yielded: bool,
    /// It has been taken.
    pub is_taken: bool,
    /// It was a pause.
    pub pauses: bool,
    /// Who took the step before.
    pub previous: u32,
    /// Who takes it.
    pub thread: u32,
    /// Threads there are.
    pub thread_count: u32,
    /// What the thread that took the step before wants to do.
    pub wanted: Operation,
    /// What is done.
    pub operation: Operation,
    /// What has been touched, if it is one object.
    pub only: Option<Access>,
}

/// A step that has been taken, as choosers see it.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// Who took it.
    pub thread: ThreadId,
    /// What was done.
    pub operation: Operation,
    /// What was touched.
    pub accesses: &'a [Access],
    /// It was a pause: leaving the thread now is free.
    pub yielded: bool,
}

/// What could have taken effect on a channel right before a step on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundChannel {
    /// There was room for a message, or nobody was left to receive it.
    pub can_send: bool,
    /// There was a message, or nobody was left to send one.
    pub can_receive: bool,
}

/// How an execution ended.
#[derive(Debug)]
pub enum End {
    /// All threads ended.
    Passed,
    /// The program under test failed.
    Failed(Box<Failure>),
    /// The chooser gave it up.
    GivenUp,
}

/// What one run of a program led to.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// Steps taken.
    pub step_count: u64,
    /// Threads created.
    pub thread_count: u32,
    /// Fingerprint of the terminal happens-before state (dependence order).
    pub fingerprint: u128,
    /// A racing variable was promoted to a synchronization variable: the search has to begin anew.
    pub promoted: bool,
}

/// A step that has just been taken.
#[derive(Debug)]
pub struct StepEvent<'a> {
    /// Its number, counted from 0.
    pub index: u64,
    /// Who took it.
    pub thread: ThreadId,
    /// What was done.
    pub operation: Operation,
    /// What was touched (dependence order).
    pub accesses: &'a [Access],
    /// It went on early at a cost.
    pub early: bool,
    /// It preempted the thread before.
    pub preemption: bool,
    /// Bits read.
    pub read: Option<u64>,
    /// Bits written.
    pub written: Option<u64>,
    /// Outcome in words, where the action does not say it.
    pub note: Option<&'a str>,
    /// Where in the program; absent for abstract programs.
    pub location: Option<Place>,
    /// Branches taken inside the step.
    pub branches: &'a [u32],
}

/// A block of memory begins to lie where another one lay that its thread had freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reused {
    /// Where it begins.
    pub start: usize,
    /// Its size in bytes.
    pub size: usize,
    /// Who has freed the other one, and gets this one.
    pub thread: ThreadId,
    /// So many steps had been taken when the other one was freed.
    pub freed: u64,
    /// So many steps have been taken by now.
    pub taken: u64,
}

/// Watches steps. Optional work is an observer that is absent when not asked for.
pub trait Observer {
    /// A step has been taken.
    fn step(&mut self, step: &StepEvent<'_>);

    /// A thread has been created.
    fn thread(&mut self, _info: ThreadInfo) {}

    /// An object has been used for the first time.
    fn object(&mut self, _info: ObjectInfo) {}

    /// Whether [`backtrace`](Self::backtrace) is wanted.
    fn wants_backtraces(&self) -> bool {
        false
    }

    /// Where in the program the thread stands whose step is told next, innermost frame first.
    fn backtrace_of_step(&mut self, _frames: &[Frame]) {}

    /// An address is used again.
    fn reused(&mut self, _reused: Reused) {}

    /// The thread is about to be preempted here.
    fn backtrace(&mut self, _thread: ThreadId, _frames: Vec<Frame>) {}
}

/// Can be run once under a chooser. Coroutine programs and explicit-state models are both programs.
pub trait Program {
    /// Runs one execution from the start.
    fn run(&mut self, chooser: &mut dyn Chooser, observer: Option<&mut dyn Observer>) -> Outcome;

    /// Says which execution comes next, for whoever watches over the process.
    fn label(&mut self, _bound: u32, _execution: u64) {}
}

/// Says that a test is not a function of its schedule.
pub(crate) fn divergence_message(step: u64) -> String {
    format!(
        "the test did something else than before at step {step}, although it was given the same schedule: it depends \
         on {OUTSIDE_THE_MODEL}"
    )
}

/// What a test may depend on that is not the same in two executions with one schedule.
pub(crate) const OUTSIDE_THE_MODEL: &str = "something outside the model (the real clock, random hashing, an address, a global, \
                                            an environment variable, a file)";

/// Part of a bound that has been done elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Elsewhere {
    /// The fingerprint of each execution's terminal state, in order; 0 for one that was given up.
    pub trail: Vec<u128>,
    /// Steps of all of them.
    pub step_count: u64,
    /// The longest execution, in steps.
    pub max_steps: u64,
    /// The largest number of threads.
    pub max_threads: u32,
}

impl Elsewhere {
    /// Counts an execution that has passed, or was given up.
    pub fn note(&mut self, outcome: &Outcome) {
        let given_up = matches!(outcome.end, End::GivenUp);
        self.trail.push(if given_up { 0 } else { outcome.fingerprint });
        self.step_count += outcome.step_count;
        self.max_steps = self.max_steps.max(outcome.step_count);
        self.max_threads = self.max_threads.max(outcome.thread_count);
    }

    /// The first executions of it, so many at most. How many steps each has had is not known: the steps are those of all.
    #[must_use]
    pub fn up_to(mut self, max_executions: u64) -> Self {
        self.trail.truncate(usize::try_from(max_executions).unwrap_or(usize::MAX));
        self
    }
}

/// What a search says before it prepares an execution.
#[derive(Debug)]
pub enum Absorbed {
    /// The next execution is to be run here.
    Nothing,
    /// Somebody is at work; ask again.
    Waiting,
    /// This comes next, and has been done.
    Done(Box<Elsewhere>),
}

/// A search through the executions of a program. It is asked for the choices of one execution after another.
pub trait Strategy: Chooser {
    /// Prepares the next execution of the current bound. `false`: there is none left.
    fn begin(&mut self) -> bool;

    /// What others have done of the current bound, if that comes next: at most so many executions.
    fn absorb(&mut self, _max_executions: u64) -> Absorbed {
        Absorbed::Nothing
    }

    /// The execution is over.
    fn end(&mut self, outcome: &Outcome);

    /// The current bound.
    fn bound(&self) -> u32;

    /// Goes on to the next bound. `false`: no execution has more preemptions than the current bound, or the last
    /// bound has been reached.
    fn advance(&mut self) -> bool;

    /// The last bound that was asked for, if there is a last one.
    fn max_bound(&self) -> Option<u32> {
        None
    }

    /// Whether a bound that is over covers every execution with that many preemptions. A strategy that samples, or leaves out
    /// what no bound on preemptions describes, claims nothing.
    fn claims(&self) -> bool {
        true
    }

    /// Work items known to be left for the next bound.
    fn next_items(&self) -> u64 {
        0
    }

    /// Whether nothing has been left out so far because of the bound.
    fn is_exhausted(&self) -> bool;

    /// Work items known to be left at the current bound, and the share of the bound that is done, if known.
    fn progress(&self) -> (u64, Option<f64>);

    /// The program has changed its scheduling points: everything begins anew.
    fn restart(&mut self);

    /// This search, as the one who chooses.
    fn chooser(&mut self) -> &mut dyn Chooser;
}

/// Decides, at each scheduling point, which alternatives a strategy keeps for later.
pub trait Reduction {
    /// Whether an execution that lets `alternative` run here instead of the chosen thread is worth running.
    fn keeps(&mut self, point: &SchedulingPoint<'_>, chosen: ThreadId, alternative: ThreadId) -> bool;
}

/// Keeps every alternative: the reference for all other reductions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl Reduction for Everything {
    #[inline]
    fn keeps(&mut self, _: &SchedulingPoint<'_>, _: ThreadId, _: ThreadId) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_a_preemption_only_when_the_previous_thread_could_go_on() {
        let both: ThreadSet = [0, 1].into_iter().collect();
        let one: ThreadSet = [1].into_iter().collect();
        let early: ThreadSet = [2].into_iter().collect();
        let point = |enabled, yielded| SchedulingPoint {
            step: 3,
            previous: Some(ThreadId::MAIN),
            yielded,
            enabled,
            early: &early,
            idle: &early,
            pending: &[],
            others_unchanged: false,
            awaited: &[],
            ended: &early,
            place: 0,
            let_on: LetOn::default(),
        };
        let t = ThreadId::new;
        for (enabled, yielded, thread, cost) in [
            (&both, false, 0, 0),
            (&both, false, 1, 1),
            (&both, true, 1, 0),
            (&one, false, 1, 0),
            (&both, false, 2, 2),
            (&one, false, 2, 1),
        ] {
            assert_eq!(point(enabled, yielded).cost(t(thread)), cost);
        }
        assert_eq!(point(&both, false).default_choice(), t(0));
        assert_eq!(point(&both, true).default_choice(), t(1));
        assert_eq!(point(&one, false).default_choice(), t(1));
    }
}
