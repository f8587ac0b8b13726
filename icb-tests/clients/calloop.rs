//! An event loop that waits with `epoll`, and is told of messages through an `eventfd`.
//!
//! ```toml
//! calloop = "0.14"
//! ```

use calloop::EventLoop;
use calloop::channel::{Event, channel};

#[test]
fn messages_come_in_order_and_then_the_end() {
    let mut events = EventLoop::<(Vec<u32>, bool)>::try_new().unwrap();
    let (sender, receiver) = channel();
    events
        .handle()
        .insert_source(receiver, |event, _, seen| match event {
            Event::Msg(number) => seen.0.push(number),
            Event::Closed => seen.1 = true,
        })
        .unwrap();
    let thread = std::thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    let mut seen = (Vec::new(), false);
    while !seen.1 {
        events.dispatch(None, &mut seen).unwrap();
    }
    assert_eq!(seen.0, [1, 2]);
    thread.join().unwrap();
}
