//! Two threads push, one looks.
//!
//! ```toml
//! boxcar = "0.2"
//! ```

#[test]
fn two_push() {
    let items = boxcar::Vec::new();
    std::thread::scope(|scope| {
        for item in [1, 2] {
            let items = &items;
            scope.spawn(move || assert_eq!(**items.get(items.push(Box::new(item))).unwrap(), item));
        }
        assert!(items.iter().map(|(_, item)| **item).sum::<u32>() <= 3);
    });
    assert_eq!(items.into_iter().map(|item| *item).sum::<u32>(), 3);
}
