//! The same source against `std`, against `icb_std` on real threads, and against `icb_std` in a model: each case
//! passes three times, or the mirror is no mirror.

#![allow(clippy::duplicate_mod, reason = "one source for several worlds is the point")]

/// Everything that `std` and the mirror must agree on, compiled against one of them.
macro_rules! world {
    ($world:ident, $s:path) => {
        #[path = "parity"]
        mod $world {
            use $s as s;

            pub(crate) mod arc;
            pub(crate) mod atomics;
            pub(crate) mod channels;
            pub(crate) mod locals;
            pub(crate) mod locks;
            pub(crate) mod once;
            pub(crate) mod rest;
            pub(crate) mod threads;
            pub(crate) mod traits;
        }
    };
}

world!(std_world, ::std);
world!(icb_world, ::icb_std);
// Apart, because statics that are used on real threads at the same time are no part of a model.
#[cfg(icb)]
world!(model_world, ::icb_std);

/// Runs a case in a model: with at most one preemption, every interleaving must pass.
#[cfg(icb)]
fn explore(case: fn()) {
    let model = icb_std::model::Builder::new().max_bound(1).max_executions(20_000);
    let report = model.explore(case);
    if let Some(failure) = report.failure {
        panic!("{:?}: {}\n{}", failure.kind, failure.message, failure.schedule);
    }
    assert!(report.execution_count() >= 1, "nothing was run");
}

/// One module for each case, with one test for each world.
macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => { $(
        mod $module { $(
            mod $case {
                #[test]
                fn in_std() {
                    crate::std_world::$module::$case();
                }

                #[test]
                fn outside_a_model() {
                    crate::icb_world::$module::$case();
                }

                #[cfg(icb)]
                #[test]
                fn in_a_model() {
                    crate::explore(crate::model_world::$module::$case);
                }
            }
        )* }
    )* };
}

cases! {
    arc: counts weak_and_cyclic unwrapping mutation conversions comparisons uninitialised raw shared_between_threads;
    atomics: integers booleans pointers orderings updates hints layout message_passing;
    channels: unbounded bounded rendezvous disconnected trying timeouts iterators formatting;
    locals: values lazily_initialised destructors what_destructors_find cells;
    locks: mutex mutex_poison try_lock mutex_formats rwlock rwlock_poison downgrade rwlock_formats condvar
        condvar_timeout barrier unsized_data statics;
    once: call_once poisoned_once once_lock once_lock_panics lazy_lock lazy_lock_poisoned formats racing;
    rest: cells time pauses tasks names;
    threads: spawn_and_join panics builder scopes scope_panics parking finished ids nested_scopes current_thread;
    traits: auto_traits;
}
