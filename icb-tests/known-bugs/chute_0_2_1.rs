//! A reader that comes while a value is being pushed begins behind it; when it looks again it takes the places that are filled for the length of
//! the queue, and reads a place that nobody has written.
//! Found: only what was pushed is read.
//!
//! ```toml
//! chute = "=0.2.1"
//! ```

use chute::LendingReader;
use chute::mpmc::Queue;

#[test]
fn a_reader_comes_while_a_value_is_pushed() {
    let queue = Queue::<u32>::new();
    let mut writer = queue.writer();
    let thread = std::thread::spawn(move || queue.reader().next().copied());
    writer.push(1);
    assert!([None, Some(1)].contains(&thread.join().unwrap()), "only what was pushed is read");
}
