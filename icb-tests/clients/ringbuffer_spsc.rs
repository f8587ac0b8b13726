//! One producer, one consumer, one place.
//!
//! ```toml
//! ringbuffer-spsc = "0.2"
//! ```

#[test]
fn in_order() {
    let (mut writer, mut reader) = ringbuffer_spsc::ringbuffer(1);
    let thread = std::thread::spawn(move || {
        let mut number = Some(Box::new(1));
        for _ in 0..2 {
            number = writer.push(number.unwrap_or(Box::new(2)));
        }
    });
    let first = reader.pull();
    let second = reader.pull();
    assert!(first.is_none_or(|number| *number == 1));
    assert!(second.is_none_or(|number| [1, 2].contains(&*number)));
    thread.join().unwrap();
}
