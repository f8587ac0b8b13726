//! A pool of arenas for two threads.
//!
//! ```toml
//! bump-scope = "2"
//! ```

use bump_scope::BumpPool;

#[test]
fn two_arenas() {
    let pool: BumpPool = BumpPool::new();
    std::thread::scope(|scope| {
        let theirs = scope.spawn(|| {
            let bump = pool.get();
            *bump.alloc(1)
        });
        let bump = pool.get();
        let ours = bump.alloc_str("two");
        assert_eq!(theirs.join().unwrap(), 1);
        assert_eq!(&*ours, "two");
    });
}
