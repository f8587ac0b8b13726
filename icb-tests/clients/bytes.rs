//! Two threads drop and read one buffer.
//!
//! ```toml
//! bytes = "1"
//! ```

#[test]
fn shared_bytes() {
    let bytes = bytes::Bytes::from(vec![1, 2, 3]);
    let tail = bytes.slice(1..);
    let thread = std::thread::spawn(move || tail.len());
    assert_eq!(bytes[0], 1);
    drop(bytes);
    assert_eq!(thread.join().unwrap(), 2);
}
