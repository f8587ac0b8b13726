//! The work-stealing queue of the technical report, its table beside ours, printed by
//! `cargo test -p icb-tests --test work_stealing_table -- --nocapture`.

use icb_tests::work_stealing_table::{HEAD, MAX_BOUND, Row, SIZES, rows};

fn print_and_check(size: usize, max_bound: u32) {
    let rows = rows(size, max_bound);
    for row in &rows {
        println!("{row}");
        let Row { bound, plain, reduced, distinct, .. } = *row;
        assert!(distinct <= reduced && reduced <= plain, "{row:?}");
        // As in the report, nothing is redundant at first.
        assert!(bound > 0 || plain == distinct, "{row:?}");
        assert!(reduced * 3 <= distinct * 4, "not more than 4 executions for 3 that are distinct: {row:?}");
    }
    // As in the report, the share of executions that are distinct falls with the bound.
    let share = |row: &Row| row.distinct as f64 / row.plain as f64;
    assert!(rows.windows(2).all(|pair| share(&pair[1]) <= share(&pair[0])), "{rows:?}");
}

#[test]
fn the_table() {
    println!("{HEAD}");
    for size in SIZES {
        print_and_check(size, MAX_BOUND);
    }
}
