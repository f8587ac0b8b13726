//! A task reads the pointer to the value while another one writes it.
//! Found: data race: .
//!
//! ```toml
//! async_once = "=0.2.6"
//! lazy_static = "1"
//! pollster = "0.4"
//! ```

use async_once::AsyncOnce;

lazy_static::lazy_static! {
    static ref NUMBER: AsyncOnce<u32> = AsyncOnce::new(async { 1 });
}

#[test]
fn both_see_the_value() {
    let thread = std::thread::spawn(|| assert_eq!(*pollster::block_on(NUMBER.get()), 1));
    assert_eq!(*pollster::block_on(NUMBER.get()), 1);
    thread.join().unwrap();
}
