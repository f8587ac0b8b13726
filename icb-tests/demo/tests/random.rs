//! Random programs, each a test of its own: what they come to is not to depend on how `cargo icb` goes about it.

use icb_std::model::Builder;
use icb_tests::random_real::compare::may_be_idle;
use icb_tests::random_real::generate;
use icb_tests::random_real::walk::run;
use std::sync::Arc;

/// The program of this number, of those without loops: how often one goes round where nothing changes is a part of the states that are counted.
fn explore(number: usize) {
    let programs = (6_000_000..).map(generate::program);
    let program =
        programs.filter(|program| !program.has(|i| may_be_idle(&i))).nth(number).expect("without end");
    let program = Arc::new(program);
    Builder::new().max_steps(600).check(move || run(&program, std::mem::forget));
}

icb_tests::numbered_tests! { explore:
    a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9,
    b0 = 10, b1 = 11, b2 = 12, b3 = 13, b4 = 14, b5 = 15, b6 = 16, b7 = 17, b8 = 18, b9 = 19,
    c0 = 20, c1 = 21, c2 = 22, c3 = 23, c4 = 24, c5 = 25, c6 = 26, c7 = 27, c8 = 28, c9 = 29,
    d0 = 30, d1 = 31, d2 = 32, d3 = 33, d4 = 34, d5 = 35, d6 = 36, d7 = 37, d8 = 38, d9 = 39,
}
