//! Bytes through a pipe that is shorter than they are.
//!
//! ```toml
//! piper = "0.2"
//! pollster = "0.4"
//! ```

use std::future::poll_fn;

#[test]
fn bytes_in_order() {
    let (mut reader, mut writer) = piper::pipe(2);
    let thread = std::thread::spawn(move || {
        let mut rest = &[1, 2, 3, 4][..];
        while !rest.is_empty() {
            let written = pollster::block_on(poll_fn(|context| writer.poll_fill_bytes(context, rest)));
            rest = &rest[written..];
        }
    });
    let (mut read, mut buffer) = (Vec::<u8>::new(), [0; 3]);
    loop {
        match pollster::block_on(poll_fn(|context| reader.poll_drain_bytes(context, &mut buffer))) {
            0 => break,
            count => read.extend(&buffer[..count]),
        }
    }
    assert_eq!(read, [1, 2, 3, 4]);
    thread.join().unwrap();
}
