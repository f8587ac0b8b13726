//! The Bluetooth driver of the KISS paper (Qadeer and Wu, PLDI 2004, Figure 2) as a model: thread 0 stops the driver, the
//! others perform I/O.

use icb_core::model::Model;

/// The driver.
#[derive(Clone, Copy, Debug)]
pub struct Bluetooth {
    /// Threads that perform I/O.
    pub adders: usize,
    /// Increment first and check afterwards, instead of the other way round.
    pub fixed: bool,
}

/// A state of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pending_io: i8,
    stopping_flag: bool,
    stopping_event: bool,
    stopped: bool,
    /// Where each thread stands.
    at: Vec<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Place {
    SetFlag,
    Decrement,
    SetEvent,
    AwaitEvent,
    SetStopped,
    CheckFlag,
    Increment,
    Assert,
    Ended,
}

impl Bluetooth {
    fn first(self) -> Place {
        if self.fixed { Place::Increment } else { Place::CheckFlag }
    }

    fn after_decrement(thread: usize) -> Place {
        if thread == 0 { Place::AwaitEvent } else { Place::Ended }
    }
}

impl Model for Bluetooth {
    type State = State;

    fn initial_states(&self) -> Vec<State> {
        let mut at = vec![self.first(); self.adders + 1];
        at[0] = Place::SetFlag;
        vec![State { pending_io: 1, stopping_flag: false, stopping_event: false, stopped: false, at }]
    }

    fn thread_count(&self, state: &State) -> usize {
        state.at.len()
    }

    fn is_enabled(&self, state: &State, thread: usize) -> bool {
        match state.at[thread] {
            Place::Ended => false,
            Place::AwaitEvent => state.stopping_event,
            _ => true,
        }
    }

    fn has_ended(&self, state: &State, thread: usize) -> bool {
        state.at[thread] == Place::Ended
    }

    fn step(&self, state: &mut State, thread: usize, _: u32) -> Result<(), String> {
        state.at[thread] = match state.at[thread] {
            Place::SetFlag => {
                state.stopping_flag = true;
                Place::Decrement
            }
            Place::Decrement => {
                state.pending_io -= 1;
                if state.pending_io == 0 { Place::SetEvent } else { Self::after_decrement(thread) }
            }
            Place::SetEvent => {
                state.stopping_event = true;
                Self::after_decrement(thread)
            }
            Place::AwaitEvent => Place::SetStopped,
            Place::SetStopped => {
                state.stopped = true;
                Place::Ended
            }
            Place::CheckFlag if state.stopping_flag => {
                if self.fixed {
                    Place::Decrement
                } else {
                    Place::Ended
                }
            }
            Place::CheckFlag => {
                if self.fixed {
                    Place::Assert
                } else {
                    Place::Increment
                }
            }
            Place::Increment => {
                state.pending_io += 1;
                if self.fixed { Place::CheckFlag } else { Place::Assert }
            }
            Place::Assert if state.stopped => return Err("I/O in a stopped driver".to_owned()),
            Place::Assert => Place::Decrement,
            Place::Ended => unreachable!("a thread that has ended is not enabled"),
        };
        Ok(())
    }

    fn may_block(&self, state: &State, thread: usize) -> bool {
        state.at[thread] == Place::AwaitEvent
    }

    fn words(&self, state: &State, thread: usize) -> String {
        match state.at[thread] {
            Place::SetFlag => "stoppingFlag := true",
            Place::Decrement => "pendingIo -= 1",
            Place::SetEvent => "stoppingEvent := true",
            Place::AwaitEvent => "wait for stoppingEvent",
            Place::SetStopped => "stopped := true",
            Place::CheckFlag => "read stoppingFlag",
            Place::Increment => "pendingIo += 1",
            Place::Assert => "assert !stopped",
            Place::Ended => "end",
        }
        .to_owned()
    }

    fn heap_bytes(&self, state: &State) -> usize {
        state.at.len() * size_of::<Place>()
    }

    /// Adders are alike: sorted by where they stand.
    fn canonical(&self, state: &State, thread: usize) -> Option<(State, usize)> {
        let mut order: Vec<usize> = (1..state.at.len()).collect();
        order.sort_by_key(|&adder| state.at[adder] as u8);
        let mut canonical = state.clone();
        for (to, &from) in (1..).zip(&order) {
            canonical.at[to] = state.at[from];
        }
        let name = order.iter().position(|&from| from == thread).map_or(thread, |position| position + 1);
        Some((canonical, name))
    }
}
