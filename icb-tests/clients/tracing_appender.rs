//! Lines of two threads are written by a third one. Its guard waits for it, but not for ever.
//!
//! ```toml
//! tracing-appender = "0.2"
//! ```

use std::io::Write;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn two_write() {
    let lines = Lines::default();
    let (mut writer, guard) = tracing_appender::non_blocking(lines.clone());
    let mut theirs = writer.clone();
    let thread = std::thread::spawn(move || theirs.write_all(b"1").unwrap());
    writer.write_all(b"2").unwrap();
    thread.join().unwrap();
    drop(guard);
    assert!([&b""[..], b"1", b"2", b"12", b"21"].contains(&lines.0.lock().unwrap().as_slice()));
}
