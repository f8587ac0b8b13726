//! Two transactions add to the same variable, and one waits for it.
//!
//! ```toml
//! stm = "0.4"
//! ```

use stm::{TVar, atomically, retry};

#[test]
fn both_are_counted() {
    let (one, two) = (TVar::new(0), TVar::new(0));
    let add = |one: TVar<u32>, two: TVar<u32>| {
        atomically(|transaction| {
            let old = one.read(transaction)?;
            one.write(transaction, old + 1)?;
            two.modify(transaction, |old| old + 1)
        });
    };
    std::thread::scope(|scope| {
        scope.spawn(|| add(one.clone(), two.clone()));
        add(one.clone(), two.clone());
    });
    assert_eq!((one.read_atomic(), two.read_atomic()), (2, 2));
}

#[test]
fn one_waits_for_the_other() {
    let variable = TVar::new(0);
    let same = variable.clone();
    let waiting = std::thread::spawn(move || {
        atomically(|transaction| match same.read(transaction)? {
            0 => retry(),
            number => Ok(number),
        })
    });
    atomically(|transaction| variable.write(transaction, 7));
    assert_eq!(waiting.join().unwrap(), 7);
}
