//! Two calls that fail open a circuit.
//!
//! ```toml
//! recloser = "1"
//! ```

use recloser::{Error, Recloser};

#[test]
fn failures_open_the_circuit() {
    let recloser = Recloser::custom().error_rate(0.5).closed_len(2).build();
    let fail = || assert!(recloser.call(|| Err::<(), u32>(1)).is_err());
    std::thread::scope(|scope| {
        scope.spawn(fail);
        scope.spawn(fail);
    });
    fail();
    assert!(matches!(recloser.call(|| Ok::<u32, u32>(1)), Err(Error::Rejected)));
}
