//! A ring buffer between two threads that go on for ever, with indices that wrap: a cyclic state space in which each step has
//! several outcomes (which item is sent).

use icb_core::model::Model;

/// The buffer.
#[derive(Clone, Copy, Debug)]
pub struct RingBuffer {
    /// Slots.
    pub slots: usize,
    /// The index of the sender moves before the item is written: wrong.
    pub index_first: bool,
}

/// A state of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    slots: Vec<u8>,
    head: u8,
    tail: u8,
    /// The item that the sender is about to send, and whether the first half of that is done.
    sending: Option<(u8, bool)>,
}

const EMPTY: u8 = 0;
const ITEMS: u32 = 3;

impl RingBuffer {
    fn next(self, index: u8) -> u8 {
        (index + 1) % self.slots as u8
    }
}

impl Model for RingBuffer {
    type State = State;

    fn initial_states(&self) -> Vec<State> {
        vec![State { slots: vec![EMPTY; self.slots], head: 0, tail: 0, sending: None }]
    }

    fn thread_count(&self, _: &State) -> usize {
        2
    }

    fn is_enabled(&self, state: &State, thread: usize) -> bool {
        if thread == 0 {
            state.sending.is_some() || self.next(state.tail) != state.head
        } else {
            state.head != state.tail
        }
    }

    fn has_ended(&self, _: &State, _: usize) -> bool {
        false
    }

    fn outcome_count(&self, state: &State, thread: usize) -> u32 {
        if thread == 0 && state.sending.is_none() { ITEMS } else { 1 }
    }

    fn step(&self, state: &mut State, thread: usize, outcome: u32) -> Result<(), String> {
        if thread == 1 {
            let item = std::mem::replace(&mut state.slots[usize::from(state.head)], EMPTY);
            state.head = self.next(state.head);
            return if item == EMPTY {
                Err("an item that was not sent is received".to_owned())
            } else {
                Ok(())
            };
        }
        let Some((item, halfway)) = state.sending else {
            state.sending = Some((outcome as u8 + 1, false));
            return Ok(());
        };
        if halfway == self.index_first {
            // The slot that was free when the item was chosen.
            let tail = usize::from(state.tail);
            let slot = if self.index_first { (tail + self.slots - 1) % self.slots } else { tail };
            state.slots[slot] = item;
        } else {
            state.tail = self.next(state.tail);
        }
        state.sending = (!halfway).then_some((item, true));
        Ok(())
    }

    fn may_block(&self, state: &State, thread: usize) -> bool {
        thread == 1 || state.sending.is_none()
    }

    fn words(&self, state: &State, thread: usize) -> String {
        match (thread, state.sending) {
            (1, _) => "receive".to_owned(),
            (_, None) => "choose an item".to_owned(),
            (_, Some((item, halfway))) if halfway == self.index_first => format!("write item {item}"),
            _ => "move the tail".to_owned(),
        }
    }

    fn heap_bytes(&self, state: &State) -> usize {
        state.slots.capacity()
    }
}
