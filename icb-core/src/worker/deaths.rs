//! What a failure takes of which the process dies that replays it: found out by another process, which runs nothing itself. Every execution has a fork
//! of it, and fails likewise if the fork dies likewise.

use super::fork::in_a_fork_that_may_die;
use super::printed::Printed;
use super::process::{Closure, REPLAY_RESERVE, Worker};
use crate::explain::{Came, Case, Piece, Trial, Trials, is_same, move_blocks};
use crate::observe::Recorder;
use crate::program::{Chooser, End, Observer, Outcome, Program};
use crate::runtime::CoroutineProgram;
use crate::search::Replay;
use crate::symbols;
use crate::trace::flight::Flight;
use crate::trace::{Death, Failure, FailureKind, Schedule, Trace, TracePiece};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

impl Worker {
    /// Finds out which orders it takes that a replay of this schedule dies so, and whether a simpler one does, and tells. Nothing is told if the
    /// executions of forks do not die so.
    pub(super) fn explain_death(&self, f: &Closure, schedule: &Schedule, death: Death) {
        let (Some(words), Some(tape)) = (self.file("said"), self.file("flight")) else { return };
        // Steps are recorded with their backtraces.
        symbols::make_ready();
        let mut program = self.program(f, REPLAY_RESERVE);
        program.promote_points(schedule.points());
        program.set_isolated();
        let mut failure = Failure::new(FailureKind::Abort, death.words());
        failure.schedule = schedule.clone();
        let mut forks = Forks {
            program,
            failure,
            death,
            panics: None,
            words,
            tape,
            patience: self.fork_patience(),
            other_patience: Duration::ZERO,
            until: None,
        };
        let Some(mut case) = forks.replay() else { return };
        let mut summary = None;
        if !self.settings.simplify.is_zero() {
            let found = forks.failure.clone();
            let until = forks.begin(self.settings.simplify);
            let (simpler, reached) = move_blocks(&mut forks, &found, until);
            summary = Some(reached);
            forks.until = None;
            if let Some(simpler) = simpler {
                forks.failure.schedule = simpler.schedule;
                match forks.replay() {
                    Some(of_simpler) => case = of_simpler,
                    None => return,
                }
            }
        }
        let mut explanation = None;
        if let Some(case) = case.filter(|_| !self.settings.explain.is_zero()) {
            let until = forks.begin(self.settings.explain);
            explanation = case.orders(&mut forks, until);
        }
        let mut failure = forks.failure;
        failure.bound = failure.schedule.preemption_count();
        if let Some(summary) = summary {
            explanation.get_or_insert_default().simplified = Some(summary);
        }
        failure.trace.explanation = explanation.map(Box::new);
        self.tell_explained(failure);
    }
}

/// Runs executions in forks of this process.
struct Forks {
    program: CoroutineProgram,
    /// By which it is recognised, with the schedule that is explained.
    failure: Failure,
    death: Death,
    /// Where the program has panicked last, once the schedule has been replayed.
    panics: Option<Vec<String>>,
    /// What forks print.
    words: PathBuf,
    /// Which choices they make.
    tape: PathBuf,
    /// How long a replay may take.
    patience: Duration,
    /// How long another execution may take: some wait for ever, outside anything that is watched.
    other_patience: Duration,
    /// When there is no more time.
    until: Option<Instant>,
}

/// A piece of what a fork says.
#[derive(Clone, Copy, Debug)]
enum Said {
    /// Of the case.
    Case(Piece),
    /// The execution is over, and has come to what follows.
    Over,
    /// It has found out what memory is shared, which follows, and has to be run once more.
    Learns,
    Byte(u8),
}

/// What an execution has come to.
enum Fared {
    /// Its process died like that of the failure. What it said last.
    Likewise(Vec<Said>),
    /// It died in another way.
    Otherwise,
    /// It is over, and has come to this.
    Over(Vec<u8>),
    /// There was no time, or no process.
    Unknown,
}

/// Another execution may take so many times as long as the replay, and so much longer; and so long even if there is less time left.
const PATIENCE: (u32, Duration) = (20, Duration::from_millis(500));

/// So often an execution may find out something about memory.
const MAX_LESSONS: u32 = 1000;

impl Forks {
    /// From now on there is so much time.
    fn begin(&mut self, time: Duration) -> Instant {
        let until = Instant::now() + time;
        self.until = Some(until);
        until
    }

    /// How long the next fork may take.
    fn patience(&self) -> Duration {
        let Some(until) = self.until else { return self.patience };
        until.saturating_duration_since(Instant::now()).min(self.other_patience).max(PATIENCE.1)
    }

    /// What an execution comes to that `work` runs.
    fn fork(&mut self, mut work: impl FnMut(&mut CoroutineProgram, &dyn Fn(&[Said]))) -> Fared {
        for _ in 0..MAX_LESSONS {
            let patience = self.patience();
            let (program, words) = (&mut self.program, &self.words);
            let work = |say: &dyn Fn(&[Said])| {
                let _printed = Printed::to(words);
                work(program, say);
            };
            // SAFETY: what is said leads nowhere.
            let Some(left) = (unsafe { in_a_fork_that_may_die(patience, work) }) else { break };
            let last = left.said.into_iter().next_back().unwrap_or_default();
            let byte = |said: &Said| if let Said::Byte(byte) = said { Some(*byte) } else { None };
            let bytes = || last.iter().filter_map(byte).collect::<Vec<u8>>();
            match (last.first(), left.death) {
                (Some(Said::Over), _) => return Fared::Over(bytes()),
                (Some(Said::Learns), _) => match std::str::from_utf8(&bytes()) {
                    Ok(text) => self.program.take_over_text(text),
                    Err(_) => break,
                },
                (_, Some(death)) => {
                    let panics = last_panics(&self.words);
                    let known = self.panics.get_or_insert_with(|| panics.clone());
                    let is_like = death == self.death && panics == *known;
                    return if is_like { Fared::Likewise(last) } else { Fared::Otherwise };
                }
                (_, None) => break,
            }
        }
        Fared::Unknown
    }

    /// Replays the schedule. `None`: it does not die likewise; if it is too long to be explained, there is no case.
    fn replay(&mut self) -> Option<Option<Case>> {
        let mark = self.failure.clone();
        let begun = Instant::now();
        let fared = self.fork(|program, say| {
            let mut last_steps = LastSteps::of(&mark);
            let mut recorder = Recorder::telling(|piece| last_steps.note(piece, say));
            let outcome = program.run(&mut Replay::new(&mark.schedule), Some(&mut recorder));
            say_end(program, outcome.promoted, &[], say);
        });
        let Fared::Likewise(said) = fared else { return None };
        self.other_patience = begun.elapsed() * PATIENCE.0 + PATIENCE.1;
        let piece = |said: Said| if let Said::Case(piece) = said { Some(piece) } else { None };
        Some(Case::from_pieces(&said.into_iter().filter_map(piece).collect::<Vec<_>>()))
    }
}

/// Says that an execution is over, and what it has come to or learned.
fn say_end(program: &CoroutineProgram, learns: bool, came_to: &[u8], say: &dyn Fn(&[Said])) {
    let learned = if learns { program.promoted_text().into_bytes() } else { Vec::new() };
    let (how, bytes) = if learns { (Said::Learns, &*learned) } else { (Said::Over, came_to) };
    say(&[how].into_iter().chain(bytes.iter().copied().map(Said::Byte)).collect::<Vec<_>>());
}

impl Trials for Forks {
    fn run(&mut self, trial: &Trial<'_>) -> Came {
        let fared = self.fork(|program, say| {
            let came = trial.run(program);
            say_end(program, came == Came::Learns, &came.to_bytes(), say);
        });
        match fared {
            Fared::Likewise(_) => Came::Fails,
            // What it has done until then is not known.
            Fared::Otherwise => Came::Passes(Schedule::default()),
            Fared::Over(bytes) => Came::from_bytes(&bytes).unwrap_or(Came::SaysNothing),
            Fared::Unknown => Came::SaysNothing,
        }
    }
}

/// What the search for a simpler failure runs: it asks for the schedules of those that die likewise only.
impl Program for Forks {
    fn run(&mut self, chooser: &mut dyn Chooser, _: Option<&mut dyn Observer>) -> Outcome {
        let mark = self.failure.clone();
        let fared = self.fork(|program, say| {
            let outcome = program.run(chooser, None);
            let fails = matches!(&outcome.end, End::Failed(failure) if is_same(&mark, failure));
            say_end(program, outcome.promoted, if fails { &[FAILS] } else { &[] }, say);
        });
        let fails = match fared {
            Fared::Likewise(_) => true,
            Fared::Over(bytes) => bytes == [FAILS],
            Fared::Otherwise | Fared::Unknown => false,
        };
        let schedule = if fails { schedule_on(&self.tape) } else { None };
        let end =
            schedule.map_or(End::Passed, |schedule| End::Failed(Box::new(Failure { schedule, ..mark })));
        Outcome { end, step_count: 0, thread_count: 0, fingerprint: 0, promoted: false }
    }
}

/// What a fork says that has failed likewise, and is still there.
const FAILS: u8 = 1;

/// What a fork has recorded of its execution. From the last step of the schedule on it says so after each step: it may be its last word.
struct LastSteps {
    failure: Failure,
    /// Steps that are still to come.
    left: usize,
}

impl LastSteps {
    fn of(failure: &Failure) -> LastSteps {
        let mut failure = failure.clone();
        failure.trace = Trace { schedule: failure.schedule.clone(), ..Trace::default() };
        LastSteps { left: failure.schedule.step_count(), failure }
    }

    fn note(&mut self, piece: TracePiece, say: &dyn Fn(&[Said])) {
        let is_step = matches!(&piece, TracePiece::Step(step) if step.is_own());
        piece.add_to(&mut self.failure.trace);
        self.left = self.left.saturating_sub(usize::from(is_step));
        if is_step
            && self.left == 0
            && let Some(case) = Case::new(&self.failure)
        {
            say(&case.to_pieces().into_iter().map(Said::Case).collect::<Vec<_>>());
        }
    }
}

/// The schedule that a fork has left on its tape.
fn schedule_on(tape: &Path) -> Option<Schedule> {
    Some(Flight::read(&mut File::open(tape).ok()?)?.schedule)
}

/// So much is read of what a fork has printed, in bytes: the end.
const MAX_WORDS: u64 = 64 * 1024;

/// Panics that are compared, at most: the one that ends a process, which may be `std`'s, and the one before.
const PANICS: usize = 2;

/// Where the program has panicked last, if it has said so.
fn last_panics(words: &Path) -> Vec<String> {
    let mut text = Vec::new();
    if let Ok(mut file) = File::open(words) {
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        // What cannot be read is as if nothing had been printed.
        let _ = file
            .seek(SeekFrom::Start(length.saturating_sub(MAX_WORDS)))
            .and_then(|_| file.read_to_end(&mut text));
    }
    places_of_panics(&String::from_utf8_lossy(&text))
}

/// The places in such lines as the engine prints before a process dies of a panic: `T0 panicked at src/lib.rs:1:2: message`.
fn places_of_panics(text: &str) -> Vec<String> {
    let place = |line: &str| {
        let (thread, told) = line.split_once(" panicked at ")?;
        let number = thread.strip_prefix('T')?;
        let place = told.split_once(": ").map_or(told, |(place, _)| place);
        number.bytes().all(|byte| byte.is_ascii_digit()).then(|| place.to_owned())
    };
    let places: Vec<String> = text.lines().filter_map(place).collect();
    places[places.len().saturating_sub(PANICS)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_compared_by_their_places() {
        let text = "T0 panicked at a.rs:1:2: first\nsaid\nTom panicked at the sight: x\n\
                    T1 panicked at b.rs:3:4: why: because\nT1 panicked at core.rs:5:6: twice\n";
        assert_eq!(places_of_panics(text), ["b.rs:3:4", "core.rs:5:6"]);
        assert!(places_of_panics("memory allocation of 9 bytes failed").is_empty());
    }
}
