//! What a failure looks like. These tests fail on purpose, so they are ignored unless asked for:
//! `cargo icb test -p icb-demo --test demo --ignored`.

use icb_std::model;
use icb_tests::programs::{
    bluetooth, double_checked, lock_order, lost_wakeup, treiber, work_stealing_queue as queue,
};

#[test]
#[ignore = "fails on purpose: the published driver performs I/O after it has been stopped"]
fn bluetooth_two_threads() {
    model(|| bluetooth::run(bluetooth::Version::Published, 1));
}

#[test]
#[ignore = "fails on purpose: the published driver performs I/O after it has been stopped"]
fn bluetooth_three_threads() {
    model(|| bluetooth::run(bluetooth::Version::Published, 2));
}

#[test]
#[ignore = "fails on purpose: an item is overwritten while a thief takes it"]
fn work_stealing_queue() {
    model(|| queue::run(queue::Version::NoSpareSlot));
}

#[test]
#[ignore = "fails on purpose: two locks taken in opposite orders"]
fn lock_order_deadlock() {
    model(|| lock_order::transfers(lock_order::Version::AsItComes));
}

#[test]
#[ignore = "fails on purpose: the event happens between the look and the wait"]
fn lost_wakeup_deadlock() {
    model(|| lost_wakeup::run(lost_wakeup::Version::LooksOutside));
}

#[test]
#[ignore = "fails on purpose: a relaxed flag orders nothing"]
fn double_checked_locking_race() {
    model(|| double_checked::run(double_checked::Version::Relaxed));
}

#[test]
#[ignore = "fails on purpose: a stack that takes a node for the one it saw before"]
fn treiber_aba() {
    model(|| treiber::run(treiber::Version::Plain));
}
