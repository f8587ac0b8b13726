//! A task on an executor, and a timer of the reactor, which a thread of its own runs.
//!
//! ```toml
//! smol = "2"
//! ```

use std::time::Duration;

#[test]
fn the_task_is_done() {
    let executor = smol::Executor::new();
    let task = executor.spawn(async { 7 });
    std::thread::scope(|scope| {
        scope.spawn(|| executor.try_tick());
        assert_eq!(smol::block_on(executor.run(task)), 7);
    });
}

#[test]
fn a_timer_comes() {
    smol::block_on(async {
        smol::Timer::after(Duration::from_millis(1)).await;
    });
}
