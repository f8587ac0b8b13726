//! A reader loads the state (`Acquire`) and exchanges it (`Relaxed`: the orderings of `fetch_update` are the wrong way round); when the writer has swapped
//! twice in between, the state is the same, and nothing orders what was written.
//! Found: data race: .
//!
//! ```toml
//! simple-left-right = "=0.2.3"
//! ```

use simple_left_right::{Absorb, Writer};

#[derive(Clone)]
struct Number(u32);

impl Absorb<u32> for Number {
    fn absorb(&mut self, number: u32) {
        self.0 += number;
    }
}

#[test]
fn what_is_written_is_read() {
    let mut writer = Writer::<Number, u32>::new(Number(0));
    let mut reader = writer.build_reader().unwrap();
    let thread = std::thread::spawn(move || assert!(reader.lock().0 <= 2));
    for _ in 0..2 {
        if let Some(mut guard) = writer.try_lock() {
            guard.apply_op(1);
        }
    }
    thread.join().unwrap();
}
