//! A map that is written while it is read.
//!
//! ```toml
//! concread = "0.5"
//! ```

use concread::cowcell::CowCell;
use concread::hashmap::HashMap;

#[test]
fn a_cell() {
    let cell = CowCell::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut write = cell.write();
            *write += 1;
            write.commit();
        });
        let read = cell.read();
        let before = *read;
        assert!(before <= 1);
        assert_eq!(*read, before);
    });
    assert_eq!(*cell.read(), 1);
}

#[test]
fn a_map() {
    let map = HashMap::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut write = map.write();
            write.insert(1, Box::new(1));
            write.insert(2, Box::new(2));
            write.commit();
        });
        let read = map.read();
        assert_eq!(read.get(&1).is_some(), read.get(&2).is_some());
    });
    assert_eq!(map.read().len(), 2);
}
