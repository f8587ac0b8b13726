//! Who gives a place back looks into its page after that, to see whether it is in the list of pages with free places; the arena, which goes in
//! between, has freed the page.
//! Found: use after free: .
//!
//! ```toml
//! shared_arena = "=0.8.4"
//! ```

use shared_arena::SharedArena;

#[test]
fn the_arena_goes() {
    let arena = SharedArena::with_capacity(1);
    let theirs = arena.alloc(1);
    let thread = std::thread::spawn(move || drop(theirs));
    drop(arena);
    thread.join().unwrap();
}
