//! Two threads take objects from a pool and give them back.
//!
//! ```toml
//! opool = "0.2"
//! ```

use opool::{Pool, PoolAllocator};

struct Make;

impl PoolAllocator<Box<u32>> for Make {
    fn allocate(&self) -> Box<u32> {
        Box::new(0)
    }
}

#[test]
fn one_owner_at_a_time() {
    let pool = Pool::new_prefilled(1, Make);
    std::thread::scope(|scope| {
        for number in [1, 2] {
            let pool = &pool;
            scope.spawn(move || {
                let mut object = pool.get();
                **object = number;
                assert_eq!(**object, number);
            });
        }
    });
    assert_eq!(pool.len(), 1);
}
