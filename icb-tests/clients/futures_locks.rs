//! An asynchronous mutex and a lock for readers and writers, each in two threads.
//!
//! ```toml
//! futures-locks = { version = "0.7", default-features = false }
//! pollster = "0.4"
//! ```

#[test]
fn a_counter() {
    let count = futures_locks::Mutex::new(0);
    let same = count.clone();
    let other = std::thread::spawn(move || pollster::block_on(async { *same.lock().await += 1 }));
    pollster::block_on(async { *count.lock().await += 1 });
    other.join().unwrap();
    assert_eq!(count.try_unwrap().unwrap(), 2);
}

#[test]
fn a_reader_and_a_writer() {
    let lock = futures_locks::RwLock::new((0, 0));
    let same = lock.clone();
    let other = std::thread::spawn(move || {
        pollster::block_on(async {
            let mut pair = same.write().await;
            pair.0 = 1;
            pair.1 = 1;
        })
    });
    pollster::block_on(async {
        let pair = lock.read().await;
        assert_eq!(pair.0, pair.1);
    });
    other.join().unwrap();
}
