//! Names of the strategies and their text form, so that the engine and the command line mean the same.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// In which order executions are tried.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum StrategyKind {
    /// Iterative context bounding: all executions with 0 preemptions, then 1, …
    #[default]
    ContextBounded,
    /// Depth first, without a bound.
    DepthFirst,
    /// Depth first, but branching only in the first steps of an execution; what follows is left to the default choices.
    DepthBounded {
        /// So many steps.
        depth: u32,
    },
    /// Depth-bounded searches with a growing depth, each from the beginning.
    IterativeDepth,
    /// A random walk: every thread that can go on is equally likely.
    Random {
        /// Where the random numbers begin.
        seed: u64,
    },
    /// Probabilistic concurrency testing: random priorities, lowered at random steps.
    Priority {
        /// The depth of the bugs that are looked for: one change of priorities less than this.
        depth: u32,
        /// Where the random numbers begin.
        seed: u64,
    },
    /// All executions that depart from a deterministic scheduler 0 times, then once, …
    DelayBounded,
    /// Exactly the balanced executions of KISS: threads as nested calls on one stack.
    StackDiscipline,
}

/// What a strategy's text can be, for messages.
pub const STRATEGY_WORDS: &str = "icb, dfs, db:DEPTH, idfs, random[:SEED], pct[:DEPTH[:SEED]], delay, kiss";

const PRIORITY_DEPTH: u32 = 3;
/// There are fewer steps in most executions.
const MAX_PRIORITY_DEPTH: u64 = 10_000;

impl StrategyKind {
    /// Whether the search goes by bounds that claim something about preemptions, so that a test can be taken from one bound to
    /// the next.
    #[must_use]
    pub const fn is_by_preemptions(self) -> bool {
        matches!(self, StrategyKind::ContextBounded)
    }

    /// Whether the strategy never ends by itself.
    #[must_use]
    pub const fn is_endless(self) -> bool {
        matches!(self, StrategyKind::Random { .. } | StrategyKind::Priority { .. })
    }

    /// In words, for headings.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            StrategyKind::ContextBounded => "fewest preemptions first".to_owned(),
            StrategyKind::DepthFirst => "depth first".to_owned(),
            StrategyKind::DepthBounded { depth } => {
                format!("depth first, branching in the first {depth} steps")
            }
            StrategyKind::IterativeDepth => "depth first, branching deeper and deeper".to_owned(),
            StrategyKind::Random { .. } => "random walk".to_owned(),
            StrategyKind::Priority { depth, .. } => format!("random priorities for bugs of depth {depth}"),
            StrategyKind::DelayBounded => "fewest delays first".to_owned(),
            StrategyKind::StackDiscipline => "balanced executions".to_owned(),
        }
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            StrategyKind::ContextBounded => f.write_str("icb"),
            StrategyKind::DepthFirst => f.write_str("dfs"),
            StrategyKind::DepthBounded { depth } => write!(f, "db:{depth}"),
            StrategyKind::IterativeDepth => f.write_str("idfs"),
            StrategyKind::Random { seed: 0 } => f.write_str("random"),
            StrategyKind::Random { seed } => write!(f, "random:{seed}"),
            StrategyKind::Priority { depth, seed: 0 } => write!(f, "pct:{depth}"),
            StrategyKind::Priority { depth, seed } => write!(f, "pct:{depth}:{seed}"),
            StrategyKind::DelayBounded => f.write_str("delay"),
            StrategyKind::StackDiscipline => f.write_str("kiss"),
        }
    }
}

impl FromStr for StrategyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no strategy; it can be {STRATEGY_WORDS}");
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<u64> =
            parts.map(|part| part.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
        let small = |number: u64| {
            let most = u32::MAX;
            u32::try_from(number)
                .map_err(|_| format!("`{text}` goes too deep; give DEPTH, as in db:DEPTH, at most {most}"))
        };
        if let ("pct", Some(depth)) = (name, numbers.first())
            && !(1..=MAX_PRIORITY_DEPTH).contains(depth)
        {
            return Err(format!(
                "`{text}` looks for no bug that there is; give pct a depth of at least 1 and at most {MAX_PRIORITY_DEPTH}, as in pct:3"
            ));
        }
        Ok(match (name, numbers.as_slice()) {
            ("icb", []) => StrategyKind::ContextBounded,
            ("dfs", []) => StrategyKind::DepthFirst,
            ("db", &[depth]) => StrategyKind::DepthBounded { depth: small(depth)? },
            ("idfs", []) => StrategyKind::IterativeDepth,
            ("random", []) => StrategyKind::Random { seed: 0 },
            ("random", &[seed]) => StrategyKind::Random { seed },
            ("pct", []) => StrategyKind::Priority { depth: PRIORITY_DEPTH, seed: 0 },
            ("pct", &[depth]) => StrategyKind::Priority { depth: small(depth)?, seed: 0 },
            ("pct", &[depth, seed]) => StrategyKind::Priority { depth: small(depth)?, seed },
            ("delay", []) => StrategyKind::DelayBounded,
            ("kiss", []) => StrategyKind::StackDiscipline,
            _ => return Err(wrong()),
        })
    }
}

impl From<StrategyKind> for String {
    fn from(strategy: StrategyKind) -> String {
        strategy.to_string()
    }
}

impl TryFrom<String> for StrategyKind {
    type Error = String;

    fn try_from(text: String) -> Result<StrategyKind, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_nonsense_is_refused() {
        for text in ["icb", "dfs", "db:20", "idfs", "random", "random:7", "pct:4", "pct:2:9", "delay", "kiss"]
        {
            assert_eq!(text.parse::<StrategyKind>().unwrap().to_string(), text);
        }
        assert_eq!("pct".parse(), Ok(StrategyKind::Priority { depth: 3, seed: 0 }));
        for text in ["", "luck", "db", "db:x", "db:1:2", "icb:1", "db:99999999999"] {
            assert!(text.parse::<StrategyKind>().unwrap_err().contains("db:DEPTH"), "{text}");
        }
        for text in ["pct:0:1", "pct:10001", "pct:4294967295"] {
            assert!(text.parse::<StrategyKind>().unwrap_err().contains("a depth of at least 1"), "{text}");
        }
    }
}
