//! The text of a report: a failure as thread columns. (Rendering is filled in below by its own tests.)
