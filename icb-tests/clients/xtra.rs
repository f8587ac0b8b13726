//! Two threads send messages to an actor that a third one runs.
//!
//! ```toml
//! xtra = { version = "0.6", features = ["macros"] }
//! pollster = "0.4"
//! ```

use pollster::block_on;
use xtra::prelude::*;

struct Sum(u32);

impl Actor for Sum {
    type Stop = u32;

    async fn stopped(self) -> u32 {
        self.0
    }
}

struct Add(u32);

impl Handler<Add> for Sum {
    type Return = u32;

    async fn handle(&mut self, Add(number): Add, _: &mut Context<Self>) -> u32 {
        self.0 += number;
        self.0
    }
}

#[test]
fn both_are_added() {
    let (address, mailbox) = Mailbox::<Sum>::bounded(1);
    let running = std::thread::spawn(move || block_on(xtra::run(mailbox, Sum(0))));
    let other = address.clone();
    let sending = std::thread::spawn(move || block_on(other.send(Add(1))).unwrap());
    assert!(block_on(address.send(Add(2))).unwrap() >= 2);
    sending.join().unwrap();
    drop(address);
    assert_eq!(running.join().unwrap(), 3);
}
