//! A writer publishes what a reader sees.
//!
//! ```toml
//! left-right = "0.11"
//! ```

struct Add(u32);

impl left_right::Absorb<Add> for u32 {
    fn absorb_first(&mut self, operation: &mut Add, _: &Self) {
        *self += operation.0;
    }
    fn sync_with(&mut self, first: &Self) {
        *self = *first;
    }
}

#[test]
fn old_or_new() {
    let (mut write, read) = left_right::new::<u32, Add>();
    let thread = std::thread::spawn(move || read.enter().map(|value| *value));
    write.append(Add(3));
    write.publish();
    let seen = thread.join().unwrap();
    assert!(seen == Some(0) || seen == Some(3), "{seen:?}");
}
