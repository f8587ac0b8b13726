//! The engine asks whether everybody has gone, and only then says that it wants to be woken: it waits for ever if they go in between.
//! Found: is parked and nobody unparks it.
//!
//! ```toml
//! splaycast = "=0.4.5"
//! futures = "0.3"
//! ```

use futures::executor::block_on;

#[test]
fn everybody_goes() {
    let (sender, engine, splaycast) = splaycast::channel::<u32>(8);
    let thread = std::thread::spawn(move || block_on(engine));
    drop(splaycast);
    thread.join().unwrap();
    drop(sender);
}
