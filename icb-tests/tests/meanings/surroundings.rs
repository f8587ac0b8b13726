//! What threads share beside memory: files, their locks, the environment, numbers.

use crate::{PANIC, Verdict, check_verdicts, executions, plain, verdict};
use icb_std::model::{FailureKind, Granularity, Reduction};
use icb_std::sync::Mutex;
use icb_std::{env, thread};
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory of its own, made anew, that is gone with this.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("icb-meanings-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn file(&self, content: &str) -> PathBuf {
        let path = self.0.join("file");
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How many of two threads that do this succeed.
fn successes(of: impl Fn() -> bool + Sync) -> usize {
    thread::scope(|s| {
        let both = [s.spawn(&of), s.spawn(&of)];
        both.map(|one| one.join().unwrap()).into_iter().filter(|&succeeds| succeeds).count()
    })
}

fn add_one(path: &Path) {
    let number: u32 = fs::read_to_string(path).unwrap().parse().unwrap_or(0);
    fs::write(path, (number + 1).to_string()).unwrap();
}

fn one_looks_and_makes(directory: &Directory) {
    let path = directory.0.join("new");
    assert_eq!(successes(|| !path.exists() && fs::write(&path, "").is_ok()), 1);
}

fn who_makes_it_knows(directory: &Directory) {
    let path = directory.0.join("new");
    assert_eq!(successes(|| File::create_new(&path).is_ok()), 1);
    assert_eq!(successes(|| fs::create_dir(directory.0.join("directory")).is_ok()), 1);
    assert_eq!(successes(|| fs::rename(&path, directory.0.join("moved")).is_ok()), 1);
    assert_eq!(successes(|| fs::remove_file(directory.0.join("moved")).is_ok()), 1);
}

fn both_add_one(directory: &Directory) {
    let path = directory.file("0");
    successes(|| {
        add_one(&path);
        true
    });
    assert_eq!(fs::read_to_string(path).unwrap(), "2");
}

fn both_add_one_under_a_mutex(directory: &Directory) {
    let path = directory.file("0");
    let lock = Mutex::new(());
    successes(|| {
        let _held = lock.lock().unwrap();
        add_one(&path);
        true
    });
    assert_eq!(fs::read_to_string(path).unwrap(), "2");
}

fn locked(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

fn both_add_one_under_the_lock_of_a_file(directory: &Directory) {
    let path = directory.file("0");
    successes(|| {
        let mut file = locked(&path);
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let number: u32 = text.parse().unwrap();
        file.rewind().unwrap();
        file.write_all((number + 1).to_string().as_bytes()).unwrap();
        true
    });
    assert_eq!(fs::read_to_string(path).unwrap(), "2");
}

fn a_lock_is_not_to_be_had(directory: &Directory) {
    both_lock(directory, |file| file.try_lock().is_ok());
}

fn readers_share_a_lock(directory: &Directory) {
    both_lock(directory, |file| file.try_lock_shared().is_ok());
}

fn both_lock(directory: &Directory, lock: impl Fn(&File) -> bool + Sync) {
    let path = directory.file("");
    let both = successes(|| {
        let file = File::open(&path).unwrap();
        lock(&file)
    });
    assert_eq!(both, 2);
}

fn locks_in_two_orders(directory: &Directory) {
    let (a, b) = (directory.file(""), directory.0.join("other"));
    fs::write(&b, "").unwrap();
    thread::scope(|s| {
        s.spawn(|| (locked(&a), locked(&b)));
        s.spawn(|| (locked(&b), locked(&a)));
    });
}

/// One reads while the other writes the second half.
fn a_reader_sees_half(directory: &Directory) {
    let path = directory.file("");
    thread::scope(|s| {
        s.spawn(|| {
            let mut file = File::options().append(true).open(&path).unwrap();
            file.write_all(b"one ").unwrap();
            file.write_all(b"two").unwrap();
        });
        assert!(["", "one two"].contains(&&*fs::read_to_string(&path).unwrap()));
    });
}

fn each_has_its_own_file(directory: &Directory) {
    thread::scope(|s| {
        for name in ["a", "b"] {
            s.spawn(move || {
                let path = directory.0.join(name);
                for _ in 0..3 {
                    add_one_to_own(&path);
                }
                assert_eq!(fs::read_to_string(path).unwrap(), "3");
            });
        }
    });
    assert_eq!(fs::read_dir(&directory.0).unwrap().count(), 2);
}

fn add_one_to_own(path: &Path) {
    match fs::read_to_string(path) {
        Ok(_) => add_one(path),
        Err(error) if error.kind() == ErrorKind::NotFound => fs::write(path, "1").unwrap(),
        Err(error) => panic!("{error}"),
    }
}

/// Nobody joins the thread, which has ended: what it has done may as well come later.
fn what_a_thread_has_done_that_nobody_joined(directory: &Directory) {
    let path = directory.0.join("new");
    let theirs = path.clone();
    let thread = thread::spawn(move || fs::write(theirs, "").unwrap());
    let is_there = path.exists();
    thread.join().unwrap();
    assert!(!is_there);
}

/// A program and how it fails first.
type Case = (&'static str, fn(&Directory), Verdict);

/// A directory is locked as a file is, and let go when it is closed.
fn a_lock_of_a_directory_goes_with_it(directory: &Directory) {
    successes(|| {
        let file = File::open(&directory.0).unwrap();
        file.lock().unwrap();
        drop(file);
        true
    });
}

/// A duplicate keeps the lock.
fn a_lock_stays_with_the_last_duplicate(directory: &Directory) {
    let path = directory.file("");
    let inside = Mutex::new(());
    successes(|| {
        let file = locked(&path);
        let other = file.try_clone().unwrap();
        drop(file);
        let is_alone = inside.try_lock().is_ok();
        drop(other);
        assert!(is_alone);
        is_alone
    });
}

/// How many names a file has is known of the open one, too.
fn a_name_goes_while_somebody_counts(directory: &Directory) {
    let path = directory.file("");
    let file = File::open(&path).unwrap();
    thread::scope(|s| {
        s.spawn(|| fs::remove_file(&path).unwrap());
        assert_eq!(file.metadata().unwrap().nlink(), 0);
    });
}

/// Emptied in one step, whatever comes after the name has been looked for.
fn who_empties_it_finds_it(directory: &Directory) {
    let path = directory.file("x");
    let is_there = thread::scope(|s| {
        let other = s.spawn(|| fs::remove_file(&path).is_ok());
        let file = File::options().write(true).truncate(true).open(&path);
        let found = file.is_ok();
        assert!(other.join().unwrap());
        found
    });
    assert!(is_there);
}

#[test]
fn threads_share_files() {
    let table: &[Case] = &[
        ("one_looks_and_makes", one_looks_and_makes, PANIC),
        ("who_makes_it_knows", who_makes_it_knows, None),
        ("both_add_one", both_add_one, PANIC),
        ("both_add_one_under_a_mutex", both_add_one_under_a_mutex, None),
        ("both_add_one_under_the_lock_of_a_file", both_add_one_under_the_lock_of_a_file, None),
        ("a_lock_is_not_to_be_had", a_lock_is_not_to_be_had, PANIC),
        ("readers_share_a_lock", readers_share_a_lock, None),
        ("locks_in_two_orders", locks_in_two_orders, Some((FailureKind::Deadlock, 1))),
        ("a_reader_sees_half", a_reader_sees_half, Some((FailureKind::Panic, 2))),
        ("each_has_its_own_file", each_has_its_own_file, None),
        ("lock_of_a_directory", a_lock_of_a_directory_goes_with_it, None),
        ("last_duplicate", a_lock_stays_with_the_last_duplicate, None),
        ("a_name_goes", a_name_goes_while_somebody_counts, Some((FailureKind::Panic, 0))),
        ("who_empties_it", who_empties_it_finds_it, PANIC),
        ("nobody_joined", what_a_thread_has_done_that_nobody_joined, PANIC),
    ];
    for &(name, body, expected) in table {
        for (reduction, granularity) in [
            (Reduction::None, Granularity::SyncOnly),
            (Reduction::default(), Granularity::SyncOnly),
            (Reduction::default(), Granularity::EveryAccess),
        ] {
            let builder = plain().max_bound(2).reduction(reduction).granularity(granularity);
            let directory = format!("{name}-{reduction:?}-{granularity:?}");
            let report = builder.explore(move || body(&Directory::new(&directory)));
            let found = verdict(&report);
            assert_eq!(found, expected, "{name}: {reduction:?}, {granularity:?}: {report}");
        }
    }
}

/// What nothing orders is a step, what is ordered is none.
#[test]
fn only_what_races_is_a_step() {
    let run = |name: &'static str, body: fn(&Directory)| {
        executions(&plain().explore(move || body(&Directory::new(name))))
    };
    let ordered = run("ordered", |directory| {
        let path = directory.file("0");
        let lock = Mutex::new(());
        successes(|| {
            let _held = lock.lock().unwrap();
            add_one(&path);
            true
        });
    });
    let without = run("without", |_| {
        let lock = Mutex::new(());
        successes(|| {
            let _held = lock.lock().unwrap();
            true
        });
    });
    assert_eq!(ordered, without);
}

/// The environment is as it was when an execution begins, and threads share it.
#[test]
fn threads_share_the_environment() {
    const NAME: &str = "ICB_TESTS_SURROUNDINGS";
    for reduction in [Reduction::None, Reduction::default()] {
        let report = plain().max_bound(1).reduction(reduction).explore(|| {
            assert!(env::var_os(NAME).is_none());
            let both = successes(|| {
                let is_first = env::var_os(NAME).is_none();
                if is_first {
                    // SAFETY: of the threads of this process only those of the model know the variable.
                    unsafe { env::set_var(NAME, "1") };
                }
                is_first
            });
            assert_eq!(env::vars().filter(|(name, _)| name == NAME).count(), 1);
            assert_eq!(both, 1);
        });
        assert_eq!(verdict(&report), PANIC, "{report}");
        assert!(std::env::var_os(NAME).is_none());
    }
    let report = plain().max_bound(1).explore(|| {
        // SAFETY: as above.
        let thread = thread::spawn(|| unsafe { env::set_var(NAME, "1") });
        let is_there = env::var(NAME).is_ok();
        thread.join().unwrap();
        assert!(env::var(NAME).is_ok());
        // SAFETY: as above.
        unsafe { env::remove_var(NAME) };
        assert!(!is_there);
    });
    assert_eq!(verdict(&report), PANIC, "{report}");
    assert!(std::env::var_os(NAME).is_none());
}

/// The number of a thread, as it is shown.
fn number_of(id: thread::ThreadId) -> u64 {
    let text = format!("{id:?}");
    text.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}

/// Threads that are spawned by two others get their numbers in either order, where somebody looks at them.
#[test]
fn threads_are_numbered_in_the_order_of_their_spawns() {
    /// The number that a new thread sees as its own, and the one that others see.
    fn next() -> u64 {
        let thread = thread::spawn(|| number_of(thread::current().id()));
        let seen = number_of(thread.thread().id());
        assert_eq!(seen, thread.join().unwrap());
        seen
    }
    fn mine_is_first() {
        let other = thread::spawn(next);
        let mine = next();
        assert!(mine < other.join().unwrap());
    }
    fn theirs_is_first() {
        let other = thread::spawn(next);
        let mine = next();
        assert!(mine > other.join().unwrap());
    }
    fn those_of_one_thread_ascend() {
        let other = thread::spawn(|| [next(), next()]);
        let [first, second] = [next(), next()];
        let [third, fourth] = other.join().unwrap();
        assert!(first < second && third < fourth);
        let mut all = [first, second, third, fourth];
        all.sort_unstable();
        assert_eq!(all, [3, 4, 5, 6]);
        assert_eq!(number_of(thread::current().id()), 1);
    }
    fn scoped() {
        let numbers = thread::scope(|s| {
            let both = [s.spawn(next), s.spawn(next)];
            both.map(|one| one.join().unwrap())
        });
        assert!(numbers[0] < numbers[1]);
    }
    for reduction in [Reduction::None, Reduction::PartialOrder, Reduction::Visited] {
        let table: [(&str, fn(), Verdict); 4] = [
            ("mine", mine_is_first, Some((FailureKind::Panic, 1))),
            ("theirs", theirs_is_first, Some((FailureKind::Panic, 0))),
            ("ascend", those_of_one_thread_ascend, None),
            ("scoped", scoped, Some((FailureKind::Panic, 0))),
        ];
        check_verdicts(&plain().max_bound(2).reduction(reduction), &table);
    }
    // Where nobody looks, it makes no difference.
    let report = plain().reduction(Reduction::PartialOrder).explore(|| {
        let spawns_one = || thread::spawn(|| {}).join().unwrap();
        let other = thread::spawn(spawns_one);
        spawns_one();
        other.join().unwrap();
    });
    assert_eq!(executions(&report), [1, 0, 0, 0]);
}
