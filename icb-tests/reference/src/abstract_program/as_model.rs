//! Abstract programs as explicit-state models of the tester: its search with states can so be compared with the reference.

use super::interpreter::{Granularity, Machine};
use super::language::{Op, Program};
use super::state::{Phase, State};
use icb_core::model::Model;

/// An abstract program as a model. Races are not looked for: they belong to executions, not to states.
#[derive(Debug)]
pub struct AbstractModel<'p> {
    program: &'p Program,
    machine: Machine<'p>,
}

impl<'p> AbstractModel<'p> {
    /// The program at a granularity.
    #[must_use]
    pub fn new(program: &'p Program, granularity: Granularity) -> Self {
        AbstractModel { program, machine: Machine::new(program, granularity) }
    }
}

impl Model for AbstractModel<'_> {
    type State = State;

    fn initial_states(&self) -> Vec<State> {
        vec![self.machine.initial()]
    }

    fn thread_count(&self, state: &State) -> usize {
        state.threads.len()
    }

    fn is_enabled(&self, state: &State, thread: usize) -> bool {
        self.machine.enabled(state, thread)
    }

    fn has_ended(&self, state: &State, thread: usize) -> bool {
        matches!(state.threads[thread].phase, Phase::Unborn | Phase::Ended)
    }

    fn step(&self, state: &mut State, thread: usize, outcome: u32) -> Result<(), String> {
        self.machine.step(state, thread, outcome as usize);
        Ok(())
    }

    fn outcome_count(&self, state: &State, thread: usize) -> u32 {
        u32::try_from(self.machine.branch_count(state, thread)).expect("there are few waiters")
    }

    fn is_yield(&self, state: &State, thread: usize) -> bool {
        let this = &state.threads[thread];
        this.phase == Phase::Running && self.program.threads[thread].get(this.counter) == Some(&Op::Yield)
    }
}
