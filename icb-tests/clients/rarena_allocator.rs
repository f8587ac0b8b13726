//! An arena with a free list in its own memory, whose owners are counted there too.
//!
//! ```toml
//! rarena-allocator = "0.6"
//! ```

use rarena_allocator::sync::Arena;
use rarena_allocator::{Allocator, Buffer, Freelist, Options};

#[test]
fn what_is_given_out_twice_at_once_is_not_the_same() {
    for freelist in [Freelist::Optimistic, Freelist::Pessimistic] {
        let arena = Options::new().with_capacity(512).with_freelist(freelist).alloc::<Arena>().unwrap();
        drop(arena.alloc_bytes(40).unwrap());
        let other = arena.clone();
        let thread = std::thread::spawn(move || {
            let mut bytes = other.alloc_bytes_owned(20).unwrap();
            bytes.put_u64_le(1).unwrap();
            bytes
        });
        let mut bytes = arena.alloc_bytes_owned(20).unwrap();
        bytes.put_u64_le(2).unwrap();
        let others = thread.join().unwrap();
        assert_ne!(bytes.offset(), others.offset());
    }
}
