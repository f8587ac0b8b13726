//! What one of several machines has done of a bound.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which share of the work is meant: `3/16` is the third of sixteen, `3/16:2/4` the second quarter of that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Shard {
    /// Number, counted from 1, of how many.
    pub whole: (u32, u32),
    /// The same of a part of that.
    pub part: (u32, u32),
}

impl Shard {
    /// The other shard is needed beside this one: both are of as many.
    #[must_use]
    pub fn belongs_to(&self, other: &Shard) -> bool {
        self.whole.1 == other.whole.1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.whole.0, self.whole.1)?;
        if self.part.1 > 1 { write!(f, ":{}/{}", self.part.0, self.part.1) } else { Ok(()) }
    }
}

/// The largest number of shards.
const MAX_COUNT: u32 = 10_000;

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = |why: &str| {
            format!(
                "`{text}` is no shard{why}; write 3/16 for the third of sixteen, or 3/16:2/4 for the second quarter of that"
            )
        };
        let pair = |text: &str| {
            let pair = text
                .split_once('/')
                .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
            match pair {
                None => Err(wrong("")),
                Some((_, 0)) => Err(wrong(": there is at least one shard")),
                Some((_, count)) if count > MAX_COUNT => {
                    Err(wrong(&format!(": there are at most {MAX_COUNT} shards")))
                }
                Some((0, _)) => Err(wrong(": shards are counted from 1")),
                Some((number, count)) if number > count => Err(wrong(&format!(": there are {count} shards"))),
                Some(pair) => Ok(pair),
            }
        };
        let (whole, part) = text.split_once(':').unwrap_or((text, "1/1"));
        Ok(Shard { whole: pair(whole)?, part: pair(part)? })
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

/// Whose a piece of the search is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ownership {
    /// Every shard does it, to find out what there is to share out.
    Plan,
    /// One shard does it: the piece with this number.
    Share(u32),
    /// Found to be needed by a shard, and done by it; others may have found it too.
    Extra,
}

/// A piece of the search that has been done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// Identifies it.
    pub key: String,
    /// Whose it is.
    pub of: Ownership,
    /// Executions.
    pub executions: u64,
    /// Executions that were given up.
    pub given_up: u64,
    /// Steps.
    pub steps: u64,
    /// The longest execution, in steps.
    pub max_steps: u64,
    /// The largest number of threads.
    pub max_threads: u32,
    /// The bound has left something out.
    pub cut: bool,
}

/// What one shard has done of a bound of a model.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ShardPart {
    /// Pieces that are shared out among all shards.
    pub share_count: u32,
    /// The pieces that this shard has done.
    pub pieces: Vec<Piece>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_read_and_written() {
        for text in ["1/1", "3/16", "16/16", "3/16:2/4"] {
            assert_eq!(text.parse::<Shard>().unwrap().to_string(), text);
        }
        for bad in ["", "3", "0/16", "17/16", "3/0", "3/16:5/4", "3/16:", "a/b", "1/99999"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
