//! What is done on behalf of the program when an execution is over, by the destructors of its statics' values, each on a stack of its own: it may wait for
//! what the threads of the execution would have done (a runtime of tasks that waits for its workers), and they are gone. Then it goes no further, and
//! its stack stays as it is, as that of a thread that is given up. So it does where it would begin what the next execution finds: a thread of the system's, the value
//! of a static.

use super::allocator::aside;
use super::coroutine::{Pool, Return, Suspension};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// As large as the stacks of the threads that `std` starts.
const STACK_SIZE: usize = 2 << 20;

thread_local! {
    /// Leads from the stack on which something is done apart back to [`apart`].
    static WAY_BACK: Cell<Option<Suspension>> = const { Cell::new(None) };
    /// Stacks that are free: what is done apart is done after each execution.
    static STACKS: RefCell<Pool<Box<dyn FnOnce()>>> = const { RefCell::new(Pool::new(STACK_SIZE, 0)) };
}

/// Does it, outside of all executions, on a stack of its own. A panic is caught. `false`: it waits for what nobody will do any more.
pub fn apart(action: Box<dyn FnOnce()>) -> bool {
    let caught = Box::new(move || _ = catch_unwind(AssertUnwindSafe(action)));
    let coroutine = STACKS.with_borrow_mut(|stacks| stacks.take(caught, None));
    let before = WAY_BACK.replace(Some(coroutine.suspension()));
    let end = coroutine.resumption().resume();
    WAY_BACK.set(before);
    let is_done = end == Return::Suspended && !coroutine.is_busy();
    if is_done {
        STACKS.with_borrow_mut(|stacks| aside(|| stacks.put(coroutine)));
    } else {
        coroutine.leak();
    }
    is_done
}

/// Whether the caller is on such a stack.
#[must_use]
pub fn is_apart() -> bool {
    WAY_BACK.get().is_some()
}

/// What is done apart waits in vain: returns only where nothing is done apart.
pub fn leave_apart() {
    if let Some(way_back) = WAY_BACK.get() {
        way_back.suspend();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn what_waits_in_vain_is_left() {
        let count = Rc::new(Cell::new(0));
        let done = |action: fn(&Cell<u32>)| {
            let count = count.clone();
            apart(Box::new(move || action(&count)))
        };
        assert!(!is_apart());
        assert!(done(|count| count.set(if is_apart() { 1 } else { 0 })));
        assert!(!done(|count| {
            count.set(2);
            leave_apart();
            count.set(9);
        }));
        assert_eq!((count.get(), is_apart()), (2, false));
        assert!(done(|_| std::panic::resume_unwind(Box::new(()))));
        leave_apart();
    }
}
