//! A task for the executor that everybody shares.
//!
//! ```toml
//! async-global-executor = { version = "3", default-features = false }
//! ```

use async_global_executor::{GlobalExecutorConfig, block_on, init_with_config, spawn};

#[test]
fn a_task() {
    init_with_config(GlobalExecutorConfig::default().with_min_threads(1).with_max_threads(1));
    assert_eq!(block_on(spawn(async { 1 })), 1);
}
