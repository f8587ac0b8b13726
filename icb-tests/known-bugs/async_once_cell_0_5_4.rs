//! `QueueRef::drop` counts down with `Release`, and whoever comes to zero frees the queue: nothing orders that after what the others have done with it. Freed by one
//! that gives up before it has waited, while the one that has filled the cell has just let go.
//! Found: use after free.
//!
//! ```toml
//! async-once-cell = "=0.5.4"
//! pollster = "0.4"
//! ```

use async_once_cell::OnceCell;
use std::future::{Future, pending};
use std::pin::pin;
use std::task::{Context, Waker};

#[test]
fn one_fills_and_one_gives_up() {
    let cell = OnceCell::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut future = pin!(cell.get_or_init(pending()));
            _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
        assert_eq!(pollster::block_on(cell.get_or_init(async { 3 })), &3);
    });
}
