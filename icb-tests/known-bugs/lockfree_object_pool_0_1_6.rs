//! `LinearPage::get_or_create_next` loads the pointer to the next page `Relaxed` (and takes it from a failed exchange so): what is on a page that another thread has
//! made is read without anything that orders the two. A page is for 32 objects.
//! Found: data race.
//!
//! ```toml
//! lockfree-object-pool = "=0.1.6"
//! ```

use lockfree_object_pool::LinearObjectPool;

#[test]
fn a_second_page() {
    let pool = LinearObjectPool::new(|| 1, |_| ());
    let first_page: Vec<_> = (0..32).map(|_| pool.pull()).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(*pool.pull(), 1));
        assert_eq!(*pool.pull(), 1);
    });
    drop(first_page);
}
