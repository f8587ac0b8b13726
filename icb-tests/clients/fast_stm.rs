//! Transactions that are tried again, and that wait for a change.
//!
//! ```toml
//! fast-stm = "0.7"
//! ```

use fast_stm::{TVar, atomically, retry};

#[test]
fn what_is_moved_is_not_lost() {
    let (from, to) = (TVar::new(2), TVar::new(0));
    let (from_too, to_too) = (from.clone(), to.clone());
    let transfer = |from: &TVar<i32>, to: &TVar<i32>| {
        atomically(|transaction| {
            let there = from.read(transaction)?;
            from.write(transaction, there - 1)?;
            to.modify(transaction, |sum| sum + 1)
        })
    };
    let thread = std::thread::spawn(move || transfer(&from_too, &to_too));
    atomically(|transaction| if to.read(transaction)? == 0 { retry() } else { Ok(()) });
    transfer(&from, &to);
    thread.join().unwrap();
    assert_eq!((from.read_atomic(), to.read_atomic()), (0, 2));
}
