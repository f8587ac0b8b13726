//! A map that is published while it is read.
//!
//! ```toml
//! evmap = "11"
//! ```

#[test]
fn published_while_read() {
    let (mut writer, reader) = evmap::new::<u32, Box<u32>>();
    let thread = std::thread::spawn(move || {
        reader.get(&1).map(|values| values.iter().map(|value| **value).sum::<u32>())
    });
    writer.insert(1, Box::new(2));
    writer.publish();
    assert!(matches!(thread.join().unwrap(), None | Some(2)));
}
