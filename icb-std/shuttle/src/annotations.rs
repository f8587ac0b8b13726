//! `shuttle::annotations`: names for objects, which reports of icb take from the source instead.

/// Mirrors `shuttle::annotations::WithName`. Does nothing.
pub trait WithName: Sized {
    /// Mirrors `WithName::with_name_and_kind`.
    #[must_use]
    fn with_name_and_kind(self, _name: Option<&str>, _kind: Option<&str>) -> Self {
        self
    }

    /// Mirrors `WithName::with_name`.
    #[must_use]
    fn with_name(self, name: &str) -> Self {
        self.with_name_and_kind(Some(name), None)
    }

    /// Mirrors `WithName::with_kind`.
    #[must_use]
    fn with_kind(self, kind: &str) -> Self {
        self.with_name_and_kind(None, Some(kind))
    }
}

impl<T> WithName for icb_std::sync::Mutex<T> {}
impl<T> WithName for &icb_std::sync::Mutex<T> {}
impl<T> WithName for icb_std::sync::RwLock<T> {}
impl<T> WithName for &icb_std::sync::RwLock<T> {}
impl WithName for crate::future::batch_semaphore::BatchSemaphore {}
impl WithName for &crate::future::batch_semaphore::BatchSemaphore {}
