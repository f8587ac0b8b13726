//! Runs a random program: data accesses go through the instrumented functions, everything else through `icb_std`.

use super::language::{FLAGS, Instruction, Program, SITES, WORDS};
use icb_std::sync::atomic::{AtomicU64, Ordering};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

type Reader = unsafe extern "C" fn(*const u64) -> u64;
type Writer = unsafe extern "C" fn(*mut u64, u64);
type Adder = unsafe extern "C" fn(*mut u64) -> u64;
type HalfWriter = unsafe extern "C" fn(*mut u64, u32);
type Copier = unsafe extern "C" fn(*const [u64; 2], *mut [u64; 2]);

macro_rules! sites {
    ($($read:ident $write:ident $add:ident $half:ident $copy:ident;)*) => {
        // Made by `build.rs`.
        #[link(name = "raw_accesses", kind = "static")]
        unsafe extern "C" {
            $(
                fn $read(from: *const u64) -> u64;
                fn $write(to: *mut u64, value: u64);
                fn $add(to: *mut u64) -> u64;
                fn $half(to: *mut u64, value: u32);
                fn $copy(from: *const [u64; 2], to: *mut [u64; 2]);
            )*
        }
        const READ: [Reader; SITES] = [$($read),*];
        const WRITE: [Writer; SITES] = [$($write),*];
        const ADD: [Adder; SITES] = [$($add),*];
        const HALF: [HalfWriter; SITES] = [$($half),*];
        const COPY: [Copier; SITES] = [$($copy),*];
    };
}

sites! {
    raw_read_0 raw_write_0 raw_add_0 raw_half_0 raw_copy_0;
    raw_read_1 raw_write_1 raw_add_1 raw_half_1 raw_copy_1;
    raw_read_2 raw_write_2 raw_add_2 raw_half_2 raw_copy_2;
    raw_read_3 raw_write_3 raw_add_3 raw_half_3 raw_copy_3;
}

/// Reads plain memory.
pub(crate) fn read(from: *const u64) -> u64 {
    // SAFETY: what the caller points to is there; races are what is looked for.
    unsafe { READ[0](from) }
}

/// Writes plain memory.
pub(crate) fn write(to: *mut u64, value: u64) {
    // SAFETY: as above.
    unsafe { WRITE[1](to, value) };
}

/// Writes the upper half of a word.
pub(crate) fn write_half(to: *mut u64, value: u32) {
    // SAFETY: as above.
    unsafe { HALF[2](to, value) };
}

/// What each thread saw, in its order, and what the memory holds at the end.
pub(crate) type Record = Vec<Vec<u64>>;

/// What the threads of an execution share. The notes are `std`'s, which add no steps.
pub(crate) struct Shared {
    memory: *mut [u64; WORDS],
    flags: [AtomicU64; FLAGS],
    lock: Mutex<()>,
    notes: std::sync::Mutex<Record>,
}

// SAFETY: it is not; that is what the programs are about.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn note(&self, thread: usize, value: u64) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)[thread].push(value);
    }

    /// What was noted.
    pub(crate) fn record(&self) -> Record {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Performs a part of a thread; `site` is where its accesses are made.
fn walk(shared: &Shared, thread: usize, code: &[Instruction]) {
    let mut guard = None;
    let word = |index: usize| shared.memory.cast::<u64>().wrapping_add(index);
    let pair = |second: bool| word(2 * usize::from(second)).cast::<[u64; 2]>();
    let order = |strong: bool, order| if strong { order } else { Ordering::Relaxed };
    for (index, &instruction) in code.iter().enumerate() {
        let site = (2 * thread + index) % SITES;
        match instruction {
            // SAFETY: the memory is there until the main thread has joined the others; races are what is looked for.
            Instruction::Read(at) => shared.note(thread, unsafe { READ[site](word(at)) }),
            // SAFETY: as above.
            Instruction::Write(at, value) => unsafe { WRITE[site](word(at), value) },
            // SAFETY: as above.
            Instruction::Add(at) => shared.note(thread, unsafe { ADD[site](word(at)) }),
            // SAFETY: as above.
            Instruction::Half(at, value) => unsafe { HALF[site](word(at), value) },
            // SAFETY: as above.
            Instruction::Copy(back) => unsafe { COPY[site](pair(back), pair(!back)) },
            Instruction::Refuse(at, value) => {
                // SAFETY: as above.
                let found = unsafe { READ[site](word(at)) };
                assert_ne!(found, value, "refused");
            }
            Instruction::Publish(flag, strong) => {
                shared.flags[flag].store(1, order(strong, Ordering::Release));
            }
            Instruction::Await(flag, strong) => {
                if shared.flags[flag].load(order(strong, Ordering::Acquire)) == 0 {
                    return;
                }
            }
            Instruction::Count(flag) => {
                shared.note(thread, shared.flags[flag].fetch_add(1, Ordering::AcqRel));
            }
            Instruction::Peek(flag) => {
                // SAFETY: as above.
                shared.note(thread, unsafe { READ[site](shared.flags[flag].as_ptr()) });
            }
            // SAFETY: as above.
            Instruction::Poke(flag, value) => unsafe { WRITE[site](shared.flags[flag].as_ptr(), value) },
            Instruction::Lock => guard = Some(shared.lock.lock().unwrap_or_else(PoisonError::into_inner)),
            Instruction::Unlock => drop(guard.take()),
        }
    }
}

/// Runs the program once; `keep` gets hold of what its threads share.
pub(crate) fn run(program: &std::sync::Arc<Program>, keep: impl FnOnce(Arc<Shared>)) {
    let shared = Arc::new(Shared {
        memory: Box::into_raw(Box::new([0; WORDS])),
        flags: Default::default(),
        lock: Mutex::new(()),
        notes: std::sync::Mutex::new(vec![Vec::new(); program.threads.len() + 2]),
    });
    keep(shared.clone());
    walk(&shared, 0, &program.main[0]);
    let children: Vec<_> = (1..=program.threads.len())
        .map(|child| {
            let (shared, program) = (shared.clone(), program.clone());
            thread::spawn(move || walk(&shared, child, &program.threads[child - 1]))
        })
        .collect();
    // A panic here would end the execution at once, and with it what the others were still to do.
    let meanwhile = catch_unwind(AssertUnwindSafe(|| walk(&shared, 0, &program.main[1])));
    for child in children {
        if let Err(panic) = child.join() {
            resume_unwind(panic);
        }
    }
    if let Err(panic) = meanwhile {
        resume_unwind(panic);
    }
    walk(&shared, 0, &program.main[2]);
    // SAFETY: the others have ended, and the memory comes from a box.
    let memory = unsafe { Box::from_raw(shared.memory) };
    memory.iter().for_each(|&word| shared.note(program.threads.len() + 1, word));
}
