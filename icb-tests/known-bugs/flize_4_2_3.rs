//! `Lazy::get` finds by a relaxed load that the value has been made, which nothing orders after the making.
//! Found: data race: .
//!
//! ```toml
//! flize = "=4.2.3"
//! ```

use flize::Collector;

#[test]
fn two_shields() {
    let collector = Collector::new();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(collector.thin_shield()));
        drop(collector.thin_shield());
    });
}
