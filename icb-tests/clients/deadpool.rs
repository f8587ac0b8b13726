//! Two threads share the only object of a pool, and one that waits for it gives up.
//!
//! ```toml
//! deadpool = { version = "0.12", features = ["managed"] }
//! futures = "0.3"
//! ```

use deadpool::managed::{Manager, Metrics, Pool, RecycleResult};
use futures::executor::block_on;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

#[derive(Default)]
struct Numbers(AtomicUsize);

impl Manager for Numbers {
    type Type = usize;
    type Error = ();

    async fn create(&self) -> Result<usize, ()> {
        Ok(self.0.fetch_add(1, Ordering::Relaxed))
    }

    async fn recycle(&self, _: &mut usize, _: &Metrics) -> RecycleResult<()> {
        Ok(())
    }
}

fn pool() -> Pool<Numbers> {
    Pool::builder(Numbers::default()).max_size(1).build().unwrap()
}

#[test]
fn there_is_one_object() {
    let pool = pool();
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(*block_on(pool.get()).unwrap(), 0));
        assert_eq!(*block_on(pool.get()).unwrap(), 0);
    });
    assert_eq!((pool.status().size, pool.status().available), (1, 1));
}

#[test]
fn who_gives_up_takes_nothing() {
    let pool = pool();
    let held = block_on(pool.get()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut wait = Box::pin(pool.get());
            drop(Future::poll(wait.as_mut(), &mut Context::from_waker(Waker::noop())));
        });
        drop(held);
        drop(block_on(pool.get()).unwrap());
    });
    assert_eq!(pool.status().available, 1);
}
