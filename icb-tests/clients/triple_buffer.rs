//! A reader sees values in order, and the last one in the end.
//!
//! ```toml
//! triple_buffer = "8"
//! ```

#[test]
fn the_last_one_is_seen() {
    let (mut input, mut output) = triple_buffer::triple_buffer(&Box::new(0));
    let thread = std::thread::spawn(move || (1..4).for_each(|number| input.write(Box::new(number))));
    let (first, second) = (**output.read(), **output.read());
    assert!(first <= second);
    thread.join().unwrap();
    assert_eq!(**output.read(), 3);
}
