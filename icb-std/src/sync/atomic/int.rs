//! The atomic integers.

use super::{Ordering, common_methods, modify_methods};
use ::std::fmt;

/// Declares one atomic integer: its name, its value type, and the unsigned type of the same size.
macro_rules! atomic_int {
    ($($atomic:ident $value:ident $unsigned:ident)*) => { $(
        #[doc = concat!("Mirrors `std::sync::atomic::", stringify!($atomic), "`, with the same layout.")]
        #[repr(transparent)]
        pub struct $atomic {
            real: ::std::sync::atomic::$atomic,
        }

        common_methods!($atomic, $value, (|value: $value| value as $unsigned as u64), [], []);

        impl $atomic {
            modify_methods! { $atomic, $value, $value:
                fetch_add = $value::wrapping_add;
                fetch_sub = $value::wrapping_sub;
                fetch_and = |old: $value, val: $value| old & val;
                fetch_nand = |old: $value, val: $value| !(old & val);
                fetch_or = |old: $value, val: $value| old | val;
                fetch_xor = |old: $value, val: $value| old ^ val;
                fetch_max = |old: $value, val: $value| old.max(val);
                fetch_min = |old: $value, val: $value| old.min(val);
            }
        }

        impl Default for $atomic {
            #[inline]
            fn default() -> Self {
                Self::new(Default::default())
            }
        }
    )* };
}

atomic_int! {
    AtomicI8 i8 u8
    AtomicU8 u8 u8
    AtomicI16 i16 u16
    AtomicU16 u16 u16
    AtomicI32 i32 u32
    AtomicU32 u32 u32
    AtomicI64 i64 u64
    AtomicU64 u64 u64
    AtomicIsize isize usize
    AtomicUsize usize usize
}
