//! Nothing orders the free of a signal after what the pulse has done with it.
//! Found: use after free: memory is freed after an atomic variable in it has been used: .
//!
//! ```toml
//! pulse = "=0.5.3"
//! ```

use pulse::Signal;

#[test]
fn the_signal_comes() {
    let (signal, pulse) = Signal::new();
    let thread = std::thread::spawn(move || pulse.pulse());
    assert!(signal.wait().is_ok());
    thread.join().unwrap();
}
