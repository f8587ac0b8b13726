//! Threads that are alive at once have different identities.
//!
//! ```toml
//! thread-id = "5"
//! ```

#[test]
fn they_differ() {
    let ours = thread_id::get();
    let theirs = std::thread::spawn(thread_id::get).join().unwrap();
    assert_ne!(ours, theirs);
    assert_eq!(ours, thread_id::get());
}
