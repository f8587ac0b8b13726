//! Random programs of the language.

use super::language::{Instruction, Program};
use crate::abstract_program::random::Random;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

const LOADS: [Ordering; 5] = [Relaxed, Relaxed, Relaxed, Acquire, SeqCst];
const STORES: [Ordering; 5] = [Relaxed, Relaxed, Relaxed, Release, SeqCst];
const CHANGES: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];
const FENCES: [Ordering; 5] = [Acquire, Release, AcqRel, SeqCst, SeqCst];

/// The program of this seed: two or three threads, up to `size` operations together.
#[must_use]
pub fn program(seed: u64, size: usize) -> Program {
    let mut random = Random::new(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let thread_count = random.pick(&[2, 2, 2, 3]);
    let variables = random.pick(&[2, 2, 2, 2, 2, 1, 3]);
    let mut threads = vec![Vec::new(); thread_count];
    let mut value = 0;
    for _ in 0..size {
        value += 1;
        let variable = random.below(variables);
        let instruction = match random.below(20) {
            0..8 => Instruction::Load(variable, random.pick(&LOADS)),
            8..15 => Instruction::Store(variable, value, random.pick(&STORES)),
            15 => Instruction::Add(variable, 16, random.pick(&CHANGES)),
            16 => {
                let expected = random.pick(&[0, 0, value.saturating_sub(1), value.saturating_sub(2)]);
                Instruction::Exchange(variable, expected, value, random.pick(&CHANGES), random.pick(&LOADS))
            }
            _ => Instruction::Fence(random.pick(&FENCES)),
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
