//! `std::sync::Once`, and the core of `OnceLock` and `LazyLock`. Modelled: entering (blocked while another thread
//! initialises), leaving, looking whether it is complete, `wait`. One entry is one step also where `std` looks
//! first and enters then. `call_once` from within its own initialiser is the deadlock that it is in `std`. Not modelled:
//! nothing that a program could tell.

use crate::door::{self, Action, Effect, Handle, InitialState, ObjectInit};
use crate::image::{ESCAPED, Restore};
use ::std::any::type_name;
use ::std::cell::Cell;
use ::std::fmt;
use ::std::panic::{RefUnwindSafe, UnwindSafe};
use ::std::ptr;
use ::std::sync::atomic::{AtomicU8, Ordering};

const INCOMPLETE: u8 = 0;
const POISONED: u8 = 1;
const COMPLETE: u8 = 2;
const STATE: u8 = 3;

/// Mirrors `std::sync::Once`.
pub struct Once {
    handle: Handle,
    /// Used outside executions only. If it is complete, so is `state`; the converse does not hold.
    real: ::std::sync::Once,
    /// What has happened, in an execution or outside; and whether it happened outside.
    state: AtomicU8,
    restore: Restore,
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

/// Mirrors `std::sync::OnceState`.
pub struct OnceState {
    /// A cell, because `std`'s state is one: it is not `Sync`.
    poisoned: Cell<bool>,
}

/// Mirrors `std::sync::ONCE_INIT`.
#[deprecated(since = "1.38.0", note = "the `Once::new()` function is now preferred")]
#[expect(clippy::declare_interior_mutable_const, reason = "std declares it so")]
pub const ONCE_INIT: Once = Once::new();

/// The object that a `Once` stands for: itself, or the `OnceLock` or `LazyLock` around it.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) address: *const (),
    pub(super) type_name: &'static str,
}

impl Once {
    /// Mirrors `std::sync::Once::new`.
    #[inline]
    #[must_use]
    pub const fn new() -> Once {
        Once::with_restore(Some(restore))
    }

    /// The core of a type that restores itself.
    pub(super) const fn with_restore(restore: Restore) -> Once {
        Once {
            handle: Handle::new(),
            real: ::std::sync::Once::new(),
            state: AtomicU8::new(INCOMPLETE),
            restore,
        }
    }

    fn owner(&self) -> Owner {
        Owner { address: (&raw const *self).cast(), type_name: type_name::<Once>() }
    }

    /// Mirrors `std::sync::Once::call_once`.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        let mut f = Some(f);
        self.call(self.owner(), false, &mut |_| (f.take().unwrap())());
    }

    /// Mirrors `std::sync::Once::call_once_force`.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        let mut f = Some(f);
        self.call(self.owner(), true, &mut |state| (f.take().unwrap())(state));
    }

    /// Mirrors `std::sync::Once::is_completed`.
    #[inline]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.check(self.owner())
    }

    /// Mirrors `std::sync::Once::wait`.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for(self.owner(), false);
    }

    /// Mirrors `std::sync::Once::wait_force`.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for(self.owner(), true);
    }

    fn init(&self, owner: Owner) -> ObjectInit {
        let state = self.state();
        ObjectInit {
            state: InitialState::Once { complete: state == COMPLETE, poisoned: state == POISONED },
            type_name: owner.type_name,
            address: owner.address,
            on_first_use: self.restore,
        }
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire) & STATE
    }

    fn set_state(&self, state: u8) {
        let escaped = self.state.load(Ordering::Relaxed) & ESCAPED;
        self.state.store(state | escaped, Ordering::Release);
    }

    /// Whether it is poisoned, by exclusive access: no step.
    pub(super) fn is_poisoned_mut(&mut self) -> bool {
        self.state() == POISONED
    }

    pub(super) fn complete_mut(&mut self) {
        self.set_state(COMPLETE);
    }

    pub(super) fn poison_mut(&mut self) {
        self.set_state(POISONED);
    }

    pub(super) fn flags(&self) -> *const AtomicU8 {
        &raw const self.state
    }

    pub(super) fn restore(&self) -> *const Restore {
        &raw const self.restore
    }

    /// Looks whether it is complete.
    #[track_caller]
    pub(super) fn check(&self, owner: Owner) -> bool {
        self.handle.perform(self.init(owner), Action::OnceCheck);
        self.state() == COMPLETE
    }

    /// Runs `f` unless it has run. A poisoned `Once` panics, unless forced.
    #[track_caller]
    pub(super) fn call(&self, owner: Owner, force: bool, f: &mut dyn FnMut(&OnceState)) {
        let poisoned = match self.handle.perform_with(self.init(owner), Action::OnceEnter, force) {
            None => return self.call_outside(force, f),
            Some(Effect::Run) => false,
            Some(Effect::Poisoned) if !force => panic_poisoned(),
            Some(Effect::Poisoned) => true,
            Some(_) => return,
        };
        if self.state() == COMPLETE {
            // An execution that is given up lets everybody in.
            return;
        }
        let mut leave = Leave { once: self, owner, state: POISONED };
        f(&OnceState { poisoned: Cell::new(poisoned) });
        leave.state = COMPLETE;
    }

    #[track_caller]
    fn call_outside(&self, force: bool, f: &mut dyn FnMut(&OnceState)) {
        match self.state() {
            COMPLETE => return,
            POISONED if !force => panic_poisoned(),
            _ => {}
        }
        if door::is_apart() && door::initial_bytes(ptr::from_ref(self).addr(), size_of::<Once>()).is_some() {
            // What a static's value makes in another static when all is over would be there when the next execution begins.
            door::leave_apart();
        }
        self.state.fetch_or(ESCAPED, Ordering::Relaxed);
        self.real.call_once_force(|_| {
            let poisoned = match self.state() {
                COMPLETE => return,
                state => state == POISONED,
            };
            let mut end = SetOnDrop { once: self, state: POISONED };
            if poisoned && !force {
                panic_poisoned();
            }
            f(&OnceState { poisoned: Cell::new(poisoned) });
            end.state = COMPLETE;
        });
    }

    /// Blocks until it is complete. A poisoned `Once` panics, unless forced.
    #[track_caller]
    pub(super) fn wait_for(&self, owner: Owner, force: bool) {
        let action = if force { Action::OnceWaitForce } else { Action::OnceWait };
        match self.handle.perform(self.init(owner), action) {
            None => {}
            Some(Effect::Poisoned) => panic_poisoned(),
            Some(_) => return,
        }
        if self.state() == COMPLETE {
            return;
        }
        self.state.fetch_or(ESCAPED, Ordering::Relaxed);
        if force {
            self.real.wait_force();
        } else if self.state() == POISONED {
            panic_poisoned();
        } else {
            self.real.wait();
        }
    }
}

/// # Safety
/// `address` is that of a live `Once`.
unsafe fn restore(address: *const ()) {
    let this = address.cast::<Once>();
    // SAFETY: the `Once` is alive; if it is in the image it is a static. It guards no value of its own.
    unsafe {
        let nothing = ::std::ptr::addr_of!((*this).state).cast::<()>().cast_mut();
        crate::image::restore_at_end(nothing, true, (*this).flags(), (*this).restore());
    }
}

#[cold]
#[track_caller]
fn panic_poisoned() -> ! {
    panic!("Once instance has previously been poisoned")
}

/// Leaves the initialiser, also by a panic.
struct Leave<'a> {
    once: &'a Once,
    owner: Owner,
    state: u8,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        let complete = self.state == COMPLETE;
        self.once.handle.perform_with(self.once.init(self.owner), Action::OnceLeave, complete);
        // After the step has taken effect, and before any other thread runs.
        self.once.set_state(self.state);
    }
}

struct SetOnDrop<'a> {
    once: &'a Once,
    state: u8,
}

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.once.set_state(self.state);
    }
}

impl Default for Once {
    #[inline]
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    /// Mirrors `std::sync::OnceState::is_poisoned`.
    #[inline]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.is_poisoned()).finish()
    }
}
