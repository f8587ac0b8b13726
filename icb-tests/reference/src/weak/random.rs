//! Random programs of the language.

use super::language::{Instruction, Program};
use crate::abstract_program::random::Random;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

const CHANGES: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];
const FENCES: [Ordering; 5] = [Acquire, Release, AcqRel, SeqCst, SeqCst];

/// How strong the orders of a program are. The total order of SeqCst operations forbids little where few of them meet, so in some
/// programs most are.
#[derive(Clone, Copy)]
enum Taste {
    Relaxed,
    Mixed,
    Sequential,
}

impl Taste {
    /// Orders of an access: `half` is what it can acquire or release with.
    fn orders(self, half: Ordering) -> [Ordering; 5] {
        match self {
            Taste::Relaxed => [Relaxed, Relaxed, Relaxed, Relaxed, half],
            Taste::Mixed => [Relaxed, Relaxed, half, SeqCst, SeqCst],
            Taste::Sequential => [Relaxed, SeqCst, SeqCst, SeqCst, SeqCst],
        }
    }
}

/// The program of this seed: two or three threads, up to `size` operations together.
#[must_use]
pub fn program(seed: u64, size: usize) -> Program {
    let mut random = Random::new(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let thread_count = random.pick(&[2, 2, 2, 3]);
    let taste = random.pick(&[Taste::Relaxed, Taste::Mixed, Taste::Mixed, Taste::Sequential]);
    let (loads, stores) = (taste.orders(Acquire), taste.orders(Release));
    // Of 20 operations so many are fences.
    let fences = random.pick(&[0, 3, 6]);
    let variables = random.pick(&[2, 2, 2, 2, 2, 1, 3]);
    let mut threads = vec![Vec::new(); thread_count];
    let mut value = 0;
    for _ in 0..size {
        value += 1;
        let variable = random.below(variables);
        let instruction = match random.below(20) {
            kind if kind < fences => Instruction::Fence(random.pick(&FENCES)),
            0..12 => Instruction::Load(variable, random.pick(&loads)),
            12..18 => Instruction::Store(variable, value, random.pick(&stores)),
            18 => Instruction::Add(variable, 16, random.pick(&CHANGES)),
            _ => {
                let expected = random.pick(&[0, 0, value.saturating_sub(1), value.saturating_sub(2)]);
                Instruction::Exchange(variable, expected, value, random.pick(&CHANGES), random.pick(&loads))
            }
        };
        let thread = (value as usize) % thread_count;
        // No more than three reads of a thread, so that three stale values in a row are all there can be.
        let is_read = |i: &Instruction| matches!(i, Instruction::Load(..) | Instruction::Exchange(..));
        let code: &mut Vec<Instruction> = &mut threads[thread];
        if !is_read(&instruction) || code.iter().filter(|i| is_read(i)).count() < 3 {
            code.push(instruction);
        }
    }
    Program { threads }
}
