//! What shuttle's wrappers of other crates name of the packages that shuttle itself is made of (`shuttle-engine`). Compiled in their
//! places as well, for which it names nothing but `icb_std`.

/// Mirrors `shuttle_engine::runtime`.
pub mod runtime {
    /// Mirrors `shuttle_engine::runtime::thread`.
    pub mod thread {
        use icb_std::sync::atomic::{AtomicBool, Ordering};

        /// Mirrors `thread::switch`: others may run here.
        #[track_caller]
        pub fn switch() {
            // Any step is a scheduling point; this one is nobody else's affair.
            let _ = AtomicBool::new(false).load(Ordering::Relaxed);
        }
    }

    /// Mirrors `shuttle_engine::runtime::execution`.
    pub mod execution {
        /// Mirrors `ExecutionState`, which is not to be had.
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct ExecutionState;

        impl ExecutionState {
            /// Mirrors `ExecutionState::try_with`.
            ///
            /// # Errors
            /// Outside an execution.
            pub fn try_with<R>(f: impl FnOnce(&mut ExecutionState) -> R) -> Result<R, NotInAnExecution> {
                if is_active() { Ok(f(&mut ExecutionState)) } else { Err(NotInAnExecution) }
            }

            /// Mirrors `ExecutionState::should_stop`.
            #[must_use]
            pub fn should_stop() -> bool {
                !is_active() || icb_std::thread::panicking()
            }
        }

        /// Why there is no `ExecutionState`.
        #[derive(Debug)]
        #[non_exhaustive]
        pub struct NotInAnExecution;

        #[cfg(icb)]
        fn is_active() -> bool {
            icb_std::__private::active()
        }

        #[cfg(not(icb))]
        fn is_active() -> bool {
            false
        }
    }
}

/// Mirrors `shuttle_engine::thread_support`.
pub mod thread_support {
    use std::any::Any;
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::fmt;
    use std::rc::Rc;

    icb_std::thread_local! {
        /// By the address of the key.
        static SLOTS: RefCell<BTreeMap<usize, Rc<dyn Any>>> = const { RefCell::new(BTreeMap::new()) };
    }

    /// Mirrors `DestroyedLastKey`: a thread-local that can be used until the others are gone, if it was used before them.
    pub struct DestroyedLastKey<T: 'static> {
        init: fn() -> T,
    }

    /// It is gone.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct AccessError;

    impl<T: 'static> DestroyedLastKey<T> {
        /// Mirrors `DestroyedLastKey::new`.
        pub const fn new(init: fn() -> T) -> DestroyedLastKey<T> {
            DestroyedLastKey { init }
        }

        /// Mirrors `DestroyedLastKey::try_with`.
        ///
        /// # Errors
        /// If the thread has destroyed it.
        pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
        where
            F: FnOnce(&T) -> R,
        {
            let key = std::ptr::from_ref(self).addr();
            let there = SLOTS.try_with(|slots| slots.borrow().get(&key).cloned()).map_err(|_| AccessError)?;
            let value = match there {
                Some(value) => value,
                None => {
                    let value: Rc<dyn Any> = Rc::new((self.init)());
                    // Making it may have used the key.
                    let put = |slots: &RefCell<BTreeMap<usize, Rc<dyn Any>>>| {
                        slots.borrow_mut().entry(key).or_insert(value).clone()
                    };
                    SLOTS.try_with(put).map_err(|_| AccessError)?
                }
            };
            value.downcast_ref().map(f).ok_or(AccessError)
        }
    }

    impl<T: 'static> fmt::Debug for DestroyedLastKey<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("DestroyedLastKey").finish_non_exhaustive()
        }
    }
}
