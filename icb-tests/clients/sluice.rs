//! Bytes through an asynchronous pipe.
//!
//! ```toml
//! sluice = "0.5"
//! futures = "0.3"
//! ```

use futures::executor::block_on;
use futures::{AsyncReadExt, AsyncWriteExt};

#[test]
fn all_bytes_arrive() {
    let (mut reader, mut writer) = sluice::pipe::pipe();
    let other = std::thread::spawn(move || {
        block_on(async {
            writer.write_all(b"ab").await.unwrap();
            writer.close().await.unwrap();
        })
    });
    let mut bytes = Vec::new();
    block_on(reader.read_to_end(&mut bytes)).unwrap();
    assert_eq!(bytes, b"ab");
    other.join().unwrap();
}
