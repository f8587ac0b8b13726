//! Bytes are sent through a buffer that is shorter than all of them.
//!
//! ```toml
//! spsc-bip-buffer = "0.2"
//! ```

#[test]
fn what_is_sent_comes_in_order() {
    let (mut writer, mut reader) = spsc_bip_buffer::bip_buffer_with_len(5);
    let thread = std::thread::spawn(move || {
        for byte in [1, 2, 3] {
            let mut place = writer.spin_reserve(2);
            place.copy_from_slice(&[byte, byte + 10]);
            place.send();
        }
    });
    for byte in [1, 2, 3] {
        while reader.valid().len() < 2 {
            std::thread::yield_now();
        }
        assert_eq!(reader.valid()[..2], [byte, byte + 10]);
        assert!(reader.consume(2));
    }
    thread.join().unwrap();
}
