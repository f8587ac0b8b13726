//! Panics of the program under test: noted by a hook instead of being printed, reported when they are a failure.

use super::execution::{Execution, GiveUp};
use super::own_lock::OwnLock;
use super::running::{running, running_at_all};
use super::threads::PanicNote;
use crate::program::End;
use crate::trace::table::{in_program, is_machinery_file, is_of_program};
use crate::trace::{Action, Failure, FailureKind, Frame, SourceLocation, ThreadId};
use std::any::Any;
use std::ops::Range;
use std::panic::{Location, PanicHookInfo};
use std::sync::OnceLock;

/// How many programs there are that may run. As long as there is one, the hook is left alone: between taking one and setting another, panics would go unnoticed.
static PROGRAMS: OwnLock<usize> = OwnLock::new(0);

/// The hook is in front as long as this is there, unless the program sets another one.
pub(super) struct Installed(());

/// Sees to it that the hook comes first. Panics outside executions go to the hook that was there before.
pub(super) fn install() -> Installed {
    let mut programs = PROGRAMS.lock();
    if *programs == 0 {
        put_in_front();
    }
    *programs += 1;
    Installed(())
}

impl Drop for Installed {
    fn drop(&mut self) {
        *PROGRAMS.lock() -= 1;
    }
}

/// Where the hooks are that have been put in front, by this or by an earlier call. Whoever keeps hooks (to put expected panics to silence for a while) may set them again.
static OWN_HOOKS: OwnLock<Vec<Range<usize>>> = OwnLock::new(Vec::new());

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

fn put_in_front() {
    // A thread that is panicking must not change the hook; it has not set one either.
    if std::thread::panicking() {
        return;
    }
    let before = std::panic::take_hook();
    let place = (&raw const *before).cast::<u8>().addr();
    let is_own = OWN_HOOKS.lock().iter().any(|own| own.start == place);
    std::panic::set_hook(if is_own { before } else { hook_before(before) });
}

/// A hook that comes before another one.
fn hook_before(next: Hook) -> Hook {
    let in_front = InFront { _size: 0 };
    let hook: Hook = Box::new(move |info| {
        let _goes_with_the_hook = &in_front;
        match running_at_all() {
            Some(running) => {
                if let Some(hook) = running.with(|e| note(e, info)) {
                    hook(info);
                }
            }
            None => next(info),
        }
    });
    let start = (&raw const *hook).cast::<u8>().addr();
    OWN_HOOKS.lock().push(start..start + size_of_val(&*hook));
    hook
}

/// Goes with the hook, as a part of it. A program that sets a hook of its own (to keep expected panics quiet) drops the one that was there, and
/// what a panic means, a poisoned lock for one, depends on it: it is put in front of the new one at once.
struct InFront {
    /// So that it has a place of its own.
    _size: u8,
}

impl Drop for InFront {
    fn drop(&mut self) {
        let place = (&raw const *self).addr();
        OWN_HOOKS.lock().retain(|own| !own.contains(&place));
        super::allocator::aside(put_in_front);
    }
}

/// `panic::resume_unwind`, which no hook is told of: the calling thread is about to unwind with this payload.
#[track_caller]
pub fn resumes_unwinding(payload: &(dyn Any + Send)) {
    let place = Location::caller();
    let Some(running) = running().filter(|_| !payload.is::<GiveUp>()) else { return };
    running.with(|e| {
        let message = message(payload);
        let mine = e.threads.mine();
        if mine.panic.as_ref().is_some_and(|known| known.message == message) {
            // It goes on with the panic that it has caught: where that began is what is to be told.
            mine.unwinding = true;
            e.attend();
        } else {
            note_panic(e, message, Some(place));
        }
    });
}

/// Calls the hook that the program has set, if it has set one; to find that out is a step.
pub type PanicHook = fn(&PanicHookInfo<'_>);

static HOOK: OnceLock<PanicHook> = OnceLock::new();

/// Stands among the promoted places where panics call the hook.
static PANICS: u8 = 0;

/// What calls the program's hook, before threads are there that could set one.
#[inline]
pub fn know_panic_hook(hook: PanicHook) {
    super::allocator::noted_once(&HOOK, || hook);
}

/// The program sets a hook, or takes one away. From now on panics call it, in the thread that panics, which unwinds already. The search begins anew if
/// that is news: until then panics were no steps.
pub fn panics_are_seen(hook: PanicHook) {
    know_panic_hook(hook);
    let Some(running) = running() else { return };
    running.with(|e| {
        let is_news = e.promoted.insert((&raw const PANICS).addr());
        e.begins_anew(is_news);
    });
}

/// What a panic calls, if anything.
fn hook(e: &Execution) -> Option<PanicHook> {
    let is_seen = !e.giving_up && e.promoted.contains(&(&raw const PANICS).addr());
    HOOK.get().copied().filter(|_| is_seen)
}

/// Notes a panic. The program's hook, if it is to be called.
fn note(e: &mut Execution, info: &PanicHookInfo<'_>) -> Option<PanicHook> {
    if !info.payload().is::<GiveUp>() {
        let mut message = message(info.payload());
        if info.location().is_some_and(|location| is_in_engine(location.file())) {
            message = format!("an error in icb itself, not in the test; please report it: {message}");
        }
        let mine = &e.threads[e.current];
        let before = mine.panic.as_ref().filter(|_| mine.unwinding);
        // Whoever catches what ends an execution that is given up may panic again and again: nobody asks why.
        if (before.is_some() && !e.giving_up) || VIOLATED.iter().any(|words| message.starts_with(words)) {
            // Most often the process is about to abort, and what is noted dies with it: whoever watches over it shows what was printed last.
            let thread = ThreadId::new(e.current);
            if let Some(PanicNote { message, location, .. }) = before {
                eprintln!("{}", told(thread, location.as_ref(), message));
            }
            eprintln!("{}", told(thread, info.location().map(Into::into).as_ref(), &message));
        }
        let hook = hook(e);
        if hook.is_some() {
            // It may end the process.
            eprintln!(
                "{}",
                told(ThreadId::new(e.current), info.location().map(Into::into).as_ref(), &message)
            );
        }
        note_panic(e, message, info.location());
        return hook;
    }
    None
}

/// How the panics begin that abort without unwinding where unsafe code does what it must not.
const VIOLATED: [&str; 4] = [
    "unsafe precondition(s) violated",
    "null pointer dereference occurred",
    "misaligned pointer dereference: ",
    "trying to construct an enum from an invalid value",
];

fn told(thread: ThreadId, location: Option<&SourceLocation>, message: &str) -> String {
    let place = location.map_or_else(String::new, |location| format!(" at {location}"));
    format!("{thread} panicked{place}: {message}")
}

/// Which threads have panicked in this execution, and where, in this order; of each the last panic.
pub(super) fn told_so_far(e: &Execution) -> Vec<String> {
    told_of(e, 0)
}

/// The same of the threads from this one on.
fn told_of(e: &Execution, first: usize) -> Vec<String> {
    let mut notes: Vec<(ThreadId, &PanicNote)> = (first..e.thread_count)
        .filter_map(|thread| Some((ThreadId::new(thread), e.threads[thread].panic.as_ref()?)))
        .collect();
    notes.sort_by_key(|(_, note)| note.order);
    notes.into_iter().map(|(thread, note)| told(thread, note.location.as_ref(), &note.message)).collect()
}

/// The program asks for what cannot be had.
pub(super) fn refuse(message: &str) -> ! {
    panic!("{message}")
}

/// Refuses what a thread of a model cannot begin.
pub(crate) fn refuse_inside_a_model() {
    if super::active() {
        refuse("a model cannot be run inside a model; call what it does, or run the two one after the other");
    }
}

/// Whether a panic from this file is the engine's own, and no refusal.
fn is_in_engine(file: &str) -> bool {
    let sources = file!().strip_suffix("runtime/panics.rs");
    file != file!() && sources.is_some_and(|sources| file.starts_with(sources))
}

fn message(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic whose payload is no text".to_owned(),
    }
}

fn note_panic(e: &mut Execution, message: String, location: Option<&Location<'_>>) {
    let mut frames = if e.giving_up { Vec::new() } else { e.backtrace() };
    let location = location.map(SourceLocation::from);
    if let Some(location) = &location {
        put_right(&mut frames, location);
    }
    // What the tool panics with (it refuses what cannot be, or a test has returned an error) has its place in the program, if any.
    let location = location
        .map(|place| in_program(place, &frames))
        .filter(|place| frames.is_empty() || !is_machinery_file(&place.file));
    let (order, after_steps) = (e.panic_count, e.step_count);
    e.panic_count += 1;
    e.attend();
    let thread = e.threads.mine();
    thread.unwinding = true;
    thread.panic = Some(PanicNote { message, location, frames, order, after_steps });
}

/// Where the compiler has made one call of several that panic alike (`assert_eq!` again and again), its debug information knows no
/// line of it; the panic does.
fn put_right(frames: &mut [Frame], location: &SourceLocation) {
    let is_same_file = |place: &SourceLocation| {
        place.file.strip_suffix(&location.file).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let is_known = |place: &SourceLocation| is_same_file(place) && place.line == location.line;
    if frames.iter().filter_map(|frame| frame.location.as_ref()).any(is_known) {
        return;
    }
    let innermost = frames.iter_mut().find(|frame| is_of_program(frame));
    if let Some(place) = innermost.and_then(|frame| frame.location.as_mut())
        && is_same_file(place)
    {
        (place.line, place.column) = (location.line, location.column);
    }
}

/// Something panicked where nobody catches it.
pub(super) fn note_uncaught(e: &mut Execution, what: &str) {
    let mut failure = failure(e, e.current);
    failure.message = format!("{what}: {}", failure.message);
    e.stop(End::Failed(Box::new(failure)));
}

fn failure(e: &Execution, thread: usize) -> Failure {
    let panic = e.threads[thread].panic.as_ref();
    let message = panic.map_or_else(|| "a panic without a message".to_owned(), |p| p.message.clone());
    let mut failure = Failure::new(FailureKind::Panic, message);
    failure.thread = Some(ThreadId::new(thread));
    failure.location = panic.and_then(|p| p.location.clone());
    failure.after_steps = panic.map(|p| p.after_steps);
    failure.trace.failure_backtrace = panic.map_or_else(Vec::new, |p| p.frames.clone());
    failure
}

/// A panic has left the test closure. If another thread panicked first, and its end was joined, that panic is the
/// one to tell: this one is most often an `unwrap` of the join. If it is not, it is told as well: the test may have expected the first one, and surely
/// has if it has gone on after the join.
pub(super) fn report_main(e: &mut Execution) {
    // What ends a scope is a panic that nobody has taken within it.
    let ends_scope = e.threads[0].panic.as_ref().is_some_and(|panic| panic.message == SCOPE_ENDS);
    let first = (0..e.thread_count)
        .filter(|&t| e.threads[t].panicked && e.threads[t].panic.is_some())
        .min_by_key(|&t| {
            let order = e.threads[t].panic.as_ref().map(|p| p.order);
            (ends_scope && e.threads[t].panic_handled, order)
        });
    let first = behind_join(e, 0).or(first).unwrap_or(0);
    if first != 0 && goes_on_after_panics(e) {
        let mut failure = failure(e, 0);
        failure.before = told_of(e, 1);
        e.stop(End::Failed(Box::new(failure)));
        return;
    }
    let mut failure = failure(e, first);
    if let Some(last) = e.threads[0].panic.as_ref().filter(|_| first != 0)
        && !says_that_one_panicked(&last.message, &failure.message)
    {
        failure.afterwards = Some(told(ThreadId::new(0), last.location.as_ref(), &last.message));
    }
    e.stop(End::Failed(Box::new(failure)));
}

/// Whose panic it is that the thread has come upon when it joined that one, if it says no more than that; that one may have come upon a third one's.
fn behind_join(e: &Execution, thread: usize) -> Option<usize> {
    let joined = e.pending[thread].object;
    let joined = Some(joined).filter(|_| e.pending[thread].action == Action::Join)?;
    let other = e.thread_of(joined).filter(|&other| e.threads[other].panicked)?;
    let message = |thread: usize| e.threads[thread].panic.as_ref().map(|panic| panic.message.as_str());
    let says_no_more = says_that_one_panicked(message(thread)?, message(other)?);
    says_no_more.then(|| behind_join(e, other).unwrap_or(other))
}

/// Whether the test has joined all threads that panicked, and has then done something else before it panicked itself, for another reason.
fn goes_on_after_panics(e: &Execution) -> bool {
    let Some(last) = e.threads[0].panic.as_ref() else { return false };
    let is_consequence = |t: usize| {
        let first = e.threads[t].panic.as_ref().map_or("", |panic| panic.message.as_str());
        says_that_one_panicked(&last.message, first) || last.message.contains("PoisonError")
    };
    let mut panicked = (1..e.thread_count).filter(|&t| e.threads[t].panicked);
    e.pending[0].action != Action::Join && panicked.all(|t| e.threads[t].panic_handled && !is_consequence(t))
}

/// What a scope panics with in which a thread has.
const SCOPE_ENDS: &str = "a scoped thread panicked";

/// Whether a panic says no more than that a thread has panicked, with `first`: an `unwrap` of its join, the end of its scope, or the same thrown again.
fn says_that_one_panicked(message: &str, first: &str) -> bool {
    message.ends_with("Any { .. }") || message == SCOPE_ENDS || message == first
}

/// All threads have ended: a panic that nobody joined is a failure, unless it is allowed.
pub(super) fn report_unhandled(e: &mut Execution) {
    if !matches!(e.end, Some(End::Passed)) || e.settings.allow_unjoined_panics {
        return;
    }
    let first = (0..e.thread_count)
        .filter(|&t| e.threads[t].panicked && !e.threads[t].panic_handled)
        .min_by_key(|&t| e.threads[t].panic.as_ref().map(|p| p.order));
    if let Some(thread) = first {
        e.attend();
        let mut failure = failure(e, thread);
        failure.unjoined = true;
        e.end = Some(End::Failed(Box::new(failure)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_the_debug_information_does_not_know_is_that_of_the_panic() {
        let at = |file: &str, line| SourceLocation { file: file.to_owned(), line, column: 5 };
        let frame = |function: &str, file: &str, line| Frame {
            function: function.to_owned(),
            location: Some(at(file, line)),
        };
        let lines = |frames: &[Frame], place: SourceLocation| {
            let mut frames = frames.to_vec();
            put_right(&mut frames, &place);
            frames
                .iter()
                .map(|frame| frame.location.as_ref().map_or(0, |place| place.line))
                .collect::<Vec<_>>()
        };
        let std = frame("core::panicking::panic", "/rustc/0/library/core/src/panicking.rs", 9);
        let merged =
            [std.clone(), frame("app::test", "/x/src/lib.rs", 3), frame("app::run", "/x/src/run.rs", 7)];
        assert_eq!(lines(&merged, at("src/lib.rs", 13)), [9, 13, 7]);
        assert_eq!(lines(&merged, at("src/lib.rs", 3)), [9, 3, 7], "it is known");
        assert_eq!(
            lines(&merged, at("src/run.rs", 7)),
            [9, 3, 7],
            "the caller is told, of a function that says so"
        );
        assert_eq!(lines(&merged, at("src/run.rs", 8)), [9, 3, 7], "another file");
        assert_eq!(lines(&merged, at("rc/lib.rs", 13)), [9, 3, 7], "another file");
    }

    #[test]
    fn what_says_only_that_a_thread_panicked_is_not_told() {
        for message in
            ["called `Result::unwrap()` on an `Err` value: Any { .. }", "a scoped thread panicked", "no"]
        {
            assert!(says_that_one_panicked(message, "no"), "{message}");
        }
        assert!(!says_that_one_panicked("assertion `left == right` failed", "no"));
    }

    #[test]
    fn errors_of_the_engine_are_told_from_those_of_the_test() {
        let own = |path: &str| file!().replace("runtime/panics.rs", path);
        assert!(is_in_engine(&own("reduction/partial_order/events.rs")));
        assert!(!is_in_engine(file!()), "a refusal");
        for file in ["src/lib.rs", "tests/queue.rs", "/rustc/0/library/core/src/option.rs"] {
            assert!(!is_in_engine(file), "{file}");
        }
    }
}
