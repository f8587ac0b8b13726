//! The oracle table: exact numbers for the [oracle programs](super::oracle_programs).
//!
//! Conventions: every operation is one step and `wait` is two; begin and end of a thread are no steps and all
//! threads are present from the start, except where a main thread is named; all variables start at 0; a failed
//! compare and exchange or `try_lock` is a read. The context bound of a happens-before state is the fewest
//! preemptions of an execution that reaches it.

use super::language::Program;
use super::oracle_programs::programs;

/// A program and what is known about it.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The program; its name begins with the number of the oracle.
    pub program: Program,
    /// Its numbers.
    pub expected: Expected,
}

/// Exact numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected {
    /// Executions with exactly 0, 1, 2, 3, 4 preemptions, without any reduction.
    pub executions: [u64; 5],
    /// Distinct terminal happens-before states, deadlocks included, with a context bound of at most 0, 1, 2, 3, 4.
    pub terminals: [usize; 5],
    /// All distinct terminal happens-before states.
    pub all_terminals: usize,
    /// The largest context bound of a terminal state.
    pub max_context_bound: usize,
    /// Distinct happens-before states with a context bound of at most 0, 1, 2, 3.
    pub states: [usize; 4],
    /// Terminal states in which threads are blocked for ever.
    pub deadlocks: usize,
    /// The same program under a main thread, where it has none of its own.
    pub under_main: Option<UnderMain>,
}

/// Numbers of a program whose threads are spawned in order, then joined in order, by a main thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnderMain {
    /// Distinct terminal happens-before states with a context bound of at most 0, 1, 2.
    pub terminals: [usize; 3],
    /// All of them.
    pub all_terminals: usize,
}

/// The programs with their numbers.
#[must_use]
pub fn oracles() -> Vec<Oracle> {
    let programs = programs();
    assert_eq!(programs.len(), ROWS.len());
    let named = programs.into_iter().zip(&ROWS);
    named
        .map(|(program, row)| {
            assert_eq!(program.name, row.0);
            Oracle { program, expected: row.expected() }
        })
        .collect()
}

/// Name; executions; terminals; all terminals; largest context bound; states; deadlocks; under main.
struct Row(&'static str, [u64; 5], [usize; 5], usize, usize, [usize; 4], usize, Option<([usize; 3], usize)>);

impl Row {
    fn expected(&self) -> Expected {
        let &Row(_, executions, terminals, all_terminals, max_context_bound, states, deadlocks, under_main) =
            self;
        let under_main = under_main.map(|(terminals, all_terminals)| UnderMain { terminals, all_terminals });
        Expected { executions, terminals, all_terminals, max_context_bound, states, deadlocks, under_main }
    }
}

#[rustfmt::skip]
const ROWS: [Row; 33] = [
    Row("O1 indep-2x3", [2, 4, 8, 4, 2], [1, 1, 1, 1, 1], 1, 0, [12, 16, 16, 16], 0, Some(([1, 1, 1], 1))),
    Row("O2 ww-2x3", [2, 4, 8, 4, 2], [2, 6, 14, 18, 20], 20, 4, [13, 31, 55, 65], 0, Some(([2, 6, 14], 20))),
    Row("O3 rmw-3x2", [6, 18, 36, 30, 0], [6, 24, 60, 90, 90], 90, 3, [31, 97, 199, 271], 0, Some(([6, 24, 60], 90))),
    Row("O4 tr-fig1", [2, 1, 0, 0, 0], [2, 2, 2, 2, 2], 2, 0, [7, 7, 7, 7], 0, Some(([2, 2, 2], 2))),
    Row("O5 SB", [2, 2, 2, 0, 0], [2, 3, 3, 3, 3], 3, 1, [9, 13, 13, 13], 0, Some(([2, 3, 3], 3))),
    Row("O6 MP+2r", [6, 18, 36, 30, 0], [4, 9, 9, 9, 9], 9, 1, [27, 57, 61, 61], 0, Some(([4, 9, 9], 9))),
    Row("O7 mutex-2x2", [2, 2, 2, 0, 0], [2, 4, 6, 6, 6], 6, 2, [17, 29, 37, 37], 0, Some(([2, 4, 6], 6))),
    Row("O8 mutex-3x1+data", [6, 0, 0, 0, 0], [6, 6, 6, 6, 6], 6, 0, [61, 61, 61, 61], 0, Some(([6, 6, 6], 6))),
    Row("O9 abba", [2, 4, 0, 0, 0], [2, 3, 3, 3, 3], 3, 1, [17, 20, 20, 20], 1, Some(([2, 3, 3], 3))),
    Row("O10 block-free-switch", [2, 5, 14, 18, 14], [2, 5, 5, 5, 5], 5, 1, [21, 46, 54, 54], 0, Some(([2, 5, 5], 5))),
    Row("O11 trylock", [2, 7, 14, 15, 11], [2, 8, 12, 12, 12], 12, 2, [19, 53, 74, 76], 0, Some(([2, 8, 12], 12))),
    Row("O12 cond-prog", [6, 20, 46, 49, 11], [6, 13, 14, 14, 14], 14, 2, [35, 82, 98, 98], 0, Some(([6, 13, 14], 14))),
    Row("O13 condvar", [10, 0, 0, 0, 0], [10, 10, 10, 10, 10], 10, 0, [93, 93, 93, 93], 0, Some(([10, 10, 10], 10))),
    Row("O14 lost-wakeup", [7, 4, 0, 0, 0], [5, 5, 5, 5, 5], 5, 0, [30, 30, 30, 30], 2, Some(([5, 5, 5], 5))),
    Row("O15 spawn-join", [3, 9, 21, 26, 9], [2, 6, 6, 6, 6], 6, 1, [20, 55, 74, 76], 0, None),
    Row("O16 philo-3", [6, 51, 72, 21, 18], [6, 7, 7, 7, 7], 7, 1, [61, 110, 113, 113], 1, Some(([6, 7, 7], 7))),
    Row("O17 fg-indep-heavy", [6, 72, 612, 3360, 13176], [6, 6, 6, 6, 6], 6, 0, [76, 172, 236, 236], 0, Some(([6, 6, 6], 6))),
    Row("O18 cas-2x1", [2, 2, 2, 0, 0], [2, 4, 4, 4, 4], 4, 1, [9, 18, 18, 18], 0, Some(([2, 4, 4], 4))),
    Row("O19 yield", [12, 26, 22, 0, 0], [12, 12, 12, 12, 12], 12, 0, [49, 78, 80, 80], 0, Some(([12, 12, 12], 12))),
    Row("O20 2x10-rmw", [2, 18, 162, 648, 2592], [2, 20, 182, 830, 3422], 184756, 18, [41, 311, 1931, 7331], 0, None),
    Row("O21 k-cache-hb", [2, 2, 2, 0, 0], [2, 3, 3, 3, 3], 3, 1, [9, 12, 12, 12], 0, Some(([2, 3, 3], 3))),
    Row("O22 k-cache-last", [2, 3, 4, 1, 0], [2, 4, 6, 6, 6], 6, 2, [11, 18, 22, 22], 0, Some(([2, 4, 6], 6))),
    Row("O23 k-unlock-lock", [2, 5, 6, 3, 1], [2, 7, 8, 8, 8], 8, 2, [12, 31, 34, 34], 3, Some(([2, 7, 8], 8))),
    Row("O24 k-at-exec", [2, 6, 8, 2, 0], [2, 7, 10, 10, 10], 10, 2, [15, 40, 49, 49], 3, Some(([2, 7, 10], 10))),
    Row("O25 k-por-all+sleep", [6, 12, 2, 0, 0], [4, 4, 4, 4, 4], 4, 0, [23, 26, 26, 26], 0, Some(([4, 4, 4], 4))),
    Row("O26 k-pending-deadlock", [2, 0, 0, 0, 0], [2, 2, 2, 2, 2], 2, 0, [3, 3, 3, 3], 2, Some(([2, 2, 2], 2))),
    Row("O27 k-sleepblocked-pending", [10, 8, 0, 0, 0], [6, 6, 6, 6, 6], 6, 0, [26, 26, 26, 26], 6, Some(([6, 6, 6], 6))),
    Row("O28 k-bounded-por-all", [6, 13, 21, 15, 0], [5, 11, 12, 12, 12], 12, 2, [26, 55, 60, 60], 0, Some(([5, 11, 12], 12))),
    Row("O29 k-block-sleep", [6, 24, 42, 30, 3], [6, 16, 17, 17, 17], 17, 2, [36, 83, 87, 87], 0, Some(([6, 16, 17], 17))),
    Row("O30 k-one-initial", [6, 24, 62, 80, 38], [4, 6, 6, 6, 6], 6, 1, [31, 55, 57, 57], 0, Some(([4, 6, 6], 6))),
    Row("O31 k-dominated-sleep", [2, 3, 2, 0, 0], [2, 4, 4, 4, 4], 4, 1, [11, 16, 16, 16], 3, Some(([2, 4, 4], 4))),
    Row("O32 k-last-access-only", [2, 1, 0, 0, 0], [2, 2, 2, 2, 2], 2, 0, [7, 7, 7, 7], 0, Some(([2, 2, 2], 2))),
    Row("O33 k-no-fallback", [6, 86, 754, 3668, 12656], [6, 54, 172, 287, 336], 339, 5, [91, 674, 2110, 3771], 0, Some(([6, 54, 172], 339))),
];
