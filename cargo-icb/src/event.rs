//! What happens in a run, as values between doing and showing; and the tally of a run, made of events only.

use crate::exit_code::Exit;
use crate::settings::Bound;
use crate::worker::plan::Task;
use crate::worker::verdict::Verdict;
use icb_core::trace::{BoundReport, Failure, Shard, StrategyKind, preemptions};
use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    /// A test process starts.
    Started {
        /// For what.
        task: Task,
    },
    /// It is at work.
    Progress {
        /// For what.
        task: Task,
        /// Figures of the bound so far.
        bound: BoundReport,
        /// Share that is done, by the search's own estimate.
        done: Option<f64>,
    },
    /// A failure is being replayed.
    Replaying {
        /// Of what.
        task: Task,
    },
    /// A task is over.
    Finished(Box<Finished>),
}

/// The end of a task.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Finished {
    /// Which.
    pub(crate) task: Task,
    /// What the models of the test told of this bound.
    pub(crate) figures: Option<BoundReport>,
    /// How long the process ran.
    pub(crate) seconds: f64,
    /// What it means.
    pub(crate) verdict: Verdict,
    /// A failure, explained.
    pub(crate) finding: Option<Finding>,
    /// Whether the test's package knows nothing of icb.
    pub(crate) unchanged: bool,
}

/// A failure with everything that is told about it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// The failure, with the trace of its replay if there was one.
    pub(crate) failure: Failure,
    /// What else should be known: where it is stored, that its replay differs.
    pub(crate) notes: Vec<String>,
    /// The command that replays it; a test that does not follow its schedule has none.
    pub(crate) command: Option<String>,
}

/// What is known of one test.
#[derive(Clone, Default, Debug)]
pub(crate) struct Record {
    /// Its tasks so far.
    pub(crate) rounds: Vec<Finished>,
    /// Of which part of its executions they tell, where it is not all.
    pub(crate) shard: Option<Shard>,
}

/// What a test comes to in the end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Conclusion {
    /// No failure up to the bound that was asked for, or none at all.
    Proved(String),
    /// It has no model, and passed.
    RunOnce,
    /// It cannot be explored; run once for real, it passed.
    Unmodelled(String),
    /// It fails and expects to.
    FailsAsExpected(String),
    /// It failed.
    Failed(String),
    /// A limit cut it short.
    Incomplete(String),
    /// It could not be run: the settings are wrong.
    Refused(String),
    /// It could not be run or understood.
    Broken(String),
}

impl Record {
    /// The largest bound all of whose executions were run without a failure.
    pub(crate) fn proved_bound(&self) -> Option<u32> {
        let holds = |round: &&Finished| matches!(round.verdict, Verdict::Holds { .. });
        let at_once = |round: &&Finished| matches!(round.verdict, Verdict::BoundByBound { .. });
        self.rounds.iter().skip_while(at_once).take_while(holds).last().map(|round| round.task.min_bound)
    }

    /// Executions over all rounds.
    pub(crate) fn execution_count(&self) -> u64 {
        self.rounds.iter().filter_map(|round| round.figures.as_ref()).map(|figures| figures.executions).sum()
    }

    /// Whether the test knows nothing of icb and had one thread, hence one execution.
    pub(crate) fn is_one_execution(&self) -> bool {
        let alone = |round: &Finished| {
            round.unchanged && round.figures.as_ref().is_some_and(|f| f.exhausted && f.max_threads <= 1)
        };
        self.rounds.len() == 1 && self.rounds.iter().all(alone)
    }

    /// What the test comes to.
    pub(crate) fn conclusion(&self) -> Conclusion {
        let Some(last) = self.rounds.last() else {
            return Conclusion::Incomplete("it was not run".to_owned());
        };
        match &last.verdict {
            Verdict::Holds { expects_failure: true, .. } => {
                Conclusion::Failed(format!("it should panic, but {}", self.proved(last)))
            }
            Verdict::Holds { .. } => Conclusion::Proved(self.proved(last)),
            Verdict::Incomplete { reason } => {
                let proved = self
                    .proved_bound()
                    .map_or_else(|| "nothing is proved".to_owned(), |b| format!("proved up to {b}"));
                let place = match last.task.is_of_one_bound() {
                    true => format!(" at bound {}", last.task.min_bound),
                    false => String::new(),
                };
                Conclusion::Incomplete(format!("{reason}{place}: {proved}"))
            }
            Verdict::BoundByBound { reason } => {
                Conclusion::Incomplete(format!("{reason}, and it was not searched bound by bound"))
            }
            Verdict::RunOnce => Conclusion::RunOnce,
            Verdict::Unmodelled { reason } => {
                let before = self.proved_bound().map_or_else(String::new, |bound| {
                    format!(
                        "; that came up in a later bound: no execution with at most {} failed before",
                        preemptions(bound)
                    )
                });
                Conclusion::Unmodelled(format!("{reason}{before}"))
            }
            Verdict::FailsAsExpected { message, stale } => {
                let how = if *stale { ", in an execution with a stale value" } else { "" };
                Conclusion::FailsAsExpected(first_line(message) + how)
            }
            Verdict::Failed { failure, .. } => Conclusion::Failed(first_line(&failure.to_string())),
            Verdict::Ordinary { .. } => Conclusion::Failed("the test failed outside any model".to_owned()),
            Verdict::Refused(message) => Conclusion::Refused(message.clone()),
            Verdict::Broken(message) => Conclusion::Broken(message.clone()),
        }
    }

    /// Whether that nothing has failed is known of executions in which loads did not read the stale values that their orderings allow.
    pub(crate) fn leaves_stale_values_out(&self) -> bool {
        let holds = self.rounds.last().is_some_and(|last| matches!(last.verdict, Verdict::Holds { .. }));
        holds && self.any(|figures| figures.stale_left_out)
    }

    /// Whether it fails as it should in an execution with a stale value.
    pub(crate) fn fails_by_a_stale_value(&self) -> bool {
        let last = self.rounds.last();
        last.is_some_and(|last| matches!(last.verdict, Verdict::FailsAsExpected { stale: true, .. }))
    }

    fn any(&self, is: fn(&BoundReport) -> bool) -> bool {
        self.rounds.iter().any(|round| round.figures.as_ref().is_some_and(is))
    }

    /// What is proved, and of what: under which memory model if it is not sequential consistency, and with which random numbers if those
    /// matter.
    fn proved(&self, last: &Finished) -> String {
        let mut proved = self.proved_of(last);
        if self.any(|figures| figures.weak_memory) {
            proved += ", under weak memory (stale values)";
        }
        if self.any(|figures| figures.isolated) {
            proved += ", each in a process of its own";
        }
        if self.any(|figures| figures.reuses_addresses) {
            proved += ", where addresses are used again";
        }
        if self.any(|figures| figures.one_assignment) {
            proved +=
                ", with one assignment of the random numbers that it depends on (--random-seed: another)";
        }
        let of_round = |round: &Finished| round.figures.as_ref()?.assignments;
        if let Some(count) = self.rounds.iter().filter_map(of_round).max() {
            proved += &format!(
                ", with {count} assignments of the random numbers that it draws (another seed: others)"
            );
        }
        if self.any(|figures| figures.clock_left_out) {
            proved += ", but for what depends on when it reads the clock (--reduction none goes further)";
        }
        proved
    }

    fn proved_of(&self, last: &Finished) -> String {
        let mut proved = "no failure in any execution".to_owned();
        if let Some(shard) = self.shard {
            proved += &format!(" that is shard {shard}'s");
        }
        if let Verdict::Holds { exhausted: true, .. } = last.verdict {
            return proved + " (exhaustive)";
        }
        proved
            + &match (last.task.max_bound, &last.figures) {
                (_, None) if last.task.min_bound > 0 => {
                    format!(" with at most {} (the test's own limit)", preemptions(last.task.min_bound - 1))
                }
                (Bound::Unlimited, _) => " that was asked for".to_owned(),
                (Bound::Limited(bound), _) => format!(" with at most {}", preemptions(bound)),
            }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The state of a run: one record for each test.
pub(crate) struct Tally {
    /// Records, by number of the test.
    pub(crate) records: Vec<Record>,
}

impl Tally {
    /// Nothing has happened yet.
    pub(crate) fn new(test_count: usize) -> Tally {
        Tally { records: vec![Record::default(); test_count] }
    }

    /// The same of one shard of a run.
    pub(crate) fn of_shard(self, shard: Option<Shard>) -> Tally {
        let records = self.records.into_iter().map(|record| Record { shard, ..record });
        Tally { records: records.collect() }
    }

    /// Notes an event.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Event::Finished(finished) = event {
            self.records[finished.task.test].rounds.push((**finished).clone());
        }
    }

    /// The exit code of the run: the worst that any test comes to.
    pub(crate) fn exit(&self) -> Exit {
        let exits = self.records.iter().map(|record| match record.conclusion() {
            Conclusion::Proved(_) | Conclusion::RunOnce => Exit::Passed,
            Conclusion::Unmodelled(_) | Conclusion::FailsAsExpected(_) => Exit::Passed,
            Conclusion::Failed(_) => Exit::TestFailed,
            Conclusion::Incomplete(_) => Exit::Incomplete,
            Conclusion::Refused(_) => Exit::Usage,
            Conclusion::Broken(_) => Exit::Internal,
        });
        let rank = |exit: &Exit| match exit {
            Exit::TestFailed => 4,
            Exit::Internal => 3,
            Exit::Usage => 2,
            Exit::Incomplete => 1,
            _ => 0,
        };
        exits.max_by_key(rank).unwrap_or(Exit::Passed)
    }
}

/// In words, which order the search follows: for headings.
pub(crate) fn search_words(max_bound: Bound, strategy: StrategyKind, at_once: bool) -> String {
    match (strategy, max_bound) {
        (StrategyKind::ContextBounded, Bound::Limited(bound)) if at_once => format!("bound {bound} at once"),
        (StrategyKind::ContextBounded, Bound::Unlimited) if at_once => "all executions at once".to_owned(),
        (StrategyKind::ContextBounded, Bound::Limited(0)) => "bound 0".to_owned(),
        (StrategyKind::ContextBounded, Bound::Limited(bound)) => format!("bounds 0 to {bound}"),
        (StrategyKind::ContextBounded, Bound::Unlimited) => "bounds 0, 1, 2, …".to_owned(),
        (StrategyKind::DelayBounded, Bound::Limited(bound)) => {
            format!("{}, at most {bound}", strategy.words())
        }
        _ => strategy.words(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icb_core::trace::FailureKind;

    fn round(bound: u32, verdict: Verdict) -> Finished {
        let task = Task { min_bound: bound, test: 0, max_bound: Bound::Limited(bound) };
        let figures = Some(BoundReport::new(bound));
        Finished { task, figures, seconds: 0.0, verdict, finding: None, unchanged: false }
    }

    const HOLDS: Verdict = Verdict::Holds { last: false, exhausted: false, expects_failure: false };

    fn tally(verdicts: Vec<Vec<Verdict>>) -> Tally {
        let mut tally = Tally::new(verdicts.len());
        for (test, verdicts) in verdicts.into_iter().enumerate() {
            for (bound, verdict) in (0..).zip(verdicts) {
                let mut finished = round(bound, verdict);
                finished.task.test = test;
                tally.note(&Event::Finished(Box::new(finished)));
            }
        }
        tally
    }

    #[test]
    fn conclusions_say_what_is_proved() {
        let incomplete = Verdict::Incomplete { reason: "stopped by the limit on executions".into() };
        let exhausted = Verdict::Holds { last: true, exhausted: true, expects_failure: false };
        let unmet = Verdict::Holds { last: false, exhausted: false, expects_failure: true };
        let unmodelled = |reason: &str| Verdict::Unmodelled { reason: reason.to_owned() };
        let table = [
            (vec![HOLDS, HOLDS, HOLDS], "no failure in any execution with at most 2 preemptions"),
            (vec![HOLDS, exhausted], "no failure in any execution (exhaustive)"),
            (
                vec![HOLDS, HOLDS, incomplete.clone()],
                "stopped by the limit on executions at bound 2: proved up to 1",
            ),
            (vec![incomplete], "stopped by the limit on executions at bound 0: nothing is proved"),
            (vec![unmet], "it should panic, but no failure in any execution with at most 0 preemptions"),
            (vec![unmodelled("it is no model")], "it is no model"),
            (
                vec![HOLDS, HOLDS, unmodelled("it is no model")],
                "it is no model; that came up in a later bound: no execution with at most 1 preemption failed before",
            ),
        ];
        for (verdicts, expected) in table {
            let conclusion = tally(vec![verdicts]).records[0].conclusion();
            let (Conclusion::Proved(text)
            | Conclusion::Incomplete(text)
            | Conclusion::Unmodelled(text)
            | Conclusion::Failed(text)) = conclusion
            else {
                panic!("{conclusion:?}");
            };
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn what_stale_values_have_to_do_with_a_test_is_known() {
        let fails = |stale| Verdict::FailsAsExpected { message: "panic: x".to_owned(), stale };
        let unmet = Verdict::Holds { last: false, exhausted: false, expects_failure: true };
        let mut tally =
            tally(vec![vec![HOLDS, fails(true)], vec![HOLDS, fails(false)], vec![unmet], vec![HOLDS]]);
        let by_one: Vec<bool> = tally.records.iter().map(Record::fails_by_a_stale_value).collect();
        assert_eq!(by_one, [true, false, false, false]);
        let expected = "panic: x, in an execution with a stale value";
        assert_eq!(tally.records[0].conclusion(), Conclusion::FailsAsExpected(expected.to_owned()));
        for round in tally.records.iter_mut().flat_map(|record| &mut record.rounds) {
            round.figures.as_mut().unwrap().stale_left_out = true;
        }
        // One that should panic, and does not, may do so by a stale value.
        let left_out: Vec<bool> = tally.records.iter().map(Record::leaves_stale_values_out).collect();
        assert_eq!(left_out, [false, false, true, true]);
    }

    #[test]
    fn a_shard_claims_its_part_only() {
        let shard = Shard { whole: (3, 16), part: (1, 1) };
        let tally = tally(vec![vec![HOLDS, HOLDS]]).of_shard(Some(shard));
        let expected = "no failure in any execution that is shard 3/16's with at most 1 preemption";
        assert_eq!(tally.records[0].conclusion(), Conclusion::Proved(expected.to_owned()));
    }

    #[test]
    fn the_worst_test_decides_the_exit_code() {
        let failed =
            || Verdict::Failed { model: 0, failure: Box::new(Failure::new(FailureKind::Panic, "x")) };
        let incomplete = || Verdict::Incomplete { reason: String::new() };
        let broken = || Verdict::Broken(String::new());
        for (verdicts, exit) in [
            (vec![vec![HOLDS], vec![Verdict::RunOnce]], Exit::Passed),
            (vec![vec![HOLDS], vec![incomplete()]], Exit::Incomplete),
            (vec![vec![Verdict::Refused(String::new())], vec![incomplete()]], Exit::Usage),
            (vec![vec![broken()], vec![incomplete()]], Exit::Internal),
            (vec![vec![failed()], vec![broken()], vec![incomplete()]], Exit::TestFailed),
            (vec![vec![Verdict::Ordinary { output: String::new() }]], Exit::TestFailed),
        ] {
            assert_eq!(tally(verdicts).exit(), exit);
        }
    }
}
