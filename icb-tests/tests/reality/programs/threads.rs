//! Threads: their ends, their locals, their tokens.

use super::nudge;
use super::s::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use super::s::sync::{Arc, Mutex};
use super::s::thread;
use super::s::thread_local;
use super::s::time::Instant;
use std::cell::RefCell;
use super::s::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

const SHORT: Duration = Duration::from_micros(300);

/// Adds a number when it goes.
struct Adds(Arc<AtomicU32>, u32);

impl Drop for Adds {
    fn drop(&mut self) {
        nudge();
        self.0.fetch_add(self.1, SeqCst);
    }
}

thread_local! {
    static LOCAL: RefCell<Vec<Adds>> = const { RefCell::new(Vec::new()) };
    static LAZY: RefCell<Vec<Adds>> = RefCell::new(Vec::with_capacity(1));
}

fn keep(adds: Adds) {
    LOCAL.with_borrow_mut(|list| list.push(adds));
}

/// What is seen of a thread's end: finished, joined, its locals gone.
pub(crate) fn locals_and_a_join() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    let t = thread::spawn(move || keep(Adds(y, 1)));
    nudge();
    let a = (t.is_finished(), x.load(SeqCst));
    nudge();
    let b = (x.load(SeqCst), t.is_finished());
    t.join().unwrap();
    format!("{a:?} {b:?} {}", x.load(SeqCst))
}

pub(crate) fn locals_and_a_result() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let (y, z) = (x.clone(), x.clone());
    let t = thread::spawn(move || {
        keep(Adds(y, 1));
        Adds(z, 10)
    });
    nudge();
    drop(t);
    nudge();
    let a = x.load(SeqCst);
    nudge();
    let b = x.load(SeqCst);
    format!("{a} {b}")
}

pub(crate) fn locals_and_a_scope() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    thread::scope(|scope| {
        scope.spawn(move || keep(Adds(y, 1)));
        nudge();
    });
    format!("{}", x.load(SeqCst))
}

pub(crate) fn locals_and_a_scoped_join() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    thread::scope(|scope| {
        scope.spawn(move || keep(Adds(y, 1))).join().unwrap();
    });
    format!("{}", x.load(SeqCst))
}

/// A local's destructor uses another local.
pub(crate) fn locals_of_locals() -> String {
    struct Uses(Arc<Mutex<String>>);
    impl Drop for Uses {
        fn drop(&mut self) {
            let other = LOCAL.try_with(|list| list.borrow().len());
            let lazy = LAZY.try_with(|list| list.borrow().len());
            *self.0.lock().unwrap() += &format!("{:?} {:?};", other.ok(), lazy.ok());
        }
    }
    thread_local!(static USES: RefCell<Option<Uses>> = const { RefCell::new(None) });
    let m = Arc::new(Mutex::new(String::new()));
    for first in [true, false] {
        let (m2, x) = (m.clone(), Arc::new(AtomicU32::new(0)));
        let t = thread::spawn(move || {
            if first {
                keep(Adds(x.clone(), 1));
            }
            USES.set(Some(Uses(m2)));
            if !first {
                keep(Adds(x, 1));
            }
        });
        t.join().unwrap();
    }
    m.lock().unwrap().clone()
}

pub(crate) fn finished() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    let t = thread::spawn(move || {
        nudge();
        y.store(1, SeqCst);
        nudge();
    });
    nudge();
    let a = (x.load(SeqCst), t.is_finished());
    nudge();
    let b = (t.is_finished(), x.load(SeqCst));
    format!("{a:?} {b:?}")
}

pub(crate) fn token_before() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    let t = thread::spawn(move || {
        nudge();
        thread::park();
        let a = y.load(SeqCst);
        nudge();
        thread::park_timeout(SHORT);
        format!("{a} {}", y.load(SeqCst))
    });
    nudge();
    x.store(1, SeqCst);
    t.thread().unpark();
    nudge();
    x.store(2, SeqCst);
    t.thread().unpark();
    t.join().unwrap()
}

pub(crate) fn tokens_do_not_add_up() -> String {
    let t = thread::spawn(move || {
        nudge();
        thread::park();
        nudge();
        thread::park();
    });
    nudge();
    t.thread().unpark();
    nudge();
    t.thread().unpark();
    t.join().unwrap();
    "done".into()
}

/// A scope may take its thread's token.
pub(crate) fn a_token_and_a_scope() -> String {
    let main = thread::current();
    thread::scope(|scope| {
        scope.spawn(|| {
            nudge();
            main.unpark();
            nudge();
        });
        nudge();
    });
    thread::park();
    "done".into()
}

pub(crate) fn a_token_before_a_scope() -> String {
    thread::current().unpark();
    thread::scope(|scope| {
        scope.spawn(nudge);
        nudge();
    });
    thread::park();
    "done".into()
}

/// Nothing is left to wait for.
pub(crate) fn a_token_and_a_scope_that_is_over() -> String {
    thread::current().unpark();
    thread::scope(|scope| {
        let t = scope.spawn(nudge);
        t.join().unwrap();
    });
    thread::park();
    "done".into()
}

pub(crate) fn a_token_and_a_scope_without_threads() -> String {
    thread::current().unpark();
    thread::scope(|_| nudge());
    thread::park();
    "done".into()
}

/// A forgotten handle keeps its scope from ending.
pub(crate) fn a_forgotten_scoped_handle() -> String {
    thread::scope(|scope| {
        std::mem::forget(scope.spawn(nudge));
    });
    "done".into()
}

pub(crate) fn a_forgotten_handle() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    std::mem::forget(thread::spawn(move || {
        nudge();
        y.store(1, SeqCst);
    }));
    nudge();
    format!("{}", x.load(SeqCst))
}

pub(crate) fn panics_in_a_scope() -> String {
    let x = AtomicU32::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            let one = scope.spawn(|| {
                nudge();
                resume_unwind(Box::new(1));
            });
            scope.spawn(|| {
                nudge();
                x.fetch_add(1, SeqCst);
                nudge();
                if x.load(SeqCst) == 1 {
                    resume_unwind(Box::new(2));
                }
            });
            nudge();
            x.fetch_add(2, SeqCst);
            let one: Result<(), _> = one.join();
            one.is_err()
        })
    }));
    let told = match &result {
        Ok(joined) => format!("{joined}"),
        Err(panic) if panic.is::<i32>() => "theirs".into(),
        Err(_) => "the scope's".into(),
    };
    format!("{told} {}", x.load(SeqCst))
}

/// A scoped thread that another one joins, which panicked.
pub(crate) fn a_sibling_joins() -> String {
    let result = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            let one: thread::ScopedJoinHandle<'_, ()> = scope.spawn(|| {
                nudge();
                resume_unwind(Box::new(1));
            });
            let x = AtomicBool::new(false);
            let x = &*Box::leak(Box::new(x));
            scope.spawn(move || {
                nudge();
                if x.load(SeqCst) {
                    return one.join().is_err();
                }
                drop(one);
                false
            });
            nudge();
            x.store(true, SeqCst);
        });
    }));
    format!("{}", result.is_ok())
}

/// Who drops the result of a thread.
pub(crate) fn a_result_is_dropped() -> String {
    struct Tells(Arc<Mutex<Option<thread::ThreadId>>>, Arc<AtomicU32>);
    impl Drop for Tells {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(thread::current().id());
            self.1.store(1, SeqCst);
        }
    }
    let m = Arc::new(Mutex::new(None));
    let x = Arc::new(AtomicU32::new(0));
    let (m2, x2) = (m.clone(), x.clone());
    let t = thread::spawn(move || {
        nudge();
        Tells(m2, x2)
    });
    let id = t.thread().id();
    nudge();
    drop(t);
    nudge();
    let dropped = x.load(SeqCst);
    let by = match *m.lock().unwrap() {
        None => "nobody",
        Some(by) if by == id => "the thread",
        Some(by) if by == thread::current().id() => "its handle",
        Some(_) => "somebody else",
    };
    format!("{dropped} {by}")
}

pub(crate) fn sleepers() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let threads = [1, 3].map(|i| {
        let x = x.clone();
        thread::spawn(move || {
            nudge();
            thread::sleep(Duration::from_micros(i * 300));
            x.fetch_add(1, SeqCst)
        })
    });
    let begin = Instant::now();
    thread::sleep(SHORT);
    let slept = begin.elapsed() >= SHORT;
    let n = x.load(SeqCst);
    format!("{slept} {n} {:?}", threads.map(|t| t.join().unwrap()))
}

/// Time passes for one while another one works.
pub(crate) fn deadlines() -> String {
    let x = Arc::new(AtomicU32::new(0));
    let y = x.clone();
    let t = thread::spawn(move || {
        nudge();
        y.store(1, SeqCst);
    });
    let begin = Instant::now();
    nudge();
    let a = x.load(SeqCst);
    let late = begin.elapsed() >= SHORT;
    t.join().unwrap();
    format!("{a} {late}")
}

pub(crate) fn panics_and_results() -> String {
    let t = thread::Builder::new().name("named".into()).spawn(|| {
        nudge();
        let name = thread::current().name().map(str::to_owned);
        resume_unwind(Box::new(name));
    });
    let t: thread::JoinHandle<()> = t.unwrap();
    let name = t.thread().name().map(str::to_owned);
    nudge();
    let panic = t.join().unwrap_err();
    format!("{name:?} {:?}", panic.downcast_ref::<Option<String>>())
}

/// Both the scope's closure and its threads panic: whose panic goes on.
pub(crate) fn panics_of_a_scope_and_of_its_threads() -> String {
    let x = AtomicU32::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        thread::scope(|scope| {
            scope.spawn(|| {
                nudge();
                x.fetch_add(1, SeqCst);
                resume_unwind(Box::new(1_u8));
            });
            nudge();
            if x.fetch_add(2, SeqCst) == 1 {
                resume_unwind(Box::new(2_u16));
            }
        });
    }));
    let whose = result.err().map(|panic| (panic.is::<u8>(), panic.is::<u16>()));
    format!("{whose:?} {}", x.load(SeqCst))
}

/// A local that unparks, and one that parks.
pub(crate) fn locals_and_tokens() -> String {
    struct Parks(thread::Thread, Arc<AtomicU32>);
    impl Drop for Parks {
        fn drop(&mut self) {
            self.0.unpark();
            nudge();
            thread::park();
            self.1.fetch_add(1, SeqCst);
        }
    }
    thread_local!(static LOCAL: RefCell<Option<Parks>> = const { RefCell::new(None) });
    let x = Arc::new(AtomicU32::new(0));
    let (main, y) = (thread::current(), x.clone());
    let t = thread::spawn(move || LOCAL.set(Some(Parks(main, y))));
    let thread = t.thread().clone();
    nudge();
    thread::park();
    let (a, b) = (t.is_finished(), x.load(SeqCst));
    nudge();
    thread.unpark();
    nudge();
    let c = x.load(SeqCst);
    t.join().unwrap();
    format!("{a} {b} {c} {}", x.load(SeqCst))
}

/// A thread that is spawned in its scope by another one, which ends before.
pub(crate) fn spawned_by_a_sibling() -> String {
    let x = AtomicU32::new(0);
    let y = &x;
    thread::scope(|scope| {
        scope.spawn(move || {
            nudge();
            scope.spawn(move || {
                nudge();
                y.fetch_add(1, SeqCst);
                keep(Adds(Arc::new(AtomicU32::new(0)), 1));
            });
        });
        nudge();
    });
    format!("{}", x.load(SeqCst))
}

/// A token for a thread that waits in two scopes, one after the other.
pub(crate) fn a_token_and_two_scopes() -> String {
    let main = thread::current();
    let x = AtomicU32::new(0);
    for _ in 0..2 {
        thread::scope(|scope| {
            scope.spawn(|| {
                nudge();
                if x.fetch_add(1, SeqCst) == 0 {
                    main.unpark();
                }
            });
            nudge();
        });
    }
    thread::park_timeout(SHORT);
    main.unpark();
    thread::park();
    format!("{}", x.load(SeqCst))
}

/// A token that is given by a thread that is not in the scope.
pub(crate) fn a_token_from_outside_a_scope() -> String {
    let main = thread::current();
    let outside = thread::spawn(move || {
        nudge();
        main.unpark();
    });
    thread::scope(|scope| {
        scope.spawn(nudge);
        nudge();
    });
    nudge();
    thread::park();
    outside.join().unwrap();
    "done".into()
}
