//! A thread that looks for an entry waits for ever: it finds that the place is taken and that nobody counts a reference yet, and takes a removed
//! entry for one that is being inserted.
//! Found: livelock: .
//!
//! ```toml
//! concurrent_arena = "=0.1.12"
//! ```

use concurrent_arena::{Arena, ArenaArc};
use std::sync::Arc;

#[test]
fn an_entry_is_looked_for_while_it_is_removed() {
    let arena = Arc::new(Arena::<u32, 1, 64>::with_capacity(1));
    let entry = arena.insert(1);
    let slot = ArenaArc::slot(&entry);
    let same = arena.clone();
    let thread = std::thread::spawn(move || same.get(slot).is_none_or(|entry| *entry == 1));
    ArenaArc::remove(&entry);
    drop(entry);
    assert!(thread.join().unwrap());
}
