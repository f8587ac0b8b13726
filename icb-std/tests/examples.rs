//! What the examples in std's documentation show, one test program for each: run against std on real threads, and against
//! the mirror in a model at bound 1. The programs are written for this purpose; each says what its item promises.

// `impl Wake` needs the unstable features of `RUSTC_BOOTSTRAP=icb_std`; see the crate's documentation.
#![cfg(any(not(icb), icb_coerce))]
#![allow(clippy::duplicate_mod, reason = "one source for two worlds is the point")]

/// Programs with names, and the list of them.
macro_rules! examples {
    ($($(#[$attribute:meta])* $name:ident $body:block)*) => {
        $($(#[$attribute])* fn $name() $body)*

        pub(crate) const ALL: &[(&str, fn())] = &[$((stringify!($name), $name)),*];
    };
}

macro_rules! world {
    ($world:ident, $s:path) => {
        #[path = "examples"]
        mod $world {
            use $s as s;

            mod arc;
            mod atomics;
            mod channels;
            mod initialisation;
            mod locks;
            mod rest;
            mod threads;

            pub(crate) const ALL: [(&str, &[(&str, fn())]); 7] = [
                ("arc", arc::ALL),
                ("atomics", atomics::ALL),
                ("channels", channels::ALL),
                ("initialisation", initialisation::ALL),
                ("locks", locks::ALL),
                ("rest", rest::ALL),
                ("threads", threads::ALL),
            ];
        }
    };
}

world!(std_world, ::std);
#[cfg(icb)]
world!(model_world, ::icb_std);

#[test]
fn in_std() {
    for (module, examples) in std_world::ALL {
        for (name, example) in examples {
            println!("{module}::{name}");
            example();
        }
    }
}

#[cfg(icb)]
#[test]
fn in_a_model() {
    let (mut count, mut executions) = (0, 0);
    for (module, examples) in model_world::ALL {
        for (name, example) in examples {
            let report = icb_std::model::Builder::new().max_bound(1).max_executions(20_000).explore(*example);
            if let Some(failure) = report.failure {
                panic!("{module}::{name}: {:?}: {}\n{}", failure.kind, failure.message, failure.schedule);
            }
            assert!(report.complete, "{module}::{name} has too many executions");
            count += 1;
            executions += report.execution_count();
        }
    }
    println!("{count} examples, {executions} executions at bounds 0 and 1");
    assert!(count >= 150, "{count}");
}
