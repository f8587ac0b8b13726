//! How large this process becomes: what executions never free (a leak, what a `static` leads to, memory of C) goes back to the system with the
//! process only, so that whoever runs many of them has to make room at times.

/// A process is too large when it has grown by so many bytes.
const MAX_GROWTH: u64 = 128 << 20;
/// Executions between two looks.
const BETWEEN_LOOKS: usize = 1_024;

/// How far this process has grown.
#[derive(Debug, Default)]
pub(super) struct Size {
    executions: usize,
    /// In bytes, when growing began. `None`: it is looked at after the next executions; what they need, whatever they do, does not count.
    at_first: Option<u64>,
}

impl Size {
    /// Grows from now on.
    pub(super) fn now() -> Self {
        Size { executions: 0, at_first: resident() }
    }

    /// So many executions have been run.
    pub(super) fn note(&mut self, executions: usize) {
        self.executions += executions;
    }

    /// Whether it has grown too far, as far as is known; looks now and then.
    pub(super) fn is_too_large(&mut self) -> bool {
        if self.at_first.is_some() && self.executions < BETWEEN_LOOKS {
            return false;
        }
        self.executions = 0;
        let Some(now) = resident() else { return false };
        now > *self.at_first.get_or_insert(now) + MAX_GROWTH
    }
}

/// Memory of this process that is there, in bytes. `None` where the system does not say.
fn resident() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let figures = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: u64 = figures.split(' ').nth(1)?.parse().ok()?;
        // SAFETY: a plain question.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Some(pages * u64::try_from(page).ok()?)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_has_grown_is_seen_after_some_executions() {
        let mut size = Size::now();
        let large = vec![1_u8; 2 * MAX_GROWTH as usize];
        assert!(!size.is_too_large());
        size.note(BETWEEN_LOOKS);
        assert!(size.is_too_large());
        let mut later = Size::default();
        assert!(!later.is_too_large());
        later.note(BETWEEN_LOOKS);
        assert!(!later.is_too_large());
        drop(large);
    }
}
