//! Random programs whose data lies in raw memory: what they are made of, and how a seed makes one.

use icb_tests::abstract_program::random::Random;
use std::fmt;

/// Words of shared memory. The first two are one struct, the last two another.
pub(crate) const WORDS: usize = 4;
/// Atomic variables.
pub(crate) const FLAGS: usize = 2;
/// Places from which each kind of access is made.
pub(crate) const SITES: usize = 4;

/// One operation of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Instruction {
    /// Reads a word and notes it.
    Read(usize),
    /// Writes a word.
    Write(usize, u64),
    /// Reads a word, adds one, writes it, reads it again and notes it.
    Add(usize),
    /// Writes half of a word.
    Half(usize, u32),
    /// Copies the first struct to the second, or back.
    Copy(bool),
    /// Reads a word and panics if it holds this.
    Refuse(usize, u64),
    /// Sets a flag.
    Publish(usize, bool),
    /// Reads a flag and skips the rest of the thread unless it is set.
    Await(usize, bool),
    /// Counts a flag up and notes what it was.
    Count(usize),
    /// Reads a flag as plain memory and notes it.
    Peek(usize),
    /// Writes a flag as plain memory.
    Poke(usize, u64),
    /// Takes the lock.
    Lock,
    /// Gives the lock back.
    Unlock,
}

/// A program: what its main thread does before the others are spawned, what these do, what it does meanwhile, and what
/// when they have ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// The seed that it is a function of.
    pub(crate) seed: u64,
    /// The main thread's three parts.
    pub(crate) main: [Vec<Instruction>; 3],
    /// The others.
    pub(crate) threads: Vec<Vec<Instruction>>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "random program on raw memory, seed {}", self.seed)?;
        writeln!(f, "  main: {:?}", self.main)?;
        self.threads.iter().enumerate().try_for_each(|(i, code)| writeln!(f, "  T{}: {code:?}", i + 1))
    }
}

fn access(random: &mut Random, words: &[usize]) -> Instruction {
    let word = words[random.below(words.len())];
    match random.below(14) {
        0..4 => Instruction::Read(word),
        4..7 => Instruction::Write(word, 1 + random.below(3) as u64),
        7..9 => Instruction::Add(word),
        9 => Instruction::Half(word, 1 + random.below(2) as u32),
        10 => Instruction::Copy(random.below(2) == 0),
        _ => Instruction::Refuse(word, 1 + random.below(3) as u64),
    }
}

fn flag_access(random: &mut Random, thread: usize, code: &mut Vec<Instruction>) {
    let plain = match random.below(3) {
        0 => Instruction::Poke(0, 2),
        _ => Instruction::Peek(0),
    };
    let strong = random.below(3) > 0;
    match (random.below(6), thread % 2) {
        (0..2, _) => code.push(plain),
        (2, _) => code.push(Instruction::Publish(0, strong)),
        (3, 0) => code.extend([Instruction::Await(1, strong), plain]),
        (3, _) => code.extend([Instruction::Count(0), Instruction::Publish(1, strong)]),
        (4, _) => code.extend([Instruction::Lock, plain, Instruction::Unlock]),
        _ => code.extend([Instruction::Lock, Instruction::Count(0), Instruction::Unlock]),
    }
}

/// How the threads of a program agree on who may touch what; without one, anybody touches anything.
fn part(random: &mut Random, thread: usize, style: usize, longest: usize) -> Vec<Instruction> {
    let all: Vec<usize> = (0..WORDS).collect();
    let own = [thread % WORDS];
    let mut code = Vec::new();
    let length = 1 + random.below(longest);
    for _ in 0..length {
        match (style, random.below(4)) {
            // Everything under a lock, mostly.
            (0, 0..3) => {
                code.push(Instruction::Lock);
                code.push(access(random, &all[..2]));
                code.push(Instruction::Unlock);
            }
            // Messages: what is written before a flag is read after it.
            (1, 0..3) => {
                let strong = random.below(6) > 0;
                if thread % 2 == 1 {
                    code.push(access(random, &all[..1]));
                    code.push(Instruction::Publish(0, strong));
                    return code;
                }
                code.push(Instruction::Await(0, strong));
                code.push(access(random, &all[..1]));
            }
            // Each thread its own word.
            (2, 0..3) => code.push(access(random, &own)),
            // Flags are plain memory too, sometimes after a message, or under the lock.
            (5, 0..3) => flag_access(random, thread, &mut code),
            (3..5, _) => code.push(access(random, &all)),
            _ => code.push(Instruction::Count(random.below(FLAGS))),
        }
    }
    code
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed.wrapping_mul(0xD6E8_FEB8_6659_FD93));
    let style = random.below(6);
    let count = 2 - usize::from(random.below(4) == 0) * usize::from(style != 1);
    let longest = if count == 1 { 4 } else { 3 };
    let maybe = |random: &mut Random, longest| {
        if random.below(2) == 0 { part(random, 0, style, longest) } else { Vec::new() }
    };
    let before = vec![Instruction::Write(random.below(WORDS), 1)];
    let meanwhile = if style == 1 { Vec::new() } else { maybe(&mut random, 1) };
    let word = random.below(WORDS);
    let threads = (1..=count).map(|thread| part(&mut random, thread, style, longest)).collect();
    Program { seed, main: [before, meanwhile, vec![Instruction::Read(word)]], threads }
}
