//! Two threads push, and a third one reads what is there.
//!
//! ```toml
//! append-only-vec = "0.1"
//! ```

#[test]
fn what_is_pushed_is_read() {
    let all = append_only_vec::AppendOnlyVec::new();
    std::thread::scope(|scope| {
        for number in [1, 2] {
            let all = &all;
            scope.spawn(move || {
                let place = all.push(Box::new(number));
                assert_eq!(*all[place], number);
            });
        }
        assert!(all.iter().all(|number| [1, 2].contains(&**number)));
    });
    assert_eq!(all.iter().map(|number| **number).sum::<i32>(), 3);
}
