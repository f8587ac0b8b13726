//! The balanced executions of KISS (Qadeer and Wu, PLDI 2004): on random programs exactly those that brute force finds, and
//! the two errors of the paper's Figure 2 with the sizes of *ts* that it names.

use icb_core::program::{Observer, Program as _, StepEvent, Strategy as _};
use icb_core::search::StackDiscipline;
use icb_std::cell::UnsafeCell;
use icb_std::model::{Builder, FailureKind, Report, Strategy};
use icb_std::sync::Arc;
use icb_std::thread;
use icb_tests::abstract_program::as_program::AbstractProgram;
use icb_tests::abstract_program::execution::{Execution, Outcome};
use icb_tests::abstract_program::interpreter::Granularity;
use icb_tests::abstract_program::language::Program;
use icb_tests::abstract_program::oracle_programs;
use icb_tests::abstract_program::random::case;
use icb_tests::programs::bluetooth;
use std::collections::BTreeSet;

/// The threads of an execution's steps, each with the branch that its step took.
type Steps = Vec<(usize, usize)>;

#[derive(Default)]
struct Notes(Steps);

impl Observer for Notes {
    fn step(&mut self, event: &StepEvent<'_>) {
        self.0.push((event.thread.index(), event.branches.first().map_or(0, |&branch| branch as usize)));
    }
}

/// Every execution that the strategy runs; none twice.
fn explored(program: &Program, max_pending: Option<usize>) -> BTreeSet<Steps> {
    let mut tested = AbstractProgram::new(program, Granularity::EveryAccess);
    let mut strategy = StackDiscipline::new(max_pending);
    let mut executions = BTreeSet::new();
    while strategy.begin() {
        let mut notes = Notes::default();
        let outcome = tested.run(strategy.chooser(), Some(&mut notes));
        strategy.end(&outcome);
        assert_eq!(strategy.chooser().divergence(), None, "{program}");
        assert!(executions.insert(notes.0), "an execution is run twice: {program}");
    }
    executions
}

/// Balanced by the definition: no two threads i and j in the order i … j … i … j.
fn is_balanced(steps: &[(usize, usize)]) -> bool {
    let threads: Vec<usize> = steps.iter().map(|step| step.0).collect();
    let mut switches = threads.clone();
    switches.dedup();
    let count = switches.len();
    for a in 0..count {
        for b in a + 1..count {
            for c in b + 1..count {
                for d in c + 1..count {
                    if switches[a] == switches[c] && switches[b] == switches[d] && switches[a] != switches[b]
                    {
                        return false;
                    }
                }
            }
        }
    }
    true
}

/// What brute force finds: the longest balanced executions, those of them in which everything came to its end, and the
/// complete executions with at most two context switches.
struct BruteForce {
    longest: BTreeSet<Steps>,
    outcomes: BTreeSet<Outcome>,
    two_switches: BTreeSet<Steps>,
}

impl BruteForce {
    fn new(program: &Program) -> Self {
        let mut found =
            BruteForce { longest: BTreeSet::new(), outcomes: BTreeSet::new(), two_switches: BTreeSet::new() };
        found.balanced(&Execution::new(program, Granularity::EveryAccess), &mut Vec::new());
        found.switching(&Execution::new(program, Granularity::EveryAccess), &mut Vec::new(), 0);
        found
    }

    fn balanced(&mut self, execution: &Execution<'_>, steps: &mut Steps) {
        let enabled = execution.enabled();
        let mut last = true;
        for &thread in &enabled {
            for (branch, next) in execution.successors(thread).enumerate() {
                steps.push((thread, branch));
                if is_balanced(steps) {
                    last = false;
                    self.balanced(&next, steps);
                }
                steps.pop();
            }
        }
        if last {
            self.longest.insert(steps.clone());
            if enabled.is_empty() {
                self.outcomes.insert(execution.outcome());
            }
        }
    }

    fn switching(&mut self, execution: &Execution<'_>, steps: &mut Steps, switches: usize) {
        let enabled = execution.enabled();
        if enabled.is_empty() {
            self.two_switches.insert(steps.clone());
        }
        for thread in enabled {
            let switches = switches + usize::from(steps.last().is_some_and(|&(last, _)| last != thread));
            if switches > 2 {
                continue;
            }
            for (branch, next) in execution.successors(thread).enumerate() {
                steps.push((thread, branch));
                self.switching(&next, steps, switches);
                steps.pop();
            }
        }
    }
}

/// The outcomes of the executions in which everything came to its end.
fn outcomes(program: &Program, executions: &BTreeSet<Steps>) -> BTreeSet<Outcome> {
    let replay = |steps: &Steps| {
        let start = Execution::new(program, Granularity::EveryAccess);
        let end = steps.iter().fold(start, |execution, &(thread, branch)| {
            execution.successors(thread).nth(branch).expect("the step can be taken")
        });
        end.enabled().is_empty().then(|| end.outcome())
    };
    executions.iter().filter_map(replay).collect()
}

#[test]
fn the_balanced_executions_of_two_threads_are_explored_and_no_others() {
    let random = (0..400).map(|seed| case(seed).program);
    let oracles = oracle_programs::programs();
    let two_threads = random.chain(oracles).filter(|program| program.threads.len() == 2);
    let (mut compared, mut kept) = (0, 0);
    for program in two_threads {
        if program.threads.iter().map(Vec::len).sum::<usize>() > 40 {
            continue;
        }
        let found = explored(&program, None);
        let expected = BruteForce::new(&program);
        assert_eq!(found, expected.longest, "{program}");
        assert_eq!(outcomes(&program, &found), expected.outcomes, "{program}");
        assert!(expected.two_switches.is_subset(&found), "{program}");
        compared += 1;
        kept += expected.two_switches.len();
    }
    assert!(compared >= 150 && kept > 500, "{compared} programs, {kept} executions with two switches");
}

#[test]
fn more_room_for_waiting_threads_adds_executions() {
    let mut grown = 0;
    for seed in 0..60 {
        let program = case(seed).program;
        if program.threads.len() != 3 {
            continue;
        }
        let sets = [Some(0), Some(1), Some(2), None].map(|max| explored(&program, max));
        assert!(sets.windows(2).all(|pair| pair[0].iter().all(|s| is_prefixed(s, &pair[1]))), "{program}");
        assert_eq!(sets[2], sets[3], "two threads are spawned: {program}");
        assert!(sets.iter().flatten().all(|steps| is_balanced(steps)), "{program}");
        grown += usize::from(sets[0] != sets[2]);
    }
    assert!(grown > 5, "{grown}");
}

/// Whether some execution of the set goes at least as far: an execution ends earlier where a thread may not begin.
fn is_prefixed(steps: &Steps, set: &BTreeSet<Steps>) -> bool {
    set.range(steps.clone()..).next().is_some_and(|next| next.starts_with(steps))
}

fn kiss(max_pending: usize, f: impl Fn() + Send + Sync + 'static) -> Report {
    Builder::new().strategy(Strategy::StackDiscipline).max_pending(max_pending).explore(f)
}

#[test]
fn the_assertion_of_figure_2_needs_one_waiting_thread() {
    let driver = || bluetooth::run(bluetooth::Version::Published, 1);
    let report = kiss(0, driver);
    assert!(report.failure.is_none() && !report.complete && report.proved_bound().is_none(), "{report:?}");
    let failure = kiss(1, driver).failure.expect("the published driver is wrong");
    assert_eq!((failure.kind, failure.bound), (FailureKind::Panic, 1));
    assert!(failure.message.contains("I/O in a stopped driver") && !failure.trace.steps.is_empty());
    let fixed = kiss(1, || bluetooth::run(bluetooth::Version::Fixed, 1));
    assert_eq!(fixed.failure, None);
}

/// Figure 2's `stoppingFlag` as the plain field that it is in the paper.
struct Flag(UnsafeCell<bool>);

// SAFETY: threads run one at a time in a model; that accesses are not ordered is what the test is about.
unsafe impl Sync for Flag {}
// SAFETY: a `bool` may be sent.
unsafe impl Send for Flag {}

#[test]
fn the_race_of_figure_2_is_found_without_waiting_threads() {
    let report = kiss(0, || {
        let flag = Arc::new(Flag(UnsafeCell::new(false)));
        let theirs = flag.clone();
        let stop = thread::spawn(move || {
            // SAFETY: nobody else accesses it at the same time: see above.
            theirs.0.with_mut(|flag| unsafe { *flag = true });
        });
        // SAFETY: as above.
        let _stopping = flag.0.with(|flag| unsafe { *flag });
        stop.join().unwrap();
    });
    assert_eq!(report.failure.expect("there is a race").kind, FailureKind::DataRace);
}
