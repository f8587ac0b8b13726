//! A channel, a signal and a mutex, each behind the critical section that is a lock of `std`.
//!
//! ```toml
//! embassy-sync = { version = "0.8", features = ["std"] }
//! critical-section = { version = "1", features = ["std"] }
//! pollster = "0.4"
//! ```

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use pollster::block_on;

#[test]
fn messages_come_in_order() {
    let channel = Channel::<CriticalSectionRawMutex, u32, 1>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            block_on(channel.send(1));
            block_on(channel.send(2));
        });
        assert_eq!(block_on(channel.receive()), 1);
        assert_eq!(block_on(channel.receive()), 2);
    });
}

#[test]
fn a_signal_is_seen() {
    let signal = Signal::<CriticalSectionRawMutex, u32>::new();
    std::thread::scope(|scope| {
        scope.spawn(|| signal.signal(7));
        assert_eq!(block_on(signal.wait()), 7);
    });
}

#[test]
fn increments_are_not_lost() {
    let count = Mutex::<CriticalSectionRawMutex, u32>::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| *block_on(count.lock()) += 1);
        *block_on(count.lock()) += 1;
    });
    assert_eq!(block_on(async { *count.lock().await }), 2);
}
