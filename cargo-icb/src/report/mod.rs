//! Showing: the only place that knows about terminals and colours.

pub(crate) mod console;
pub(crate) mod failure;
pub(crate) mod plain;
pub(crate) mod summary;
