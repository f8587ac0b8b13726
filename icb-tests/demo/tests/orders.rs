//! Random programs of cells and of atomics of all orders, each a test of its own: what they come to with stale values, and with cells that become
//! scheduling points, is not to depend on how `cargo icb` goes about it. What the programs note is kept under locks of the real `std`, which are no steps
//! but order what threads do.

use icb_std::model::Builder;
use icb_std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use icb_std::thread;
use icb_tests::random_real::compare::may_be_idle;
use icb_tests::random_real::generate::themes;
use icb_tests::random_real::language::Instruction;
use icb_tests::random_real::walk::run;
use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::Arc;

/// The program of this number, of those without loops: how often one goes round where nothing changes is a part of the states that are counted.
fn explore(number: usize) {
    let has_cells = |i| matches!(i, Instruction::CellRead(_) | Instruction::CellWrite(_));
    let programs = (7_000_000..).map(themes::of_orders).filter(|program| program.has(has_cells));
    let program =
        programs.filter(|program| !program.has(|i| may_be_idle(&i))).nth(number).expect("without end");
    let program = Arc::new(program);
    Builder::new().max_steps(600).check(move || run(&program, std::mem::forget));
}

icb_tests::numbered_tests! { explore:
    a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9,
    b0 = 10, b1 = 11, b2 = 12, b3 = 13, b4 = 14, b5 = 15, b6 = 16, b7 = 17, b8 = 18, b9 = 19,
    c0 = 20, c1 = 21, c2 = 22, c3 = 23, c4 = 24, c5 = 25, c6 = 26, c7 = 27, c8 = 28, c9 = 29,
}

/// What two threads share: memory, a lock that the model does not know, and a variable that it knows.
#[derive(Default)]
struct Shared {
    plain: UnsafeCell<u64>,
    lock: std::sync::Mutex<u64>,
    flag: AtomicU64,
}

// SAFETY: that the memory is accessed without an order is what is being tested; one thread runs at a time.
unsafe impl Sync for Shared {}

impl Shared {
    fn lock_for_a_moment(&self) {
        *self.lock.lock().unwrap() += 1;
    }
}

/// The write comes before the read if the first thread has the lock first. Nothing else that the threads do depends on who that is.
#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn ordered_by_chance() {
    Builder::new().check(|| {
        let shared = Arc::new(Shared::default());
        let same = shared.clone();
        let other = thread::spawn(move || {
            same.lock_for_a_moment();
            // SAFETY: the cell is alive; see `Shared`.
            black_box(unsafe { *same.plain.get() });
        });
        shared.flag.load(Relaxed);
        // SAFETY: as above.
        unsafe { *shared.plain.get() += 1 };
        shared.lock_for_a_moment();
        other.join().unwrap();
    });
}
