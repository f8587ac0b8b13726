//! Two copies of a map; whoever writes waits for the readers of the one.
//!
//! ```toml
//! flashmap = "0.2"
//! ```

#[test]
fn what_is_published_is_seen() {
    let (mut write, read) = flashmap::new::<u32, String>();
    write.guard().insert(1, "one".to_string());
    let thread = std::thread::spawn(move || {
        let guard = read.guard();
        let first = guard.get(&1).cloned();
        assert_eq!(first, guard.get(&1).cloned());
        first
    });
    write.guard().replace(1, |old| format!("{old}!"));
    write.guard().remove(1);
    let seen = thread.join().unwrap();
    assert!([None, Some("one".to_string()), Some("one!".to_string())].contains(&seen));
}
