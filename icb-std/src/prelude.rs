//! `std::prelude`. Modelled and not modelled: nothing, for what it names has no concurrency. It is `std`'s, with the replaced macro `thread_local!` in each edition's prelude. A crate that is compiled with
//! `--extern std=libicb_std.rlib` has one of these modules injected into every module.

/// Items of every edition.
pub mod v1 {
    pub use crate::thread_local;
    pub use ::std::prelude::v1::*;
}

/// Edition 2015.
pub mod rust_2015 {
    pub use crate::thread_local;
    pub use ::std::prelude::rust_2015::*;
}

/// Edition 2018.
pub mod rust_2018 {
    pub use crate::thread_local;
    pub use ::std::prelude::rust_2018::*;
}

/// Edition 2021.
pub mod rust_2021 {
    pub use crate::thread_local;
    pub use ::std::prelude::rust_2021::*;
}

/// Edition 2024.
pub mod rust_2024 {
    pub use crate::thread_local;
    pub use ::std::prelude::rust_2024::*;
}
