//! Random programs of real threads and objects of `icb_std`: every kind of them, in every combination that chance
//! brings about. There is no independent semantics of these; they serve to compare one search with another.

pub mod campaign;
pub mod compare;
pub mod generate;
pub mod language;
pub mod search;
pub mod walk;
