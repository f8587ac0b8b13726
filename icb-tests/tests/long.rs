//! Searches that are long from some bound on, for `cargo icb`: to be interrupted, resumed, shared out.

use icb_std::model;
use icb_tests::programs::baselines::{counter_racy, mutex_counter, treiber};
use icb_tests::programs::prodcons;

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn counters() {
    model(|| counter_racy(4, 3));
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn few_counters() {
    model(|| counter_racy(4, 2));
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn mutexes() {
    model(|| mutex_counter(4, 3));
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn queue() {
    model(|| prodcons::run(prodcons::Version::TwoCondvars, 2, 2, 1));
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn stack() {
    model(|| treiber(4));
}
