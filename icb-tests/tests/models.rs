//! Explicit-state models: iterative context bounding with states against a plain breadth-first search of everything,
//! failures at exactly their bound, and the same models under the strategies for executions.

use icb_core::model::{Model, StateReport, StateSearch, Storage};
use icb_std::model::{
    Builder, FailureKind, ParseScheduleError, Reduction, Schedule, ScheduleEntry, Strategy, Switch,
};
use icb_tests::abstract_program::as_model::AbstractModel;
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::Program;
use icb_tests::abstract_program::random::case;
use icb_tests::models::bluetooth::Bluetooth;
use icb_tests::models::peterson::Peterson;
use icb_tests::models::philosophers::Philosophers;
use icb_tests::models::plain::{Whole, successors, whole};
use icb_tests::models::ring_buffer::RingBuffer;
use icb_tests::models::transaction_manager::{Action, TransactionManager, Version};

/// Model without its symmetry: the plain search knows none.
struct Plain<M: Model> {
    model: M,
    first: Vec<M::State>,
}

impl<M: Model> Plain<M> {
    fn new(model: M) -> Self {
        Plain { first: model.initial_states(), model }
    }

    /// It begins where one of the first `steps` steps leads to, or none has been taken.
    fn begun_anywhere(model: M, steps: usize) -> Self {
        let mut all = Plain::new(model);
        let mut newest = 0;
        for _ in 0..steps {
            let from = newest;
            newest = all.first.len();
            for position in from..newest {
                for state in successors(&all.model, &all.first[position]) {
                    if !all.first.contains(&state) {
                        all.first.push(state);
                    }
                }
            }
        }
        all
    }
}

impl<M: Model> Model for Plain<M> {
    type State = M::State;
    fn initial_states(&self) -> Vec<M::State> {
        self.first.clone()
    }
    fn thread_count(&self, state: &M::State) -> usize {
        self.model.thread_count(state)
    }
    fn is_enabled(&self, state: &M::State, thread: usize) -> bool {
        self.model.is_enabled(state, thread)
    }
    fn has_ended(&self, state: &M::State, thread: usize) -> bool {
        self.model.has_ended(state, thread)
    }
    fn step(&self, state: &mut M::State, thread: usize, outcome: u32) -> Result<(), String> {
        self.model.step(state, thread, outcome)
    }
    fn outcome_count(&self, state: &M::State, thread: usize) -> u32 {
        self.model.outcome_count(state, thread)
    }
    fn is_yield(&self, state: &M::State, thread: usize) -> bool {
        self.model.is_yield(state, thread)
    }
}

/// With states, and with fingerprints, the search reaches what the plain one reaches; states grow with the bound.
#[track_caller]
fn reaches_everything<M: Model>(name: &str, model: M, cyclic: bool) -> (StateReport, Whole) {
    let model = Plain::new(model);
    let expected = whole(&model);
    assert_eq!(expected.cyclic, cyclic, "{name}");
    let report = StateSearch::new(&model).run();
    let small = StateSearch::new(&model).storage(Storage::Fingerprints).run();
    for report in [&report, &small] {
        assert!(report.complete && report.failure.is_none(), "{name}: {report:?}");
        assert_eq!(report.state_count(), expected.states as u64, "{name}");
        assert_eq!(report.terminal_states, expected.terminal as u64, "{name}");
        let steps: u64 = report.bounds.iter().map(|bound| bound.steps).sum();
        assert_eq!(steps, expected.transitions as u64, "{name}: each transition is taken once");
        assert!(report.bounds.windows(2).all(|pair| pair[0].states <= pair[1].states), "{name}");
    }
    assert_eq!(report.full_coverage_bound(), small.full_coverage_bound());
    assert!(report.omission_probability == 0.0 && small.omission_probability < 1e-6);
    assert_eq!(small.memory.states, 0, "{name}");
    (report, expected)
}

#[test]
fn full_coverage_is_that_of_a_plain_search() {
    let manager = |action| TransactionManager { version: Version::Correct, action, rounds: 2 };
    reaches_everything("create", manager(Action::Create), false);
    reaches_everything("commit", manager(Action::Commit), false);
    reaches_everything("delete", manager(Action::Delete), false);
    reaches_everything("bluetooth", Bluetooth { adders: 2, fixed: true }, false);
    reaches_everything("bluetooth", Bluetooth { adders: 4, fixed: true }, false);
    reaches_everything("peterson", Peterson { turn_first: false }, true);
    reaches_everything("philosophers", Philosophers { count: 5, ordered: true }, true);
    reaches_everything("ring buffer", RingBuffer { slots: 3, index_first: false }, true);
}

#[test]
fn random_programs_have_the_states_of_a_plain_search() {
    let mut compared = 0;
    for seed in 0..80 {
        let program = case(seed).program;
        let model = || AbstractModel::new(&program, Granularity::EveryAccess);
        let starts = [Plain::new(model()), Plain::begun_anywhere(model(), 1 + seed as usize % 3)];
        compared += starts.iter().filter(|model| agrees_with_a_plain_search(*model, &program)).count();
    }
    assert!(compared > 60, "{compared} searches without a deadlock");
}

/// What the searches of a model come to is what a plain one does. Whether no deadlock has cut them short.
#[track_caller]
fn agrees_with_a_plain_search<M: Model>(model: &M, program: &Program) -> bool {
    let expected = whole(model);
    let report = StateSearch::new(model).run();
    let Some(failure) = report.failure.as_ref().filter(|failure| failure.kind == FailureKind::Deadlock)
    else {
        assert_eq!(report.state_count(), expected.states as u64, "{program}");
        return true;
    };
    for builder in without_a_bound() {
        let other = builder.explore_model(model).failure.unwrap();
        assert_eq!((failure.kind, failure.bound), (other.kind, other.bound), "{builder:?}: {program}");
    }
    false
}

/// All searches of executions without a bound: each finds the failure with the fewest preemptions.
fn without_a_bound() -> Vec<Builder> {
    let reductions = [Reduction::None, Reduction::PartialOrder, Reduction::Visited];
    let all = reductions.map(|reduction| Builder::new().unbounded().reduction(reduction));
    all.iter().cloned().chain(all.iter().map(|builder| builder.clone().at_once(true))).collect()
}

/// Two threads add one to a number, in two steps each. It is one of `first` at first; when both have ended it must not be `wrong`.
struct Adders {
    first: Vec<u8>,
    wrong: u8,
}

/// The number, what each thread has read, and how many steps it has taken.
type Added = (u8, [u8; 2], [u8; 2]);

impl Model for Adders {
    type State = Added;
    fn initial_states(&self) -> Vec<Added> {
        self.first.iter().map(|&first| (first, [0; 2], [0; 2])).collect()
    }
    fn thread_count(&self, _: &Added) -> usize {
        2
    }
    fn is_enabled(&self, state: &Added, thread: usize) -> bool {
        state.2[thread] < 2
    }
    fn has_ended(&self, state: &Added, thread: usize) -> bool {
        state.2[thread] == 2
    }
    fn step(&self, (number, read, steps): &mut Added, thread: usize, _: u32) -> Result<(), String> {
        if steps[thread] == 0 {
            read[thread] = *number;
        } else {
            *number = read[thread] + 1;
        }
        steps[thread] += 1;
        if *steps == [2, 2] && *number == self.wrong { Err(format!("it is {number}")) } else { Ok(()) }
    }
}

/// Where an execution begins is explored as what a step leads to is.
#[test]
fn every_initial_state_is_explored() {
    for (first, wrong, bound) in
        [(vec![0, 10], 11, Some(1)), (vec![0, 10, 20], 22, Some(0)), (vec![0, 10], 20, None)]
    {
        let model = Adders { first, wrong };
        let report = StateSearch::new(&model).run();
        assert_eq!(report.failure.map(|failure| failure.bound), bound);
        for builder in without_a_bound().into_iter().chain([Builder::new().max_bound(1)]) {
            let report = builder.explore_model(&model);
            let failure = report.failure.as_ref();
            assert_eq!(failure.map(|failure| failure.bound), bound, "{wrong}: {builder:?}");
            if let Some(failure) = failure {
                let replayed = Builder::new().replay(failure.schedule.clone()).explore_model(&model);
                assert_eq!(replayed.failure.map(|same| same.message), Some(failure.message.clone()));
            }
        }
    }
}

/// With and without states the model fails so, at exactly this bound; the trace leads there.
#[track_caller]
fn fails<M: Model>(model: &M, kind: FailureKind, bound: u32, message: &str) {
    let mut lengths = Vec::new();
    for storage in [Storage::States, Storage::Fingerprints] {
        let report = StateSearch::new(model).storage(storage).run();
        let failure = report.failure.as_ref().expect("the model is wrong");
        assert_eq!((failure.kind, failure.bound), (kind, bound), "{failure}");
        assert!(failure.message.contains(message), "{failure}");
        assert_eq!(report.proved_bound(), bound.checked_sub(1));
        assert_eq!(failure.schedule.preemption_count(), bound);
        assert_eq!(failure.trace.steps.len(), failure.schedule.step_count());
        let preemptions = failure.trace.steps.iter().filter(|step| step.switch == Switch::Preemption);
        assert_eq!(preemptions.count() as u32, bound);
        lengths.push(failure.trace.steps.len());
        if bound > 0 {
            let below = StateSearch::new(model).storage(storage).max_bound(bound - 1).run();
            assert!(below.failure.is_none() && below.complete);
        }
    }
    let report = Builder::new().unbounded().reduction(Reduction::None).explore_model(model);
    let failure = report.failure.as_ref().expect("the model is wrong");
    assert_eq!((failure.kind, failure.bound), (kind, bound), "{failure}");
    assert_eq!(failure.trace.steps.len(), failure.schedule.step_count(), "its trace is filled in");
    assert_eq!(failure.message, StateSearch::new(model).run().failure.unwrap().message);
}

#[track_caller]
fn passes<M: Model>(model: &M) {
    let report = StateSearch::new(model).run();
    assert!(report.complete && report.failure.is_none(), "{report:?}");
}

#[test]
fn the_bugs_of_the_transaction_manager_take_2_2_and_3_preemptions() {
    let manager = |version, action| TransactionManager { version, action, rounds: 2 };
    for (version, action, bound, message) in [
        (Version::AbortsCommitted, Action::Commit, 2, "a committed transaction is aborted"),
        (Version::NoReference, Action::Delete, 2, "a freed transaction is locked"),
        (Version::AbortsActive, Action::Create, 3, "an active transaction was aborted"),
    ] {
        fails(&manager(version, action), FailureKind::Panic, bound, message);
        passes(&manager(Version::Correct, action));
    }
}

#[test]
fn assertions_deadlocks_and_invariants_fail_with_a_trace() {
    fails(&Bluetooth { adders: 1, fixed: false }, FailureKind::Panic, 1, "I/O in a stopped driver");
    fails(&Bluetooth { adders: 3, fixed: false }, FailureKind::Panic, 1, "I/O in a stopped driver");
    fails(&Philosophers { count: 2, ordered: false }, FailureKind::Deadlock, 1, "T0 waits to take fork 1");
    fails(&Philosophers { count: 5, ordered: false }, FailureKind::Deadlock, 1, "T4 waits to take fork 0");
    fails(&Peterson { turn_first: true }, FailureKind::Invariant, 2, "both threads");
    fails(&RingBuffer { slots: 3, index_first: true }, FailureKind::Panic, 1, "not sent");
    passes(&Philosophers { count: 5, ordered: true });
}

#[test]
fn symmetry_leaves_states_out_and_finds_the_same() {
    let model = Bluetooth { adders: 4, fixed: true };
    let (all, few) = (StateSearch::new(&Plain::new(model)).run(), StateSearch::new(&model).run());
    assert!(
        few.complete && few.state_count() * 5 < all.state_count(),
        "{} {}",
        few.state_count(),
        all.state_count()
    );
    assert_eq!(few.bounds.len(), all.bounds.len(), "each orbit is reached at its bound");
    let count = |report: &StateReport| report.bounds.iter().map(|bound| bound.steps).sum::<u64>();
    assert!(count(&few) < count(&all));
    for adders in 1..4 {
        let model = Bluetooth { adders, fixed: false };
        let (all, few) = (StateSearch::new(&Plain::new(model)).run(), StateSearch::new(&model).run());
        assert_eq!(all.failure.unwrap().bound, few.failure.unwrap().bound);
    }
}

#[test]
fn every_strategy_runs_models() {
    let wrong = TransactionManager { version: Version::NoReference, action: Action::Delete, rounds: 1 };
    let right = TransactionManager { version: Version::Correct, ..wrong };
    let strategies = ["icb", "dfs", "db:40", "idfs", "random", "pct:3", "delay"];
    for name in strategies {
        let strategy: Strategy = name.parse().unwrap();
        let explore = |model: &TransactionManager| {
            Builder::new().unbounded().max_executions(200_000).strategy(strategy).explore_model(model)
        };
        let failure = explore(&wrong).failure.unwrap_or_else(|| panic!("{name} finds nothing"));
        assert!(failure.message.contains("a freed transaction"), "{name}: {failure}");
        assert!(failure.bound >= 2 && !failure.trace.steps.is_empty(), "{name}");
        assert_eq!(explore(&right).failure, None, "{name}");
    }
    // Balanced executions have too few switches for it.
    let kiss = Builder::new().strategy(Strategy::StackDiscipline).explore_model(&wrong);
    assert!(kiss.failure.is_none() && !kiss.complete && kiss.proved_bound().is_none(), "{kiss:?}");
}

#[test]
fn limits_are_told() {
    let model = Philosophers { count: 5, ordered: true };
    let report = StateSearch::new(&model).max_states(20).run();
    assert!(
        !report.complete && !report.bounds.last().unwrap().complete && report.full_coverage_bound().is_none()
    );
    let report = StateSearch::new(&model).max_bound(1).run();
    assert!(report.complete && report.proved_bound() == Some(1) && report.full_coverage_bound().is_none());
}

/// Two threads that each take so many steps on what is their own, and then one on what they share.
struct Own;

impl Model for Own {
    type State = [u8; 2];
    fn initial_states(&self) -> Vec<[u8; 2]> {
        vec![[0; 2]]
    }
    fn thread_count(&self, _: &[u8; 2]) -> usize {
        2
    }
    fn is_enabled(&self, state: &[u8; 2], thread: usize) -> bool {
        !self.has_ended(state, thread)
    }
    fn has_ended(&self, state: &[u8; 2], thread: usize) -> bool {
        state[thread] == 4
    }
    fn step(&self, state: &mut [u8; 2], thread: usize, _: u32) -> Result<(), String> {
        state[thread] += 1;
        Ok(())
    }
    fn operation(&self, state: &[u8; 2], thread: usize) -> icb_std::model::Operation {
        use icb_std::model::{Action, MemoryOrdering, ObjectId, Operation};
        let shared = state[thread] == 3;
        let object = ObjectId::new(if shared { 0 } else { 1 + thread });
        Operation::new(Action::ReadModifyWrite(MemoryOrdering::SeqCst), object)
    }
}

/// `icb_std::model` alone has the words for what a model says that its steps touch, and for what a schedule consists of.
#[test]
fn steps_on_different_objects_commute() {
    let report = Builder::new().unbounded().at_once(true).explore_model(&Own);
    assert!(report.exhausted() && report.complete, "{report}");
    assert_eq!(report.execution_count(), 2);
    let every = Builder::new().unbounded().reduction(Reduction::None).explore_model(&Own);
    assert_eq!(every.execution_count(), 70, "all orders of four steps and four");

    let read = |text: &str| -> Result<Schedule, ParseScheduleError> { text.parse() };
    let schedule = read("icb1:0*2!1*4,0*2").unwrap();
    let costs = |entry: &ScheduleEntry| matches!(entry, ScheduleEntry::Run { preemption: true, .. });
    assert_eq!(schedule.entries().iter().filter(|&entry| costs(entry)).count(), 1);
    let replayed = Builder::new().replay(schedule).explore_model(&Own);
    assert!(replayed.failure.is_none(), "{replayed}");
    assert_eq!(replayed.execution_count(), 0, "nothing is searched");
    let other = Builder::new().replay(read("icb1:0*9").unwrap()).explore_model(&Own);
    assert_eq!(other.failure.map(|failure| failure.kind), Some(FailureKind::Divergence));
    assert!(read("icb1:0*").is_err());
}

/// One thread takes one of so many steps, and one of them is wrong.
struct Lots {
    count: u32,
    wrong: u32,
}

impl Model for Lots {
    type State = Option<u32>;
    fn initial_states(&self) -> Vec<Option<u32>> {
        vec![None]
    }
    fn thread_count(&self, _: &Option<u32>) -> usize {
        1
    }
    fn is_enabled(&self, state: &Option<u32>, _: usize) -> bool {
        state.is_none()
    }
    fn has_ended(&self, state: &Option<u32>, _: usize) -> bool {
        state.is_some()
    }
    fn outcome_count(&self, _: &Option<u32>, _: usize) -> u32 {
        self.count
    }
    fn step(&self, state: &mut Option<u32>, _: usize, outcome: u32) -> Result<(), String> {
        *state = Some(outcome);
        if outcome == self.wrong { Err(format!("{outcome} is wrong")) } else { Ok(()) }
    }
}

#[test]
fn a_step_with_many_outcomes_is_told_as_it_was() {
    for wrong in [70_000, 99_999] {
        let model = Lots { count: 100_000, wrong };
        let report = StateSearch::new(&model).run();
        let failure = report.failure.expect("one outcome is wrong");
        assert_eq!(failure.message, format!("{wrong} is wrong"));
        assert_eq!(failure.trace.steps[0].branches, [wrong]);
        let replayed = Builder::new().replay(failure.schedule).explore_model(&model);
        assert_eq!(replayed.failure.map(|failure| failure.message), Some(failure.message));
    }
}

#[test]
#[should_panic(expected = "at most 67108864 outcomes, not 67108865")]
fn a_step_with_too_many_outcomes_is_refused_before_it_is_taken() {
    let _ = StateSearch::new(&Lots { count: (1 << 26) + 1, wrong: u32::MAX }).run();
}
