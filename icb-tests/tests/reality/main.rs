//! What really happens is among what the model says can happen: the same source is compiled against `std` and against the mirror, run thousands of
//! times on real threads, and explored. Every outcome of the real runs must be one of the model's. Nothing is shared with the engine, so a primitive
//! whose meaning in the mirror is too narrow shows.
//!
//! The relation goes one way only: what the model says can happen need never be seen. A program that has not ended after a while is in
//! a deadlock; if the model knows of none, it is given much longer first.
//!
//! The long run: `ICB_REALITY_SECONDS=20 cargo test --release -p icb-tests --test reality -- --nocapture` takes so long for each program.

#![allow(clippy::duplicate_mod, reason = "one source for several worlds is the point")]

mod model;
mod random;
mod real;

use std::collections::BTreeSet;

/// What a program tells at its end; `deadlock` if there is none.
type Outcome = String;

/// What threads that wait for ever are told as.
const DEADLOCK: &str = "deadlock";

/// The programs, compiled against `std` or the mirror.
macro_rules! world {
    ($world:ident, $s:path, $nudge:path) => {
        #[path = "programs"]
        mod $world {
            use $nudge as nudge;
            use $s as s;

            pub(crate) mod arcs;
            pub(crate) mod atomics;
            pub(crate) mod channels;
            pub(crate) mod locks;
            pub(crate) mod onces;
            pub(crate) mod tasks;
            pub(crate) mod threads;
            pub(crate) mod waits;
        }
    };
}

world!(real_world, ::std, crate::real::nudge);
world!(model_world, ::icb_std, crate::model::nudge);

/// A program, which of its outcomes, and why.
type Exception = (&'static str, fn(&str) -> bool, &'static str);

/// Real outcomes that the model has not, by design, and why.
const EXCEPTIONS: [Exception; 4] = [
    ("locks::after_a_writer", |told| told.starts_with("busy"), "try_read fails while a lock is handed on"),
    ("locks::mutex_poison", |told| told.contains("busy"), "nobody comes in between while a thread unwinds"),
    ("locks::rwlock_poison", |told| told.contains("busy"), "nobody comes in between while a thread unwinds"),
    ("threads::deadlines", |told| told.ends_with("true"), "no time passes while nobody waits for it"),
];

/// Outcomes of one kind that are not among those of the other.
fn missing(seen: &BTreeSet<Outcome>, possible: &BTreeSet<Outcome>) -> Vec<Outcome> {
    seen.difference(possible).cloned().collect()
}

/// Explores a program, runs it for real, and compares.
fn check(name: &str, modelled: fn() -> Outcome, real: fn() -> Outcome) {
    let possible = model::outcomes(name, modelled);
    let seen = real::outcomes(real, &possible);
    println!(
        "{name}: {} of {} outcomes seen: {:?}; never: {:?}",
        seen.len(),
        possible.len(),
        seen,
        missing(&possible, &seen)
    );
    let is_known =
        |told: &Outcome| EXCEPTIONS.iter().any(|(program, is_known, _)| *program == name && is_known(told));
    let missed: Vec<Outcome> = missing(&seen, &possible).into_iter().filter(|told| !is_known(told)).collect();
    assert!(missed.is_empty(), "{name}: the model misses {missed:?}, and has {possible:?}");
}

macro_rules! programs {
    ($($module:ident: $($program:ident)*;)*) => { $(
        mod $module { $(
            #[test]
            fn $program() {
                let name = concat!(stringify!($module), "::", stringify!($program));
                crate::check(name, crate::model_world::$module::$program, crate::real_world::$module::$program);
            }
        )* }
    )* };
}

programs! {
    arcs: counts unwraps into_inner makes_mut a_drop upgrades makes_mut_beside_weak;
    atomics: store_buffering_relaxed store_buffering_release store_buffering_fenced store_buffering_mixed
        store_buffering_seqcst updates peterson counts_and_stores;
    channels: rendezvous_try_send_recv rendezvous_try_send_try_recv rendezvous_try_send_recv_timeout
        rendezvous_try_send_recv_at_once one_try_send_recv one_try_send_try_recv one_try_send_recv_timeout
        two_try_send_recv_at_once rendezvous_sends_and_a_drop one_sends_and_a_drop two_sends_and_a_drop
        rendezvous_two_senders one_two_senders rendezvous_what_a_sender_knows unbounded_two_senders
        unbounded_iterators unbounded_where_messages_go one_where_messages_go two_where_messages_go
        rendezvous_where_messages_go a_token_and_a_message a_message_and_a_token a_token_and_a_rendezvous
        a_token_and_a_place a_token_and_a_timed_receive park_after_a_message a_shared_receiver
        a_forgotten_sender a_token_and_what_is_there a_token_for_an_answer;
    locks: mutex_poison rwlock_poison a_lock_while_unwinding a_forgotten_guard nested_reads nested_try_reads
        a_reader_waits_for_a_reader after_a_writer downgrade downgrade_after_waiting
        downgrade_after_waiting_and_read two_locks poison_seen_by_a_waiter;
    onces: once_races once_panics once_waits once_lock_races once_lock_panics lazy_lock_races
        lazy_lock_panics once_lock_waits;
    tasks: a_waker a_waker_that_comes_too_early a_waker_and_a_message a_local_sends a_message_sends
        two_for_three nested_scopes a_detached_thread timed_parks a_lock_around_a_message;
    threads: locals_and_a_join locals_and_a_result locals_and_a_scope locals_and_a_scoped_join
        locals_of_locals finished token_before tokens_do_not_add_up a_token_and_a_scope
        a_token_before_a_scope a_token_and_a_scope_that_is_over a_token_and_a_scope_without_threads
        a_forgotten_scoped_handle a_forgotten_handle panics_in_a_scope a_sibling_joins a_result_is_dropped
        sleepers deadlines panics_and_results panics_of_a_scope_and_of_its_threads locals_and_tokens
        spawned_by_a_sibling a_token_and_two_scopes a_token_from_outside_a_scope;
    waits: wait_while_for_one one_for_two late_for_one late_for_all late_for_one_of_two a_timed_wait_and_one
        a_timed_wait_and_all a_timed_wait_and_one_under_the_lock a_timed_wait_and_all_under_the_lock
        no_wait_and_one no_wait_and_all_under_the_lock a_timed_and_an_untimed_wait timed_while_shortly
        timed_while_at_once barrier_of_two barrier_of_two_for_four barriers_of_none_and_one too_early
        barrier_of_two_for_three_twice late_with_a_condition;
}
