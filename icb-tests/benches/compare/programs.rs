//! The programs of `world`, compiled against three libraries.

pub(crate) use crate::world::{Entry, Unchecked, take_steps};

world!(
    /// Against loom.
    in_loom, loom, ::loom::cell::UnsafeCell<usize>, false
);
world!(
    /// Against loom, counting steps.
    in_loom_counted, loom, ::loom::cell::UnsafeCell<usize>, true
);
world!(
    /// Against shuttle, which has no cell of its own.
    in_shuttle, shuttle, super::Unchecked<usize>, false
);
world!(
    /// Against shuttle, counting steps.
    in_shuttle_counted, shuttle, super::Unchecked<usize>, true
);
world!(
    /// Against icb.
    in_icb, icb_std, ::icb_std::cell::UnsafeCell<usize>, false
);
world!(
    /// Against icb, counting steps.
    in_icb_counted, icb_std, ::icb_std::cell::UnsafeCell<usize>, true
);
