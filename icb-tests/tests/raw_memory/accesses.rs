//! Loads and stores of raw memory, compiled by `build.rs` with the instrumentation pass that `cargo icb test --accesses`
//! uses: each calls the engine's hooks as the code of a user's crate does. Every function stands here several times, so
//! that the same access has several places. Knows nothing of who calls it.

#![crate_type = "lib"]
#![no_std]

macro_rules! sites {
    ($($read:ident $write:ident $add:ident $half:ident $copy:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $read(from: *const u64) -> u64 {
            // SAFETY: the caller's promise, as everywhere here: the memory is valid, and races are what is looked for.
            unsafe { *from }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $write(to: *mut u64, value: u64) {
            // SAFETY: as above.
            unsafe { *to = value };
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $add(to: *mut u64) -> u64 {
            // SAFETY: as above.
            unsafe {
                *to = (*to).wrapping_add(1);
                *to
            }
        }

        /// The upper half of a word.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $half(to: *mut u64, value: u32) {
            // SAFETY: as above.
            unsafe { *to.cast::<u32>().add(1) = value };
        }

        /// Two words at once.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $copy(from: *const [u64; 2], to: *mut [u64; 2]) {
            // SAFETY: as above; they do not overlap.
            unsafe { core::ptr::copy_nonoverlapping(from, to, 1) };
        }
    )* };
}

sites! {
    raw_read_0 raw_write_0 raw_add_0 raw_half_0 raw_copy_0;
    raw_read_1 raw_write_1 raw_add_1 raw_half_1 raw_copy_1;
    raw_read_2 raw_write_2 raw_add_2 raw_half_2 raw_copy_2;
    raw_read_3 raw_write_3 raw_add_3 raw_half_3 raw_copy_3;
}
