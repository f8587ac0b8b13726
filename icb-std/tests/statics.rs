//! Statics in very many executions: each starts afresh, and memory does not grow. A test of its own process, because it
//! measures the process.

#![cfg(all(icb, target_os = "linux"))]

use icb_std::model::{Builder, Reduction};
use icb_std::sync::atomic::{AtomicU64, Ordering};
use icb_std::sync::{LazyLock, Mutex, Once, OnceLock, RwLock};
use icb_std::{thread, thread_local};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64 as Real;

static NUMBER: AtomicU64 = AtomicU64::new(41);
static LIST: Mutex<Vec<String>> = Mutex::new(Vec::new());
static TABLE: RwLock<Option<Box<[u8; 512]>>> = RwLock::new(None);
static ONCE: Once = Once::new();
static CELL: OnceLock<String> = OnceLock::new();
static LAZY: LazyLock<Mutex<BTreeMap<u64, String>>> = LazyLock::new(|| {
    STARTS.fetch_add(1, Ordering::Relaxed);
    Mutex::new(BTreeMap::from([(0, "first".to_owned())]))
});

thread_local! {
    static CONST: Cell<u64> = const { Cell::new(5) };
    static MADE: RefCell<Vec<u64>> = RefCell::new(vec![1, 2, 3]);
}

/// Initialisations of `LAZY`, in the real world.
static STARTS: Real = Real::new(0);

fn touch(who: u64) {
    NUMBER.fetch_add(1, Ordering::SeqCst);
    LIST.lock().unwrap().push(format!("thread {who}"));
    *TABLE.write().unwrap() = Some(Box::new([7; 512]));
    ONCE.call_once(|| ());
    CELL.get_or_init(|| format!("made by {who}"));
    LAZY.lock().unwrap().insert(who, "later".to_owned());
    assert_eq!((CONST.replace(who), MADE.with_borrow(Vec::len)), (5, 3));
    MADE.with_borrow_mut(|list| list.extend([who; 100]));
}

fn program() {
    assert_eq!(NUMBER.load(Ordering::SeqCst), 41);
    assert!(LIST.lock().unwrap().is_empty() && TABLE.read().unwrap().is_none());
    assert!(!ONCE.is_completed() && CELL.get().is_none() && LazyLock::get(&LAZY).is_none());
    let others = [1, 2].map(|who| thread::spawn(move || touch(who)));
    touch(3);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!((NUMBER.load(Ordering::SeqCst), LIST.lock().unwrap().len()), (44, 3));
    assert_eq!(LAZY.lock().unwrap().len(), 4);
}

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn ten_thousand_executions_start_afresh_and_memory_stays() {
    const EXECUTIONS: u64 = 10_000;
    let executions = |count| {
        let model = Builder::new().max_bound(4).reduction(Reduction::None).max_executions(count);
        let report = model.explore(program);
        assert!(report.failure.is_none(), "{:?}", report.failure);
        report.execution_count()
    };
    // What the search keeps, and what is allocated once, is there after the first round.
    assert_eq!(executions(EXECUTIONS), EXECUTIONS);
    let before = resident();
    let started = STARTS.load(Ordering::Relaxed);
    for _ in 0..3 {
        assert_eq!(executions(EXECUTIONS), EXECUTIONS);
    }
    let (after, made) = (resident(), STARTS.load(Ordering::Relaxed) - started);
    println!("{} executions; {before} KiB before, {after} KiB after", 3 * EXECUTIONS);
    // Each execution makes the lazy value anew; those of the check of determinism are not counted.
    assert!(made >= 3 * EXECUTIONS, "{made}");
    // One execution puts some 2 KiB into its statics: kept, 30,000 of them would be 60 MiB.
    assert!(after <= before + 2_048, "{before} KiB before, {after} KiB after");
}
