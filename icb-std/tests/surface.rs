//! The mirror has std's whole surface: tables of std's stable items, generated from its documentation by
//! `cargo run -p ci -- surface`, are compiled against std and against the mirror. An item that is missing, or has another
//! signature, another constness or a narrower implementation, is a compile error that names it.
//!
//! Compared by name: everything that std exports. With signatures and implementations: `cell`, `future`, `hint`, `panic`,
//! `sync` with `atomic` and `mpsc`, `task`, `thread`, `time`.

// Without the unstable features of `RUSTC_BOOTSTRAP=icb_std` some implementations are missing; see the crate's documentation.
#![cfg(any(not(icb), icb_coerce))]
#![allow(clippy::duplicate_mod, reason = "one source for several worlds is the point")]

/// Compiles only if the type lacks the trait: if it has it, two implementations fit.
macro_rules! lacks {
    ($t:ty: $bound:path) => {{
        trait Fits<A> {
            fn fits() {}
        }
        impl<T: ?Sized> Fits<()> for T {}
        struct Has;
        impl<T: ?Sized + $bound> Fits<Has> for T {}
        <$t as Fits<_>>::fits();
    }};
}

/// The tables, compiled against one of them.
macro_rules! world {
    ($world:ident, $s:path) => {
        #[path = "surface"]
        #[allow(
            clippy::all,
            clippy::undocumented_unsafe_blocks,
            dead_code,
            deprecated,
            drop_bounds,
            unused_imports,
            reason = "signatures are compiled, never called"
        )]
        mod $world {
            use $s as s;

            pub(crate) mod functions;
            pub(crate) mod implementations;
            pub(crate) mod names;

            pub(crate) const COUNT: usize = functions::COUNT + implementations::COUNT + names::COUNT;
        }
    };
}

world!(std_world, ::std);
world!(icb_world, ::icb_std);

/// `item: reason` a line.
const EXCEPTIONS: &str = include_str!("surface/exceptions.txt");

#[test]
fn n_of_n() {
    let exceptions = EXCEPTIONS.lines().count();
    let (all, mine) = (std_world::COUNT + exceptions, icb_world::COUNT);
    println!(
        "icb_std has {mine} of std's {all} stable items; {exceptions} cannot be compared:\n{EXCEPTIONS}"
    );
    assert_eq!(mine + exceptions, all);
    assert!(
        EXCEPTIONS.lines().all(|line| line.split_once(": ").is_some_and(|(_, reason)| reason.len() > 10))
    );
}
