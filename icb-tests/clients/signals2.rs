//! A slot is disconnected while its signal is emitted.
//!
//! ```toml
//! signals2 = "0.3"
//! ```

use signals2::{Connect1, Emit1, Signal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn disconnected_meanwhile() {
    let signal: Signal<(u32,)> = Signal::new();
    let sum = Arc::new(AtomicU32::new(0));
    let same = sum.clone();
    let connection = signal.connect(move |number| {
        same.fetch_add(number, Ordering::Relaxed);
    });
    let emitting = std::thread::spawn(move || signal.emit(1));
    connection.disconnect();
    assert!(!connection.connected());
    emitting.join().unwrap();
    assert!(sum.load(Ordering::Relaxed) <= 1);
}
