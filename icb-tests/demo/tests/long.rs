//! Searches that are long from some bound on, for `cargo icb`: to be interrupted, resumed, shared out.

use icb_std::model;
use icb_std::sync::Arc;
use icb_std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use icb_std::thread;
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

/// What each execution allocates, nobody ever frees.
#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn left_behind() {
    model(|| {
        Box::leak(vec![1_u8; 60_000].into_boxed_slice());
        counter_racy(4, 2);
    });
}

/// Not that long.
#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn sums() {
    model(|| mutex_counter(3, 3));
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

/// Fails in a few executions with four preemptions, here and there in the search, and in none with fewer.
#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn rare() {
    model(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads = [(); 4].map(|()| {
            let counter = counter.clone();
            let increment = move |()| {
                let value = counter.load(SeqCst);
                counter.store(value + 1, SeqCst);
                value
            };
            thread::spawn(move || [(); 2].map(increment))
        });
        let read = threads.map(|thread| thread.join().unwrap());
        assert_ne!(read.into_iter().flatten().fold(1, |digest, value| digest * 31 + value) % 4_001, 672);
    });
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn stack() {
    model(|| treiber(4));
}

/// Computes for about so long, on a quick machine, and touches no memory: accesses are reported one by one.
fn compute(microseconds: u32) {
    let mut value = 1u64;
    let mut turn = microseconds * 2_000;
    while turn > 0 {
        value = value.wrapping_mul(3) ^ u64::from(turn);
        turn -= 1;
    }
    std::hint::black_box(value);
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn slow() {
    model(|| {
        compute(600);
        counter_racy(4, 2);
    });
}

#[test]
#[ignore = "for `cargo icb test --ignored`"]
fn crawling() {
    model(|| {
        compute(10_000);
        counter_racy(3, 2);
    });
}
