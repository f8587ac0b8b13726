//! Explicit-state models, most with a version that is wrong and one that is right, and the plainest search of all to compare
//! with.

pub mod bluetooth;
pub mod peterson;
pub mod philosophers;
pub mod plain;
pub mod ring_buffer;
pub mod transaction_manager;
