//! A queue and a triple buffer without loops.
//!
//! ```toml
//! waitfree-sync = "0.4"
//! ```

use waitfree_sync::{spsc, triple_buffer};

#[test]
fn in_order() {
    let (mut sender, mut receiver) = spsc::spsc(2);
    let thread = std::thread::spawn(move || {
        sender.try_send(Box::new(1)).unwrap();
        sender.try_send(Box::new(2)).unwrap();
    });
    let mut next = 1;
    while next < 3 {
        match receiver.try_recv() {
            Ok(number) => {
                assert_eq!(*number, next);
                next += 1;
            }
            Err(_) => std::thread::yield_now(),
        }
    }
    thread.join().unwrap();
}

#[test]
fn the_latest_and_no_older() {
    let (mut writer, mut reader) = triple_buffer::triple_buffer();
    let thread = std::thread::spawn(move || {
        writer.write((1, 1));
        writer.write((2, 2));
    });
    let first = reader.try_read();
    let second = reader.try_read();
    assert!(first <= second);
    assert!(second.is_none_or(|(one, other)| one == other));
    thread.join().unwrap();
    assert_eq!(reader.try_read(), Some((2, 2)));
}
