//! A transaction manager as a model: a stand-in, written for this project, for the one of Musuvathi and Qadeer (PLDI 2007,
//! §4.1), whose ZING model is not published.
//!
//! In-flight transactions stand in a hash table whose buckets have a lock each, and every transaction has a lock of its own.
//! One thread creates, commits or deletes a transaction; a timer thread goes through the buckets and aborts what is pending
//! for too long. The timer looks under the lock of the bucket, lets go of it, and acts under the lock of the transaction: it
//! has to look again, and to hold a reference. Three versions forget some of that; the paper lists three bugs that take 2,
//! 2 and 3 preemptions, and so do these.

use icb_core::model::Model;

/// What the first thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Enters a new transaction, which is pending until its resources are there, and uses it.
    Create,
    /// Takes a transaction through its pending phase to its end.
    Commit,
    /// Takes a transaction out of the table and frees it.
    Delete,
}

/// Which manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As described.
    Correct,
    /// The timer acts without the lock of the transaction, and aborts one that has been committed since it looked. The worker is
    /// preempted while its transaction is pending, and the timer after it has looked.
    AbortsCommitted,
    /// The timer takes no reference between looking and acting, and locks a transaction that has been freed. The worker is
    /// preempted before it frees it, and the timer after it has looked.
    NoReference,
    /// The timer acts without the lock of the transaction, and aborts one that has become active since it looked. The worker is
    /// preempted while its transaction is pending and again before it uses it, and the timer after it has looked.
    AbortsActive,
}

/// The manager and its test driver.
#[derive(Clone, Copy, Debug)]
pub struct TransactionManager {
    /// Which.
    pub version: Version,
    /// What the first thread does to the transaction in bucket 0.
    pub action: Action,
    /// How often the timer goes through the buckets.
    pub rounds: u8,
}

const BUCKETS: usize = 2;
const WORKER: usize = 0;
const TIMER: usize = 1;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Status {
    Active,
    Preparing,
    Deleting,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Transaction {
    status: Status,
    in_table: bool,
    references: u8,
    /// To be freed with the last reference.
    doomed: bool,
    freed: bool,
    lock: Option<u8>,
}

/// A state of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// The transaction of each bucket.
    transactions: [Transaction; BUCKETS],
    bucket_locks: [Option<u8>; BUCKETS],
    worker_at: u8,
    timer_at: u8,
    timer_bucket: u8,
    timer_round: u8,
    /// The timer has seen a pending transaction.
    candidate: bool,
}

/// The place of a thread that has ended.
const ENDED: u8 = u8::MAX;

/// What a step may wait for.
#[derive(Clone, Copy)]
enum Lock {
    Bucket(usize),
    Transaction(usize),
}

impl TransactionManager {
    /// The lock that the thread's next step takes.
    fn wanted(self, state: &State, thread: usize) -> Option<Lock> {
        if thread == TIMER {
            let bucket = usize::from(state.timer_bucket);
            return match state.timer_at {
                0 | 6 => Some(Lock::Bucket(bucket)),
                3 if self.timer_locks() => Some(Lock::Transaction(bucket)),
                _ => None,
            };
        }
        match (self.action, state.worker_at) {
            (_, 0) | (Action::Delete, 4) => Some(Lock::Bucket(0)),
            (Action::Create, 4) | (Action::Commit, 3 | 7) => Some(Lock::Transaction(0)),
            _ => None,
        }
    }

    fn timer_locks(self) -> bool {
        matches!(self.version, Version::Correct | Version::NoReference)
    }

    fn lock_mut(state: &mut State, lock: Lock) -> &mut Option<u8> {
        match lock {
            Lock::Bucket(bucket) => &mut state.bucket_locks[bucket],
            Lock::Transaction(bucket) => &mut state.transactions[bucket].lock,
        }
    }

    fn create(state: &mut State) -> Result<u8, String> {
        let transaction = &mut state.transactions[0];
        match state.worker_at {
            1 => (transaction.in_table, transaction.status) = (true, Status::Preparing),
            2 => state.bucket_locks[0] = None,
            // 3: the resources are prepared, which nobody else sees.
            5 => {
                if transaction.status != Status::Preparing {
                    transaction.lock = None;
                    return Ok(ENDED);
                }
                transaction.status = Status::Active;
            }
            6 => transaction.lock = None,
            7 => {
                if transaction.status == Status::Aborted {
                    return Err("an active transaction was aborted by the timer".to_owned());
                }
                return Ok(ENDED);
            }
            _ => {}
        }
        Ok(state.worker_at + 1)
    }

    fn commit(state: &mut State) -> Result<u8, String> {
        let transaction = &mut state.transactions[0];
        match state.worker_at {
            1 => transaction.references += 1,
            2 => state.bucket_locks[0] = None,
            4 => transaction.status = Status::Preparing,
            5 => transaction.lock = None,
            // 6: the log is written, which nobody else sees.
            8 if transaction.status == Status::Preparing => transaction.status = Status::Committed,
            9 => {
                (transaction.lock, transaction.references) = (None, transaction.references - 1);
                return Ok(ENDED);
            }
            _ => {}
        }
        Ok(state.worker_at + 1)
    }

    fn delete(state: &mut State) -> Result<u8, String> {
        let transaction = &mut state.transactions[0];
        match state.worker_at {
            1 => {
                if !transaction.in_table {
                    state.bucket_locks[0] = None;
                    return Ok(ENDED);
                }
                transaction.status = Status::Deleting;
            }
            2 | 6 => state.bucket_locks[0] = None,
            // 3: those who take part are told, which nobody else sees.
            5 => transaction.in_table = false,
            7 => {
                if transaction.references == 0 {
                    transaction.freed = true;
                } else {
                    transaction.doomed = true;
                }
                return Ok(ENDED);
            }
            _ => {}
        }
        Ok(state.worker_at + 1)
    }

    /// Whether the timer, looking again, aborts a transaction.
    fn aborts(self, status: Status) -> bool {
        match self.version {
            Version::Correct | Version::NoReference => status == Status::Preparing,
            Version::AbortsCommitted => !matches!(status, Status::Active | Status::Deleting),
            Version::AbortsActive => !matches!(status, Status::Committed | Status::Deleting),
        }
    }

    fn timer(self, state: &mut State) -> Result<u8, String> {
        let bucket = usize::from(state.timer_bucket);
        let transaction = &mut state.transactions[bucket];
        match state.timer_at {
            1 => {
                let pending = matches!(transaction.status, Status::Preparing | Status::Deleting);
                state.candidate = transaction.in_table && pending;
                if state.candidate && self.version != Version::NoReference {
                    transaction.references += 1;
                }
            }
            2 => {
                state.bucket_locks[bucket] = None;
                if !state.candidate {
                    return Ok(Self::next_bucket(state, self.rounds));
                }
            }
            3 if transaction.freed => return Err("a freed transaction is locked by the timer".to_owned()),
            4 => {
                if transaction.status == Status::Committed && self.aborts(Status::Committed) {
                    return Err("a committed transaction is aborted by the timer".to_owned());
                }
                if self.aborts(transaction.status) {
                    transaction.status = Status::Aborted;
                }
            }
            5 => {
                if self.timer_locks() {
                    transaction.lock = None;
                }
                if self.version != Version::NoReference {
                    transaction.references -= 1;
                    transaction.freed |= transaction.doomed && transaction.references == 0;
                }
            }
            7 => transaction.in_table &= transaction.status != Status::Aborted,
            8 => {
                state.bucket_locks[bucket] = None;
                return Ok(Self::next_bucket(state, self.rounds));
            }
            _ => {}
        }
        Ok(state.timer_at + 1)
    }

    fn next_bucket(state: &mut State, rounds: u8) -> u8 {
        state.candidate = false;
        state.timer_bucket += 1;
        if usize::from(state.timer_bucket) == BUCKETS {
            state.timer_bucket = 0;
            state.timer_round += 1;
        }
        if state.timer_round == rounds { ENDED } else { 0 }
    }
}

impl Model for TransactionManager {
    type State = State;

    fn initial_states(&self) -> Vec<State> {
        let transaction = |status, in_table| Transaction {
            status,
            in_table,
            references: 0,
            doomed: false,
            freed: false,
            lock: None,
        };
        let ours = transaction(Status::Active, self.action != Action::Create);
        vec![State {
            // The other one is pending for too long: the timer rightly aborts it.
            transactions: [ours, transaction(Status::Preparing, true)],
            bucket_locks: [None; BUCKETS],
            worker_at: 0,
            timer_at: 0,
            timer_bucket: 0,
            timer_round: 0,
            candidate: false,
        }]
    }

    fn thread_count(&self, _: &State) -> usize {
        2
    }

    fn is_enabled(&self, state: &State, thread: usize) -> bool {
        !self.has_ended(state, thread)
            && match self.wanted(state, thread) {
                None => true,
                Some(Lock::Bucket(bucket)) => state.bucket_locks[bucket].is_none(),
                Some(Lock::Transaction(bucket)) => state.transactions[bucket].lock.is_none(),
            }
    }

    fn has_ended(&self, state: &State, thread: usize) -> bool {
        [state.worker_at, state.timer_at][thread] == ENDED
    }

    fn step(&self, state: &mut State, thread: usize, _: u32) -> Result<(), String> {
        let wanted = self.wanted(state, thread);
        if thread == WORKER {
            state.worker_at = match self.action {
                Action::Create => Self::create(state)?,
                Action::Commit => Self::commit(state)?,
                Action::Delete => Self::delete(state)?,
            };
        } else {
            state.timer_at = self.timer(state)?;
        }
        if let Some(lock) = wanted {
            *Self::lock_mut(state, lock) = Some(thread as u8);
        }
        Ok(())
    }

    fn invariant(&self, state: &State) -> Result<(), String> {
        match state.transactions.iter().find(|transaction| transaction.freed && transaction.in_table) {
            Some(_) => Err("a freed transaction stands in the table".to_owned()),
            None => Ok(()),
        }
    }

    fn may_block(&self, state: &State, thread: usize) -> bool {
        self.wanted(state, thread).is_some()
    }

    fn words(&self, state: &State, thread: usize) -> String {
        if thread == TIMER {
            let bucket = state.timer_bucket;
            return match state.timer_at {
                0 | 6 => format!("timer: lock bucket {bucket}"),
                1 => format!("timer: look at bucket {bucket}"),
                2 | 8 => format!("timer: unlock bucket {bucket}"),
                3 if self.timer_locks() => format!("timer: lock transaction {bucket}"),
                3 => "timer: go on without a lock".to_owned(),
                4 => format!("timer: abort transaction {bucket} if it is pending"),
                5 => format!("timer: unlock transaction {bucket}"),
                _ => format!("timer: take transaction {bucket} out if it is aborted"),
            };
        }
        let words = match (self.action, state.worker_at) {
            (_, 0) | (Action::Delete, 4) => "lock bucket 0",
            (Action::Create, 1) => "enter the transaction",
            (Action::Commit, 1) => "take a reference",
            (Action::Delete, 1) => "mark the transaction for deletion",
            (_, 2) | (Action::Delete, 6) => "unlock bucket 0",
            (Action::Create, 3) => "prepare resources",
            (Action::Delete, 3) => "tell those who take part",
            (Action::Delete, 5) => "take the transaction out",
            (Action::Delete, 7) => "free the transaction",
            (Action::Create, 4) | (Action::Commit, 3 | 7) => "lock the transaction",
            (Action::Create, 5) => "activate the transaction",
            (Action::Commit, 4) => "begin to commit",
            (Action::Commit, 6) => "write the log",
            (Action::Commit, 8) => "commit",
            (Action::Create, 7) => "use the transaction",
            _ => "unlock the transaction",
        };
        format!("{:?}: {words}", self.action).to_lowercase()
    }
}
