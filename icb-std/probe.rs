//! What build scripts ask the compiler.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

/// Whether the compiler takes this crate. What is unstable has other names in other versions: it is asked, because nightlies of one
/// version differ.
pub(crate) fn compiles(source: &str) -> bool {
    let variable = |name| env::var_os(name).unwrap_or_default();
    let child = Command::new(variable("RUSTC"))
        .args(["--crate-name", "icb_probe", "--crate-type", "lib", "--emit", "metadata", "--edition", "2024"])
        .arg("--target")
        .arg(variable("TARGET"))
        .arg("--out-dir")
        .arg(variable("OUT_DIR"))
        .arg("-")
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    // If it cannot be written the compiler has ended, with an error.
    let is_written = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(source.as_bytes()).is_ok());
    child.wait().is_ok_and(|status| status.success()) && is_written
}
