//! How a process ends that dies of the program under test.

use std::fmt;
use std::str::FromStr;

/// How a process has ended in the middle of an execution. Its text form is `signal:6`, or `code:3`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Death {
    /// By a signal.
    Signal(i32),
    /// With an exit code.
    Code(i32),
}

impl Death {
    /// In words, for a message.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Death::Signal(signal) => format!("the process died of {}", signal_name(signal)),
            Death::Code(code) => {
                format!("the process ended with exit code {code} in the middle of an execution")
            }
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Death::Signal(signal) => write!(f, "signal:{signal}"),
            Death::Code(code) => write!(f, "code:{code}"),
        }
    }
}

impl FromStr for Death {
    type Err = String;

    fn from_str(text: &str) -> Result<Death, String> {
        let known = text.split_once(':').and_then(|(how, number)| match how {
            "signal" => number.parse().ok().map(Death::Signal),
            "code" => number.parse().ok().map(Death::Code),
            _ => None,
        });
        known.ok_or_else(|| {
            format!(
                "`{text}` is no end of a process; write signal:6 for the signal, or code:3 for the exit code"
            )
        })
    }
}

/// The name of a signal.
#[must_use]
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        7 if cfg!(target_os = "linux") => "SIGBUS",
        10 if cfg!(target_os = "linux") => "SIGUSR1",
        12 if cfg!(target_os = "linux") => "SIGUSR2",
        31 if cfg!(target_os = "linux") => "SIGSYS",
        10 if cfg!(target_os = "macos") => "SIGBUS",
        12 if cfg!(target_os = "macos") => "SIGSYS",
        30 if cfg!(target_os = "macos") => "SIGUSR1",
        31 if cfg!(target_os = "macos") => "SIGUSR2",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_a_text_form() {
        for death in [Death::Signal(11), Death::Code(-1), Death::Code(3)] {
            assert_eq!(death.to_string().parse(), Ok(death));
        }
        for text in ["", "6", "signal:", "signal:x", "end:3"] {
            assert!(text.parse::<Death>().unwrap_err().contains("code:3"), "{text}");
        }
    }
}
