//! Two threads take blocks from a pool and give them back.
//!
//! ```toml
//! byte-pool = "0.2"
//! ```

#[test]
fn one_owner_at_a_time() {
    let pool = byte_pool::BytePool::<Vec<u8>>::new();
    std::thread::scope(|scope| {
        for number in [1, 2] {
            let pool = &pool;
            scope.spawn(move || {
                let mut block = pool.alloc(4);
                block[0] = number;
                assert_eq!(block[0], number);
            });
        }
    });
}
