//! Memory that threads hand to each other by plain pointers in atomic variables: who frees it, and whether anybody still uses it then,
//! depends on the schedule.

use super::super::language::Instruction::{self, *};
use super::super::language::OBJECT_COUNT;
use super::super::library::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use super::NOTHING;
use std::ptr;

/// What is handed on.
#[derive(Default)]
struct Thing {
    count: AtomicU64,
}

/// Where others find it.
#[derive(Default)]
pub(super) struct Boxes {
    slots: [AtomicPtr<Thing>; OBJECT_COUNT],
}

impl Boxes {
    pub(super) const fn are_used_by(instruction: Instruction) -> bool {
        matches!(
            instruction,
            BoxPut(_) | BoxUse(_) | BoxUseTwice(_) | BoxFree(_) | BoxFreeAnyway(_) | BoxForget(_)
        )
    }

    pub(super) fn use_everything(&self) {
        self.slots.iter().for_each(|slot| {
            slot.load(Ordering::Relaxed);
        });
    }

    /// What the operation came to, if it is to be seen.
    pub(super) fn perform(&self, instruction: Instruction) -> Option<u64> {
        Some(match instruction {
            BoxPut(slot) => {
                let thing: Box<Thing> = Box::default();
                // Memory that is freed before anything in it has ever been used is no object of which somebody could be told.
                thing.count.store(1, Ordering::Relaxed);
                free(self.slots[slot].swap(Box::into_raw(thing), Ordering::AcqRel))
            }
            BoxUse(slot) => count(self.slots[slot].load(Ordering::Acquire)),
            BoxUseTwice(slot) => {
                let thing = self.slots[slot].load(Ordering::Acquire);
                count(thing) + 10 * count(thing)
            }
            BoxFree(slot) => free(self.slots[slot].swap(ptr::null_mut(), Ordering::AcqRel)),
            BoxFreeAnyway(slot) => free(self.slots[slot].load(Ordering::Acquire)),
            BoxForget(slot) => u64::from(self.slots[slot].swap(ptr::null_mut(), Ordering::AcqRel).is_null()),
            _ => return None,
        })
    }
}

/// Uses the thing, which may have been freed: that is what is being tested, and what an execution frees stays where it is until its end.
fn count(thing: *mut Thing) -> u64 {
    // SAFETY: what the slot points to was made by `BoxPut`, and its memory is not used for anything else before the end of the execution.
    unsafe { thing.as_ref() }.map_or(NOTHING, |thing| thing.count.fetch_add(1, Ordering::AcqRel))
}

fn free(thing: *mut Thing) -> u64 {
    if thing.is_null() {
        return NOTHING;
    }
    // SAFETY: the pointer comes from a box. That it may be freed twice is what is being tested: the tester sees it, and keeps the memory.
    drop(unsafe { Box::from_raw(thing) });
    1
}
