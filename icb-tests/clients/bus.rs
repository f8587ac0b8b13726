//! One message to one reader.
//!
//! ```toml
//! bus = "2"
//! ```

#[test]
fn the_reader_gets_it() {
    let mut bus = bus::Bus::new(2);
    let mut reader = bus.add_rx();
    let thread = std::thread::spawn(move || reader.recv());
    bus.broadcast(7);
    assert_eq!(thread.join().unwrap(), Ok(7));
}
