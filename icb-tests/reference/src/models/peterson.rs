//! Peterson's algorithm for two threads that enter their critical sections again and again: a cyclic state space.

use icb_core::model::Model;

/// The algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Peterson {
    /// Each thread gives way before it says that it wants to enter: wrong.
    pub turn_first: bool,
}

/// A state of it. Places: 0 and 1 announce, 2 look at the other's flag, 3 look at the turn, 4 critical, 5 leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    wants: [bool; 2],
    turn: u8,
    at: [u8; 2],
}

impl Model for Peterson {
    type State = State;

    fn initial_states(&self) -> Vec<State> {
        (0..2).map(|turn| State { wants: [false; 2], turn, at: [0; 2] }).collect()
    }

    fn thread_count(&self, _: &State) -> usize {
        2
    }

    fn is_enabled(&self, _: &State, _: usize) -> bool {
        true
    }

    fn has_ended(&self, _: &State, _: usize) -> bool {
        false
    }

    fn step(&self, state: &mut State, thread: usize, _: u32) -> Result<(), String> {
        let other = 1 - thread;
        let announces = (state.at[thread] == 0) != self.turn_first;
        state.at[thread] = match state.at[thread] {
            0 | 1 => {
                if announces {
                    state.wants[thread] = true;
                } else {
                    state.turn = other as u8;
                }
                state.at[thread] + 1
            }
            2 => {
                if state.wants[other] {
                    3
                } else {
                    4
                }
            }
            3 => {
                if usize::from(state.turn) == other {
                    2
                } else {
                    4
                }
            }
            4 => 5,
            _ => {
                state.wants[thread] = false;
                0
            }
        };
        Ok(())
    }

    fn invariant(&self, state: &State) -> Result<(), String> {
        if state.at == [4, 4] {
            Err("both threads are in their critical sections".to_owned())
        } else {
            Ok(())
        }
    }

    fn is_yield(&self, state: &State, thread: usize) -> bool {
        // Going round once more lets the other one go on.
        state.at[thread] == 3 && usize::from(state.turn) != thread
    }

    fn words(&self, state: &State, thread: usize) -> String {
        let announces = (state.at[thread] == 0) != self.turn_first;
        match state.at[thread] {
            0 | 1 if announces => "wants := true",
            0 | 1 => "turn := the other",
            2 => "read the other's wants",
            3 => "read turn",
            4 => "critical section",
            _ => "wants := false",
        }
        .to_owned()
    }
}
