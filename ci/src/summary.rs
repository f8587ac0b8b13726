//! Adds up what libtest says at the end of each executable.

use std::fmt;

/// Counts of tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tests {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tests {
    /// Adds the counts of another executable.
    pub(crate) fn add(&mut self, other: Tests) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

impl fmt::Display for Tests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tests: {} passed, {} failed, {} ignored", self.passed, self.failed, self.ignored)
    }
}

/// The counts in a line `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
pub(crate) fn tests_of(line: &str) -> Option<Tests> {
    let counts = line.trim_start().strip_prefix("test result: ")?;
    let count = |word: &str| {
        let (before, _) = counts.split_once(&format!(" {word}"))?;
        before.rsplit(' ').next()?.parse().ok()
    };
    Some(Tests { passed: count("passed")?, failed: count("failed")?, ignored: count("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_libtest_are_added_up() {
        let line = "test result: FAILED. 52 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        let mut tests = tests_of(line).unwrap();
        assert_eq!(tests, Tests { passed: 52, failed: 3, ignored: 1 });
        tests.add(tests);
        assert_eq!(tests.to_string(), "tests: 104 passed, 6 failed, 2 ignored");
        assert_eq!(tests_of("test a::b ... ok"), None);
    }
}
