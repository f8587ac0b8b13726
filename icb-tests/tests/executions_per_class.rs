//! How many executions the default reduction runs for each class of executions that are really different: at bounds 0
//! to 3 and without a bound, on programs whose classes are known.

use icb_core::explore::{Explorer, Options};
use icb_core::program::Strategy;
use icb_core::search::ContextBounded;
use icb_tests::programs::baselines::PROGRAMS;
use icb_tests::searches::{reduced, without_spurious};

const MAX_BOUND: u32 = 3;

/// Executions of the last bound searched, those given up half-way too, and the classes reached.
fn measure(program: fn(), strategy: &mut dyn Strategy) -> (u64, u64) {
    let mut explorer = Explorer::new(Options { check_determinism: false, ..Options::default() });
    let report = explorer.run(strategy, &mut without_spurious(program));
    let last = report.bounds.last().expect("a bound");
    (last.executions + last.given_up, last.states)
}

/// By program: the classes at bounds 0 to 3, the most executions at bound 3; and where the search without a bound is
/// short enough the classes of all executions, and the most executions for them.
type Row = (&'static str, [u64; 4], u64, Option<(u64, u64)>);

const TABLE: [Row; 19] = [
    ("counter_racy(2,2)", [2, 8, 22, 32], 38, Some((34, 34))),
    ("counter_racy(2,3)", [2, 12, 56, 132], 142, Some((328, 328))),
    ("counter_racy(3,1)", [6, 24, 36, 36], 90, Some((36, 37))),
    ("counter_racy(3,2)", [6, 60, 360, 1_380], 1_596, None),
    ("mutex_counter(2,2)", [2, 4, 6, 6], 6, Some((6, 6))),
    ("mutex_counter(3,1)", [6, 6, 6, 6], 6, Some((6, 6))),
    ("mutex_counter(3,2)", [6, 24, 60, 90], 90, Some((90, 93))),
    ("wsq(1)", [1, 4, 7, 7], 7, Some((7, 7))),
    ("wsq(2)", [1, 7, 32, 67], 75, Some((86, 86))),
    ("wsq(3)", [1, 10, 78, 256], 291, None),
    ("bluetooth(2)", [2, 21, 93, 211], 438, Some((314, 348))),
    ("prodcons(2,1,1)", [4, 12, 16, 16], 16, Some((16, 16))),
    ("prodcons(2,2,1)", [22, 182, 660, 1_412], 1_412, None),
    ("dining_ok(3)", [6, 6, 6, 6], 18, Some((6, 10))),
    ("treiber(2)", [1, 5, 15, 31], 31, Some((46, 46))),
    ("treiber(3)", [2, 24, 162, 804], 838, Some((68_892, 68_892))),
    ("rwlock_mix(2,1)", [1, 4, 8, 9], 10, Some((9, 9))),
    ("rwlock_mix(2,2)", [1, 7, 33, 75], 82, Some((169, 169))),
    ("rwlock_mix(3,2)", [1, 15, 99, 351], 436, Some((2_197, 2_197))),
];

#[test]
fn about_one_execution_is_run_for_each_class() {
    let mut ratios = Vec::new();
    for (((name, program), only_locks), (row, classes, max_runs, _)) in PROGRAMS.into_iter().zip(TABLE) {
        assert_eq!(name, row);
        let mut line = format!("{name:20}");
        let mut last = 0;
        for bound in 0..=MAX_BOUND {
            let (runs, states) = measure(program, &mut reduced(Some(bound)));
            assert_eq!(states, classes[bound as usize], "{name} at bound {bound}");
            line += &format!(" {runs:5} for {states:5}");
            last = runs;
        }
        let ratio = last as f64 / classes[3] as f64;
        println!("{line} = {ratio:.2}");
        assert!(last <= max_runs, "{name}: {last} executions");
        assert!(ratio <= 4.0 || !only_locks, "{name}: {ratio}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    assert!(ratios[ratios.len() / 2] <= 1.5, "{ratios:?}");
}

#[test]
fn the_plain_search_reaches_the_same_classes() {
    for (((name, program), _), (_, classes, ..)) in PROGRAMS.into_iter().zip(TABLE) {
        // Every execution of these would take too long.
        if ["counter_racy(3,2)", "prodcons(2,2,1)", "rwlock_mix(3,2)", "mutex_counter(3,2)"].contains(&name) {
            continue;
        }
        let (_, states) = measure(program, &mut ContextBounded::new(Some(MAX_BOUND)));
        assert_eq!(states, classes[3], "{name}");
    }
}

#[test]
fn without_a_bound_too() {
    for (((name, program), _), (.., all)) in PROGRAMS.into_iter().zip(TABLE) {
        let Some((classes, max_runs)) = all else { continue };
        let (runs, states) = measure(program, &mut reduced(None));
        println!("{name:20} {runs:6} for {states:5} = {:.2}", runs as f64 / states as f64);
        assert_eq!(states, classes, "{name}");
        assert!(runs <= max_runs, "{name}: {runs} executions");
    }
}
