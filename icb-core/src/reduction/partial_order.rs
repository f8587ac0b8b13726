//! x
/// a
#[derive(Debug)]
pub struct PartialOrder;
/// b
#[derive(Debug)]
pub struct SleepRule;
