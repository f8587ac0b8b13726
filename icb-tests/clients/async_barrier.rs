//! Two tasks meet at a barrier twice; each time one of them leads.
//!
//! ```toml
//! async-barrier = "1"
//! pollster = "0.4"
//! ```

use async_barrier::Barrier;

#[test]
fn one_leads() {
    let barrier = Barrier::new(2);
    let meet = || [(); 2].map(|()| pollster::block_on(barrier.wait()).is_leader());
    let (one, two) = std::thread::scope(|scope| {
        let thread = scope.spawn(meet);
        (meet(), thread.join().unwrap())
    });
    assert!((0..2).all(|turn| one[turn] != two[turn]));
}
