//! Showing: the only place that knows about terminals and colours.

pub(crate) mod console;
pub(crate) mod coverage;
pub(crate) mod diff;
pub(crate) mod failure;
pub(crate) mod json;
mod junit;
pub(crate) mod notice;
pub(crate) mod output;
pub(crate) mod plain;
mod sarif;
pub(crate) mod summary;
pub(crate) mod timeline;
