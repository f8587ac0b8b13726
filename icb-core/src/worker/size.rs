//! How large this process becomes: what executions never free (a leak, what a `static` leads to, memory of C) goes back to the system with the
//! process only, so that whoever runs many of them has to make room at times.

/// A process is too large when it has grown by so many bytes.
const MAX_GROWTH: u64 = 128 << 20;
/// Executions between two looks: so few where it grows, so many where it does not.
const BETWEEN_LOOKS: std::ops::RangeInclusive<u64> = 32..=1_024;
/// It grows if there are so many bytes more than at the last look.
const NOTABLE: u64 = 1 << 20;
/// What the search itself keeps of an execution (its state), in bytes, at most.
const KEPT_OF_EXECUTION: u64 = 64;

/// How far this process has grown.
#[derive(Debug)]
pub(super) struct Size {
    executions: u64,
    /// It is looked at after so many,
    look_at: u64,
    /// and then after so many more.
    stride: u64,
    /// In bytes, when growing began. `None`: that is when it is looked at first; what the executions before need, whatever they do, does not count.
    at_first: Option<u64>,
    latest: u64,
    /// For each execution, in bytes.
    allowance: u64,
}

impl Size {
    /// Of a process that runs executions and keeps nothing of them.
    pub(super) const fn new() -> Self {
        let stride = *BETWEEN_LOOKS.start();
        Size { executions: 0, look_at: 0, stride, at_first: None, latest: 0, allowance: 0 }
    }

    /// Of this process, which searches as well, from now on.
    pub(super) fn of_the_search() -> Self {
        let now = resident();
        Size {
            look_at: *BETWEEN_LOOKS.start(),
            at_first: now,
            latest: now.unwrap_or(0),
            allowance: KEPT_OF_EXECUTION,
            ..Size::new()
        }
    }

    /// So many executions have been run.
    pub(super) fn note(&mut self, executions: usize) {
        self.executions += executions as u64;
    }

    /// Whether it has grown too far, as far as is known; looks now and then.
    pub(super) fn is_too_large(&mut self) -> bool {
        if self.executions < self.look_at {
            return false;
        }
        let Some(now) = resident() else { return false };
        let at_first = *self.at_first.get_or_insert(now);
        let (least, most) = (*BETWEEN_LOOKS.start(), *BETWEEN_LOOKS.end());
        self.stride = if now > self.latest + NOTABLE { least } else { (2 * self.stride).min(most) };
        self.look_at = self.executions + self.stride;
        self.latest = now;
        now > at_first + MAX_GROWTH + self.allowance * self.executions
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
        let mut early = Size::of_the_search();
        let mut spare = Size::of_the_search();
        let large = std::hint::black_box(vec![1_u8; 2 * MAX_GROWTH as usize]);
        assert!(!early.is_too_large());
        early.note(1_024);
        assert!(early.is_too_large());
        // The search keeps as much of so many executions.
        spare.note(4 * MAX_GROWTH as usize / KEPT_OF_EXECUTION as usize);
        assert!(!spare.is_too_large());
        let mut later = Size::new();
        assert!(!later.is_too_large());
        later.note(1_024);
        assert!(!later.is_too_large());
        drop(large);
    }
}
