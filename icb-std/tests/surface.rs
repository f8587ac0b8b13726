//! The mirror has std's whole surface: tables of std's stable items, generated from its documentation by
//! `cargo run -p ci -- surface`, are compiled against std and against the mirror. An item that is missing, or has another
//! signature, another constness or a narrower implementation, is a compile error that names it.
//!
//! Compared by name: everything that std exports. With signatures and implementations: `cell`, `future`, `hint`, `panic`,
//! `sync` with `atomic` and `mpsc`, `task`, `thread`, `time`.

// Without the unstable features of `RUSTC_BOOTSTRAP=icb_std` some implementations are missing; see the crate's documentation.
#![cfg(any(not(icb), icb_coerce))]
// The tables are those of Linux: elsewhere std has other items for the system, and locks with other properties.
#![cfg(target_os = "linux")]
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

/// The sources that are compiled against std and the mirror and run in all worlds (`parity.rs`), with the mirrored types
/// whose every method they are to exercise. Names without a type are modules, whose functions are meant.
const EXERCISED: [(&str, &[&str]); 7] = [
    (include_str!("parity/arc.rs"), &["Arc", "Weak"]),
    (include_str!("parity/atomics.rs"), &["atomic", "AtomicBool", "AtomicPtr", "AtomicU8", "AtomicI64"]),
    (include_str!("parity/channels.rs"), &["mpsc", "Sender", "SyncSender", "Receiver"]),
    (include_str!("parity/locals.rs"), &["LocalKey"]),
    (
        include_str!("parity/locks.rs"),
        &[
            "Barrier",
            "BarrierWaitResult",
            "Condvar",
            "WaitTimeoutResult",
            "Mutex",
            "RwLock",
            "RwLockWriteGuard",
        ],
    ),
    (include_str!("parity/once.rs"), &["Once", "OnceState", "OnceLock", "LazyLock"]),
    (
        concat!(include_str!("parity/threads.rs"), include_str!("parity/rest.rs")),
        &[
            "thread",
            "Builder",
            "JoinHandle",
            "Scope",
            "ScopedJoinHandle",
            "Thread",
            "UnsafeCell",
            "Instant",
            "SystemTime",
        ],
    ),
];

#[test]
fn every_method_is_exercised() {
    let titles = include_str!("surface/functions.rs").lines().filter_map(|line| line.strip_prefix("// fn "));
    let (mut count, mut missing) = (0, Vec::new());
    for title in titles {
        let (owner, name) = title.rsplit_once("::").unwrap_or(("", title));
        let owner = owner.rsplit("::").next().unwrap_or(owner);
        let Some((source, _)) = EXERCISED.iter().find(|(_, owners)| owners.contains(&owner)) else {
            continue;
        };
        count += 1;
        let called = [".", "::", " ", "("].iter().any(|before| {
            let mut rest = *source;
            let mark = format!("{before}{name}");
            while let Some(at) = rest.find(&mark) {
                rest = &rest[at + mark.len()..];
                if !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                    return true;
                }
            }
            false
        });
        if !called {
            missing.push(title);
        }
    }
    println!("{count} methods and functions of the mirrored types are exercised");
    assert!(missing.is_empty(), "no parity test calls {missing:#?}");
    assert!(count > 200, "{count}: the table or the names of the types have changed");
}

#[test]
fn every_mirrored_module_says_what_is_modelled_and_what_is_not() {
    let modules = [
        ("cell", include_str!("../src/cell.rs")),
        ("hint", include_str!("../src/hint.rs")),
        ("prelude", include_str!("../src/prelude.rs")),
        ("sync", include_str!("../src/sync/mod.rs")),
        ("sync::atomic", include_str!("../src/sync/atomic/mod.rs")),
        ("sync::mpsc", include_str!("../src/sync/mpsc/mod.rs")),
        ("task", include_str!("../src/task.rs")),
        ("thread", include_str!("../src/thread/mod.rs")),
        ("time", include_str!("../src/time.rs")),
    ];
    for (module, source) in modules {
        let documentation: String = source.lines().take_while(|line| line.starts_with("//!")).collect();
        let documentation = documentation.to_lowercase();
        assert!(documentation.contains("modelled") && documentation.contains("not modelled"), "{module}");
    }
}
