//! Work on one value, one piece after the other, in threads of a scheduler.
//!
//! ```toml
//! desync = "0.8"
//! ```

use desync::Desync;

#[test]
fn in_order() {
    let number = Desync::new(1);
    number.desync(|number| *number += 1);
    number.desync(|number| *number *= 5);
    assert_eq!(number.sync(|number| *number), 10);
}
