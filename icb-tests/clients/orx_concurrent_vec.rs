//! Two threads push, and one reads and changes.
//!
//! ```toml
//! orx-concurrent-vec = "4"
//! ```

use orx_concurrent_vec::ConcurrentVec;

#[test]
fn what_is_pushed_is_read() {
    let all = ConcurrentVec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let place = all.push(Box::new(1));
            if let Some(element) = all.get(place) {
                element.update(|number| **number += 4);
            }
        });
        scope.spawn(|| drop(all.push(Box::new(2))));
        assert!(all.iter().all(|element| element.map(|number| [1, 2, 5].contains(&**number))));
    });
    assert_eq!(all.len(), 2);
    let sum: u32 = all.iter().map(|element| element.map(|number| **number)).sum();
    assert!(sum == 3 || sum == 7);
}
