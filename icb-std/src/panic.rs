//! `std::panic`. Modelled: [`resume_unwind`], of which the hook that sees other panics is not told: what it unwinds through is
//! poisoned, and its payload is what a report says; [`catch_unwind`], behind which a thread does not unwind any more; and [`set_hook`] and
//! [`take_hook`]: an execution begins without a hook, and what is set is for the threads of that execution. Everything else is `std`'s. Not
//! modelled: what the default hook prints. The report says what a panic was.

pub use ::std::panic::*;

use crate::door;
use crate::sync::{PoisonError, RwLock};
use ::std::any::Any;
use ::std::mem;

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send + 'static>;

/// What the execution has set; like every static it begins as it stands here.
static HOOK: RwLock<Option<Hook>> = RwLock::new(None);

/// Mirrors `std::panic::set_hook`.
#[track_caller]
pub fn set_hook(hook: Hook) {
    if !door::active() {
        return ::std::panic::set_hook(hook);
    }
    drop(exchange(Some(hook)));
}

/// Mirrors `std::panic::take_hook`. In an execution the default hook does nothing.
#[must_use]
#[track_caller]
pub fn take_hook() -> Hook {
    if !door::active() {
        return ::std::panic::take_hook();
    }
    exchange(None).unwrap_or_else(|| Box::new(|_| ()))
}

#[track_caller]
fn exchange(hook: Option<Hook>) -> Option<Hook> {
    if crate::thread::panicking() {
        panic!("cannot modify the panic hook from a panicking thread");
    }
    let before = mem::replace(&mut *HOOK.write().unwrap_or_else(PoisonError::into_inner), hook);
    door::panics_are_seen(call);
    before
}

/// Calls the hook, if there is one.
pub(crate) fn call(info: &PanicHookInfo<'_>) {
    if let Some(hook) = &*HOOK.read().unwrap_or_else(PoisonError::into_inner) {
        hook(info);
    }
}

/// Mirrors `std::panic::catch_unwind`.
pub fn catch_unwind<F, R>(f: F) -> ::std::thread::Result<R>
where
    F: FnOnce() -> R + UnwindSafe,
{
    // A destructor may catch what it does itself in the middle of another panic.
    let unwinding = crate::door::panicking();
    let result = ::std::panic::catch_unwind(f);
    if let (Err(_), Some(unwinding)) = (&result, unwinding) {
        crate::door::caught(unwinding);
    }
    result
}

/// Mirrors `std::panic::resume_unwind`.
#[track_caller]
pub fn resume_unwind(payload: Box<dyn Any + Send>) -> ! {
    crate::door::resumes_unwinding(&*payload);
    ::std::panic::resume_unwind(payload)
}
