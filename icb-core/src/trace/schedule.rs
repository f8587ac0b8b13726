//! Schedules: the choices of one execution, and their compact text form.
//!
//! The text form is `icb1:` followed by runs of steps. A run is a thread number, `*` and a count when it is
//! longer than one step. Runs are separated by what the switch cost: `,` a free one, `!` a preemption. `~` after
//! the thread number marks a step taken early (an expired timed wait or a spurious wake-up that cost a unit).
//! `?k` after a step is a branch taken inside that step, `?k!` one that cost a unit (a spurious
//! `compare_exchange_weak` failure). Example: `icb1:0*14!1*3,0?1,1~*2`. At the end, after `@`, stand the places that were
//! made scheduling points while the program ran (`OnRace::Promote`), as hexadecimal numbers separated by commas.

use super::ThreadId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One choice of an execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum ScheduleEntry {
    /// The next step is taken by this thread.
    Run {
        /// Who.
        thread: ThreadId,
        /// Whether taking it preempts the thread that ran before.
        preemption: bool,
        /// Whether the thread goes on early, at the cost of a unit.
        early: bool,
    },
    /// Inside the step before: which of its outcomes happens.
    Branch {
        /// Index of the outcome.
        index: u32,
        /// Whether it costs a unit.
        costly: bool,
    },
}

/// The choices of one execution, in order. Given a schedule, an execution is a pure function.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule {
    entries: Vec<ScheduleEntry>,
    /// Places that were made scheduling points, relative to the image of the program.
    points: Vec<u64>,
}

impl Schedule {
    /// A schedule with these choices.
    #[must_use]
    pub fn new(entries: Vec<ScheduleEntry>) -> Self {
        Schedule { entries, points: Vec::new() }
    }

    /// The same choices, where these places of the program have been made scheduling points.
    #[must_use]
    pub fn with_points(mut self, points: &[u64]) -> Self {
        self.points = points.to_vec();
        self
    }

    /// The places that were made scheduling points, relative to the image of the program.
    #[must_use]
    pub fn points(&self) -> &[u64] {
        &self.points
    }

    /// Whether the main thread takes all steps.
    #[must_use]
    pub fn has_one_thread(&self) -> bool {
        self.entries().iter().all(|entry| match entry {
            ScheduleEntry::Run { thread, .. } => thread.index() == 0,
            ScheduleEntry::Branch { .. } => true,
        })
    }

    /// The choices in order.
    #[must_use]
    pub fn entries(&self) -> &[ScheduleEntry] {
        &self.entries
    }

    /// Appends a choice.
    pub fn push(&mut self, entry: ScheduleEntry) {
        self.entries.push(entry);
    }

    /// Number of steps.
    #[must_use]
    pub fn step_count(&self) -> usize {
        self.entries.iter().filter(|e| matches!(e, ScheduleEntry::Run { .. })).count()
    }

    /// What the schedule costs against the bound: preemptions, early expiries and costly branches.
    #[must_use]
    pub fn preemption_count(&self) -> u32 {
        self.entries
            .iter()
            .map(|entry| match *entry {
                ScheduleEntry::Run { preemption, early, .. } => u32::from(preemption) + u32::from(early),
                ScheduleEntry::Branch { costly, .. } => u32::from(costly),
            })
            .sum()
    }
}

const PREFIX: &str = "icb1:";

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        let mut run: Option<(ThreadId, u32)> = None;
        let mut previous: Option<ThreadId> = None;
        let finish = |f: &mut fmt::Formatter<'_>, run: &mut Option<(ThreadId, u32)>| match run.take() {
            Some((_, count)) if count > 1 => write!(f, "*{count}"),
            _ => Ok(()),
        };
        let mut after_branch = false;
        for entry in &self.entries {
            match *entry {
                ScheduleEntry::Run { thread, preemption, early } => {
                    let extends =
                        run.is_some_and(|(t, _)| t == thread) && !preemption && !early && !after_branch;
                    if extends {
                        if let Some((_, count)) = &mut run {
                            *count += 1;
                        }
                        continue;
                    }
                    finish(f, &mut run)?;
                    if previous.is_some() {
                        f.write_str(if preemption { "!" } else { "," })?;
                    }
                    write!(f, "{}{}", thread.index(), if early { "~" } else { "" })?;
                    run = Some((thread, 1));
                    previous = Some(thread);
                    after_branch = false;
                }
                ScheduleEntry::Branch { index, costly } => {
                    finish(f, &mut run)?;
                    write!(f, "?{index}{}", if costly { "!" } else { "" })?;
                    after_branch = true;
                }
            }
        }
        finish(f, &mut run)?;
        for (index, point) in self.points.iter().enumerate() {
            write!(f, "{}{point:x}", if index == 0 { '@' } else { ',' })?;
        }
        Ok(())
    }
}

/// Why a text is not a schedule.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseScheduleError {
    /// It does not begin with the format's name.
    #[error(
        "a schedule begins with `{PREFIX}`, this text does not; copy the whole line that the report printed"
    )]
    Prefix,
    /// Something else stands where the position says.
    #[error("schedule is damaged at character {position}: expected {expected}")]
    Syntax {
        /// Character position, counted from 0.
        position: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

struct Parser<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl Parser<'_> {
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.position) == Some(&byte);
        self.position += usize::from(found);
        found
    }

    fn number(&mut self, expected: &'static str) -> Result<u32, ParseScheduleError> {
        let start = self.position;
        let mut value: u32 = 0;
        while let Some(digit) = self.bytes.get(self.position).filter(|b| b.is_ascii_digit()) {
            value = value
                .checked_mul(10)
                .and_then(|v| v.checked_add(u32::from(digit - b'0')))
                .ok_or(ParseScheduleError::Syntax { position: start, expected: "a smaller number" })?;
            self.position += 1;
        }
        if self.position == start { Err(self.error(expected)) } else { Ok(value) }
    }

    fn error(&self, expected: &'static str) -> ParseScheduleError {
        ParseScheduleError::Syntax { position: self.position, expected }
    }
}

/// A text that is longer was not made by an execution, and would take more memory than is worth it.
const MAX_CHOICES: usize = 100_000_000;

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, ParseScheduleError> {
        let text = text.trim();
        if !text.starts_with(PREFIX) {
            return Err(ParseScheduleError::Prefix);
        }
        let (text, points) = text.split_once('@').unwrap_or((text, ""));
        let position = text.len() + 1;
        let points = points.split(',').filter(|point| !point.is_empty()).map(|point| {
            let expected = "hexadecimal numbers separated by commas";
            u64::from_str_radix(point, 16).map_err(|_| ParseScheduleError::Syntax { position, expected })
        });
        let mut schedule = Schedule { entries: Vec::new(), points: points.collect::<Result<_, _>>()? };
        let mut parser = Parser { bytes: text.as_bytes(), position: PREFIX.len() };
        if parser.position == parser.bytes.len() {
            return Ok(schedule);
        }
        let mut preemption = false;
        loop {
            let thread = ThreadId::new(parser.number("a thread number")? as usize);
            let early = parser.eat(b'~');
            schedule.push(ScheduleEntry::Run { thread, preemption, early });
            if parser.eat(b'*') {
                let count = parser.number("a number of steps")?;
                if count == 0 || schedule.entries.len() + count as usize > MAX_CHOICES {
                    return Err(parser.error("a number of steps, not 0, and at most 100000000 in all"));
                }
                for _ in 1..count {
                    schedule.push(ScheduleEntry::Run { thread, preemption: false, early: false });
                }
            }
            preemption = false;
            let mut switch = false;
            while parser.eat(b'?') {
                let index = parser.number("the index of a branch")?;
                // `!` ends a costly branch; a preemption right after it is written `!!`.
                let costly = parser.bytes.get(parser.position) == Some(&b'!')
                    && parser.bytes.get(parser.position + 1).is_none_or(|b| !b.is_ascii_digit());
                parser.position += usize::from(costly);
                schedule.push(ScheduleEntry::Branch { index, costly });
            }
            if parser.position == parser.bytes.len() {
                return Ok(schedule);
            }
            if parser.eat(b'!') {
                preemption = true;
                switch = true;
            } else if parser.eat(b',') {
                switch = true;
            }
            if !switch {
                return Err(parser.error("`,`, `!`, `?` or the end"));
            }
        }
    }
}

impl TryFrom<String> for Schedule {
    type Error = ParseScheduleError;
    fn try_from(text: String) -> Result<Self, ParseScheduleError> {
        text.parse()
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        schedule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(thread: usize, preemption: bool, early: bool) -> ScheduleEntry {
        ScheduleEntry::Run { thread: ThreadId::new(thread), preemption, early }
    }

    #[test]
    fn text_form_round_trips() {
        let tables = [
            vec![],
            vec![run(0, false, false)],
            vec![run(0, false, false), run(0, false, false), run(1, true, false), run(0, false, true)],
            vec![
                run(0, false, false),
                ScheduleEntry::Branch { index: 2, costly: false },
                run(0, false, false),
                ScheduleEntry::Branch { index: 1, costly: true },
                run(1, true, false),
                ScheduleEntry::Branch { index: 1, costly: false },
                run(0, true, false),
                run(0, false, true),
                run(0, false, false),
                run(0, false, true),
            ],
        ];
        for entries in tables {
            for points in [&[][..], &[7], &[0, 0x1F3A, u64::MAX]] {
                let schedule = Schedule::new(entries.clone()).with_points(points);
                let text = schedule.to_string();
                assert_eq!(text.parse::<Schedule>().as_ref(), Ok(&schedule), "{text}");
            }
        }
    }

    #[test]
    fn pseudo_random_schedules_round_trip() {
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        for _ in 0..2000 {
            let mut entries: Vec<ScheduleEntry> = vec![];
            for _ in 0..next(12) {
                if !entries.is_empty() && next(5) == 0 {
                    entries.push(ScheduleEntry::Branch { index: next(3) as u32, costly: next(2) == 0 });
                } else {
                    let first = entries.is_empty();
                    entries.push(run(next(3) as usize, !first && next(4) == 0, next(6) == 0));
                }
            }
            let schedule = Schedule::new(entries);
            assert_eq!(schedule.to_string().parse::<Schedule>().as_ref(), Ok(&schedule), "{schedule}");
        }
    }

    #[test]
    fn damage_is_named() {
        assert_eq!("0*3".parse::<Schedule>(), Err(ParseScheduleError::Prefix));
        let table = [
            ("icb1:0*", 7),
            ("icb1:x", 5),
            ("icb1:0*3;1", 8),
            ("icb1:0!", 7),
            ("icb1:0*0", 8),
            ("icb1:0*100000001", 16),
            ("icb1:0*9,1*99999999", 19),
        ];
        for (text, position) in table {
            match text.parse::<Schedule>() {
                Err(ParseScheduleError::Syntax { position: p, .. }) => assert_eq!(p, position, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn cost_counts_preemptions_early_steps_and_costly_branches() {
        let schedule: Schedule = "icb1:0*3!1*2,0~?1!".parse().unwrap();
        assert_eq!((schedule.preemption_count(), schedule.step_count()), (3, 6));
    }
}
