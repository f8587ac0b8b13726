//! Random programs of the language.

use super::language::{Instruction, Program};
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
    fn one<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

const LOADS: [Ordering; 5] = [Relaxed, Relaxed, Relaxed, Acquire, SeqCst];
const STORES: [Ordering; 5] = [Relaxed, Relaxed, Relaxed, Release, SeqCst];
const CHANGES: [Ordering; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];
const FENCES: [Ordering; 5] = [Acquire, Release, AcqRel, SeqCst, SeqCst];

/// The program of this seed: two or three threads, up to `size` operations together.
#[must_use]
pub fn program(seed: u64, size: usize) -> Program {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD6E8_FEB8_6659_FD93);
    random.below(2);
    let thread_count = random.one(&[2, 2, 2, 3]);
    let variables = random.one(&[2, 2, 2, 2, 2, 1, 3]);
    let mut threads = vec![Vec::new(); thread_count];
    let mut value = 0;
    for _ in 0..size {
        value += 1;
        let variable = random.below(variables);
        let instruction = match random.below(20) {
            0..8 => Instruction::Load(variable, random.one(&LOADS)),
            8..15 => Instruction::Store(variable, value, random.one(&STORES)),
            15 => Instruction::Add(variable, 16, random.one(&CHANGES)),
            16 => {
                let expected = random.one(&[0, 0, value.saturating_sub(1), value.saturating_sub(2)]);
                Instruction::Exchange(variable, expected, value, random.one(&CHANGES), random.one(&LOADS))
            }
            _ => Instruction::Fence(random.one(&FENCES)),
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
