//! Decides what `icb_std` is compiled to: the mirror (`icb`) or plain `std`, and whether the mirrored `Arc`
//! coerces (`icb_coerce`), which needs unstable features and therefore `RUSTC_BOOTSTRAP=icb_std` on stable.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(icb, icb_coerce, icb_pin_coerce_unsized, icb_system_dates)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_BOOTSTRAP");
    if env::var_os("CARGO_FEATURE_ALWAYS").is_some() {
        println!("cargo::rustc-cfg=icb");
    }
    let bootstrap = env::var("RUSTC_BOOTSTRAP").unwrap_or_default();
    if bootstrap == "1" || bootstrap.split(',').any(|name| name == "icb_std") {
        println!("cargo::rustc-cfg=icb_coerce");
        if compiles("#![feature(pin_coerce_unsized_trait)] pub use std::pin::PinCoerceUnsized;") {
            println!("cargo::rustc-cfg=icb_pin_coerce_unsized");
        }
    }
}

/// Whether the compiler takes this crate. What is unstable has other names in other versions: it is asked, because nightlies of one
/// version differ.
fn compiles(source: &str) -> bool {
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
