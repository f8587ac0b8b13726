//! A value is written twice while another thread reads; the last one is seen.
//!
//! ```toml
//! eventuals = "0.6"
//! pollster = "0.4"
//! ```

use eventuals::Eventual;

#[test]
fn the_last_value_is_seen() {
    let (mut writer, eventual) = Eventual::new();
    let mut reader = eventual.subscribe();
    let thread = std::thread::spawn(move || {
        writer.write(1);
        writer.write(2);
        writer
    });
    let last = pollster::block_on(async {
        while reader.next().await.unwrap() != 2 {}
        2
    });
    drop(thread.join().unwrap());
    assert_eq!(last, 2);
}
