//! What code does to futexes that is not seen: the slow paths of `Once` and of the locks of `std`, which it brings compiled. Only one thread runs
//! at a time, so whatever has changed since the last look is the running thread's doing. It is looked at when that comes to a step, or
//! to something else that is seen, and it counts as acquired and released. Where such code waits for a futex, or wakes who does, it may
//! have done anything to any of them, and to others that nobody has seen.

use super::accesses::with_hooked;
use super::address_map::{Kind, key};
use super::allocator::aside;
use super::execution::Execution;
use crate::memory::happens_before::AtomicClock;
use crate::trace::{Access, Mode, ObjectClass, ObjectId, Ordering};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// The size of a futex, in bytes.
pub(super) const SIZE: usize = 4;

/// The variables that may be futexes.
#[derive(Debug, Default)]
pub(super) struct Futexes {
    /// Stands for all of them: who uses one reads it, and code that is not seen writes it.
    object: Option<ObjectId>,
    /// What such code has released.
    clock: AtomicClock,
    words: Vec<Word>,
    /// Where code that is not seen has waited, or woken who does.
    unseen: Vec<usize>,
}

#[derive(Debug)]
struct Word {
    /// 0 if its memory is gone.
    address: usize,
    /// What was there when it was looked at.
    value: u32,
    /// Code that is not seen has changed it.
    is_unseen: bool,
}

impl Futexes {
    pub(super) fn clear(&mut self) {
        self.object = None;
        self.clock.clear();
        self.words.clear();
        self.unseen.clear();
    }

    /// Whether code that is not seen uses the one at the address, where a mirrored type knows of that one or not.
    fn is_unseen(&mut self, address: usize, is_mirrored: bool) -> bool {
        let is_known = self.unseen.contains(&address);
        if !is_known && !is_mirrored {
            aside(|| self.unseen.push(address));
        }
        is_known || !is_mirrored
    }

    /// Gives the variable, in which there is this, a number.
    pub(super) fn enter(&mut self, address: usize, value: u32) -> usize {
        self.words.push(Word { address, value, is_unseen: false });
        self.words.len() - 1
    }

    /// Memory has been given back.
    pub(super) fn forget(&mut self, start: usize, size: usize) {
        for word in &mut self.words {
            if word.address.wrapping_sub(start) < size {
                word.address = 0;
            }
        }
    }
}

/// The calling thread is about to use the futex at the address, or has. Where no mirrored type knew of that at first, it is in code that is not seen.
pub fn futex_used(address: usize) {
    with_hooked(|e| {
        let is_mirrored = e.map.get(key(address, Kind::Atomic)).is_some();
        if e.foreign.futexes.is_unseen(address, is_mirrored) {
            e.futex_used_unseen();
        }
    });
}

impl Execution {
    fn futex_used_unseen(&mut self) {
        self.look_at_futexes();
        let object = self.futexes_object();
        let me = self.current;
        let clock = &mut self.threads.mine().clock;
        for known in self.foreign.by_address.values().filter(|known| known.is_futex()) {
            clock.load(&known.clock, Ordering::Acquire);
        }
        let futexes = &mut self.foreign.futexes;
        clock.load(&futexes.clock, Ordering::Acquire);
        clock.continue_sequence(me, &mut futexes.clock, Ordering::Release);
        // A wait with a condition has locked and let go again since the last one, and has left there what was there.
        for word in futexes.words.iter().filter(|word| word.is_unseen) {
            if let Some(known) = self.foreign.by_address.get_mut(&word.address) {
                clock.continue_sequence(me, &mut known.clock, Ordering::Release);
            }
        }
        self.attend();
        self.tell_touched(Access { object, mode: Mode::Write });
    }

    fn futexes_object(&mut self) -> ObjectId {
        if let Some(object) = self.foreign.futexes.object {
            return object;
        }
        let object = self.register(ObjectClass::Atomic, "the futexes of std", std::ptr::null(), None);
        self.foreign.futexes.object = Some(object);
        object
    }

    /// Takes note of what the running thread has done to futexes where that is not seen. Says whether there is anything.
    pub(super) fn look_at_futexes(&mut self) -> bool {
        let mut changed = false;
        for index in 0..self.foreign.futexes.words.len() {
            let Word { address, value, .. } = self.foreign.futexes.words[index];
            if address == 0 {
                continue;
            }
            let at: *const u32 = std::ptr::with_exposed_provenance(address);
            // SAFETY: the program has used the variable, and its memory has not been given back since.
            let now = unsafe { AtomicU32::from_ptr(at.cast_mut()) }.load(Relaxed);
            if now != value {
                changed = true;
                self.look_at_futex(index, now);
            }
        }
        changed
    }

    /// This is there now, and no operation seen has left it there if it is another value.
    pub(super) fn look_at_futex(&mut self, index: usize, now: u32) {
        let Word { address, value, .. } = self.foreign.futexes.words[index];
        if value == now {
            return;
        }
        let me = self.current;
        let clock = &mut self.threads.mine().clock;
        let Some(known) = self.foreign.by_address.get_mut(&address) else { return };
        clock.load(&known.clock, Ordering::Acquire);
        clock.continue_sequence(me, &mut known.clock, Ordering::Release);
        let object = known.object;
        self.foreign.futexes.words[index].is_unseen = true;
        self.tell_touched(Access { object, mode: Mode::Write });
        self.note_change(object);
        self.reconsider(object);
        self.note_futex(index, now);
    }

    /// The running thread has used this one, and has left this there.
    pub(super) fn note_futex(&mut self, index: usize, value: u32) {
        self.foreign.futexes.words[index].value = value;
        let object = self.futexes_object();
        self.tell_touched(Access { object, mode: Mode::Read });
    }
}
