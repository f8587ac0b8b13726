//! Random programs of real threads and objects of `icb_std`: every kind of them, in every combination that chance
//! brings about. There is no independent semantics of these; they serve to compare one search with another, and, in `tests/reality`, with `std`.

pub mod campaign;
pub mod compare;
pub mod generate;
pub mod language;
pub mod search;
pub mod walk;

/// What the programs are run on.
mod library {
    pub(super) use icb_std::*;

    /// Where real threads lose time. In a model they may be stopped anywhere.
    pub(super) fn nudge() {}
}
