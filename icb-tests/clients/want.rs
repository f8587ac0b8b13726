//! One says that it wants something, or that it never will.
//!
//! ```toml
//! want = "0.3"
//! pollster = "0.4"
//! ```

#[test]
fn something_is_wanted() {
    let (mut giver, mut taker) = want::new();
    let thread = std::thread::spawn(move || {
        taker.want();
        taker
    });
    pollster::block_on(giver.want()).unwrap();
    assert!(giver.give());
    drop(thread.join().unwrap());
}

#[test]
fn a_taker_goes() {
    let (mut giver, taker) = want::new();
    let thread = std::thread::spawn(move || drop(taker));
    assert!(pollster::block_on(giver.want()).is_err());
    thread.join().unwrap();
}
