//! What it takes for an execution to fail: the orders between threads without any one of which it need not.

use super::Schedule;
use serde::{Deserialize, Serialize};

/// What has been found out about a failing execution by running others that differ from it in one order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Explanation {
    /// The orders that it takes, by the later step.
    pub orders: Vec<Order>,
    /// Executions run to find out.
    pub executions: u64,
    /// Whether time was enough to try to do without every order. Else those not tried are kept.
    pub complete: bool,
    /// What the search for a simpler execution came to, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simplified: Option<Simplified>,
}

impl Explanation {
    /// Steps of an execution that is explained, at most: to explain longer ones takes too long.
    pub const MAX_STEPS: usize = 2000;
}

/// One step has to come before another one, of another thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Order {
    /// Position of the earlier step among the steps of the trace.
    pub before: usize,
    /// Position of the later step. Beyond the steps of the trace: what the thread that many places on in
    /// [`Failure::waiting`](super::Failure::waiting) waits to do.
    pub after: usize,
    /// An execution that keeps all the other orders, but not this one, and does not fail like this; empty where it ends its process. `None`: there
    /// was no time to look for one.
    pub without: Option<Schedule>,
}

/// What the search for a simpler execution came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Simplified {
    /// Context switches of the failure as it was found, and now.
    pub switches: (u32, u32),
    /// Steps as it was found, and now.
    pub steps: (u32, u32),
    /// Executions tried.
    pub executions: u64,
    /// Whether every execution with so many preemptions has been tried.
    pub exhausted: bool,
    /// Whether all those have been tried in which steps that a thread takes in a row are moved together, and no others were to be: each ends its process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves_only: bool,
}
