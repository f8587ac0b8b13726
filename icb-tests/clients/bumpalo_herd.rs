//! Each thread has a member of the herd; what was given back is used again.
//!
//! ```toml
//! bumpalo-herd = "0.1"
//! ```

use bumpalo_herd::Herd;

#[test]
fn two_members() {
    let herd = Herd::new();
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| &*herd.get().alloc(1));
        let ours = &*herd.get().alloc(2);
        assert_eq!(*theirs.join().unwrap() + *ours, 3);
    });
}
